"""Lists a key range of a bucket, hashes its objects, and writes a list of them: the work of a worker.

A task names a key range, and never keys. A worker stops after some thousand objects, or when its time is over, and
says how far it got; the rest is dealt again. What it sends back is small, however many objects there are.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

from treewide._scale.buckets.inventory import listing_of
from treewide._scale.buckets.list_files import Fact, ListFile, is_intact, is_unchanged, read_list, write_list
from treewide._scale.buckets.listing import cuts, listed
from treewide._scale.buckets.sinks import folder_of
from treewide._scale.buckets.whole_objects import Read, WholeObjects
from treewide._scale.found import Found
from treewide._scale.objects import evidence_of, is_suspect
from treewide._scale.reading import Retries, Source, cause_of
from treewide._scale.tasks import host
from treewide._scale.verdicts import KEPT
from treewide._treewide import blake3

__all__ = ["Cut", "Difference", "Handed", "Job", "Old", "Recheck", "Shard", "ShardResult", "compare", "judge"]

#: Differences that one result brings. A guess: they have some 200 bytes each.
_DIFFERENCES = 1000


@dataclass(frozen=True)
class Job:
    """The common part of all tasks of a run."""

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
    #: Globs of URLs whose new digest is taken, though they rotted or are suspect.
    accept: tuple[str, ...] = ()
    #: Objects of a part.
    limit: int = 10_000
    #: Objects up to this many bytes are read whole; objects above `large` are shared out in ranges.
    small: int = 4 << 20
    large: int = 1 << 30


class Difference(NamedTuple):
    """An object that differs or could not be compared."""

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

    part: ListFile
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
class Recheck:
    """A key range that an earlier run did. It counts if it is listed as it was then."""

    job: Job
    number: int
    after: str
    until: str | None
    #: `ShardResult.seen`.
    seen: str

    def run(self, source: Source) -> "ShardResult":
        """List the range. `seen` of the result has the objects there now."""
        started, retries = time.monotonic(), Retries()
        result = ShardResult(self.number, self.until, host=host())
        try:
            seen = blake3()
            for found in _listed(self.job, source, self.after, self.until, retries):
                _add(seen, found)
            result.seen = seen.hexdigest()
        except Exception as error:
            result.status, result.detail = "failed", cause_of(error)
        result.requests, result.seconds = retries.requests, time.monotonic() - started
        return result


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
        result = ShardResult(self.number, self.after, host=host())
        try:
            listing = listing_of(self.job.root, source, self.job.inventory)
            result.cuts = cuts(listing, self.job.root, self.after, self.until, self.count, retries)
        except Exception as error:
            result.status, result.detail = "failed", cause_of(error)
        result.requests, result.seconds = retries.requests, time.monotonic() - started
        return result


@dataclass
class ShardResult:
    """The work done: everything up to and including the key `reached`; `None` is the last key of the bucket."""

    number: int
    reached: str | None
    status: Literal["ok", "failed"] = "ok"
    detail: str = ""
    host: str = ""
    part: ListFile | None = None
    #: How many objects have which verdict.
    counts: dict[str, int] = field(default_factory=dict)
    differences: list[Difference] = field(default_factory=list)
    large: list[Handed] = field(default_factory=list)
    #: Where a range can be cut.
    cuts: list[str] = field(default_factory=list)
    objects_read: int = 0
    bytes_read: int = 0
    #: Objects that were not read, by the evidence that they are as recorded.
    unread: dict[str, int] = field(default_factory=dict)
    #: Objects that the old list says nothing of but their digests, because the rest is damaged or missing.
    unknown: int = 0
    #: The digest of all that the listing said.
    seen: str = ""
    requests: int = 0
    seconds: float = 0.0


def judge(job: Job, found: Found, old: Fact | None, read: Read) -> tuple[str, str, Fact | None]:
    """Return the verdict on an object that was read, a detail, and what the next list says of it."""
    if read.digest is None:
        # What could not be read keeps the digest that it had.
        return read.verdict, read.detail, old
    object = read.object
    if object.etag != found.etag or object.version not in (None, found.version) or object.size != found.size:
        # It was replaced after it was listed. When, only the next listing says.
        found = Found(found.key, object.size, object.etag, object.version, None)
    fact = Fact(found, read.digest)
    if old is None:
        # Where there is nothing to compare with, nothing is added.
        return ("hashed" if job.lists is None else "added"), "", fact
    verdict, detail = compare(old, fact)
    is_accepted = any(fnmatchcase(job.root + found.key, glob) for glob in job.accept)
    # Otherwise it keeps the digest that it had.
    return verdict, detail, old if verdict in KEPT and not is_accepted else fact


def compare(old: Fact, new: Fact) -> tuple[str, str]:
    """Return the verdict on an object that two lists have, and a detail."""
    is_same = is_unchanged(old._replace(is_settled=True), new.found)
    if old.digest == new.digest:
        return ("same" if is_same or old.found.size < 0 else "touched"), ""
    detail = f"expected {old.digest.hex()}, found {new.digest.hex()}"
    if old.found.size < 0:
        return "suspect", f"{detail}; what the list says of it is damaged or missing"
    if is_same:
        is_attested = evidence_of(old.found.etag, old.found.version) == "attested"
        return ("rot" if is_attested or old.is_settled else "suspect"), detail
    if is_suspect(old.found.etag, new.found.etag):
        return "suspect", f"{detail}; its size and time are as recorded"
    return "changed", detail


def _listed(job: Job, source: Source, after: str, until: str | None, retries: Retries) -> Iterator[Found]:
    skip = (lambda key: key.startswith(job.skip)) if job.skip else (lambda key: False)
    listing = listing_of(job.root, source, job.inventory)
    for page in listed(listing, job.root, after, until, retries, skip=skip):
        yield from page


def _add(seen: blake3, found: Found) -> None:
    seen.update(json.dumps(found).encode() + b"\n")


class _Work:
    """A shard under way."""

    def __init__(self, shard: Shard, source: Source) -> None:
        self.shard, self.job, self.source = shard, shard.job, source
        self.started = time.monotonic()
        self.retries = Retries()
        self.result = ShardResult(shard.number, shard.after, host=host())
        self.facts: list[Fact | None] = []
        self.reader = WholeObjects(source, self.job.small, self._judge)
        self.old: list[Fact] = []
        #: Old lists that need not be written again, as their facts are still there.
        self.intact: set[str] = set()
        self.at = 0
        self.seen = blake3()

    def run(self) -> ShardResult:
        result = self.result
        try:
            self.old = self._known()
            self._walk()
            self.reader.end()
            # Some were read after others were missed.
            result.differences.sort(key=lambda it: it.key)
            result.part = self._write()
            result.seen = self.seen.hexdigest()
        except Exception as error:
            self.reader.abandon()
            # Nothing of it counts: it is dealt again.
            result = ShardResult(self.shard.number, self.shard.after, "failed", cause_of(error), host())
        result.requests = self.retries.requests + self.reader.requests
        result.seconds = time.monotonic() - self.started
        return result

    def _known(self) -> list[Fact]:
        shard = self.shard
        facts = list(shard.large)
        if shard.old and self.job.lists is not None:
            folder = folder_of(self.job.lists, self.source)
            for it in shard.old:
                found = read_list(folder, it.part, it.after, it.until)
                if is_intact(found):
                    self.intact.add(it.part.name)
                facts += found
        inside = [it for it in facts if it.key > shard.after and (shard.until is None or it.key <= shard.until)]
        self.result.unknown = sum(it.found.size < 0 for it in inside)
        return sorted(inside, key=lambda it: it.key)

    def _walk(self) -> None:
        shard, job = self.shard, self.job
        for count, found in enumerate(_listed(job, self.source, shard.after, shard.until, self.retries), 1):
            self._remove(found.key)
            _add(self.seen, found)
            self._see(found)
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
            text += "read it with --unpinned if no program writes to it"
            self._say("unreadable", found.key, text, old.digest if old else None, None)
            self.facts.append(old)
        else:
            index = len(self.facts)
            self.facts.append(None)
            self.reader.add((index, found, old), found.object(self.job.root))

    def _keep(self, found: Found, old: Fact) -> None:
        self._count("same")
        by = evidence_of(found.etag, found.version)
        self.result.unread[by] = self.result.unread.get(by, 0) + 1
        if found.size > self.job.large:
            self.result.large.append(Handed(found, old, kept=True))
        else:
            self.facts.append(old._replace(found=_newer(old.found, found)))

    def _judge(self, token: tuple[int, Found, Fact | None], read: Read) -> None:
        index, found, old = token
        if read.digest is not None:
            self.result.objects_read += 1
            self.result.bytes_read += read.object.size
        verdict, detail, fact = judge(self.job, found, old, read)
        if verdict in KEPT:
            # A second time, as a bit may flip on the way.
            read = self.reader.read_now(read.object)
            verdict, detail, fact = judge(self.job, found, old, read)
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

    def _write(self) -> ListFile | None:
        if self.job.output is None:
            return None
        known = self.intact if self.job.output == self.job.lists else set()
        folder = folder_of(self.job.output, self.source)
        return write_list(folder, [it for it in self.facts if it is not None], known=known)


def _newer(old: Found, found: Found) -> Found:
    """Return what a listing says now, and what only the last one said."""
    return Found(
        found.key,
        found.size,
        found.etag if found.etag is not None else old.etag,
        found.version if found.version is not None else old.version,
        found.modified if found.modified is not None else old.modified,
    )
