"""`python -m treewide scale` for whole buckets: `sum -r`, and `verify` and `update` of its lists."""

import argparse
import json
import os
from collections.abc import Iterable, Iterator
from heapq import merge
from pathlib import Path
from typing import Any

from treewide._scale.buckets.bucket_driver import BucketDriver
from treewide._scale.buckets.bucket_journal import BucketJournal
from treewide._scale.buckets.bucket_list import LIST, Bucket, read_bucket, write_bucket
from treewide._scale.buckets.inventory import Inventory, listing_of
from treewide._scale.buckets.list_files import Fact, ListFile, is_intact, read_list, write_list
from treewide._scale.buckets.listing import listed
from treewide._scale.buckets.shards import Difference, Job, compare
from treewide._scale.buckets.sinks import Folder, folder_of, join, scheme_of
from treewide._scale.console import UsageError, drive_shown, print_line, say
from treewide._scale.engines import ENGINES
from treewide._scale.journal_file import journal_place
from treewide._scale.lists import ListError, line_of
from treewide._scale.object_journal import Journal
from treewide._scale.progress import Progress, bytes_text, objects_text
from treewide._scale.reading import Retries, Source
from treewide._scale.sources import source_of, url_of
from treewide._scale.sources.files import path_of
from treewide._scale.verdicts import DIFFERENT, KEPT, UNSURE, reason, summary
from treewide._treewide import blake3, hexdigest

__all__ = ["BucketCommand", "bucket_of"]

#: A file that says what the others are. It is written first.
_NOTE = "README.txt"
_ABOUT = b"""These are lists of BLAKE3 digests, which `python -m treewide scale sum -r` wrote.

bucket.b3 names all other files, except for this one. `b3sum --check bucket.b3` checks them, in this folder;
`python -m treewide scale verify --list bucket.b3` compares the objects with them.
"""

_FINE, _DIFFERS, _UNKNOWN = 0, 1, 3
#: The order in which they are counted.
_VERDICTS = ("hashed", "same", "touched", "changed", "rot", "suspect", "added", "removed", "changing", "unreadable")
#: Objects of a list.
_LIMIT = 10_000


def bucket_of(list: str, options: dict[str, Any]) -> tuple[Bucket, str] | None:
    """Return a list of lists and its folder; `None` if it is another list. Raises `ListError`, `OSError`."""
    if scheme_of(list) == "file":
        folder, name = os.path.split(path_of(list))
        folder, source = folder or ".", source_of(folder)
    else:
        folder, _, name = list.rpartition("/")
        source = source_of(list, **options)
    found = read_bucket(folder_of(folder, source), name)
    return (found, folder) if found is not None else None


class BucketCommand:
    """A command for a bucket."""

    def __init__(self, options: argparse.Namespace, store: dict[str, Any], found: tuple[Bucket, str] | None) -> None:
        """Begin a new list, or compare with one that was `found`. `store` has the options of the store."""
        self.options = options
        self.old: Bucket | None = found[0] if found is not None else None
        lists = found[1] if found is not None else None
        root = self.old.root if self.old is not None else options.urls[0]
        if scheme_of(root) == "file":
            root = path_of(root)
        root = root if root.endswith("/") else root + "/"
        self.command: str = options.command
        #: Verdicts with which the run ends with 1.
        self.wrong = DIFFERENT if self.command == "verify" else KEPT
        root = url_of(root)
        self.source: Source = source_of(root, **({} if scheme_of(root) == "file" else store))
        output = options.output if self.command == "sum" else lists if self.command == "update" else None
        output = output.rstrip("/") or "/" if output is not None else None
        if output is not None and _place(output) == _place(root):
            raise UsageError(f"lists cannot be written among what is hashed: name another folder than {output}")
        self.name = LIST if self.command == "sum" else os.path.basename(options.list)
        skip = self.old.skip if self.old is not None else _below(root, output or "")
        self.job = Job(
            root=root,
            output=output,
            lists=lists,
            inventory=getattr(options, "inventory", None),
            reads_all=self.command != "update" and not getattr(options, "quick", False),
            skip=skip,
            unpinned=options.unpinned,
            accept=tuple(getattr(options, "accept_rot", ())),
            limit=self.old.limit if self.old is not None else _LIMIT,
        )
        #: Why the run ends with 3, apart from verdicts.
        self.causes: list[str] = []
        #: What the output folder has already, if that is a list of the same root.
        self.before: Bucket | None = self.old
        self._is_large_intact = False
        #: The lists that are in the output folder, when a run is continued.
        self._written: set[str] | None = None
        #: Where a store is can be an option, and two stores may have buckets of one name.
        self.endpoint = str(
            store.get("endpoint") or store.get("endpoint_url") or os.environ.get("AWS_ENDPOINT_URL", "")
        )
        self.journal_path = self._journal_path()

    def _check_output(self, folder: Folder) -> None:
        """Check that every file in the output folder is ours."""
        if self.command != "sum":
            return
        try:
            if not folder.get(_NOTE).startswith(_ABOUT.partition(b",")[0]):
                raise UsageError(
                    f"{join(self.job.output or '', _NOTE)} is a file of another program: name another folder"
                )
        except FileNotFoundError:
            pass
        try:
            found = read_bucket(folder)
        except FileNotFoundError:
            return
        except ListError as error:
            raise UsageError(f"{error}; name another folder") from None
        if found is None or found.root != self.job.root:
            what = f"the list of {found.root}" if found is not None else "not the list of a bucket"
            raise UsageError(f"{join(self.job.output or '', LIST)} is {what}: name another folder")
        self.before = found

    def run(self) -> int:
        """Run it. Returns the exit code."""
        job, options = self.job, self.options
        listing = listing_of(job.root, self.source, job.inventory)
        if isinstance(listing, Inventory) and not listing.has_identity and not job.unpinned:
            raise UsageError(
                f"{job.inventory}: has neither the column e_tag nor version_id, so that a change would not be noticed: "
                "make one with e_tag, or pass --unpinned if no program writes to the bucket"
            )
        # What is missing is said at once, and not by each worker.
        first = next(listed(listing, job.root, "", None, Retries(), most=1), [])
        if self.command == "sum" and not first and not options.allow_empty:
            say(f"there is no object below {job.root}: is that the right place? Nothing was written")
            return _UNKNOWN
        if job.output is not None:
            # And so is it if nothing can be written there, and not after everything was read.
            folder = folder_of(job.output, self.source)
            self._check_output(folder)
            folder.put(_NOTE, _ABOUT)
        large_path = self.journal_path.with_name(self.journal_path.name + ".large")
        if options.no_resume:
            for path in (self.journal_path, large_path):
                path.unlink(missing_ok=True)
        journal = self._journal()
        if journal.outdated is not None:
            say(f"an earlier run stopped {journal.outdated} days ago, which is too long to continue it: starting anew")
            large_path.unlink(missing_ok=True)
        large: list[Journal] = []

        def large_journal() -> Journal:
            large.append(Journal(large_path, self._what()))
            return large[0]

        driver = BucketDriver(
            job,
            old=self.old,
            old_large=self._old_large(),
            journal=journal,
            large_journal=large_journal,
            is_there=self._is_there,
            told=self._tell,
        )
        if driver.resumed:
            done = f"{driver.resumed:,} objects were done by an earlier run"
            say(f"{done}, and are only listed again: continuing it from {self.journal_path}")
        drive_shown(
            driver,
            lambda: ENGINES[options.engine](self.source, options.workers),
            str(self.journal_path),
            False if options.quiet else options.progress,
            _Progress,
        )
        bucket = self._write(driver)
        contents = self._contents(driver, bucket)
        code = self._summary(driver, bucket, contents)
        kept: list[BucketJournal | Journal] = [journal, *large]
        for it in kept:
            it.close() if driver.failures else it.remove()
        return code

    def _old_large(self) -> list[Fact]:
        if self.old is None or self.old.large is None or self.job.lists is None:
            return []
        found = read_list(folder_of(self.job.lists, self.source), self.old.large)
        self._is_large_intact = is_intact(found)
        return found

    # ---- The journal -----------------------------------------------------------------------------

    def _what(self) -> dict[str, Any]:
        job = self.job
        old = self.old.digest.hex() if self.old is not None else None
        output = _place(job.output) if job.output is not None else None
        what = {"command": self.command, "root": job.root, "output": output, "list": old}
        return {**what, "inventory": job.inventory, "reads_all": job.reads_all, "endpoint": self.endpoint}

    def _is_there(self, part: ListFile) -> bool:
        """Whether a list that an earlier run wrote is still in the output folder."""
        if self.job.output is None:
            return True
        if self._written is None:
            self._written = set(folder_of(self.job.output, self.source).names("part-"))
        return f"{part.name}.b3" in self._written

    def _journal_path(self) -> Path:
        where = os.path.abspath(".") if scheme_of(self.job.root) == "file" else ""
        name = hexdigest(json.dumps([self._what(), where]).encode(), length=16)
        return journal_place(f"{name}.bucket")

    def _journal(self) -> BucketJournal:
        return BucketJournal(self.journal_path, self._what())

    # ---- What is written and said ----------------------------------------------------------------

    def _write(self, driver: BucketDriver) -> Bucket | None:
        job = self.job
        if job.output is None or driver.failures:
            return None
        hashed = driver.objects - sum(driver.counts.get(it, 0) for it in ("removed", *UNSURE))
        if driver.unknown and not self.options.accept_damage:
            self.causes.append("the list stays as it was; --accept-damage writes it")
            return None
        was_empty = self.before is not None and not self.before.objects
        if not hashed and not was_empty and not self.options.allow_empty:
            self.causes.append("nothing is there or could be hashed, so the list was not written")
            return None
        if self.before is not None and self._loses(driver, hashed):
            self.causes.append(
                f"most of the {objects_text(self.before.objects)} of the old list are gone, so it stays as it was: is "
                "this the right store? --max-removed allows more"
            )
            return None
        folder: Folder = folder_of(job.output, self.source)
        if (doubt := self._doubt(driver, folder)) is not None:
            self.causes.append(doubt)
            return None
        known = {self.old.large.name} if self.old is not None and self.old.large is not None else set()
        known = known if self._is_large_intact else set()
        large = write_list(folder, driver.large, "large", known)
        bucket = Bucket(job.root, driver.all_ranges(), large, b"", job.skip, job.limit)
        return write_bucket(folder, bucket, self.name)

    def _loses(self, driver: BucketDriver, hashed: int) -> bool:
        assert self.before is not None
        gone = self.before.objects - hashed if self.old is None else driver.counts.get("removed", 0)
        return not self.options.max_removed.allows(gone, self.before.objects) and not self.options.allow_empty

    def _doubt(self, driver: BucketDriver, folder: Folder) -> str | None:
        """Return what is wrong with replacing the list that is there, if a new digest may be that of rot."""
        if self.command != "sum" or self.before is None:
            return None

        def facts(parts: Iterable[ListFile], large: list[Fact], side: int) -> Iterator[tuple[str, int, Fact]]:
            small = (it for part in parts for it in read_list(folder, part))
            return ((it.key, side, it) for it in merge(small, large, key=lambda it: it.key))

        try:
            before = self.before
            large = read_list(folder, before.large) if before.large is not None else []
            new = (it.part for it in driver.all_ranges() if it.part is not None)
            old: Fact | None = None
            for key, side, fact in merge(facts(before.lists(), large, 0), facts(new, driver.large, 1)):
                if side == 0:
                    old = fact
                elif old is not None and old.key == key and compare(old, fact)[0] in KEPT:
                    why = f"the list has another digest of {self.job.root}{key}, which may have rotted"
                    return f"{why}, so it stays as it was: `update` keeps the old digest, and accepts the new one"
        except (ListError, FileNotFoundError) as error:
            return f"the list is damaged, so it stays as it was ({error}): name another folder, or remove it"
        return None

    def _contents(self, driver: BucketDriver, bucket: Bucket | None) -> bytes | None:
        """Return the digest of all lines in the order of keys: the same for the same objects, however they were shared.

        It reads back the lists that the workers wrote.
        """
        if bucket is None or self.job.output is None:
            return None
        folder = folder_of(self.job.output, self.source)
        lines = ((it.key, it.digest) for part in bucket.lists() for it in read_list(folder, part))
        hasher = blake3()
        for key, value in merge(lines, ((it.key, it.digest) for it in driver.large)):
            hasher.update(line_of(key, value).encode("utf-8", "surrogateescape") + b"\n")
        return hasher.digest()

    def _tell(self, it: Difference) -> None:
        uri = self.job.root + it.key
        if self.options.json:
            digests = {"expected": _hex(it.expected), "digest": _hex(it.digest)}
            verdict = {"verdict": it.verdict, "evidence": _evidence(it)}
            print_line(json.dumps({"uri": uri, **verdict, **digests, "detail": it.detail}))
            return
        # On one line, as b3sum writes names.
        name = line_of(uri, b"").removeprefix("\\").removeprefix("  ")
        detail = it.detail.removeprefix(f"{uri}: ")
        line = f"{it.verdict:10} {name}" + (f"  ({detail})" if detail else "")
        say(line) if self.command == "sum" else print_line(line)

    def _summary(self, driver: BucketDriver, bucket: Bucket | None, contents: bytes | None) -> int:
        counts = {it: driver.counts[it] for it in _VERDICTS if driver.counts.get(it)}
        self._look_for_causes(driver)
        code = self._code(driver)
        for it in driver.failures:
            say(it)
        if driver.failures:
            what = "the list was not written" if self.job.output is not None else "not everything was compared"
            self.causes.append(f"{what}: the same command continues from {self.journal_path}")
        if self.options.json:
            found: dict[str, Any] = {"counts": counts, "evidence": driver.evidence}
            found |= {"objects_read": driver.objects_read, "bytes_read": driver.bytes_read, "requests": driver.requests}
            found |= {"list": _hex(bucket.digest) if bucket else None, "contents": _hex(contents)}
            found |= {"quick": not self.job.reads_all, "resumed": driver.resumed, "causes": self.causes, "exit": code}
            print_line(json.dumps(found))
        elif not (self.options.quiet and code == _FINE):
            text = summary(objects_text(driver.objects), counts, driver.evidence, bytes_text(driver.bytes_read))
            say(text) if self.command == "sum" else print_line(text)
            if bucket is not None and self.job.output is not None:
                if contents is not None:
                    say(f"the digest of all lines in the order of keys is {contents.hex()}")
                print_line(line_of(join(self.job.output, self.name), bucket.digest))
        if code != _FINE and (why := reason(counts, self.wrong, self.causes)):
            say(why)
        return code

    def _look_for_causes(self, driver: BucketDriver) -> None:
        if driver.unknown and not getattr(self.options, "accept_damage", False):
            self.causes.append(
                f"what the list says of {objects_text(driver.unknown)} is damaged or missing (*.objects.gz), so that "
                "no one knows which of them were written to"
            )
        is_gone = self.old is not None and self.old.objects and driver.counts.get("removed", 0) >= self.old.objects
        if self.command == "verify" and is_gone:
            self.causes.append("nothing of the list is there: is this the right store?")

    def _code(self, driver: BucketDriver) -> int:
        there = {it for it, count in driver.counts.items() if count}
        if driver.failures or there & UNSURE or self.causes:
            return _UNKNOWN
        return _DIFFERS if there & self.wrong else _FINE


class _Progress(Progress):
    """How far a run over a bucket is. The number of objects is known only at the end."""

    def line(self, driver: Any, workers: int) -> str:
        (began, first), (now, last) = self._seen[0], self._seen[-1]
        rate = max(0, last - first) / (now - began) if now > began else 0.0
        text = f"{driver.objects:,} objects, {rate:,.0f}/s, {bytes_text(driver.bytes_read)} read, "
        if driver.inner is not None and driver.inner.left:
            text += f"{bytes_text(driver.inner.left)} of large objects left"
        else:
            text += f"{driver.ranges:,} {'range' if driver.ranges == 1 else 'ranges'} of keys left"
        return f"{text}, {workers} {'worker' if workers == 1 else 'workers'}"


def _evidence(it: Difference) -> str | None:
    if it.verdict == "removed":
        return "attested"
    return "read" if it.digest is not None else None


def _below(root: str, output: str) -> str | None:
    """Return how keys begin that are in the output folder, if that is below the root."""
    root, output = _place(root), _place(output) if output else ""
    return output[len(root) :] if output.startswith(root) and len(output) > len(root) else None


def _place(url: str) -> str:
    """Return the one name that a folder has, whatever it is called."""
    scheme, _, rest = url.partition("://")
    if scheme_of(url) == "file":
        return os.path.join(os.path.realpath(path_of(url)), "")
    return f"{'s3' if scheme == 's3a' else scheme}://{rest.rstrip('/')}/"


def _hex(digest: bytes | None) -> str | None:
    return digest.hex() if digest is not None else None
