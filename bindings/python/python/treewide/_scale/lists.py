"""Lists of digests, whose lines `b3sum --check` takes, and next to them what was hashed.

`LIST.objects` has a line of JSON for each object: its URL, length, ETag, version and digest. With it `update` reads
only what changed.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from treewide._scale.found import Fact, fact_of, text_of, unknown
from treewide._treewide import _list_entries, _replace_file, digest

#: Why a list is not written that is no longer the one that was compared with.
REPLACED = "another run wrote it since this one began: run again"


class ListError(ValueError):
    """A list that cannot be used."""


def line_of(uri: str, digest: bytes) -> str:
    """Return a line as `b3sum` writes it, without the end of the line."""
    escaped = uri.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return f"{'' if escaped == uri else chr(92)}{digest.hex()}  {escaped}"


class Entries(dict[str, Fact]):
    """The entries of a list by URL, in their order."""

    #: The digest of the list; without one, that of nothing.
    digest: bytes = digest(b"")
    #: What is wrong with the index. It may be missing: lists of `b3sum` have none.
    damage: str | None = None


def read(path: str | os.PathLike[str]) -> Entries:
    """Return the entries of a list.

    Raises `ListError` that names the line which is not one; `OSError` if the list cannot be read.
    """
    entries = Entries()
    data = Path(path).read_bytes()
    entries.digest = digest(data)
    try:
        lines = _list_entries(data)
    except ValueError as error:
        raise ListError(f"{path}: {error}") from None
    for number, (uri, value) in enumerate(lines, 1):
        if uri in entries:
            raise ListError(f"{path}: line {number} names {uri} a second time")
        entries[uri] = unknown(uri, value)
    try:
        index = index_path(path).read_bytes()
    except FileNotFoundError:
        return entries
    except OSError as error:
        entries.damage = f"{index_path(path)}: cannot be read: {error.strerror}"
        return entries
    for number, line in enumerate(index.decode("ascii", "replace").splitlines(keepends=True), 1):
        try:
            if not line.endswith("\n"):
                raise ValueError
            fact = fact_of(line)
        except (ValueError, KeyError, TypeError):
            entries.damage = f"{index_path(path)}: line {number} is damaged"
            continue
        # It counts only for the digest that was found of it.
        if fact.key in entries and entries[fact.key].digest == fact.digest:
            entries[fact.key] = fact
    return entries


def write(path: str | os.PathLike[str], entries: Iterable[Fact]) -> None:
    """Write a list and its index: each appears when it is complete. Raises `OSError` that names it."""
    entries = list(entries)
    objects = [it for it in entries if it.is_known]
    # The index first: with the old list, none of its lines counts that has another digest.
    _replace_file(index_path(path), "".join(text_of(it) + "\n" for it in objects).encode("ascii"))
    text = "".join(line_of(it.key, it.digest) + "\n" for it in entries)
    _replace_file(Path(path), text.encode("utf-8", "surrogateescape"))


def index_path(path: str | os.PathLike[str]) -> Path:
    """Return the place of the index of a list."""
    return Path(f"{os.fspath(path)}.objects")
