"""Sources: where bytes come from. Each asks for one version of an object, and hands on what the store said."""

from typing import Any, TypeAlias

from treewide.scale.sources.files import Files, path_of
from treewide.scale.sources.fsspec import Fsspec
from treewide.scale.sources.obstore import Obstore

__all__ = ["STORES", "Files", "Fsspec", "Obstore", "Store", "path_of", "source_of"]

Store: TypeAlias = Files | Fsspec | Obstore
"""A source that can be written to, too."""

#: What obstore reads.
STORES = frozenset({"s3", "s3a", "gs", "az", "abfs", "abfss", "http", "https"})


def source_of(uri: str, **options: Any) -> Store:
    """Return the source for the scheme of `uri`. `options` are those of the store, such as `endpoint`."""
    scheme, separator, _ = uri.partition("://")
    if not separator or scheme == "file":
        return Files(**options)
    return Obstore(**options) if scheme in STORES else Fsspec(**options)
