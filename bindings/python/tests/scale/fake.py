"""A source that has objects in memory, and a fault for each request if a test wants one."""

from collections.abc import Callable

from treewide._scale.merge import Merge
from treewide._scale.objects import Object
from treewide._scale.plan import Plan
from treewide._scale.reading import Changed, Reply


def pattern(length: int) -> bytes:
    """The bytes 0, 1, .., 250, 0, .."""
    return (bytes(range(251)) * (length // 251 + 1))[:length]


def plan(objects, *, workers=1, lease="auto"):
    """All tasks at once."""
    dealer = Plan(objects, lease=lease)
    while (task := dealer.lease(workers)) is not None:
        yield task


def merge(objects, results):
    """Bring results together; raises what is left open."""
    merging = Merge(objects)
    for it in results:
        merging.take(it)
    for dispute in merging.disputes():
        raise dispute
    for object in merging.awaited:
        raise ValueError(f"{object.uri}: {merging.missing(object)} is missing")
    return merging.outcomes


class Memory:
    """Objects by URI. `fault` gets the number of a request and the reply, and returns another, or raises."""

    streams = 3
    piece = 4096

    def __init__(self, objects: dict[str, bytes], fault: Callable[[int, Reply], Reply] | None = None) -> None:
        self.objects, self.fault, self.requests = objects, fault, 0
        #: The ranges that were asked for.
        self.asked: list[tuple[str, int, int]] = []

    def head(self, uri: str) -> Object:
        if uri not in self.objects:
            raise FileNotFoundError(uri)
        return Object(uri, len(self.objects[uri]), f'"{hash(self.objects[uri])}"')

    def get(self, object: Object, start: int, stop: int) -> Reply:
        self.requests += 1
        self.asked.append((object.uri, start, stop))
        number = self.requests
        try:
            now = self.head(object.uri)
        except FileNotFoundError as error:
            raise Changed("it is gone") from error
        reply = Reply(self.objects[object.uri][start:stop], start, now.size, now.etag, None)
        return self.fault(number, reply) if self.fault else reply

    def put(self, uri: str, data: bytes, notes) -> None:
        self.objects[uri] = data
