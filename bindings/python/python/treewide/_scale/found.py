"""Objects as a store, an inventory or a folder lists them.

Keys are those below a *root*, a URL that ends in `/`. A store's LIST begins after any string, so no one needs to know
the keys to share them out.
"""

import json
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from treewide._scale.objects import TIME, Object


class Found(NamedTuple):
    """An object, as a listing has it. What the listing does not say is `None`."""

    #: Below the root.
    key: str
    size: int
    etag: str | None
    version: str | None
    #: When it was written, by the clock of the store, in seconds.
    modified: float | None

    def object(self, root: str) -> Object:
        """Return what can be read."""
        return Object(root + self.key, self.size, self.etag, self.version)


class Fact(NamedTuple):
    """An object as a list has it, and its digest. The size is -1 if the list says no more."""

    found: Found
    digest: bytes
    #: Whether the same time means the same content: it was written so long before it was read, or before others.
    is_settled: bool = True
    #: Where its outboard was written, if one was.
    outboard: str | None = None

    @property
    def key(self) -> str:
        """The key below the root; the URL in a list of named objects."""
        return self.found.key

    @property
    def is_known(self) -> bool:
        """Whether more than the digest is known."""
        return self.found.size >= 0


def text_of(fact: Fact) -> str:
    """Return a fact as a line of JSON."""
    place = {"outboard": fact.outboard} if fact.outboard is not None else {}
    settled = {} if fact.is_settled else {"settled": False}
    return json.dumps({**fact.found._asdict(), "digest": fact.digest.hex(), **settled, **place})


def fact_of(text: str) -> Fact:
    """Return what `text_of` made. Raises `ValueError`, `KeyError` or `TypeError` if it is something else."""
    it = json.loads(text)
    found = Found(it["key"], int(it["size"]), it["etag"], it["version"], it["modified"])
    return Fact(found, bytes.fromhex(it["digest"]), it.get("settled", True), it.get("outboard"))


def unknown(key: str, digest: bytes) -> Fact:
    """Return an object when the list says only its digest."""
    return Fact(Found(key, -1, None, None, None), digest)


def is_unchanged(fact: Fact, found: Found) -> bool:
    """Whether an object that was listed is the one that was hashed, as far as the store says."""
    was = fact.found
    if was.size != found.size:
        return False
    if was.version is not None and found.version is not None:
        return was.version == found.version
    is_same = was.etag is not None and was.etag == found.etag
    if was.etag is not None and found.etag is not None and not (is_same and was.etag.startswith(TIME)):
        return is_same
    return (is_same or (was.modified is not None and was.modified == found.modified)) and fact.is_settled


class Lists(Protocol):
    """A store, an inventory, or a folder."""

    def pages(self, root: str, after: str, most: int | None = None) -> Iterator[list[Found]]:
        """Return the objects below `root` whose keys come after `after`, in the order of their keys.

        A page has what one request brings. The caller looks at `most` of them at most.
        """
