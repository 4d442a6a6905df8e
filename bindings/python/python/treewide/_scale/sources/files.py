"""Files of this machine, or of a file system that all workers have."""

import errno
import os
import stat
import threading
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from treewide._scale.found import Found
from treewide._scale.objects import Object
from treewide._scale.reading import Refused, Reply
from treewide._treewide import Parts, _replace_file

#: Files of a page of a listing.
_PAGE = 1000
#: Errors of a name that was removed since its folder was listed, or that is a link to nothing.
_NOTHING = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


class Files:
    """Reads files. What stands for an ETag is what the system says of the file: inode, length and times."""

    streams = 1
    #: Bytes after which a task looks at the clock, and that are mapped at a time: with 16 MiB it takes 5 % longer
    #: (`results/zen4-2vcpu/scale.md#engines-against-hash_file`).
    piece = 64 << 20

    def __init__(self, **options: Any) -> None:
        """Read files by their paths, or by URLs that begin with `file://`. Options are for other stores."""
        self.options = options
        self._own = threading.local()

    def head(self, uri: str) -> Object:
        """Return what the system says about a file."""
        there = os.stat(path_of(uri))
        if not stat.S_ISREG(there.st_mode):
            raise Refused(f"{uri}: is not a regular file, so no part of it can be read alone: copy it to a file")
        return Object(uri, there.st_size, _etag(there))

    def hash(self, parts: Parts, object: Object, start: int, stop: int) -> Reply:
        """Hash a range. The file is looked at afterwards, so that it was the same all the time."""
        handle = self._open(object)
        is_whole = parts._hash_file(handle, start, stop)
        there = os.fstat(handle)
        if not is_whole and there.st_size == object.size:
            raise OSError(f"the system does not read up to byte {stop}")
        return Reply(b"", start, there.st_size, _etag(there), None)

    def get(self, object: Object, start: int, stop: int) -> Reply:
        """Read a range."""
        handle = self._open(object)
        data = bytearray(stop - start)
        with open(handle, "rb", buffering=0, closefd=False) as file:
            file.seek(start)
            count = file.readinto(data)
        there = os.fstat(handle)
        return Reply(memoryview(data)[:count], start, there.st_size, _etag(there), None)

    def put(self, uri: str, data: bytes, notes: Mapping[str, str]) -> None:
        """Write a file, which appears when it is complete. Files have no place for notes."""
        path = Path(path_of(uri))
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace_file(path, data)

    def pages(self, root: str, after: str, most: int | None = None) -> Iterator[list[Found]]:
        """Return the files below a folder after a key. Links to folders are not followed."""
        files = (Found(key, it.st_size, _etag(it), None, it.st_mtime) for key, it in _walk(root, "", after))
        while page := list(islice(files, most or _PAGE)):
            yield page

    def _open(self, object: Object) -> int:
        """Return the file that this thread has open, if it is this one, or open it."""
        own, uri = self._own, object.uri
        # Another file may have its name by now, in a process that does one run after the other.
        if getattr(own, "uri", None) != uri or _etag(os.fstat(own.file.fileno())) != object.etag:
            own.file = own.uri = None
            own.file = open(path_of(uri), "rb", buffering=0)  # noqa: SIM115 - open until the next one
            own.uri = uri
        handle: int = own.file.fileno()
        return handle


def path_of(uri: str) -> str:
    """Return the path of a file: itself, or that of a URL that begins with `file://`."""
    return unquote(uri.removeprefix("file://")) if uri.startswith("file://") else uri


def _etag(there: os.stat_result) -> str:
    return f"{there.st_ino:x}-{there.st_size:x}-{there.st_mtime_ns:x}-{there.st_ctime_ns:x}"


def _walk(root: str, below: str, after: str) -> Iterator[tuple[str, os.stat_result]]:
    try:
        with os.scandir(os.path.join(root, below)) as found:
            # What is in a folder has keys that begin with its name and a slash.
            keys = sorted(below + it.name + "/" * it.is_dir(follow_symlinks=False) for it in found)
    except OSError as error:
        if below and error.errno in _NOTHING:
            return
        raise
    for key in keys:
        is_folder = key.endswith("/")
        if is_folder and (key > after or after.startswith(key)):
            yield from _walk(root, key, after)
        elif not is_folder and key > after:
            try:
                there = os.stat(os.path.join(root, key))
            except OSError as error:
                if error.errno in _NOTHING:
                    continue
                raise
            if stat.S_ISREG(there.st_mode):
                yield key, there
