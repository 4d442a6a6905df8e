"""Folders that lists are written to and read from: of this machine, of a store, or of fsspec.

A file appears when it is complete: stores do it so, and a local one is renamed into its place.
"""

from collections.abc import Iterator
from typing import Protocol

from treewide._scale.buckets.listing import listed
from treewide._scale.found import Lists
from treewide._scale.reading import Refused, Retries, Source, head, read
from treewide._scale.sources import STORES, WEB, Store, scheme_of, source_of
from treewide._scale.sources.files import Files
from treewide._scale.sources.fsspec import Fsspec
from treewide._scale.sources.obstore import Obstore
from treewide._scale.sources.web import Web
from treewide._scale.writing import write


class Folder(Protocol):
    """Somewhere that has files by name."""

    def put(self, name: str, data: bytes) -> None:
        """Write a file, all at once. Raises `OSError` that names it."""

    def get(self, name: str) -> bytes:
        """Return a file. Raises `FileNotFoundError` if there is none, `OSError` that names it."""

    def names(self, prefix: str) -> Iterator[str]:
        """Return the names of the files that begin with this."""


def join(folder: str, name: str) -> str:
    """Return the URL or path of a file in a folder."""
    return folder + ("" if not folder or folder.endswith("/") else "/") + name


def folder_of(url: str, source: Source) -> Folder:
    """Return the folder at a URL. Options of the source are its options too, if both are of one kind of store."""
    scheme = scheme_of(url)
    kind = Files if scheme == "file" else Web if scheme in WEB else Obstore if scheme in STORES else Fsspec
    return _Folder(url, source if isinstance(source, kind) else source_of(url))


class _Folder:
    def __init__(self, url: str, store: Store) -> None:
        self._url, self._store = url, store

    def put(self, name: str, data: bytes) -> None:
        write(self._store, join(self._url, name), data, {}, Retries())

    def get(self, name: str) -> bytes:
        retries = Retries()
        object = head(self._store, join(self._url, name), retries)
        return read(self._store, object, 0, object.size, retries) if object.size else b""

    def names(self, prefix: str) -> Iterator[str]:
        if not isinstance(self._store, Lists):
            raise Refused(f"{self._url}: a web server cannot list its files")
        for page in listed(self._store, join(self._url, ""), prefix, None, Retries()):
            for it in page:
                if not it.key.startswith(prefix):
                    return
                yield it.key
