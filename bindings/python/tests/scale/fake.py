"""A source that has objects in memory, and a fault for each request if a test wants one."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from treewide._scale.bytes_cover import BytesCover
from treewide._scale.objects import Object
from treewide._scale.part import hash_pieces
from treewide._scale.reading import Changed, Reply
from treewide._scale.results import seal, unseal


def pattern(length: int) -> bytes:
    """The bytes 0, 1, .., 250, 0, .."""
    return (bytes(range(251)) * (length // 251 + 1))[:length]


def result_of(pieces, host="here"):
    """Return the result that a cover of bytes takes."""
    return unseal(seal({"pieces": pieces, "host": host, "is_second": False, "began": time.time()}))


def hash_objects(objects, source, *, workers=2, keeper=None):
    """Hash objects of any source by threads, as `hash_all` does it for stores."""
    cover = BytesCover(objects, outboards=keeper)
    with ThreadPoolExecutor(workers) as pool:
        while tasks := cover.missing(workers):
            for pieces in pool.map(lambda it: hash_pieces(it["pieces"], source, 20.0), tasks):
                cover.take(result_of(pieces))
    return cover.found


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
