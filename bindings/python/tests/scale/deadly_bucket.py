"""A bucket that kills the first process which reads an object in the middle of it."""

import os
from bisect import bisect_right
from functools import partial
from pathlib import Path

from deadly import die_once
from fake import pattern
from treewide._scale.found import Found
from treewide._scale.objects import Object
from treewide._scale.reading import Reply

ROOT = "deadly://bucket/"
KEYS = [f"{it:04}" for it in range(600)]


def data_of(key: str) -> bytes:
    return pattern(int(key) + 1)


class DeadlyBucket:
    streams = 2
    piece = 16384

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __reduce__(self):
        return partial(DeadlyBucket, self.folder), ()

    def head(self, uri: str) -> Object:
        return Object(uri, len(data_of(uri.removeprefix(ROOT))), '"1"')

    def get(self, object: Object, start: int, stop: int) -> Reply:
        key = object.uri.removeprefix(ROOT)
        Path(self.folder, f"worker-{os.getpid()}").touch()
        if int(key) >= 300:
            die_once(self.folder)
        data = data_of(key)
        return Reply(data[start:stop], start, len(data), '"1"', None)

    def pages(self, root: str, after: str, most: int | None = None):
        at = bisect_right(KEYS, after)
        while at < len(KEYS):
            page = KEYS[at : at + (most or 100)]
            yield [Found(it, int(it) + 1, '"1"', None, None) for it in page]
            at += len(page)
