"""A source that kills the first process which reads the middle of the object."""

import os
from functools import partial
from pathlib import Path

from fake import pattern
from treewide._scale.objects import Object
from treewide._scale.reading import Reply

SIZE = 2 << 20


def die_once(folder: str) -> None:
    """Kill this process, if no other one was killed before."""
    try:
        os.close(os.open(Path(folder, "killed"), os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os.kill(os.getpid(), 9)


class Deadly:
    streams = 2
    piece = 16384

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __reduce__(self):
        return partial(Deadly, self.folder), ()

    def head(self, uri: str) -> Object:
        return Object(uri, SIZE, '"1"')

    def get(self, object: Object, start: int, stop: int) -> Reply:
        Path(self.folder, f"worker-{os.getpid()}").touch()
        if start >= SIZE // 2:
            die_once(self.folder)
        # All of it is made each time: a slow store.
        return Reply(pattern(SIZE)[start:stop], start, SIZE, '"1"', None)
