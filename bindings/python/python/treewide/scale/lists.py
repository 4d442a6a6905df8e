"""Lists of digests, whose lines `b3sum --check` takes, and what was hashed beside them.

`LIST.objects` has a line of JSON for each object: its URL, length, ETag, version and digest. With it `update` reads
only what changed.
"""

import contextlib
import json
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from treewide.scale.objects import Object

__all__ = ["Entry", "ListError", "entry_of", "line_of", "read", "replace_file", "write"]


class ListError(ValueError):
    """A list that cannot be used."""


@dataclass(frozen=True)
class Entry:
    """An object and its digest."""

    uri: str
    digest: bytes
    #: What it was when it was hashed, if that is known.
    object: Object | None = None
    #: Where its outboard was written, if one was.
    outboard: str | None = None


def line_of(uri: str, digest: bytes) -> str:
    """Return a line as `b3sum` writes it, without the end of the line."""
    escaped = uri.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return f"{'' if escaped == uri else chr(92)}{digest.hex()}  {escaped}"


def entry_of(line: str) -> tuple[str, bytes]:
    """Return name and digest of a line. Raises `ValueError` if it is not one."""
    is_escaped = line.startswith("\\")
    digits, separator, name = line.removeprefix("\\").partition("  ")
    digest = bytes.fromhex(digits)
    if not separator or not name or len(digest) != 32 or digits != digest.hex():
        raise ValueError
    if is_escaped:
        parts = [part.replace("\\n", "\n").replace("\\r", "\r") for part in name.split("\\\\")]
        name = "\\".join(parts)
    return name, digest


def read(path: str | os.PathLike[str]) -> dict[str, Entry]:
    """Return the entries of a list by URL, in their order. An index that is missing or not its own is left out.

    Raises `ListError` that names the line which is not one; `OSError` if the list cannot be read.
    """
    entries: dict[str, Entry] = {}
    with open(path, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
        for number, line in enumerate(file, 1):
            try:
                uri, digest = entry_of(line.removesuffix("\n"))
            except ValueError:
                raise ListError(f"{path}: line {number} is not a digest, two spaces and a URL") from None
            if uri in entries:
                raise ListError(f"{path}: line {number} names {uri} a second time")
            entries[uri] = Entry(uri, digest)
    with contextlib.suppress(OSError), open(_index(path), encoding="ascii", errors="replace") as file:
        for line in file:
            with contextlib.suppress(ValueError, KeyError, TypeError):
                found = json.loads(line)
                object = Object(found["uri"], int(found["size"]), found["etag"], found["version"])
                entry = entries[object.uri]
                # It counts only for the digest that was found of it.
                if found["digest"] == entry.digest.hex():
                    entries[object.uri] = Entry(entry.uri, entry.digest, object, found.get("outboard"))
    return entries


def write(path: str | os.PathLike[str], entries: Iterable[Entry]) -> None:
    """Write a list and its index: each appears when it is complete. Raises `OSError` that names it."""
    entries = list(entries)
    objects = [it for it in entries if it.object is not None]
    # The index first: with the old list, none of its lines counts that has another digest.
    replace_file(_index(path), "".join(_json_of(it) + "\n" for it in objects).encode("ascii"))
    text = "".join(line_of(it.uri, it.digest) + "\n" for it in entries)
    replace_file(Path(path), text.encode("utf-8", "surrogateescape"))


def _json_of(entry: Entry) -> str:
    object = entry.object
    assert object is not None
    fields = {"uri": object.uri, "size": object.size, "etag": object.etag, "version": object.version}
    place = {"outboard": entry.outboard} if entry.outboard is not None else {}
    return json.dumps({**fields, "digest": entry.digest.hex(), **place})


def _index(path: str | os.PathLike[str]) -> Path:
    return Path(f"{os.fspath(path)}.objects")


def replace_file(path: Path, data: bytes) -> None:
    """Write a file that appears when it is complete. Raises `OSError` that names it."""
    handle, temporary = tempfile.mkstemp(prefix=".treewide-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        # As other programs make files; `mkstemp` makes them for the owner only.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
