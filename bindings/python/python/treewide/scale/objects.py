"""An object in a store, and what says that it is still the same one."""

import json
from dataclasses import dataclass

__all__ = ["TIME", "Object", "settled"]

#: What an ETag begins with that is only a time in seconds, as some file systems say nothing better.
TIME = "time "
#: Seconds in which two contents may have the same time. FAT counts in steps of two.
_SLACK = 2.0


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


def settled(object: Object, began: float) -> Object | None:
    """Return the object if a later change will have another identity; `None` if its time is too near to `began`.

    `began` is when this run did, in seconds since 1970. A time that lies in the future, because clocks differ, settles
    nothing; clocks of stores that are slow by more than two seconds deceive.
    """
    if object.version is not None or object.etag is None or not object.etag.startswith(TIME):
        return object
    try:
        return object if float(object.etag.removeprefix(TIME)) < began - _SLACK else None
    except ValueError:
        return None
