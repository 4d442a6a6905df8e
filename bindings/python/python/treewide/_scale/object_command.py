"""`python -m treewide scale` for objects that are named one by one."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from typing import Any

from treewide._scale import lists
from treewide._scale.bytes_cover import BytesCover
from treewide._scale.console import UsageError
from treewide._scale.job import Job, here, source_for
from treewide._scale.objects import UNPINNED, Object, Read, is_settled
from treewide._scale.outboards import Outboards, is_outboard, named_group
from treewide._scale.outcome import Outcome, Row
from treewide._scale.outputs import check_list, check_outboards
from treewide._scale.progress import bytes_text, objects_text
from treewide._scale.ranges import verify_ranges
from treewide._scale.reading import Retries, head
from treewide._scale.run import pieces_task
from treewide._scale.sources import STORES, Store, near, path_of, scheme_of, url_of
from treewide._scale.verdicts import DIFFERENT, KEPT, UNSURE, Judged, ending, judge, tally
from treewide._treewide import _expected_bytes

_HEADS = 16


class ObjectCovering:
    """Knows objects that are named one by one: what results cover, and how they compare with their list."""

    def __init__(self, job: Job, told: Callable[[Row], object]) -> None:
        """Look at what the job names, and at each object."""
        self.job, self._told = job, told
        #: Verdicts with which the run ends with 1.
        self.wrong = DIFFERENT if job.command == "verify" else KEPT
        named = [url_of(it) for it in job.urls]
        self.entries = self._entries(named)
        self.urls = list(dict.fromkeys(named or self.entries))
        if not self.urls:
            raise UsageError("there is nothing to hash: name a URL, or a list that is not empty")
        check_names(named)
        schemes = set(map(scheme_of, self.urls))
        if len(schemes) > 1:
            names = " and ".join(sorted(schemes))
            raise UsageError(f"URLs of {names} cannot be mixed; run the command once for each")
        self.source: Store = source_for(self.urls[0], job.option)
        # Lists and outboards are read and written here, and not by workers.
        self.key, self.here = job.key(self.entries.digest, self.urls), here(*self.urls)
        #: What cannot be looked at.
        self.lost: dict[str, Exception] = {}
        self.outboards = self._outboards()
        #: Where outboards are, and which could not be written.
        self.places: dict[Object, str] = {}
        self.unwritten: dict[Object, Exception] = {}
        #: Why the run ends with 3, apart from verdicts.
        self.causes: list[str] = []
        if self.entries.damage and not job.accept_damage:
            self.causes.append(f"{self.entries.damage}, so that rot cannot be distinguished from a change")
        if job.output is not None:
            check_list(job.output, self.urls)
        if self.outboards is not None and not job.outboards:
            check_outboards(self.urls)
        self.objects = self._heads()
        self.kept = {it: Read(it, self.entries[it.uri].digest) for it in self.objects if self._is_unchanged(it)}
        todo = (it for it in self.objects if it not in self.kept)
        self.cover = BytesCover(todo, outboards=self.outboards, doubts=lambda read: self._judge(read).verdict in KEPT)

    def _entries(self, named: list[str]) -> lists.Entries:
        options = self.job
        if options.command == "sum":
            return lists.Entries()
        wanted = options.expect
        if (options.list is None) == (wanted is None):
            raise UsageError("name the list, or the digest of one URL with --expect")
        if wanted is None:
            entries = lists.read(options.list or "")
            unknown = [it for it in named if it not in entries]
            if unknown and options.command == "verify":
                raise UsageError(f"{unknown[0]} is not in {options.list}")
            return entries
        if len(named) != 1:
            raise UsageError("--expect is the digest of one URL: name one")
        try:
            digest = _expected_bytes(wanted)
        except ValueError as error:
            raise UsageError(f"--expect {wanted}: {error}") from None
        entries = lists.Entries({named[0]: lists.Entry(named[0], digest)})
        entries.digest = digest
        return entries

    # ---- Which objects there are, and which to read ----------------------------------------------

    def earlier(self, results: list[Callable[[], Row | None]]) -> str | None:
        """Take parts of an earlier run, of objects that are still the same."""
        for read in results:
            if (result := read()) is not None:
                self.cover.take(result, is_earlier=True)
        return f"{bytes_text(self.cover.resumed_bytes)} were hashed by an earlier run" if self.cover.resumed else None

    def missing(self, workers: int) -> list[Row]:
        """Return tasks for the bytes that no result covers; then for objects that seem to have rotted, once more."""
        return [pieces_task(it, self.cover.is_second) for it in self.cover.missing(workers)]

    def take(self, result: Row) -> None:
        """Take the pieces of a result."""
        self.cover.take(result)

    def progress(self) -> tuple[int, int | None, str]:
        """Return the bytes that are done and left."""
        return self.cover.done, self.cover.left, ""

    def end(self) -> Outcome:
        """Judge, write the list, and count."""
        if self.outboards is not None:
            self.places, self.unwritten = self.outboards.end()
            for error in self.unwritten.values():
                self._told({"note": str(error)})
        found = {it.uri: read for it, read in (self.kept | self.cover.found).items()}
        for object, first in self.cover.first.items():
            if found[object.uri].digest not in (None, first.digest):
                text = "two readings differ: check the memory of this machine, and the way to the store"
                self._told({"note": f"{object.uri}: {text}"})
        judged = self._judged(found)
        self._write(judged, found)
        if self.unwritten:
            self.causes.append("not all outboards could be written")
        return self._outcome(judged, found)

    def ranges(self, ranges: list[tuple[int, int | None]], outboard: str | None) -> Outcome:
        """Verify ranges by outboards, on this machine. Bytes of the rest are not read."""
        check_ranges(self.urls, ranges, outboard)
        known = (entry.outboard for url in self.urls if (entry := self.entries[url]).outboard is not None)
        pairs = near(outboard or next(known, None) or self.urls[0], self.source)
        counts, total = dict[str, int](), {"bytes_read": 0, "bytes_of_outboard": 0}
        rows = [
            verify_ranges(it, entry.digest, ranges, self.source, pairs, outboard or entry.outboard)
            for it in self.objects
            for entry in [self.entries[it.uri]]
        ]
        rows += (
            {"uri": url, "verdict": it.verdict, "damage": [], "detail": it.detail}
            for url, it in self._judged({}, only=self.lost).items()
        )
        for row in rows:
            tally(counts, {row["verdict"]: 1})
            tally(total, {name: row.get(name, 0) for name in total})
            self._told(row)
        code, why = self._ending(counts)
        more = {"bytes_of_outboard": total["bytes_of_outboard"]}
        evidence = {"in part": len(self.objects)}
        return Outcome(code, counts, evidence, 0, total["bytes_read"], self.causes, more=more, why=why)

    def _outboards(self) -> Outboards | None:
        folder = self.job.outboards
        if folder is None:
            if self.job.group is not None:
                raise UsageError("--group is for --outboards: name both")
            return None
        return Outboards(near(folder or self.urls[0], self.source), folder or None, group=self.job.group)

    def _heads(self) -> list[Object]:
        objects = []
        with ThreadPoolExecutor(_HEADS) as pool:
            for url, found in zip(self.urls, pool.map(self._head, self.urls), strict=True):
                if isinstance(found, ModuleNotFoundError):
                    raise found
                if isinstance(found, FileNotFoundError) and url.endswith("/"):
                    found = FileNotFoundError(f"{found}; -r hashes all that is below it, with -o for the lists")
                if isinstance(found, Exception):
                    self.lost[url] = found
                elif not found.is_pinned and not self.job.unpinned:
                    self.lost[url] = OSError(f"{url}: {UNPINNED}")
                else:
                    objects.append(found)
        return objects

    def _head(self, url: str) -> Object | Exception:
        try:
            return head(self.source, url, Retries())
        except Exception as error:
            return error

    def _is_unchanged(self, object: Object) -> bool:
        entry = self.entries.get(object.uri)
        is_known = entry is not None and entry.is_settled and entry.object == object
        return self.job.command == "update" and object.is_pinned and is_known

    # ---- What is said ----------------------------------------------------------------------------

    def _judged(self, outcomes: dict[str, Read], *, only: Iterable[str] | None = None) -> dict[str, Judged]:
        """Return the verdict on each URL."""
        judged: dict[str, Judged] = {}
        for url in self.urls if only is None else only:
            outcome, entry = outcomes.get(url), self.entries.get(url)
            if outcome is None:
                error = self.lost[url]
                is_gone = isinstance(error, FileNotFoundError) and entry is not None
                judged[url] = Judged(
                    "removed" if is_gone else "unreadable", str(error), "attested" if is_gone else None
                )
                continue
            judged[url] = self._judge(outcome)
            if judged[url].verdict == "suspect" and self.job.expect is not None:
                # There is no list that could say more.
                judged[url] = Judged("changed", judged[url].detail.partition(";")[0], judged[url].evidence)
        return judged

    def _judge(self, read: Read) -> Judged:
        was_read = read.object not in self.kept and read.object not in self.cover.resumed
        return judge(read, self.entries.get(read.object.uri), was_read=was_read)

    def _write(self, judged: dict[str, Judged], outcomes: dict[str, Read]) -> None:
        options = self.job
        path = options.output if options.command == "sum" else options.list if options.command == "update" else None
        if path is None:
            return
        if self.causes:
            self.causes.append(f"{path} stays as it was; --accept-damage writes it")
            return
        is_known = [it.verdict not in UNSURE for it in judged.values()]
        if options.command == "sum" and not any(is_known):
            self.causes.append(f"nothing could be hashed, so {path} was not written")
            return
        if options.command == "sum" and not all(is_known) and os.path.exists(path):
            self.causes.append(f"not all could be hashed, so {path} stays as it was")
            return
        if options.command == "sum" and (loss := self._loss(path, outcomes)) is not None:
            self.causes.append(loss)
            return
        entries = dict(self.entries)
        for url, it in judged.items():
            if it.verdict == "removed":
                entries.pop(url, None)
            elif (outcome := outcomes.get(url)) is not None and outcome.digest is not None:
                if it.verdict in KEPT and not any(fnmatchcase(url, glob) for glob in options.accept_rot):
                    continue
                old, object = entries.get(url), outcome.object
                place = old.outboard if old is not None and old.digest == outcome.digest else None
                place = self.places.get(object, place)
                entries[url] = lists.Entry(url, outcome.digest, object, is_settled(object, self.cover.began), place)
            # What could not be read keeps the digest that it had.
        gone = len(self.entries.keys() - entries.keys())
        if gone and gone == len(self.entries) and not options.allow_empty:
            self.causes.append(f"no object of {path} is there, so it stays as it was; --allow-empty writes it")
            return
        if not options.may_lose(gone, len(self.entries)) and not (options.allow_empty and not entries):
            why = f"{gone:,} of {objects_text(len(self.entries))} are gone, so {path} stays as it was"
            self.causes.append(f"{why}; --max-removed allows more")
            return
        lists.write(path, entries.values())

    def _loss(self, path: str, outcomes: dict[str, Read]) -> str | None:
        """Return what the list that is there would lose."""
        if not os.path.exists(path):
            return None
        before = lists.read(path)
        lost = [it for it in before if it not in self.urls]
        if lost and not self.job.allow_empty:
            why = f"{path} has {objects_text(len(lost))} more, such as {lost[0]}, so it stays as it was"
            return f"{why}: name them too, or another list; --allow-empty writes it"
        for url, outcome in outcomes.items():
            old = before.get(url)
            if old is not None and judge(outcome, old, was_read=True).verdict in KEPT:
                why = f"{path} has another digest of {url}, which may have rotted, so it stays as it was"
                return f"{why}: `update` keeps the old digest, and accepts the new one"
        return None

    def _outcome(self, judged: dict[str, Judged], found: dict[str, Read]) -> Outcome:
        counts: dict[str, int] = {}
        evidence: dict[str, int] = {}
        for url, it in judged.items():
            tally(counts, {it.verdict: 1})
            tally(evidence, {it.evidence: 1} if it.evidence is not None else {})
            hashed = found.get(url)
            digest = hashed.digest if hashed else None
            object = hashed.object if hashed else None
            row: Row = {"uri": url, "verdict": it.verdict, "evidence": it.evidence}
            facts = object._asdict() if object else {}
            place = {"outboard": self.places[object]} if object in self.places else {}
            self._told(row | {"digest": digest.hex() if digest else None, **facts, **place, "detail": it.detail})
        code, why = self._ending(counts)
        of = len(self.entries)
        return Outcome(
            code,
            counts,
            evidence,
            evidence.get("read", 0),
            self.cover.bytes_read,
            self.causes,
            digests={url: read.digest for url in self.urls if (read := found.get(url)) and read.digest is not None},
            more={"only": {"urls": len(self.urls), "of": of} if len(self.urls) < of else None},
            why=why,
            # What is hashed is not read again to write an outboard.
            is_over=not self.unwritten,
        )

    def _ending(self, counts: dict[str, int]) -> tuple[int, str]:
        is_list = self.job.list is not None
        if self.job.command == "verify" and is_list and counts.get("removed", 0) == len(self.urls):
            self.causes.append("nothing of the list is there: is this the right store?")
        return ending(counts, self.wrong, self.causes)


def check_names(urls: Iterable[str]) -> None:
    """Refuse buckets and directories, which are not objects."""
    for url in urls:
        bucket, _, key = url.partition("://")[2].partition("/")
        is_bucket = scheme_of(url) in STORES and not key
        if is_bucket or (scheme_of(url) == "file" and os.path.isdir(path_of(url))):
            what = f"a bucket{'' if bucket else ' without a name'}" if is_bucket else "a directory"
            raise UsageError(f"{url}: this is {what}: use -r to hash all that is in it, and -o for the lists")


def check_ranges(urls: list[str], ranges: list[Any], outboard: str | None) -> None:
    """Refuse an outboard that cannot be of the ranges that it is named for."""
    if outboard is None:
        return
    if not ranges:
        raise UsageError("--outboard is for --range: without it everything is read, and no outboard is needed")
    if is_outboard(outboard):
        if len(urls) > 1:
            raise UsageError(f"{outboard} is the outboard of one URL: name one, or a folder of outboards")
        named_group(outboard)
