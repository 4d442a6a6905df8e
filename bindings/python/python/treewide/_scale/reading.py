"""Bytes of an object, exactly those, and of no other version of it.

Servers ignore preconditions, cut bodies short, and answer with other ranges. So each reply is checked, whatever was
asked for: identity, length of the object, place and length of the range.
"""

import random
import re
import threading
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import NamedTuple, Protocol, TypeVar

from treewide._arguments import Buffer
from treewide._scale.objects import UNPINNED, Object
from treewide._treewide import Parts

_T = TypeVar("_T")

#: Failures of one request; half the first wait after one, which then doubles, and the longest, in seconds.
_EACH, _FIRST, _LONGEST = 6, 0.1, 10.0

_BODY = re.compile(r"<Code>([^<]+)</Code>\s*<Message>([^<]*)</Message>")
_MESSAGE = re.compile(r'\bmessage: "([^"]+)"')


class Changed(Exception):
    """The object was replaced or removed since the run was planned."""


class Refused(OSError):
    """Asking again does not help."""


#: Nor does it where a system says no.
REFUSALS = (Refused, PermissionError, NotADirectoryError, IsADirectoryError, FileExistsError)


class Reply(NamedTuple):
    """The answer of a store. Facts that it did not give are `None`."""

    data: Buffer
    #: Where the data stand in the object.
    start: int
    #: The bytes of the whole object.
    total: int | None
    etag: str | None
    version: str | None


class Source(Protocol):
    """Reads objects. Each process has its own."""

    #: Requests of one worker at the same time.
    streams: int
    #: Bytes of a request, a power of two.
    piece: int

    def head(self, uri: str) -> Object:
        """Return what the store says about an object. Raises `OSError` that names it."""

    def get(self, object: Object, start: int, stop: int) -> Reply:
        """Ask for a range, of this version only. Raises `Changed`, `Refused`, or anything else to be asked again."""


class Retries:
    """How often one lease may ask again. Threads share it."""

    def __init__(self, budget: int = 16) -> None:
        """Allow `budget` failures."""
        self._left = budget
        self._lock = threading.Lock()

    def wait(self, failures: int) -> bool:
        """Wait before asking again. Returns whether there is any of the budget left."""
        with self._lock:
            self._left -= 1
            if self._left < 0 or failures >= _EACH:
                return False
        # All of the time is random, so that workers which failed together do not ask together.
        time.sleep(random.random() * min(_LONGEST, _FIRST * 2**failures))
        return True


def hash_range(
    source: Source, parts: Parts, object: Object, start: int, stop: int, retries: Retries, group: int | None = None
) -> None:
    """Hash exactly the bytes from `start` up to `stop`, of exactly this object; with `group`, each group by itself.

    A source that has a method `hash` reads and hashes in one, and says the same as `get`, with no data.

    Raises `Changed` if it is not that object any more; `OSError` if it cannot be read, with the cause.
    """
    groups = cut(start, stop, group) if group else [(start, stop)]
    own = getattr(source, "hash", None)
    if own is not None:
        for low, high in groups:
            ask = partial(own, parts, object, low, high)
            _asked(lambda ask=ask: _identified(object, ask()), object, low, high, retries)  # type: ignore[misc]
        return
    data = read(source, object, start, stop, retries)
    for low, high in groups:
        parts.hash(data[low - start : high - start], low)


def read(source: Source, object: Object, start: int, stop: int, retries: Retries) -> memoryview:
    """Return exactly these bytes, of exactly this object. Raises what `hash_range` raises."""
    return _asked(lambda: _checked(object, start, stop, source.get(object, start, stop)), object, start, stop, retries)


def cut(start: int, stop: int, length: int) -> list[tuple[int, int]]:
    """Cut a range at the multiples of `length`; there is nothing of an empty one."""
    cuts = [start, *range((start // length + 1) * length, stop, length), stop]
    return list(pairwise(cuts)) if start < stop else []


def head(source: Source, uri: str, retries: Retries) -> Object:
    """Return what the store says about an object. Raises `OSError` that names it."""
    return repeated(
        lambda: source.head(uri), retries, lambda times, why: f"{uri}: cannot be looked at, tried {times}: {why}"
    )


def repeated(ask: Callable[[], _T], retries: Retries, failed: Callable[[str, str], str]) -> _T:
    """Return an answer. This is the only place that asks a store again.

    What a later request would not change is raised at once. Otherwise this raises `OSError` with the text that `failed`
    makes of how often it was tried, and why it failed.
    """
    failures = 0
    while True:
        try:
            return ask()
        except (Changed, FileNotFoundError, ModuleNotFoundError, *REFUSALS):
            raise
        except Exception as error:
            failures += 1
            if not retries.wait(failures):
                times = "once" if failures == 1 else f"{failures} times"
                raise OSError(failed(times, cause_of(error))) from error


def cause_of(error: BaseException) -> str:
    """Return what is wrong, on one line: what a store says in a body of XML, or the innermost cause."""
    text = str(error).strip()
    if body := _BODY.search(text):
        return f"{body[1]}: {body[2]}"
    first = text.partition("\n")[0] or type(error).__name__
    # The libraries in Rust describe causes inside of each other.
    causes = _MESSAGE.findall(text)
    return f"{first}: {causes[-1]}" if causes and causes[-1] not in first else first


def _asked(ask: Callable[[], _T], object: Object, start: int, stop: int, retries: Retries) -> _T:
    name = f"{object.uri}: bytes {start}..{stop}"

    def asked() -> _T:
        try:
            return ask()
        except FileNotFoundError as error:
            raise Changed("it is gone") from error

    return repeated(asked, retries, lambda times, why: f"{name} cannot be read, tried {times}: {why}")


def _identified(object: Object, reply: Reply) -> Reply:
    if reply.total is not None and reply.total != object.size:
        raise Changed(f"it has {reply.total} bytes, and had {object.size}")
    pairs = (("version", object.version, reply.version), ("ETag", object.etag, reply.etag))
    known = [it for it in pairs if it[1] is not None and it[2] is not None]
    for name, wanted, got in known:
        if wanted != got:
            raise Changed(f"it has {name} {got}, and had {wanted}")
    if object.is_pinned and not known:
        raise Refused(f"{object.uri}: {UNPINNED}")
    return reply


def _checked(object: Object, start: int, stop: int, reply: Reply) -> memoryview:
    data = memoryview(_identified(object, reply).data).cast("B")
    if reply.start != start:
        raise OSError(f"the store answered with bytes from {reply.start} on, instead of {start}")
    if len(data) != stop - start:
        raise OSError(f"the store answered with {len(data)} bytes instead of {stop - start}")
    return data
