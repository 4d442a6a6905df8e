"""File systems of fsspec, such as s3fs, gcsfs, adlfs, HDFS or memory."""

import contextlib
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from treewide._scale.found import Found
from treewide._scale.objects import TIME, Object, time_of
from treewide._scale.optional import load
from treewide._scale.reading import Reply
from treewide._scale.temporary import temporary_name

#: What file systems call the identity of an object, the best first.
_ETAGS = ("ETag", "etag", "e_tag", "md5Hash", "checksum")
_TIMES = ("mtime", "LastModified", "created")
_VERSIONS = ("VersionId", "generation", "version_id")


class Fsspec:
    """Reads objects by fsspec, which says nothing about a reply: so the object is looked at after each one."""

    streams = 4
    piece = 16 << 20

    def __init__(self, **options: Any) -> None:
        """Take the options of the file system."""
        self._options = options

    def head(self, uri: str) -> Object:
        """Return what the file system says about an object."""
        fs, path = self._fs(uri)
        fs.invalidate_cache(fs._parent(path))
        return Object(uri, *_facts(fs.info(path)))

    def get(self, object: Object, start: int, stop: int) -> Reply:
        """Read a range, and look whether it still is the same object. It was then, because it is afterwards."""
        fs, path = self._fs(object.uri)
        data = fs.cat_file(path, start=start, end=stop)
        now = self.head(object.uri)
        return Reply(data, start, now.size, now.etag, now.version)

    def put(self, uri: str, data: bytes, notes: Mapping[str, str]) -> None:
        """Write an object. Under another name first, as file systems show what is half written; there are no notes."""
        fs, path = self._fs(uri)
        temporary = f"{path}{temporary_name()}"
        if fs._parent(path):
            fs.makedirs(fs._parent(path), exist_ok=True)
        try:
            fs.pipe_file(temporary, data)
            fs.mv(temporary, path)
        except Exception:
            with contextlib.suppress(Exception):
                fs.rm_file(temporary)
            raise

    def pages(self, root: str, after: str, most: int | None = None) -> Iterator[list[Found]]:
        """Return the objects below `root` after a key. fsspec lists all of them at once, each time."""
        fs, path = self._fs(root)
        fs.invalidate_cache()
        start = len(path.rstrip("/")) + 1
        found = ((name[start:], *_facts(info)) for name, info in sorted(fs.find(path, detail=True).items()))
        yield [Found(*it, time_of(it[2])) for it in found if it[0] > after]

    def _fs(self, uri: str) -> tuple[Any, str]:
        fs, path = load("fsspec.core", "fsspec").url_to_fs(uri, **self._options)
        return fs, path


def _facts(info: dict[str, Any]) -> tuple[int, str | None, str | None]:
    etag = next((str(info[name]) for name in _ETAGS if info.get(name) is not None), None)
    if etag is None and (at := next((info[name] for name in _TIMES if info.get(name) is not None), None)):
        etag = TIME + _seconds(at)
    version = next((str(info[name]) for name in _VERSIONS if info.get(name) not in (None, "null")), None)
    return int(info["size"]), etag, version


def _seconds(at: Any) -> str:
    if isinstance(at, str):
        with contextlib.suppress(ValueError):
            at = datetime.fromisoformat(at)
    return str(at.timestamp() if isinstance(at, datetime) else at)
