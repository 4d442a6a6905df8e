"""A store that kills the first process which reads the middle of an object, or of a bucket.

deadly://FOLDER/one            an object
deadly://FOLDER/of-keys/KEY    an object of a bucket
"""

import os
from bisect import bisect_right
from pathlib import Path

from fake import pattern
from treewide._scale.found import Found
from treewide._scale.objects import Object
from treewide._scale.reading import Reply

SIZE = 2 << 20
BUCKET = "/of-keys/"
KEYS = [f"{it:04}" for it in range(600)]


def data_of(key: str) -> bytes:
    return pattern(int(key) + 1)


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

    def head(self, uri: str) -> Object:
        _, separator, key = uri.partition(BUCKET)
        return Object(uri, len(data_of(key)) if separator else SIZE, '"1"')

    def get(self, object: Object, start: int, stop: int) -> Reply:
        folder, separator, key = object.uri.removeprefix("deadly://").partition(BUCKET)
        folder = folder if separator else folder.removesuffix("/one")
        Path(folder, f"worker-{os.getpid()}").touch()
        if start >= SIZE // 2 or (separator and int(key) >= 300):
            die_once(folder)
        # All of it is made each time: a slow store.
        data = data_of(key) if separator else pattern(SIZE)
        return Reply(data[start:stop], start, len(data), '"1"', None)

    def pages(self, root: str, after: str, most: int | None = None):
        at = bisect_right(KEYS, after)
        while at < len(KEYS):
            page = KEYS[at : at + (most or 100)]
            yield [Found(it, int(it) + 1, '"1"', None, None) for it in page]
            at += len(page)
