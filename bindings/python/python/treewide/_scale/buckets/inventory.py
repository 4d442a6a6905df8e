"""Inventories: lists of a bucket's objects in Parquet, as S3 Inventory and others write them.

A row group says which keys it has, from the first to the last. So a key range reads only its own row groups.
"""

import io
import json
from collections.abc import Iterator
from copy import copy
from functools import lru_cache
from typing import Any, NamedTuple

from treewide._scale.found import Found, Lists
from treewide._scale.optional import load
from treewide._scale.reading import Refused, Retries, Source, head, read
from treewide._scale.sources import Store, near

_COLUMNS = ("bucket", "key", "size", "e_tag", "version_id", "is_latest", "is_delete_marker", "last_modified_date")


class _Group(NamedTuple):
    first: str
    last: str
    file: str
    number: int


class Inventory:
    """The objects of a bucket by an inventory: a `.parquet` file, or the `manifest.json` of S3 Inventory."""

    def __init__(self, url: str, source: Source) -> None:
        """Look at the row groups. Raises `Refused` if keys are not in order."""
        self.url, self._source = url, source
        self._files: dict[str, Any] = {}
        self._groups = sorted(group for file in self._names() for group in self._groups_of(file))
        columns = [set(file.schema_arrow.names) for _, file in self._files.values()]
        #: Whether each row says which version of an object it is about.
        self.has_identity = all(it & {"e_tag", "version_id"} for it in columns)
        for one, other in zip(self._groups, self._groups[1:], strict=False):
            if other.first < one.last:
                raise self._unsorted(
                    f"{one.file} has keys up to {one.last!r}, and {other.file} from {other.first!r} on"
                )

    def pages(self, root: str, after: str, most: int | None = None) -> Iterator[list[Found]]:
        """Return the objects below `root` after a key, a page for each row group."""
        bucket, _, prefix = root.partition("://")[2].partition("/") if "://" in root else ("", "", "")
        last = prefix + after
        for group in self._groups:
            if group.last < prefix + after:
                continue
            if group.first > prefix and not group.first.startswith(prefix):
                return
            page = []
            for key, found in self._rows(group, bucket):
                if key < last and key > prefix + after:
                    raise self._unsorted(f"in {group.file}, {key!r} comes after {last!r}")
                last = max(last, key)
                if key.startswith(prefix) and key > prefix + after:
                    page.append(found._replace(key=key[len(prefix) :]))
            yield page

    def places(self, root: str, after: str, until: str | None, count: int) -> list[str]:
        """Return up to `count` keys that cut a range: where row groups begin."""
        prefix = root.partition("://")[2].partition("/")[2] if "://" in root else ""
        firsts = [it.first[len(prefix) :] for it in self._groups if it.first.startswith(prefix)]
        known = [it for it in firsts if it > after and (until is None or it < until)]
        return known[:: max(1, -(-len(known) // (count + 1)))][:count]

    def _names(self) -> list[str]:
        if not self.url.endswith(".json"):
            return [self.url]
        try:
            manifest = json.loads(_Ranged(self._source, self.url).read())
            files = [it["key"] for it in manifest["files"]]
        except (ValueError, KeyError, TypeError):
            raise Refused(f"{self.url}: this is not a manifest.json of S3 Inventory, which names files") from None
        if str(manifest.get("fileFormat", "Parquet")).lower() != "parquet":
            raise Refused(f"{self.url}: its files are {manifest['fileFormat']}, and Parquet is wanted")
        # Keys are those of the bucket that has the inventory, which is where its manifest lies.
        scheme, _, rest = self.url.partition("://")
        base = f"{scheme}://{rest.partition('/')[0]}/" if rest else self.url.rpartition("/")[0] + "/"
        return [base + it for it in files]

    def _groups_of(self, name: str) -> Iterator[_Group]:
        ranged = _Ranged(self._source, name)
        try:
            file = load("pyarrow.parquet", "pyarrow", extra="inventory").ParquetFile(ranged)
        except ValueError as error:
            # What Arrow raises for such a file is one.
            raise Refused(f"{name}: this is not a file of Parquet, as inventories are: {error}") from error
        self._files[name] = ranged, file
        names = file.schema_arrow.names
        if "key" not in names or "size" not in names:
            raise Refused(f"{name}: an inventory has the columns key and size, and this has {', '.join(names)}")
        column = file.schema.names.index("key")
        for number in range(file.num_row_groups):
            group = file.metadata.row_group(number)
            statistics = group.column(column).statistics
            if not group.num_rows:
                continue
            if statistics is None or not statistics.has_min_max:
                raise self._unsorted(f"{name} does not say which keys its row groups have")
            yield _Group(_key(statistics.min), _key(statistics.max), name, number)

    def _rows(self, group: _Group, bucket: str) -> Iterator[tuple[str, Found]]:
        ranged, file = self._files[group.file]
        names = [it for it in _COLUMNS if it in file.schema_arrow.names]
        # Threads share what is known of a file, and each has its own place in it.
        own = type(file)(copy(ranged), metadata=file.metadata)
        table = own.read_row_group(group.number, columns=names).to_pydict()
        count = len(table["key"])
        columns = [table.get(name, [None] * count) for name in _COLUMNS]
        for there, key, size, etag, version, latest, marker, modified in zip(*columns, strict=True):
            if latest is False or marker is True or (bucket and there not in (None, bucket)):
                continue
            # S3 Inventory leaves the quotes out.
            tag = etag if not etag or etag.startswith(('"', "W/")) else f'"{etag}"'
            number = None if version in (None, "", "null") else version
            written = modified.timestamp() if modified is not None else None
            yield _key(key), Found(_key(key), int(size or 0), tag or None, number, written)

    def _unsorted(self, why: str) -> Refused:
        files = f"'{self.url}'" if not self.url.endswith(".json") else str(self._names())
        return Refused(
            f"{self.url}: the inventory is not sorted by key: {why}. Sort it with DuckDB, and name the new file: "
            f"duckdb -c \"COPY (FROM read_parquet({files}) ORDER BY key) TO 'sorted.parquet' (FORMAT parquet)\""
        )


class _Ranged(io.RawIOBase):
    """An object as a file that can be read anywhere."""

    def __init__(self, source: Source, uri: str) -> None:
        self._source, self._object, self._at = source, head(source, uri, Retries()), 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._object.size}[whence]
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        stop = self._object.size if size is None or size < 0 else min(self._at + size, self._object.size)
        if stop <= self._at:
            return b""
        data = bytes(read(self._source, self._object, self._at, stop, Retries()))
        self._at = stop
        return data


def _key(key: Any) -> str:
    return key.decode("utf-8", "surrogateescape") if isinstance(key, bytes) else str(key)


def listing_of(source: Store, inventory: str | None) -> Lists:
    """Return what lists the objects of a run: the store itself, or an inventory."""
    return source if inventory is None else _remembered(inventory, source)


@lru_cache(4)
def _remembered(url: str, source: Store) -> Inventory:
    return Inventory(url, near(url, source))
