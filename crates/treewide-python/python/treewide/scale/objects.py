"""An object in a store, and what says that it is still the same one."""

import json
from dataclasses import dataclass

__all__ = ["Object"]


@dataclass(frozen=True)
class Object:
    """An object in a store, as a listing or a source's `head` found it."""

    uri: str
    size: int
    #: The ETag with its quotes. Its meaning does not matter, only that another content has another one.
    etag: str | None = None
    version: str | None = None

    @property
    def is_pinned(self) -> bool:
        """Whether a reply can show that it is of this object, and not of what replaced it."""
        return self.etag is not None or self.version is not None

    @property
    def identity(self) -> bytes:
        """What parts carry with them, so that parts of another version are refused."""
        # ASCII, so that names which are not UTF-8 work too.
        return json.dumps([self.uri, self.size, self.etag, self.version]).encode()
