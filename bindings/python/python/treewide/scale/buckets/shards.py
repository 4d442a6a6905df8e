"""What a worker does for a bucket: it lists a key range, hashes what it finds, and writes a list of it.

A task names a key range, and never keys. A worker stops after some thousand objects, or when its time is over, and
says how far it got; the rest is dealt again. What it sends back is small, however many objects there are.
"""

import os
import socket
import time
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from treewide.scale.buckets.inventory import listing_of
from treewide.scale.buckets.lanes import Lanes, Read
from treewide.scale.buckets.listing import cuts, listed
from treewide.scale.buckets.parts import Fact, Part, is_intact, is_unchanged, read_part, write_part
from treewide.scale.buckets.sinks import folder_of
from treewide.scale.found import Found
from treewide.scale.reading import Retries, Source

__all__ = ["Cut", "Difference", "Handed", "Job", "Old", "Shard", "ShardResult", "judge"]

#: Differences that one result brings. A guess: they have some 200 bytes each.
_DIFFERENCES = 1000


@dataclass(frozen=True)
class Job:
    """What all tasks of a run have in common."""

    #: A URL that ends in `/`.
    root: str
    #: The folder that lists are written to; nothing is written without it.
    output: str | None = None
    #: The folder of the old list of lists.
    lists: str | None = None
    #: The inventory that is read instead of the store's list.
    inventory: str | None = None
    #: Whether also objects are read that are as recorded.
    reads_all: bool = True
    #: Keys that begin with this are left out.
    skip: str | None = None
    unpinned: bool = False
    #: Objects of a part.
    limit: int = 10_000
    #: Objects up to this many bytes are read whole; objects above `large` are shared out in ranges.
    small: int = 4 << 20
    large: int = 1 << 30


class Difference(NamedTuple):
    """An object that is not as recorded, or about which nobody can say."""

    verdict: str
    key: str
    detail: str
    expected: bytes | None = None
    digest: bytes | None = None


class Handed(NamedTuple):
    """A large object, which the driver shares out; or takes as it was, if it is `kept`."""

    found: Found
    old: Fact | None
    kept: bool = False


class Old(NamedTuple):
    """A list that the last run wrote, and its range."""

    part: Part
    after: str
    until: str | None


@dataclass(frozen=True)
class Shard:
    """A key range `(after, until]`."""

    job: Job
    number: int
    after: str
    until: str | None
    #: What is known of it: lists, and large objects.
    old: tuple[Old, ...] = ()
    large: tuple[Fact, ...] = ()
    #: After this time a worker returns what it has.
    seconds: float | None = None
    attempt: int = 0

    def run(self, source: Source) -> "ShardResult":
        """List, hash and write."""
        return _Work(self, source).run()


@dataclass(frozen=True)
class Cut:
    """A key range that should be cut into up to `count` more, so that others can begin with them."""

    job: Job
    number: int
    after: str
    until: str | None
    count: int

    def run(self, source: Source) -> "ShardResult":
        """Look for keys at which to cut."""
        started, retries = time.monotonic(), Retries()
        result = ShardResult(self.number, self.after, host=_host())
        try:
            listing = listing_of(self.job.root, source, self.job.inventory)
            result.cuts = cuts(listing, self.job.root, self.after, self.until, self.count, retries)
        except Exception as error:
            result.status, result.detail = "failed", _text(error)
        result.requests, result.seconds = retries.requests, time.monotonic() - started
        return result


@dataclass
class ShardResult:
    """What a worker did: everything up to and including the key `reached`; `None` is the last key of the bucket."""

    number: int
    reached: str | None
    status: Literal["ok", "failed"] = "ok"
    detail: str = ""
    host: str = ""
    part: Part | None = None
    #: How many objects have which verdict.
    counts: dict[str, int] = field(default_factory=dict)
    differences: list[Difference] = field(default_factory=list)
    large: list[Handed] = field(default_factory=list)
    #: Where a range can be cut.
    cuts: list[str] = field(default_factory=list)
    objects_read: int = 0
    bytes_read: int = 0
    requests: int = 0
    seconds: float = 0.0


def judge(found: Found, old: Fact | None, read: Read, is_new: bool = False) -> tuple[str, str, Fact | None]:
    """Return the verdict on an object that was read, a detail, and what the next list says of it.

    `is_new` says that there is nothing to compare with, so that nothing is `added`.
    """
    if read.digest is None:
        # What could not be read keeps the digest that it had.
        return read.verdict, read.detail, old
    object = read.object
    if object.etag != found.etag or object.version not in (None, found.version) or object.size != found.size:
        # It was replaced after it was listed. When, only the next listing says.
        found = Found(found.key, object.size, object.etag, object.version, None)
    fact = Fact(found, read.digest)
    if old is None:
        return ("hashed" if is_new else "added"), "", fact
    is_same = is_unchanged(old._replace(is_settled=True), found)
    if old.digest == read.digest:
        return ("same" if is_same or old.found.size < 0 else "touched"), "", fact
    detail = f"expected {old.digest.hex()}, found {read.digest.hex()}"
    # What rotted keeps the digest that it had.
    return ("rot", detail, old) if is_same else ("changed", detail, fact)


class _Work:
    """A shard under way."""

    def __init__(self, shard: Shard, source: Source) -> None:
        self.shard, self.job, self.source = shard, shard.job, source
        self.started = time.monotonic()
        self.retries = Retries()
        self.result = ShardResult(shard.number, shard.after, host=_host())
        self.facts: list[Fact | None] = []
        self.lanes = Lanes(source, self.job.small, self._judge)
        self.old: list[Fact] = []
        #: Old lists that need not be written again: their facts are there, too.
        self.intact: set[str] = set()
        self.at = 0

    def run(self) -> ShardResult:
        result = self.result
        try:
            self.old = self._known()
            self._walk()
            self.lanes.end()
            # Some were read after others were missed.
            result.differences.sort(key=lambda it: it.key)
            result.part = self._write()
        except Exception as error:
            self.lanes.abandon()
            # Nothing of it counts: it is dealt again.
            result = ShardResult(self.shard.number, self.shard.after, "failed", _text(error), _host())
        result.requests = self.retries.requests + self.lanes.requests
        result.seconds = time.monotonic() - self.started
        return result

    def _known(self) -> list[Fact]:
        shard = self.shard
        facts = list(shard.large)
        if shard.old and self.job.lists is not None:
            folder = folder_of(self.job.lists, self.source)
            for it in shard.old:
                found = read_part(folder, it.part, it.after, it.until)
                if is_intact(found):
                    self.intact.add(it.part.name)
                facts += found
        inside = [it for it in facts if it.key > shard.after and (shard.until is None or it.key <= shard.until)]
        return sorted(inside, key=lambda it: it.key)

    def _walk(self) -> None:
        shard, job = self.shard, self.job
        listing = listing_of(job.root, self.source, job.inventory)
        skip = (lambda key: key.startswith(job.skip)) if job.skip else (lambda key: False)
        count = 0
        for page in listed(listing, job.root, shard.after, shard.until, self.retries, skip=skip):
            for found in page:
                self._remove(found.key)
                self._see(found)
                count += 1
                self.result.reached = found.key
                if count >= job.limit or self._is_over():
                    return
        self._remove(None)
        self.result.reached = shard.until

    def _is_over(self) -> bool:
        seconds = self.shard.seconds
        is_late = seconds is not None and time.monotonic() - self.started > seconds
        return is_late or len(self.result.differences) >= _DIFFERENCES

    def _remove(self, key: str | None) -> None:
        """Say of all that are known below `key` that they are gone."""
        while self.at < len(self.old) and (key is None or self.old[self.at].key < key):
            gone = self.old[self.at]
            self.at += 1
            self._say("removed", gone.key, "", gone.digest, None)

    def _see(self, found: Found) -> None:
        old = None
        if self.at < len(self.old) and self.old[self.at].key == found.key:
            old = self.old[self.at]
            self.at += 1
        if old is not None and not self.job.reads_all and is_unchanged(old, found):
            self._keep(found, old)
        elif found.size > self.job.large:
            self.result.large.append(Handed(found, old))
        elif found.etag is None and found.version is None and not self.job.unpinned:
            text = "the store says neither ETag nor version, so that a change would not be noticed; "
            text += "read it with --unpinned if nobody writes to it"
            self._say("unreadable", found.key, text, old.digest if old else None, None)
            self.facts.append(old)
        else:
            index = len(self.facts)
            self.facts.append(None)
            self.lanes.add((index, found, old), found.object(self.job.root))

    def _keep(self, found: Found, old: Fact) -> None:
        self._count("same")
        if found.size > self.job.large:
            self.result.large.append(Handed(found, old, kept=True))
        else:
            self.facts.append(old._replace(found=_newer(old.found, found)))

    def _judge(self, token: tuple[int, Found, Fact | None], read: Read) -> None:
        index, found, old = token
        if read.digest is not None:
            self.result.objects_read += 1
            self.result.bytes_read += read.object.size
        verdict, detail, fact = judge(found, old, read, self.job.lists is None)
        self.facts[index] = fact
        if verdict in ("same", "hashed"):
            self._count(verdict)
        else:
            self._say(verdict, found.key, detail, old.digest if old else None, read.digest)

    def _say(self, verdict: str, key: str, detail: str, expected: bytes | None, digest: bytes | None) -> None:
        self._count(verdict)
        self.result.differences.append(Difference(verdict, key, detail, expected, digest))

    def _count(self, verdict: str) -> None:
        self.result.counts[verdict] = self.result.counts.get(verdict, 0) + 1

    def _write(self) -> Part | None:
        if self.job.output is None:
            return None
        known = self.intact if self.job.output == self.job.lists else set()
        folder = folder_of(self.job.output, self.source)
        return write_part(folder, [it for it in self.facts if it is not None], known=known)


def _newer(old: Found, found: Found) -> Found:
    """Return what a listing says now, and what only the last one said."""
    return Found(
        found.key,
        found.size,
        found.etag if found.etag is not None else old.etag,
        found.version if found.version is not None else old.version,
        found.modified if found.modified is not None else old.modified,
    )


def _host() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


def _text(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
