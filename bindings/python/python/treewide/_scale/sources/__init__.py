"""Sources: where bytes come from. Each asks for one version of an object, and hands on what the store said."""

from typing import Any, TypeAlias

from treewide._scale.sources.files import Files, path_of
from treewide._scale.sources.fsspec import Fsspec
from treewide._scale.sources.obstore import Obstore
from treewide._scale.sources.web import Web

__all__ = ["STORES", "WEB", "Files", "Fsspec", "Obstore", "Store", "Web", "path_of", "scheme_of", "source_of", "url_of"]

Store: TypeAlias = Files | Fsspec | Obstore | Web
"""A source that can also be written to."""

#: What obstore reads.
STORES = frozenset({"s3", "s3a", "gs", "az", "abfs", "abfss"})
#: Schemes of web servers.
WEB = frozenset({"http", "https"})


def source_of(uri: str, **options: Any) -> Store:
    """Return the source for the scheme of `uri`. `options` are those of the store, such as `endpoint`."""
    scheme, separator, _ = url_of(uri).partition("://")
    if not separator or scheme == "file":
        return Files(**options)
    if scheme in WEB:
        return Web(**options)
    return Obstore(**options) if scheme in STORES else Fsspec(**options)


def url_of(uri: str) -> str:
    """Return a URL with its scheme in small letters, as sources name it."""
    scheme, separator, rest = uri.partition("://")
    return f"{scheme.lower()}://{rest}" if separator else uri


def scheme_of(url: str) -> str:
    """Return the scheme of a URL; `file` for a path."""
    scheme, separator, _ = url.partition("://")
    return scheme.lower() if separator else "file"
