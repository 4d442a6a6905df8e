"""Objects as a store, an inventory or a folder lists them.

Keys are those below a *root*, a URL that ends in `/`. A store's LIST begins after any string, so no one needs to know
the keys to share them out.
"""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from treewide._scale.objects import Object


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


class Lists(Protocol):
    """A store, an inventory, or a folder."""

    def pages(self, root: str, after: str, most: int | None = None) -> Iterator[list[Found]]:
        """Return the objects below `root` whose keys come after `after`, in the order of their keys.

        A page has what one request brings. The caller looks at `most` of them at most.
        """
