"""Folders that lists are written to and read from: of this machine, of a store, or of fsspec.

A file appears when it is complete: stores do it so, and a local one is renamed into its place.
"""

from collections.abc import Iterator
from itertools import chain, takewhile
from posixpath import join

from treewide._scale.buckets.listing import listed
from treewide._scale.reading import Retries, Source, head, read
from treewide._scale.sources import near, write


class Folder:
    """Somewhere that has files by name."""

    def __init__(self, url: str, source: Source) -> None:
        """Take the folder at a URL, as `near` the source."""
        self._url, self._store = url, near(url, source)

    def put(self, name: str, data: bytes) -> None:
        """Write a file, all at once. Raises `OSError` that names it."""
        write(self._store, join(self._url, name), data, {})

    def get(self, name: str) -> bytes:
        """Return a file. Raises `FileNotFoundError` if there is none, `OSError` that names it."""
        retries = Retries()
        object = head(self._store, join(self._url, name), retries)
        return bytes(read(self._store, object, 0, object.size, retries)) if object.size else b""

    def names(self, prefix: str) -> Iterator[str]:
        """Return the names of the files that begin with this."""
        found = chain.from_iterable(listed(self._store, join(self._url, ""), prefix, None, Retries()))
        return takewhile(lambda key: key.startswith(prefix), (it.key for it in found))
