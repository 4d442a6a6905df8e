"""`python -m treewide scale` for objects that are named one by one."""

import os
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from pathlib import Path

from treewide._scale import lists
from treewide._scale.bytes_cover import BytesCover
from treewide._scale.console import UsageError
from treewide._scale.found import Fact, Found, is_unchanged, unknown
from treewide._scale.job import Job, here, source_for
from treewide._scale.objects import UNPINNED, Object, Read, is_settled
from treewide._scale.outboards import Outboards, is_outboard
from treewide._scale.outcome import Outcome, Row
from treewide._scale.outputs import check_list, check_outboards, file_of
from treewide._scale.progress import bytes_text, objects_text
from treewide._scale.ranges import verify_ranges
from treewide._scale.reading import Retries, head
from treewide._scale.sources import STORES, Store, near, path_of, scheme_of, url_of
from treewide._scale.verdicts import DIFFERENT, KEPT, UNSURE, Judged, judge
from treewide._treewide import _expected_bytes, digest

_HEADS = 16


class ObjectCovering:
    """Knows objects that are named one by one: what results cover, and how they compare with their list."""

    def __init__(self, job: Job, told: Callable[[Row], object]) -> None:
        """Look at what the job names, and at each object."""
        self.job, self._told = job, told
        if job.inventory or job.quick:
            raise UsageError("--inventory and --quick are for a whole bucket: add -r, or name its list with --list")
        #: Verdicts with which the run ends with 1.
        self.wrong = DIFFERENT if job.command == "verify" else KEPT
        named = [url_of(it) for it in job.urls]
        self.entries = self._entries(named)
        self.urls = list(dict.fromkeys(named or self.entries))
        if not self.urls:
            raise UsageError("there is nothing to hash: name a URL, or a list that is not empty")
        for url in named:
            bucket, _, key = url.partition("://")[2].partition("/")
            is_bucket = scheme_of(url) in STORES and not key
            if is_bucket or (scheme_of(url) == "file" and os.path.isdir(path_of(url))):
                what = f"a bucket{'' if bucket else ' without a name'}" if is_bucket else "a directory"
                raise UsageError(f"{url}: this is {what}: use -r to hash all that is in it, and -o for the lists")
        schemes = set(map(scheme_of, self.urls))
        if len(schemes) > 1:
            raise UsageError(f"URLs of {' and '.join(sorted(schemes))} cannot be mixed; run the command once for each")
        self.source: Store = source_for(self.urls[0], job.option)
        # Lists and outboards are read and written here, and not by workers.
        self.key, self.here = job.key(self.entries.digest, self.urls), here(*self.urls)
        if job.group is not None and job.outboards is None:
            raise UsageError("--group is for --outboards: name both")
        folder = job.outboards
        self.outboards: Outboards | None = None
        if folder is not None:
            self.outboards = Outboards(near(folder or self.urls[0], self.source), folder or None, group=job.group)
        #: Where outboards are, and which could not be written.
        self.places: dict[Object, str] = {}
        self.unwritten: dict[Object, BaseException] = {}
        #: Why the run ends with 3, apart from verdicts.
        self.causes: list[str] = []
        if self.entries.damage and not job.accept_damage:
            self.causes.append(f"{self.entries.damage}, so that rot cannot be distinguished from a change")
        #: The list that the next one replaces, and its entries.
        path = job.output if job.command == "sum" else job.list if job.command == "update" else None
        self.path = file_of(path) if path is not None else None
        there = check_list(self.path, self.urls) if self.path is not None else self.entries
        self.before = self.entries if job.command == "update" else there
        if folder == "":
            check_outboards(self.urls)
        with ThreadPoolExecutor(_HEADS) as pool:
            heads = dict(zip(self.urls, pool.map(self._head, self.urls), strict=True))
        #: What cannot be looked at.
        self.lost = {url: it for url, it in heads.items() if isinstance(it, Exception)}
        self.objects = [it for it in heads.values() if isinstance(it, Object)]
        #: What need not be read.
        pinned = [it for it in self.objects if it.is_pinned and it.uri in self.entries and job.command == "update"]
        same = [it for it in pinned if is_unchanged(self.entries[it.uri], Found(*it, None))]
        self.kept = {it: Read(it, self.entries[it.uri].digest) for it in same}
        todo = (it for it in self.objects if it not in self.kept)
        self.cover = BytesCover(todo, self.outboards, self._doubts)
        self.missing, self.take = self.cover.missing, self.cover.take

    def _entries(self, named: list[str]) -> lists.Entries:
        job = self.job
        if job.command == "sum":
            return lists.Entries()
        if (job.list is None) == (job.expect is None):
            raise UsageError("name the list, or the digest of one URL with --expect")
        if job.expect is None:
            entries = lists.read(file_of(job.list or ""))
            others = [it for it in named if it not in entries]
            if others and job.command == "verify":
                raise UsageError(f"{others[0]} is not in {job.list}")
            return entries
        if len(named) != 1:
            raise UsageError("--expect is the digest of one URL: name one")
        try:
            wanted = _expected_bytes(job.expect)
        except ValueError as error:
            raise UsageError(f"--expect {job.expect}: {error}") from None
        entries = lists.Entries({named[0]: unknown(named[0], wanted)})
        entries.digest = wanted
        return entries

    # ---- Which objects there are, and which to read ----------------------------------------------

    def earlier(self, results: list[Callable[[], Row | None]]) -> str | None:
        """Take parts of an earlier run, of objects that are still the same."""
        for read in results:
            if (result := read()) is not None:
                self.cover.take(result, is_earlier=True)
        return f"{bytes_text(self.cover.resumed_bytes)} were hashed by an earlier run" if self.cover.resumed else None

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
        judged = {url: self._judged(url, found.get(url)) for url in self.urls}
        self._write(judged, found)
        if self.unwritten:
            self.causes.append("not all outboards could be written")
        counts = Counter(it.verdict for it in judged.values())
        evidence = Counter[str](it.evidence for it in judged.values() if it.evidence is not None)
        for url, it in judged.items():
            row: Row = {"uri": url, "verdict": it.verdict, "evidence": it.evidence, "digest": None}
            if (read := found.get(url)) is not None:
                row |= {"digest": read.digest.hex() if read.digest else None, **read.object._asdict()}
                row |= {"outboard": self.places[read.object]} if read.object in self.places else {}
            self._told(row | {"detail": it.detail})
        self._look_for_causes(counts)
        of = len(self.entries)
        digests = {url: read.digest for url in self.urls if (read := found.get(url)) and read.digest is not None}
        more = {"only": {"urls": len(self.urls), "of": of} if len(self.urls) < of else None}
        # What is hashed is not read again to write an outboard.
        is_over, size = not self.unwritten, self.cover.bytes_read
        return Outcome(counts, evidence, size, self.wrong, self.causes, digests, more=more, is_over=is_over)

    def ranges(self, ranges: list[tuple[int, int | None]], outboard: str | None) -> Outcome:
        """Verify ranges by outboards, on this machine. Bytes of the rest are not read."""
        if outboard is not None and is_outboard(outboard) and len(self.urls) > 1:
            raise UsageError(f"{outboard} is the outboard of one URL: name one, or a folder of outboards")
        known = (entry.outboard for url in self.urls if (entry := self.entries[url]).outboard is not None)
        pairs = near(outboard or next(known, None) or self.urls[0], self.source)
        rows = [
            verify_ranges(it, entry.digest, ranges, self.source, pairs, outboard or entry.outboard)
            for it in self.objects
            for entry in [self.entries[it.uri]]
        ]
        rows += (
            {"uri": url, "verdict": it.verdict, "damage": [], "detail": it.detail}
            for url in self.lost
            for it in [self._judged(url, None)]
        )
        for row in rows:
            self._told(row)
        counts = Counter[str](it["verdict"] for it in rows)
        self._look_for_causes(counts)
        size, of_outboard = (sum(it.get(name, 0) for it in rows) for name in ("bytes_read", "bytes_of_outboard"))
        evidence, more = {"in part": len(self.objects)}, {"bytes_of_outboard": of_outboard}
        return Outcome(counts, evidence, size, self.wrong, self.causes, more=more)

    def _head(self, url: str) -> Object | Exception:
        try:
            found = head(self.source, url, Retries())
        except ModuleNotFoundError:
            raise
        except FileNotFoundError as error:
            hint = "; -r hashes all that is below it, with -o for the lists" if url.endswith("/") else ""
            return FileNotFoundError(f"{error}{hint}")
        except Exception as error:
            return error
        return found if found.is_pinned or self.job.unpinned else OSError(f"{url}: {UNPINNED}")

    # ---- What is said ----------------------------------------------------------------------------

    def _judged(self, url: str, read: Read | None) -> Judged:
        """Return the verdict on a URL."""
        if read is not None:
            it = self._judge(read)
            if it.verdict == "suspect" and self.job.expect is not None:
                # There is no list that could say more.
                return Judged("changed", it.detail.partition(";")[0], it.evidence)
            return it
        error = self.lost[url]
        if isinstance(error, FileNotFoundError) and url in self.entries:
            return Judged("removed", str(error), "attested")
        return Judged("unreadable", str(error))

    def _doubts(self, read: Read) -> bool:
        """Whether a digest is not recorded, as the object may have rotted: until it is read twice and accepted."""
        is_accepted = any(fnmatchcase(read.object.uri, glob) for glob in self.job.accept_rot)
        verdict = judge(read, self.before.get(read.object.uri), was_read=True).verdict
        return verdict in KEPT and not (is_accepted and self.cover.is_second)

    def _judge(self, read: Read) -> Judged:
        was_read = read.object not in self.kept and read.object not in self.cover.resumed
        return judge(read, self.entries.get(read.object.uri), was_read=was_read)

    def _write(self, judged: dict[str, Judged], found: dict[str, Read]) -> None:
        if self.path is None:
            return
        entries = self._next_entries(judged, found)
        if self.job.command == "sum":
            why = self._why_not(judged, found)
        else:
            gone = self.entries.keys() - entries.keys()
            why = self.job.loss(len(entries), len(gone), len(self.entries))
        if self.causes:
            why = "--accept-damage writes it"
        there = Path(self.path).read_bytes() if os.path.exists(self.path) else b""
        if digest(there) != self.before.digest:
            why = lists.REPLACED
        if why is not None:
            self.causes.append(f"{self.path} was not written: {why}")
        else:
            lists.write(self.path, entries.values())

    def _next_entries(self, judged: dict[str, Judged], found: dict[str, Read]) -> dict[str, Fact]:
        """Return what the next list has. What could not be read keeps the digest that it had."""
        entries = dict(self.entries)
        for url, it in judged.items():
            if it.verdict == "removed":
                entries.pop(url, None)
            elif (read := found.get(url)) is not None and read.digest is not None:
                if self._doubts(read):
                    continue
                old = entries.get(url)
                place = old.outboard if old is not None and old.digest == read.digest else None
                place = self.places.get(read.object, place)
                is_old = is_settled(read.object, self.cover.began)
                entries[url] = Fact(Found(*read.object, None), read.digest, is_old, place)
        return entries

    def _why_not(self, judged: dict[str, Judged], found: dict[str, Read]) -> str | None:
        """Return why `sum` does not write a list: what the one that is there would lose."""
        is_known = [it.verdict not in UNSURE for it in judged.values()]
        if not all(is_known) and (self.before or not any(is_known)):
            return "not all could be hashed"
        lost = [it for it in self.before if it not in self.urls]
        if lost and not self.job.allow_empty:
            why = f"it has {objects_text(len(lost))} more, such as {lost[0]}"
            return f"{why}: name them too, or another list; --allow-empty writes it"
        for url, read in found.items():
            if self._doubts(read):
                why = f"it has another digest of {url}, which may have rotted"
                return f"{why}: `update` keeps the old digest, and accepts the new one"
        return None

    def _look_for_causes(self, counts: dict[str, int]) -> None:
        is_list = self.job.list is not None
        if self.job.command == "verify" and is_list and counts.get("removed", 0) == len(self.urls):
            self.causes.append("nothing of the list is there: is this the right store?")
