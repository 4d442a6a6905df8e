"""Results come together: in any order, twice, late, or wrong.

Values that come twice are compared. If two hosts disagree, the range is forgotten and a third host asked. The value
that two of them have counts, and the odd host is named.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from treewide._scale.objects import Object
from treewide._scale.tasks import Result, Task
from treewide._treewide import Clash, Parts

__all__ = ["Disagreement", "Merge", "Outcome", "without"]

#: If that many hosts have different values, the bytes are different for each of them.
_MOST_OPINIONS = 5
#: So often a host is asked that is not one of those which disagree. Then any may decide: there may be no other.
_STRANGERS = 3


@dataclass(frozen=True)
class Outcome:
    """The outcome of an object."""

    object: Object
    #: `hashed`: `digest` is its digest. `changed`: it was replaced or removed. `unreadable`: `detail` has the cause.
    status: Literal["hashed", "changed", "unreadable"]
    digest: bytes | None = None
    detail: str = ""


class Disagreement(Clash):
    """Hosts have different values for the same bytes. One of them, or what it read, is broken."""

    def __init__(
        self, object: Object, start: int, stop: int, hosts: tuple[str, ...], odd: tuple[str, ...] = ()
    ) -> None:
        """Name the range, the hosts, and which of them are `odd`, if others decided."""
        self.object, self.start, self.stop, self.hosts, self.odd = object, start, stop, hosts, odd
        self.here = self.there = (start, stop)
        text = f"{object.uri}: bytes {start}..{stop} have two values, by {' and '.join(hosts)}"
        if odd:
            text += f"; others say that {' or '.join(odd)} is wrong: check its memory and what it reads"
        super().__init__(text)


@dataclass
class _Opinion:
    hosts: tuple[str, ...]
    parts: Parts


@dataclass
class _Dispute:
    start: int
    stop: int
    opinions: list[_Opinion]

    #: How often a host answered that is one of those which disagree.
    asked: int = 0

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(host for it in self.opinions for host in it.hosts))

    def task(self, object: Object) -> Task:
        # Never empty: that says what kind of task it is.
        return Task(object, self.start, self.stop, avoid=self.hosts or ("",))


@dataclass
class _Open:
    """An object whose digest is not known yet."""

    object: Object
    parts: Parts
    #: Bytes that are not hashed.
    missing: int
    #: Who hashed which range.
    ledger: list[tuple[int, int, str]] = field(default_factory=list)
    disputes: list[_Dispute] = field(default_factory=list)

    def hosts_of(self, start: int, stop: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return who hashed all of a range, and who hashed parts of it."""
        whole: dict[str, None] = {}
        below: dict[str, None] = {}
        for left, right, host in self.ledger:
            if left < stop and start < right:
                (whole if left <= start and stop <= right else below)[host] = None
        return tuple(whole), tuple(below)


class Merge:
    """Brings results together."""

    def __init__(self, objects: Iterable[Object]) -> None:
        """Await results of `objects`."""
        self.outcomes: dict[Object, Outcome] = {}
        #: What hosts disagreed about, in the order in which it was decided.
        self.disagreements: list[Disagreement] = []
        #: Ranges that another host should hash.
        self.thirds: list[Task] = []
        #: Bytes that are hashed, and bytes of awaited objects that are not.
        self.done, self.left = 0, 0
        #: Called with each result that counts, and with each range that is forgotten.
        self.record: Callable[[Result | Task], object] = lambda entry: None
        #: The largest part of an object that counts, if an outboard is to be made of its parts.
        self.group: Callable[[Object], int | None] = lambda object: None
        #: Called with each object that is hashed, its digest and its parts.
        self.hashed: Callable[[Object, bytes, Parts], object] = lambda object, digest, parts: None
        self._open: dict[Object, _Open] = {}
        for it in objects:
            self._open[it] = _Open(it, Parts(it.size, object=it.identity), it.size)
            self.left += it.size

    @property
    def is_done(self) -> bool:
        """Whether it is known what became of each object."""
        return not self._open

    @property
    def awaited(self) -> list[Object]:
        """The objects whose results are awaited."""
        return list(self._open)

    def is_open(self, object: Object) -> bool:
        """Whether results of this object are awaited."""
        return object in self._open

    def missing(self, object: Object, start: int = 0, stop: int | None = None) -> list[tuple[int, int]]:
        """Return the ranges between `start` and `stop` that no worker has hashed, and about which no two disagree."""
        state = self._open[object]
        stop = object.size if stop is None else stop
        gaps = [(max(left, start), min(right, stop)) for left, right in state.parts.missing()]
        return without([it for it in gaps if it[0] < it[1]], self.disputed(object))

    def disputed(self, object: Object) -> list[tuple[int, int]]:
        """Return the ranges about which hosts disagree, in order."""
        return sorted((it.start, it.stop) for it in self._open[object].disputes)

    def disputes(self) -> list[Disagreement]:
        """Return what is not decided."""
        return [
            Disagreement(state.object, it.start, it.stop, it.hosts)
            for state in self._open.values()
            for it in state.disputes
        ]

    def settle(self, object: Object, status: Literal["changed", "unreadable"], detail: str) -> None:
        """Give an object up: nothing of it counts."""
        state = self._open.pop(object, None)
        if state is not None:
            self.done -= object.size - state.missing
            self.left -= state.missing
            self.thirds = [it for it in self.thirds if it.object != object]
            self.outcomes[object] = Outcome(object, status, None, detail)

    def take(self, result: Result) -> list[tuple[int, int]]:
        """Add what a worker found, and return the ranges that count, in order.

        Late results, and results of objects that are not awaited, do nothing. Raises `ValueError` if the parts are
        damaged, or of another object than the task says.
        """
        object = result.task.object
        state = self._open.get(object)
        if state is None:
            return []
        if result.status == "changed":
            self.settle(object, "changed", result.detail)
            return []
        parts = Parts.from_bytes(result.parts)
        if parts.object != object.identity or parts.total != object.size:
            raise ValueError(f"{object.uri}: {result.host} answered with parts of another object")
        if (group := self.group(object)) is not None:
            for start, stop, _ in parts.parts():
                if stop - start > group:
                    text = f"{start}..{stop} is one part, and an outboard needs one for each {group} bytes"
                    raise ValueError(f"{object.uri}: {result.host} did not hash for an outboard: {text}")
        ranges = (self._third if result.task.avoid else self._add)(state, result, parts)
        # An empty object is hashed when a worker looked at it.
        is_seen = object.size > 0 or result.status == "ok"
        if object in self._open and state.missing == 0 and not state.disputes and is_seen:
            del self._open[object]
            digest = state.parts.finish()
            self.outcomes[object] = Outcome(object, "hashed", digest)
            self.hashed(object, digest, state.parts)
        return ranges

    def ask_again(self, object: Object) -> None:
        """Ask another host again about each range about which hosts disagree."""
        self.thirds += [it.task(object) for it in self._open[object].disputes]

    def doubt(self, task: Task) -> None:
        """Ask another host about a range, as the journal of an earlier run says that hosts disagreed about it."""
        state = self._open.get(task.object)
        if state is not None:
            self._dispute(state, task.start, task.stop, [])

    def _add(self, state: _Open, result: Result, parts: Parts) -> list[tuple[int, int]]:
        # What is disputed waits for the third.
        for dispute in state.disputes:
            parts.forget(dispute.start, dispute.stop)
        while True:
            try:
                new, _ = state.parts.absorb(parts)
                break
            except Clash as clash:
                # Nodes contain one another: the larger one has both.
                start, stop = min(clash.here[0], clash.there[0]), max(clash.here[1], clash.there[1])
                self._dispute(state, start, stop, [(result.host, parts)])
        ranges = _joined(parts)
        if ranges:
            state.ledger += [(start, stop, result.host) for start, stop in ranges]
            self._count(state, new)
            self.record(replace(result, status="ok", parts=parts.to_bytes()))
        return ranges

    def _dispute(self, state: _Open, start: int, stop: int, others: list[tuple[str, Parts]]) -> None:
        # Parts above the range are forgotten too, so all of them is asked for again.
        known = [it for it in state.parts.parts() if it[0] < stop and start < it[1]]
        start, stop = min([start, *(it[0] for it in known)]), max([stop, *(it[1] for it in known)])
        # A whole, or the parts below it; and the parts that waited below it, with the new ones.
        whole, below = state.hosts_of(start, stop)
        waiting = [it for it in _waiting(state.parts) if start <= it[0] and it[1] <= stop]
        opinions = [_Opinion(whole if len(known) == 1 else below, _collected(state.object, known))]
        new = _collected(state.object, waiting)
        hosts = below if waiting else ()
        for host, parts in others:
            new.absorb(_only(parts, start, stop))
            parts.forget(start, stop)
            hosts = tuple(dict.fromkeys((*hosts, host)))
        opinions += [_Opinion(hosts, new)] if hosts else []
        state.parts.forget(start, stop)
        self._count(state, -sum(right - left for left, right, _ in known))
        dispute = _Dispute(start, stop, opinions)
        state.disputes.append(dispute)
        task = dispute.task(state.object)
        self.thirds.append(task)
        self.record(task)

    def _third(self, state: _Open, result: Result, parts: Parts) -> list[tuple[int, int]]:
        task = result.task
        found = [it for it in state.disputes if (it.start, it.stop) == (task.start, task.stop)]
        if not found:
            return []
        dispute = found[0]
        parts = _only(parts, dispute.start, dispute.stop)
        if sum(right - left for left, right, _ in parts.parts()) != dispute.stop - dispute.start:
            # It could not be read, or it is a fault of the worker. The driver counts these attempts.
            return []
        is_stranger = result.host not in dispute.hosts
        if not is_stranger and dispute.asked < _STRANGERS:
            dispute.asked += 1
            self.thirds.append(dispute.task(state.object))
            return []
        agreeing = [it for it in dispute.opinions if _agree(it.parts, parts)]
        if not agreeing:
            self._disagree_again(state, dispute, _Opinion((result.host,), parts))
            return []
        odd = [host for it in dispute.opinions if it not in agreeing for host in it.hosts]
        if odd:
            right = {host for it in agreeing for host in it.hosts} | {result.host}
            odd = [it for it in odd if it not in right] or odd
            hosts = tuple(dict.fromkeys((*dispute.hosts, result.host)))
            self.disagreements.append(Disagreement(state.object, task.start, task.stop, hosts, tuple(odd)))
        state.disputes.remove(dispute)
        return self._add(state, result, parts)

    def _disagree_again(self, state: _Open, dispute: _Dispute, opinion: _Opinion) -> None:
        dispute.opinions.append(opinion)
        if len(dispute.opinions) < _MOST_OPINIONS:
            self.thirds.append(dispute.task(state.object))
            return
        disagreement = Disagreement(state.object, dispute.start, dispute.stop, dispute.hosts)
        self.disagreements.append(disagreement)
        self.settle(state.object, "unreadable", f"{disagreement}, and another one each time")

    def _count(self, state: _Open, new: int) -> None:
        state.missing -= new
        self.done += new
        self.left -= new


def without(ranges: Iterable[tuple[int, int]], taken: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return what is left of `ranges` without `taken`; both are in order."""
    left = list(ranges)
    for start, stop in taken:
        cut = []
        for low, high in left:
            cut += [it for it in ((low, min(high, start)), (max(low, stop), high)) if it[0] < it[1]]
        left = cut
    return left


def _joined(parts: Parts) -> list[tuple[int, int]]:
    ranges: list[tuple[int, int]] = []
    for start, stop, _ in parts.parts():
        if ranges and ranges[-1][1] == start:
            start = ranges.pop()[0]
        ranges.append((start, stop))
    return ranges


def _collected(object: Object, nodes: Iterable[tuple[int, int, bytes]]) -> Parts:
    parts = Parts(object.size, object=object.identity)
    for node in nodes:
        parts.push(*node)
    return parts


def _waiting(parts: Parts) -> list[tuple[int, int, bytes]]:
    """Return the parts that wait below others, from the end of `to_bytes`, whose format the Rust library documents."""
    raw = parts.to_bytes()
    count = int.from_bytes(raw[62:70], "little")
    nodes = [raw[at : at + 48] for at in range(len(raw) - 32 - 48 * count, len(raw) - 32, 48)]
    starts = [(int.from_bytes(it[:8], "little"), int.from_bytes(it[8:16], "little"), it[16:]) for it in nodes]
    return [(start, start + length, value) for start, length, value in starts]


def _only(parts: Parts, start: int, stop: int) -> Parts:
    part = parts.copy()
    part.forget(0, start)
    part.forget(stop, part.total)
    return part


def _agree(left: Parts, right: Parts) -> bool:
    both = left.copy()
    try:
        both.absorb(right)
    except Clash:
        return False
    # With other cuts, some of it may not have been compared; and what has nothing says nothing.
    return bool(left.parts()) and not both.unchecked()
