"""An object in a store, and what says that it is still the same one."""

import contextlib
import json
import re
from typing import Literal, NamedTuple, TypeAlias

Evidence: TypeAlias = Literal["read", "attested", "metadata"]
"""Why something is called the same. `read`: its bytes were hashed in this run. `attested`: the store says so by version
or ETag. `metadata`: size and times say so."""

#: Why an object is not read, if no reply could show that it is still the same.
UNPINNED = (
    "the store says neither ETag nor version, so that a change would not be noticed; read it with --unpinned if no "
    "program writes to it"
)
#: What an ETag begins with that is only a time in seconds, as some file systems say nothing better.
TIME = "time "
#: Seconds in which two contents may have the same time. Stores count in steps of one, and FAT in steps of two.
SLACK = 2.0
#: The ETag of a local file: inode, size, time of the content and time of the inode.
_OF_FILE = re.compile(r"[0-9a-f]+-([0-9a-f]+-[0-9a-f]+)-[0-9a-f]+")


class Object(NamedTuple):
    """An object in a store, as a listing or a source's `head` found it."""

    uri: str
    size: int
    #: The ETag with its quotes. Its meaning does not matter, only that another content has another one.
    etag: str | None = None
    version: str | None = None

    @property
    def is_pinned(self) -> bool:
        """Whether a reply can show that it is of this object, and not of one that replaced it."""
        return self.etag is not None or self.version is not None

    @property
    def strong(self) -> str | None:
        """The ETag that a server compares. A weak one never matches there; the reply has it."""
        return None if self.etag is None or self.etag.startswith("W/") else self.etag

    @property
    def identity(self) -> bytes:
        """The name that parts carry, so that parts of another version are refused."""
        # ASCII, so that names which are not UTF-8 work too.
        return json.dumps(self).encode()


class Read(NamedTuple):
    """The outcome of reading an object."""

    #: The object whose bytes were read: a newer one, if it was replaced after it was listed.
    object: Object
    digest: bytes | None
    #: Why there is no digest: `changing` or `unreadable`.
    verdict: str = ""
    detail: str = ""


def is_settled(object: Object, began: float) -> bool:
    """Whether a later change will have another identity: not, if its time is too near to `began`.

    `began` is when this run did, in seconds since 1970. A time that lies in the future, because clocks differ, settles
    nothing; clocks of stores that are slow by more than two seconds deceive.
    """
    if object.version is not None or object.etag is None or not object.etag.startswith(TIME):
        return True
    return (time_of(object.etag) or began) < began - SLACK


def time_of(etag: str | None) -> float | None:
    """Return the time in an ETag that is only a time; of others, nothing."""
    with contextlib.suppress(ValueError):
        if etag is not None and etag.startswith(TIME):
            return float(etag.removeprefix(TIME))
    return None


def evidence_of(etag: str | None, version: str | None) -> Evidence:
    """Return what an identity proves that is as recorded."""
    is_weak = etag is None or etag.startswith(TIME) or _OF_FILE.fullmatch(etag) is not None
    return "metadata" if version is None and is_weak else "attested"


def is_suspect(old: str | None, new: str | None) -> bool:
    """Whether a file has another ETag, and yet the size and the time of the content are the same."""
    one, other = (_OF_FILE.fullmatch(it or "") for it in (old, new))
    return one is not None and other is not None and old != new and one[1] == other[1]
