"""Lists a key range of a bucket, hashes its objects, and writes lists of them: the work of a worker.

A task names a key range, and never keys. Lists are cut by keys alone: one begins at each key whose BLAKE3 begins with a
multiple of the size of a group. So they do not depend on workers, tasks or faults, and a new object changes one list.
A worker does the groups that begin in its range, and ends early only between groups.
"""

import contextlib
import json
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from heapq import merge
from operator import gt, itemgetter
from typing import Any, NamedTuple

from treewide._scale.buckets.bucket_list import Bucket, read_index
from treewide._scale.buckets.inventory import listing_of
from treewide._scale.buckets.list_files import ListFile, is_intact, read_list, write_list
from treewide._scale.buckets.listing import first_key, listed
from treewide._scale.buckets.sinks import Folder
from treewide._scale.buckets.whole_objects import WholeObjects
from treewide._scale.found import Fact, Found, is_unchanged, text_of
from treewide._scale.lists import ListError
from treewide._scale.objects import UNPINNED, Read, evidence_of
from treewide._scale.outcome import Row
from treewide._scale.reading import REFUSALS, Retries, cause_of, head
from treewide._scale.sources import Store
from treewide._scale.verdicts import KEPT, compare
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
    old: tuple[str, str, str] | None = None
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


class KeysTask(NamedTuple):
    """A key range `(after, until]`, which continues to the end of its last group, but not past `stop`."""

    after: str
    until: str | None
    stop: str | None
    #: Whether a group begins there. Otherwise the first one that does is looked for.
    exact: bool = True
    #: What an earlier run saw there. A range that is listed as it was is not read.
    seen: str | None = None


def difference(root: str, verdict: str, key: str, detail: str, old: Fact | None, digest: bytes | None = None) -> Row:
    """Return what to report of an object that differs or could not be compared."""
    evidence = "attested" if verdict == "removed" else "read" if digest is not None else None
    digests = {"expected": old.digest.hex() if old else None, "digest": digest.hex() if digest else None}
    return {"uri": root + key, "evidence": evidence, "verdict": verdict, "detail": detail, **digests}


def hash_shard(job: BucketJob, task: KeysTask, source: Store, seconds: float | None = None) -> dict[str, Any]:
    """List the keys of a task, hash their objects, and write a list for each group of keys.

    Returns what is covered, and what is known of it; nothing is covered if that failed.
    """
    work = _Work(job, task, source, seconds)
    try:
        if task.seen is not None and work.seen_now() == task.seen:
            seen = {"until": task.until, "seen": task.seen, "is_seen": True}
            return {**work.result, **seen}
        return work.run()
    except Exception as error:
        work.reader.abandon()
        is_refused = isinstance(error, (ListError, FileNotFoundError, ModuleNotFoundError, *REFUSALS))
        status = "refused" if is_refused else "failed"
        return {"status": status, "detail": cause_of(error)}


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
        return ("added" if job.compares and job.old is not None else "hashed"), "", fact
    verdict, detail = compare(old, fact)
    if not job.compares:
        return ("hashed" if verdict not in KEPT else verdict), detail, fact
    is_accepted = any(fnmatchcase(job.root + found.key, glob) for glob in job.accept)
    # Otherwise it keeps the digest that it had.
    return verdict, detail, old if verdict in KEPT and not is_accepted else fact


class _Old:
    """The old lists of a bucket. Each process has those of a run once."""

    def __init__(self, place: str, index: tuple[str, str], source: Store) -> None:
        self.place, self._folder = place, Folder(place, source)
        self.bucket: Bucket = read_index(self._folder, *index)
        self._untils = [it.until or "" for it in self.bucket.ranges[:-1]]
        self._large = read_list(self._folder, self.bucket.large) if self.bucket.large is not None else []
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
                (self.intact.add if is_intact(found) else self.intact.discard)(it.part.name)
                yield from (fact for fact in found if fact.key > key)


def removed(job: BucketJob, source: Store, after: str, last: str) -> Iterator[Row]:
    """Return what the old lists have after a key, up to the last of a stretch: all of it is gone."""
    assert job.old is not None
    for fact in _old_of(job.old, source).after(after):
        if fact.key > last:
            return
        yield difference(job.root, "removed", fact.key, "", fact)


@lru_cache(4)
def _old_of(old: tuple[str, str, str], source: Store) -> _Old:
    return _Old(old[0], old[1:], source)


class _Work:
    """A key range under way."""

    def __init__(self, job: BucketJob, task: KeysTask, source: Store, seconds: float | None) -> None:
        self.job, self.task, self.source, self.seconds = job, task, source, seconds
        self.started, self.began = time.monotonic(), time.time()
        self.retries = Retries()
        self.reader = WholeObjects(source, job.small, self._judge)
        self.old: _Old | None = None
        self._known: Iterator[Fact] = iter(())
        self._next: Fact | None = None
        self.facts: list[Fact | None] = []
        self.seen = blake3()
        #: The last key, and how many objects are in its group.
        self.last, self.in_group = task.after, 0
        #: The first key that the store has after those which it lacks; nothing if there is none.
        self._ahead: str | None = ""
        self.result: dict[str, Any] = {
            "status": "ok", "after": task.after, "until": task.after, "lists": [], "counts": Counter(),
            "differences": [], "gone": [], "large": [], "kept": [], "read": Counter(), "bytes_read": 0,
            "unread": Counter(), "unknown": 0, "doubt": None,
        }  # fmt: skip

    def _listed(self) -> Iterator[Found]:
        job = self.job
        listing = listing_of(self.source, job.inventory)
        for page in listed(listing, job.root, self.task.after, self.task.stop, self.retries):
            yield from (it for it in page if not (job.skip and it.key.startswith(job.skip)))

    def seen_now(self) -> str:
        """Return the digest of all that the listing says of the range now."""
        seen = blake3()
        for found in self._listed():
            _add(seen, found)
        return seen.hexdigest()

    def run(self) -> dict[str, Any]:
        if self.job.old is not None:
            self.old = _old_of(self.job.old, self.source)
        self._walk()
        self.reader.end()
        # Some were read after others were missed.
        self.result["differences"].sort(key=itemgetter("uri"))
        return self.result | {"seen": self.seen.hexdigest()}

    def _walk(self) -> None:
        """Do the groups that begin in the range."""
        task = self.task
        has_begun = task.exact and self._begin()
        for found in self._listed():
            key = found.key
            is_first = _begins_group(key, self.job.limit)
            is_past = task.until is not None and key > task.until
            if is_past and (is_first or not has_begun):
                return self._end(max(self.last, task.until or "")) if has_begun else None
            if not has_begun:
                if not is_first:
                    self.last = key
                    continue
                has_begun = self._begin()
            elif self.in_group and (is_first or self.in_group >= _MOST_GROUPS * self.job.limit):
                self._write()
                if self._is_over():
                    return self._end(self.last)
            self._remove(partial(gt, key))
            _add(self.seen, found)
            self._see(found)
        return self._end(task.stop) if has_begun else None

    def _begin(self) -> bool:
        self.result["after"] = self.last
        if self.old is not None:
            self._known = self.old.after(self.last)
            self._next = next(self._known, None)
        return True

    def _end(self, until: str | None) -> None:
        """End with everything up to and including `until`."""
        self._remove(lambda key: until is None or key <= until)
        if self.in_group:
            self._write()
        self.result["until"] = until

    def _is_over(self) -> bool:
        is_late = self.seconds is not None and time.monotonic() - self.started > self.seconds
        return is_late or len(self.result["differences"]) >= _DIFFERENCES

    def _remove(self, is_gone: Callable[[str], bool]) -> None:
        """Say of all that are known from here on that they are gone, as long as it is so."""
        stretch: list[str] = []
        said, before = 0, ""
        while self._next is not None and is_gone(self._next.key):
            if not self._is_lacking(self._next.key) and self._is_newer(self._next):
                stretch, before = [], self.last
                continue
            gone = self._pop()
            if not self.job.compares:
                self.result["counts"]["removed"] += 1
            elif said < _DIFFERENCES:
                said, before = said + 1, gone.key
                self._say("removed", gone.key, "", gone)
            else:
                # A prefix that was removed has any number of keys: the driver reads them, as it needs no list of them.
                self.result["counts"]["removed"] += 1
                if not stretch:
                    self.result["gone"].append(stretch)
                stretch[:] = [before, gone.key]

    def _pop(self) -> Fact:
        assert self._next is not None
        known, self._next = self._next, next(self._known, None)
        self.result["unknown"] += not known.is_known
        return known

    def _looked(self, key: str) -> Found:
        """Return an object as the store has it, whatever the inventory says. Raises `OSError`."""
        it = head(self.source, self.job.root + key, self.retries)
        return Found(key, it.size, it.etag, it.version, None)

    def _is_lacking(self, key: str) -> bool:
        """Whether the store has no such object, as far as it lists: one request for a stretch of keys, however long."""
        if self.job.inventory is None:
            return True
        # Who may not list looks at each.
        with contextlib.suppress(*REFUSALS):
            if self._ahead is not None and self._ahead < key:
                after = max(self.last, self._ahead)
                self._ahead = first_key(self.source, self.job.root, None, self.retries, after)
            return self._ahead is None or key < self._ahead
        return False

    def _is_newer(self, old: Fact) -> bool:
        """Whether an object that the inventory lacks may still be there. Then it is seen."""
        try:
            found = self._looked(old.key)
        except FileNotFoundError:
            return False
        except OSError as error:
            self.last, self.in_group = old.key, self.in_group + 1
            self._say("unreadable", old.key, str(error), self._pop())
            self._record(old)
        else:
            self._see(found)
        return True

    def _see(self, found: Found) -> None:
        self.last, self.in_group = found.key, self.in_group + 1
        if self.job.inventory is not None and found.size > self.job.large:
            # Many read it as it is here, and do not look at it again.
            with contextlib.suppress(OSError):
                found = self._looked(found.key)
        old, kept = None, None
        if self._next is not None and self._next.key == found.key:
            old = self._pop()
        if old is not None and not self.job.reads_all and is_unchanged(old, found):
            # What the listing says now, and what only the last one said.
            both = zip(old.found, found, strict=True)
            kept = old._replace(found=Found._make(was if now is None else now for was, now in both))
            self.result["counts"]["same"] += 1
            self.result["unread"][evidence_of(found.etag, found.version)] += 1
        if kept is not None:
            self._record(kept)
        elif found.etag is None and found.version is None and not self.job.unpinned:
            self._say("unreadable", found.key, UNPINNED, old)
            if old is not None:
                self._record(old)
        elif found.size > self.job.large:
            self.result["large"].append([found, text_of(old) if old is not None else None])
        else:
            index = len(self.facts)
            self.facts.append(None)
            self.reader.add((index, found, old), found.object(self.job.root))

    def _record(self, fact: Fact) -> None:
        """Take over what is known of an object that is not read."""
        if fact.found.size > self.job.large:
            self.result["kept"].append(text_of(fact))
        else:
            self.facts.append(fact)

    def _judge(self, token: tuple[int, Found, Fact | None], read: Read) -> None:
        index, found, old = token
        if read.digest is not None:
            self.result["read"][evidence_of(read.object.etag, read.object.version)] += 1
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
            self.result["counts"][verdict] += 1
        else:
            self._say(verdict, found.key, detail, old, read.digest)

    def _say(self, verdict: str, key: str, detail: str, old: Fact | None, digest: bytes | None = None) -> None:
        self.result["counts"][verdict] += 1
        self.result["differences"].append(difference(self.job.root, verdict, key, detail, old, digest))

    def _write(self) -> None:
        """Write the list of a group, which ends here."""
        self.reader.flush()
        facts, self.facts = [it for it in self.facts if it is not None], []
        part: ListFile | None = None
        if self.job.output is not None:
            known = self.old.intact if self.old is not None and self.job.output == self.old.place else set()
            part = write_list(Folder(self.job.output, self.source), facts, self.began, known=known)
        self.result["lists"].append([self.last, part])
        self.in_group = 0


def _begins_group(key: str, limit: int) -> bool:
    return int.from_bytes(digest(key.encode("utf-8", "surrogateescape"))[:4], "little") % limit == 0


def _add(seen: blake3, found: Found) -> None:
    seen.update(json.dumps(found).encode() + b"\n")
