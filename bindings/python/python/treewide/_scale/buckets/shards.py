"""Lists a key range of a bucket, hashes its objects, and writes lists of them: the work of a worker.

A task names a key range, and never keys. Lists are cut by keys alone: one begins at each key whose BLAKE3 begins with a
multiple of the size of a group. So they do not depend on workers, tasks or faults, and a new object changes one list.
A worker does the groups that begin in its range, and ends early only between groups.
"""

import json
import time
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from heapq import merge
from typing import Any, NamedTuple

from treewide._scale.buckets.bucket_list import Bucket, read_index
from treewide._scale.buckets.inventory import listing_of
from treewide._scale.buckets.list_files import Fact, ListFile, is_intact, is_unchanged, read_list, write_list
from treewide._scale.buckets.listing import listed
from treewide._scale.buckets.sinks import Folder
from treewide._scale.buckets.whole_objects import WholeObjects
from treewide._scale.found import Found
from treewide._scale.lists import ListError
from treewide._scale.objects import UNPINNED, Read, evidence_of
from treewide._scale.reading import Refused, Retries, cause_of
from treewide._scale.results import bytes_of
from treewide._scale.sources import Store
from treewide._scale.verdicts import KEPT, differing, tally
from treewide._treewide import blake3, digest

#: Differences after which a result ends. A guess: they have some 200 bytes each.
_DIFFERENCES = 1000
#: A list is cut after that many groups, if none of its keys begins one.
_MOST_GROUPS = 8


@dataclass(frozen=True)
class BucketJob:
    """The common part of all tasks of a run."""

    #: A URL that ends in `/`.
    root: str
    #: The folder that lists are written to; nothing is written without it.
    output: str | None = None
    #: The folder of the old lists, and the name and digest of their index.
    lists: str | None = None
    index: tuple[str, str] | None = None
    #: Whether objects are compared with the old lists. Otherwise their digests are only not to be lost.
    compares: bool = True
    #: The inventory that is read instead of the store's list.
    inventory: str | None = None
    #: Whether also objects are read that are as recorded.
    reads_all: bool = True
    #: Keys that begin with this are left out.
    skip: str | None = None
    unpinned: bool = False
    #: Globs of URLs whose new digest is taken, though they rotted or are suspect.
    accept: tuple[str, ...] = ()
    #: Objects of a list, about.
    limit: int = 8192
    #: Objects up to this many bytes are read whole; objects above `large` are shared out in ranges.
    small: int = 4 << 20
    large: int = 1 << 30

    @classmethod
    def of(cls, fields: dict[str, Any]) -> "BucketJob":
        """Return what `asdict` and JSON made of it."""
        index = fields["index"]
        return cls(**{**fields, "accept": tuple(fields["accept"]), "index": tuple(index) if index else None})


class Difference(NamedTuple):
    """An object that differs or could not be compared."""

    verdict: str
    key: str
    detail: str
    expected: bytes | None = None
    digest: bytes | None = None


class Handed(NamedTuple):
    """A large object, which is shared out; or taken as it was, if it is `kept`."""

    found: Found
    old: Fact | None
    kept: bool = False

    @classmethod
    def of(cls, fields: Any) -> "Handed":
        """Return one that was sealed."""
        found, old, kept = fields
        return cls(Found(*found), Fact(Found(*old[0]), bytes_of(old[1]), old[2]) if old else None, kept)


def hash_shard(
    job: BucketJob,
    after: str,
    until: str | None,
    source: Store,
    *,
    stop: str | None,
    exact: bool = True,
    seen: str | None = None,
    seconds: float | None = None,
) -> dict[str, Any]:
    """List the keys in `(after, until]`, hash their objects, and write a list for each group of keys.

    It continues to the end of the last group, but not past `stop`. It begins with the first group, if `after` is not
    the `exact` end of another. With `seen`, a range that is listed as it was is not read.
    Returns what is covered, and what is known of it; nothing is covered if that failed.
    """
    work = _Work(job, after, until, stop, exact, seconds, source)
    try:
        if seen is not None and work.seen_now() == seen:
            return work.result | {"after": after, "until": until, "seen": seen, "is_seen": True}
        return work.run()
    except Exception as error:
        work.reader.abandon()
        status = (
            "refused" if isinstance(error, (Refused, ListError, FileNotFoundError, ModuleNotFoundError)) else "failed"
        )
        return {"status": status, "detail": cause_of(error), "asked": [after, until], "requests": work.requests}


def judge(job: BucketJob, found: Found, old: Fact | None, read: Read) -> tuple[str, str, Fact | None]:
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
        return ("added" if job.compares and job.lists is not None else "hashed"), "", fact
    verdict, detail = compare(old, fact)
    if not job.compares:
        return ("hashed" if verdict not in KEPT else verdict), detail, fact
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
    is_settled = old.is_settled or evidence_of(old.found.etag, old.found.version) == "attested"
    return differing(detail, old.found.etag, new.found.etag, is_same, is_settled)


class _Old:
    """The old lists of a bucket. Each process has those of a run once."""

    def __init__(self, folder: Folder, index: tuple[str, str]) -> None:
        self._folder = folder
        self.bucket: Bucket = read_index(folder, *index)
        self._untils = [it.until or "" for it in self.bucket.ranges[:-1]]
        self._large = read_list(folder, self.bucket.large) if self.bucket.large is not None else []
        #: Lists that need not be written again, as their facts are still there.
        self.intact = {self.bucket.large.name} if self.bucket.large is not None and is_intact(self._large) else set()

    def after(self, key: str) -> Iterator[Fact]:
        """Return what is known of the objects whose keys come after this, in order."""
        large = self._large[bisect_right(self._large, key, key=lambda it: it.key) :]
        return merge(self._small(key), large, key=lambda it: it.key)

    def _small(self, key: str) -> Iterator[Fact]:
        for it in self.bucket.ranges[bisect_right(self._untils, key) :]:
            if it.part is not None:
                try:
                    found = read_list(self._folder, it.part, it.after, it.until)
                except FileNotFoundError:
                    raise ListError(f"{it.part.name}.b3 is missing, which the list of lists names") from None
                if is_intact(found):
                    self.intact.add(it.part.name)
                yield from (fact for fact in found if fact.key > key)


def removed(job: BucketJob, source: Store, after: str, last: str) -> Iterator[Difference]:
    """Return what the old lists have after a key, up to the last of a stretch: all of it is gone."""
    assert job.lists is not None and job.index is not None
    for fact in _old_of(job.lists, job.index, source).after(after):
        if fact.key > last:
            return
        yield Difference("removed", fact.key, "", fact.digest)


@lru_cache(4)
def _old_of(lists: str, index: tuple[str, str], source: Store) -> _Old:
    return _Old(Folder(lists, source), index)


class _Work:
    """A key range under way."""

    def __init__(
        self,
        job: BucketJob,
        after: str,
        until: str | None,
        stop: str | None,
        exact: bool,
        seconds: float | None,
        source: Store,
    ) -> None:
        self.job, self.source, self.seconds = job, source, seconds
        self.first, self.until, self.stop, self.is_exact = after, until, stop, exact or after == ""
        self.started, self.began = time.monotonic(), time.time()
        self.retries = Retries()
        self.reader = WholeObjects(source, job.small, self._judge)
        self.old: _Old | None = None
        self._known: Iterator[Fact] = iter(())
        self._next: Fact | None = None
        self.facts: list[Fact | None] = []
        self.seen = blake3()
        self.differences: list[Difference] = []
        self.result: dict[str, Any] = {
            "status": "ok", "after": after, "until": after, "lists": [], "counts": {}, "differences": [], "large": [],
            "read": {}, "bytes_read": 0, "unread": {}, "unknown": 0, "doubt": None, "gone": [],
        }  # fmt: skip

    @property
    def requests(self) -> int:
        return self.retries.requests + self.reader.requests

    def _listed(self) -> Iterator[Found]:
        job = self.job
        skip = (lambda key: key.startswith(job.skip)) if job.skip else (lambda key: False)
        listing = listing_of(self.source, job.inventory)
        for page in listed(listing, job.root, self.first, self.stop, self.retries, skip=skip):
            yield from page

    def seen_now(self) -> str:
        """Return the digest of all that the listing says of the range now."""
        seen = blake3()
        for found in self._listed():
            _add(seen, found)
        return seen.hexdigest()

    def run(self) -> dict[str, Any]:
        if self.job.lists is not None and self.job.index is not None:
            self.old = _old_of(self.job.lists, self.job.index, self.source)
        self._walk()
        self.reader.end()
        result = self.result
        # Some were read after others were missed.
        result["differences"] = sorted(self.differences, key=lambda it: it.key)
        return result | {"seen": self.seen.hexdigest(), "requests": self.requests}

    def _walk(self) -> None:
        """Do the groups that begin in the range."""
        last, in_group = self.first, 0
        has_begun = self.is_exact and self._begin(last)
        for found in self._listed():
            key = found.key
            is_first = _begins_group(key, self.job.limit)
            is_past = self.until is not None and key > self.until
            if is_past and (is_first or not has_begun):
                return self._end(max(last, self.until or ""), last, in_group) if has_begun else None
            if not has_begun:
                if not is_first:
                    last = key
                    continue
                has_begun = self._begin(last)
            elif in_group and (is_first or in_group >= _MOST_GROUPS * self.job.limit):
                self._write(last)
                in_group = 0
                if self._is_over():
                    return self._end(last, last, 0)
            self._remove(key)
            _add(self.seen, found)
            self._see(found)
            last, in_group = key, in_group + 1
        return self._end(self.stop, last, in_group) if has_begun else None

    def _begin(self, after: str) -> bool:
        self.result["after"] = after
        if self.old is not None:
            self._known = self.old.after(after)
            self._next = next(self._known, None)
        return True

    def _end(self, until: str | None, last: str, in_group: int) -> None:
        """End with everything up to and including `until`."""
        self._remove(None, until)
        if in_group:
            self._write(last)
        self.result["until"] = until

    def _is_over(self) -> bool:
        is_late = self.seconds is not None and time.monotonic() - self.started > self.seconds
        return is_late or len(self.differences) >= _DIFFERENCES

    def _remove(self, key: str | None, until: str | None = None) -> None:
        """Say of all that are known below `key`, or up to `until`, that they are gone."""
        stretch: list[str] = []
        said, before = 0, ""
        while (gone := self._next) is not None:
            if (gone.key >= key) if key is not None else (until is not None and gone.key > until):
                return
            self._pop()
            if self.job.compares and said < _DIFFERENCES:
                said, before = said + 1, gone.key
                self._say("removed", gone.key, "", gone.digest, None)
            elif self.job.compares:
                # A prefix that was removed has any number of keys: the driver reads them, as it needs no list of them.
                self._count("removed")
                if not stretch:
                    self.result["gone"].append(stretch)
                stretch[:] = [before, gone.key]

    def _pop(self) -> Fact | None:
        known, self._next = self._next, next(self._known, None)
        self.result["unknown"] += known is not None and known.found.size < 0
        return known

    def _see(self, found: Found) -> None:
        old = self._pop() if self._next is not None and self._next.key == found.key else None
        if old is not None and not self.job.reads_all and is_unchanged(old, found):
            self._keep(found, old)
        elif found.size > self.job.large:
            self.result["large"].append(Handed(found, old))
        elif found.etag is None and found.version is None and not self.job.unpinned:
            self._say("unreadable", found.key, UNPINNED, old.digest if old else None, None)
            self.facts.append(old)
        else:
            index = len(self.facts)
            self.facts.append(None)
            self.reader.add((index, found, old), found.object(self.job.root))

    def _keep(self, found: Found, old: Fact) -> None:
        self._count("same")
        tally(self.result["unread"], {evidence_of(found.etag, found.version): 1})
        if found.size > self.job.large:
            self.result["large"].append(Handed(found, old, kept=True))
        else:
            self.facts.append(old._replace(found=_newer(old.found, found)))

    def _judge(self, token: tuple[int, Found, Fact | None], read: Read) -> None:
        index, found, old = token
        if read.digest is not None:
            tally(self.result["read"], {evidence_of(read.object.etag, read.object.version): 1})
            self.result["bytes_read"] += read.object.size
        verdict, detail, fact = judge(self.job, found, old, read)
        if verdict in KEPT:
            # A second time, as a bit may flip on the way.
            read = self.reader.read_now(read.object)
            self.result["bytes_read"] += read.object.size if read.digest is not None else 0
            verdict, detail, fact = judge(self.job, found, old, read)
        self.facts[index] = fact
        if verdict in KEPT and not self.job.compares:
            self.result["doubt"] = self.result["doubt"] or found.key
            verdict = "hashed"
        if verdict in ("same", "hashed"):
            self._count(verdict)
        else:
            self._say(verdict, found.key, detail, old.digest if old else None, read.digest)

    def _say(self, verdict: str, key: str, detail: str, expected: bytes | None, digest: bytes | None) -> None:
        self._count(verdict)
        self.differences.append(Difference(verdict, key, detail, expected, digest))

    def _count(self, verdict: str) -> None:
        tally(self.result["counts"], {verdict: 1})

    def _write(self, last: str) -> None:
        """Write the list of a group, whose last key this is."""
        self.reader.flush()
        facts, self.facts = [it for it in self.facts if it is not None], []
        part: ListFile | None = None
        if self.job.output is not None:
            known = self.old.intact if self.old is not None and self.job.output == self.job.lists else set()
            part = write_list(Folder(self.job.output, self.source), facts, self.began, known=known)
        self.result["lists"].append([last, part])


def _begins_group(key: str, limit: int) -> bool:
    return int.from_bytes(digest(key.encode("utf-8", "surrogateescape"))[:4], "little") % limit == 0


def _add(seen: blake3, found: Found) -> None:
    seen.update(json.dumps(found).encode() + b"\n")


def _newer(old: Found, found: Found) -> Found:
    """Return what a listing says now, and what only the last one said."""
    return Found._make(was if now is None else now for was, now in zip(old, found, strict=True))
