"""Sources: where bytes come from. Each asks for one version of an object, and hands on what the store said."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from treewide._scale.reading import REFUSALS, Refused, Retries, Source, cause_of, repeated
from treewide._scale.sources.files import Files, path_of as path_of
from treewide._scale.sources.fsspec import Fsspec
from treewide._scale.sources.obstore import Obstore
from treewide._scale.sources.web import Web

Store: TypeAlias = Files | Fsspec | Obstore | Web
"""A source that can also be written to."""

#: What obstore reads.
STORES = frozenset({"s3", "s3a", "gs", "az", "abfs", "abfss"})


def source_of(uri: str, **options: Any) -> Store:
    """Return the source for the scheme of `uri`. `options` are those of the store, such as `endpoint`."""
    scheme, separator, _ = url_of(uri).partition("://")
    if not separator or scheme == "file":
        return Files(**options)
    if scheme in ("http", "https"):
        return Web(**options)
    return Obstore(**options) if scheme in STORES else Fsspec(**options)


def near(uri: str, source: Source) -> Store:
    """Return the store of `uri`: the one of `source`, if both are of one kind, or one with options that it left."""
    own = source_of(uri, **getattr(source, "options", {}))
    return source if isinstance(source, type(own)) else own


def write(store: Store, uri: str, data: bytes, notes: Mapping[str, str]) -> None:
    """Write an object, and again if that fails. Raises `OSError` that names it."""
    try:
        repeated(
            lambda: store.put(uri, data, notes),
            Retries(),
            lambda times, why: f"{uri}: it cannot be written, tried {times}: {why}",
        )
    except (FileNotFoundError, *REFUSALS) as error:
        raise Refused(f"{uri}: it cannot be written: {cause_of(error.__cause__ or error)}") from error


def url_of(uri: str) -> str:
    """Return a URL with its scheme in small letters, as sources name it."""
    scheme, separator, rest = uri.partition("://")
    return f"{scheme.lower()}://{rest}" if separator else uri


def scheme_of(url: str) -> str:
    """Return the scheme of a URL; `file` for a path."""
    scheme, separator, _ = url.partition("://")
    return scheme.lower() if separator else "file"
