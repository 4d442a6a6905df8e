"""`python -m treewide scale` for objects that are named one by one."""

import argparse
import json
import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from typing import Any

from treewide._arguments import expected_bytes
from treewide._scale import lists
from treewide._scale.buckets.sinks import scheme_of
from treewide._scale.console import UsageError, drive_shown, print_line, say
from treewide._scale.engines import ENGINES
from treewide._scale.journal_file import journal_place
from treewide._scale.merge import Outcome
from treewide._scale.object_driver import Driver
from treewide._scale.object_journal import Journal
from treewide._scale.objects import Object, is_settled
from treewide._scale.outboards import Outboards, is_outboard, named_group
from treewide._scale.outputs import check_list, check_outboards
from treewide._scale.progress import bytes_text, objects_text
from treewide._scale.ranges import Found, print_found, verify_ranges
from treewide._scale.reading import Retries, head
from treewide._scale.sources import STORES, Store, source_of, url_of
from treewide._scale.sources.files import path_of
from treewide._scale.verdicts import DIFFERENT, KEPT, UNSURE, Judged, judge, reason, summary
from treewide._treewide import hexdigest

__all__ = ["ObjectCommand"]

_FINE, _DIFFERS, _UNKNOWN = 0, 1, 3
_HEADS = 16


class ObjectCommand:
    """A command for objects that are named one by one."""

    def __init__(self, options: argparse.Namespace, store: dict[str, Any]) -> None:
        """Look at what the command names. `store` has the options of the store."""
        self.options, self.store = options, store
        self.command: str = options.command
        #: Verdicts with which the run ends with 1.
        self.wrong = {"verify": DIFFERENT, "update": KEPT, "sum": frozenset[str]()}[self.command]
        self.began = time.time()
        options.urls = [url_of(it) for it in options.urls]
        self.entries = self._entries()
        self.urls = list(dict.fromkeys(options.urls or self.entries))
        if not self.urls:
            raise UsageError("there is nothing to hash: name a URL, or a list that is not empty")
        self._check_names()
        schemes = set(map(scheme_of, self.urls))
        if len(schemes) > 1:
            names = " and ".join(sorted(schemes))
            raise UsageError(f"URLs of {names} cannot be mixed; run the command once for each")
        self.source: Store = source_of(self.urls[0], **store)
        if self.command == "verify":
            self._check_ranges()
        self.end_journal: Callable[[], object] = lambda: None
        #: What cannot be looked at.
        self.lost: dict[str, Exception] = {}
        self.outboards = self._outboards()
        #: Where outboards are, and which could not be written.
        self.places: dict[Object, str] = {}
        self.unwritten: dict[Object, Exception] = {}
        #: Objects that an earlier run read, at least in part; and bytes that this one read.
        self.resumed: set[Object] = set()
        self.bytes_read = 0
        #: Why the run ends with 3, apart from verdicts.
        self.causes: list[str] = []
        if self.entries.damage and not getattr(options, "accept_damage", False):
            self.causes.append(f"{self.entries.damage}, so that rot cannot be distinguished from a change")

    def _check_names(self) -> None:
        for url in self.options.urls:
            bucket, _, key = url.partition("://")[2].partition("/")
            is_bucket = scheme_of(url) in STORES and not key
            if is_bucket or (scheme_of(url) == "file" and os.path.isdir(path_of(url))):
                what = f"a bucket{'' if bucket else ' without a name'}" if is_bucket else "a directory"
                raise UsageError(f"{url}: this is {what}: use -r to hash all that is in it, and -o for the lists")

    def _check_ranges(self) -> None:
        options = self.options
        if options.outboard is not None and not options.range:
            raise UsageError("--outboard is for --range: without it everything is read, and no outboard is needed")
        if options.outboard is not None and is_outboard(options.outboard):
            if len(self.urls) > 1:
                raise UsageError(f"{options.outboard} is the outboard of one URL: name one, or a folder of outboards")
            try:
                named_group(options.outboard)
            except ValueError as error:
                raise UsageError(str(error)) from None

    def _source_of_outboards(self, place: str | None) -> Store:
        """Return what reads and writes outboards there."""
        if not place or scheme_of(place) == scheme_of(self.urls[0]):
            return self.source
        return source_of(place)

    def _entries(self) -> lists.Entries:
        options = self.options
        if options.command == "sum":
            return lists.Entries()
        wanted = getattr(options, "expect", None)
        if (options.list is None) == (wanted is None):
            raise UsageError("name the list, or the digest of one URL with --expect")
        if wanted is None:
            entries = lists.read(options.list)
            unknown = [it for it in options.urls if it not in entries]
            if unknown and options.command == "verify":
                raise UsageError(f"{unknown[0]} is not in {options.list}")
            return entries
        if len(options.urls) != 1:
            raise UsageError("--expect is the digest of one URL: name one")
        try:
            digest = expected_bytes(wanted)
        except ValueError as error:
            raise UsageError(f"--expect {wanted}: {error}") from None
        entries = lists.Entries({options.urls[0]: lists.Entry(options.urls[0], digest)})
        entries.digest = digest
        return entries

    # ---- Which objects there are, and which to read ----------------------------------------------

    def run(self) -> int:
        """Run it. Returns the exit code."""
        path = getattr(self.options, "output", None)
        if path is not None:
            check_list(path, self.urls)
        if self.outboards is not None and not self.options.outboards:
            check_outboards(self.urls)
        objects = self._heads()
        if self.command == "verify" and self.options.range:
            return self._verify_ranges(objects)
        kept = {it for it in objects if self._is_unchanged(it)}
        outcomes = self._hash([it for it in objects if it not in kept])
        for object in kept:
            outcomes[object] = Outcome(object, "hashed", self.entries[object.uri].digest)
        self.resumed |= kept
        found = {it.uri: outcomes[it] for it in objects}
        judged = self._judged(found)
        self._read_again(judged, found)
        self._write(judged, found)
        # Not before: a list that cannot be written is written by the same command, which reads nothing again.
        self.end_journal()
        return self._tell(judged, found)

    def _verify_ranges(self, objects: list[Object]) -> int:
        options = self.options
        known = (entry.outboard for url in self.urls if (entry := self.entries[url]).outboard is not None)
        pairs = self._source_of_outboards(options.outboard or next(known, None))
        found = list(verify_ranges(objects, self.entries, options.range, self.source, pairs, options.outboard))
        for url, it in self._judged({}, only=self.lost).items():
            found.append(Found(url, it.verdict, it.detail))
        counts: dict[str, int] = {}
        for each in found:
            counts[each.verdict] = counts.get(each.verdict, 0) + 1
        code = self._code(counts)
        for line in print_found(found, is_json=options.json, code=code):
            print_line(line)
        self._say_why(code, counts)
        return code

    def _outboards(self) -> Outboards | None:
        folder = getattr(self.options, "outboards", None)
        if folder is None:
            if getattr(self.options, "group", None) is not None:
                raise UsageError("--group is for --outboards: name both")
            return None
        try:
            return Outboards(self._source_of_outboards(folder), folder or None, group=self.options.group)
        except ValueError as error:
            raise UsageError(str(error)) from None

    def _heads(self) -> list[Object]:
        objects = []
        with ThreadPoolExecutor(_HEADS) as pool:
            for url, found in zip(self.urls, pool.map(self._head, self.urls), strict=True):
                if isinstance(found, ModuleNotFoundError):
                    raise found
                if isinstance(found, Exception):
                    self.lost[url] = found
                elif not found.is_pinned and not self.options.unpinned:
                    text = f"{url}: the store says neither ETag nor version, so that a change would not be noticed; "
                    self.lost[url] = OSError(text + "read it with --unpinned if no program writes to it")
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
        return self.command == "update" and object.is_pinned and is_known

    def _hash(self, objects: list[Object]) -> dict[Object, Outcome]:
        if not objects:
            return {}
        options = self.options
        run = self._run()
        path = journal_place(hexdigest(json.dumps(run).encode(), length=16) + ".journal")
        if options.no_resume:
            path.unlink(missing_ok=True)
        journal = Journal(path, run)
        if journal.outdated is not None:
            say(f"an earlier run stopped {journal.outdated} days ago, which is too long to continue it: starting anew")
        outboards = self.outboards
        driver = Driver(objects, journal=journal, keeper=outboards)
        if driver.resumed:
            say(f"{bytes_text(driver.resumed)} were hashed by an earlier run: continuing it from {path}")
        self._drive(driver, str(path))
        self.resumed = driver.resumed_objects
        self.bytes_read += max(0, driver.done - driver.resumed)
        for it in driver.disagreements:
            say(str(it))
        if outboards is not None:
            self.places, self.unwritten = outboards.end()
            for error in self.unwritten.values():
                say(str(error))
        # What is hashed is not read again to write an outboard. Otherwise this run is over, whatever it found.
        self.end_journal = journal.close if self.unwritten else journal.remove
        return driver.outcomes

    def _run(self) -> dict[str, Any]:
        """Return what the journal says of this run. Another run takes nothing from it."""
        options = self.options
        output = getattr(options, "output", None)
        return {
            "command": self.command,
            "urls": hexdigest(json.dumps(sorted(self.urls)).encode()),
            "folder": os.path.abspath(".") if scheme_of(self.urls[0]) == "file" else None,
            "list": self.entries.digest.hex(),
            "output": os.path.abspath(output) if output is not None else None,
            "outboards": [getattr(options, "outboards", None), getattr(options, "group", None)],
            "store": hexdigest(json.dumps(sorted(map(str, self.store.items()))).encode()),
        }

    def _drive(self, driver: Driver, journal: str | None) -> None:
        options = self.options
        shown = False if options.quiet else options.progress
        drive_shown(driver, lambda: ENGINES[options.engine](self.source, options.workers), journal, shown)

    def _read_again(self, judged: dict[str, Judged], found: dict[str, Outcome]) -> None:
        """Read again what rotted: a bit may have flipped on the way."""
        again = {found[url].object: url for url, it in judged.items() if it.verdict in KEPT}
        if not again:
            return
        driver = Driver(again)
        self._drive(driver, None)
        self.bytes_read += driver.done
        for object, url in again.items():
            outcome = driver.outcomes[object]
            judged[url] = judge(outcome, self.entries.get(url), was_read=True)
            if outcome.digest != found[url].digest and outcome.digest is not None:
                say(f"{url}: two readings differ: check the memory of this machine, and the way to the store")
            found[url] = outcome

    # ---- What is said ----------------------------------------------------------------------------

    def _judged(self, outcomes: dict[str, Outcome], *, only: Iterable[str] | None = None) -> dict[str, Judged]:
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
            judged[url] = judge(outcome, entry, was_read=outcome.object not in self.resumed)
            if judged[url].verdict == "suspect" and getattr(self.options, "expect", None) is not None:
                # There is no list that could say more.
                judged[url] = Judged("changed", judged[url].detail.partition(";")[0], judged[url].evidence)
        return judged

    def _write(self, judged: dict[str, Judged], outcomes: dict[str, Outcome]) -> None:
        options = self.options
        path = options.output if self.command == "sum" else options.list if self.command == "update" else None
        if path is None:
            return
        if self.causes:
            self.causes.append(f"{path} stays as it was; --accept-damage writes it")
            return
        is_known = [it.verdict not in UNSURE for it in judged.values()]
        if self.command == "sum" and not any(is_known):
            self.causes.append(f"nothing could be hashed, so {path} was not written")
            return
        if self.command == "sum" and not all(is_known) and os.path.exists(path):
            self.causes.append(f"not all could be hashed, so {path} stays as it was")
            return
        if self.command == "sum" and (loss := self._loss(path, outcomes)) is not None:
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
                entries[url] = lists.Entry(url, outcome.digest, object, is_settled(object, self.began), place)
            # What could not be read keeps the digest that it had.
        gone = len(self.entries.keys() - entries.keys())
        if gone and gone == len(self.entries) and not options.allow_empty:
            self.causes.append(f"no object of {path} is there, so it stays as it was; --allow-empty writes it")
            return
        if not options.max_removed.allows(gone, len(self.entries)) and not (options.allow_empty and not entries):
            why = f"{gone:,} of {objects_text(len(self.entries))} are gone, so {path} stays as it was"
            self.causes.append(f"{why}; --max-removed allows more")
            return
        lists.write(path, entries.values())

    def _loss(self, path: str, outcomes: dict[str, Outcome]) -> str | None:
        """Return what the list that is there would lose."""
        if not os.path.exists(path):
            return None
        before = lists.read(path)
        lost = [it for it in before if it not in self.urls]
        if lost and not self.options.allow_empty:
            why = f"{path} has {objects_text(len(lost))} more, such as {lost[0]}, so it stays as it was"
            return f"{why}: name them too, or another list; --allow-empty writes it"
        for url, outcome in outcomes.items():
            old = before.get(url)
            if old is not None and judge(outcome, old, was_read=True).verdict in KEPT:
                why = f"{path} has another digest of {url}, which may have rotted, so it stays as it was"
                return f"{why}: `update` keeps the old digest, and accepts the new one"
        return None

    def _tell(self, judged: dict[str, Judged], outcomes: dict[str, Outcome]) -> int:
        options = self.options
        counts: dict[str, int] = {}
        evidence: dict[str, int] = {}
        for url, it in judged.items():
            counts[it.verdict] = counts.get(it.verdict, 0) + 1
            if it.evidence is not None:
                evidence[it.evidence] = evidence.get(it.evidence, 0) + 1
            outcome = outcomes.get(url)
            digest = outcome.digest if outcome else None
            if options.json:
                object = outcome.object if outcome else None
                facts = {"size": object.size, "etag": object.etag, "version": object.version} if object else {}
                found: dict[str, Any] = {"uri": url, "verdict": it.verdict, "evidence": it.evidence}
                place = {"outboard": self.places[object]} if object in self.places else {}
                found |= {"digest": digest.hex() if digest else None, **facts, **place, "detail": it.detail}
                print_line(json.dumps(found))
            elif self.command == "sum":
                if digest is None:
                    say(it.detail if url in it.detail else f"{url}: {it.verdict}: {it.detail}")
                elif options.output is None:
                    print_line(lists.line_of(url, digest))
            elif it.verdict != "same":
                detail = it.detail.removeprefix(f"{url}: ")
                print_line(f"{it.verdict:10} {url}" + (f"  ({detail})" if detail else ""))
        code = self._code(counts)
        read = evidence.get("read", 0)
        if options.json:
            limits = {"urls": len(self.urls), "of": len(self.entries)} if len(self.urls) < len(self.entries) else None
            total = {"counts": counts, "evidence": evidence, "objects_read": read, "bytes_read": self.bytes_read}
            print_line(json.dumps({**total, "only": limits, "causes": self.causes, "exit": code}))
        elif self.command != "sum" and not (options.quiet and code == _FINE):
            print_line(summary(objects_text(len(judged)), counts, evidence, bytes_text(self.bytes_read)))
        self._say_why(code, counts)
        return code

    def _say_why(self, code: int, counts: dict[str, int]) -> None:
        if code != _FINE and (why := reason(counts, self.wrong, self.causes)):
            say(why)

    def _code(self, counts: dict[str, int]) -> int:
        there = {it for it, count in counts.items() if count}
        is_list = getattr(self.options, "list", None) is not None
        if self.command == "verify" and is_list and counts.get("removed", 0) == len(self.urls):
            self.causes.append("nothing of the list is there: is this the right store?")
        if there & UNSURE or self.unwritten or self.causes:
            return _UNKNOWN
        return _DIFFERS if there & self.wrong else _FINE
