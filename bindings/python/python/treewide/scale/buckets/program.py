"""`python -m treewide scale` for whole buckets: `sum -r`, and `verify` and `update` of what it wrote."""

import argparse
import json
import os
from pathlib import Path
from typing import Any

from treewide._treewide import hexdigest
from treewide.scale.buckets.driver import BucketDriver
from treewide.scale.buckets.inventory import listing_of
from treewide.scale.buckets.journal import BucketJournal
from treewide.scale.buckets.listing import listed
from treewide.scale.buckets.parts import (
    LIST,
    Bucket,
    Fact,
    Part,
    is_intact,
    read_bucket,
    read_part,
    write_bucket,
    write_part,
)
from treewide.scale.buckets.shards import Difference, Job
from treewide.scale.buckets.sinks import Folder, folder_of, join, scheme_of
from treewide.scale.console import drive_shown, print_line, say
from treewide.scale.engines import ENGINES
from treewide.scale.journal import Journal
from treewide.scale.lists import ListError, line_of
from treewide.scale.progress import Progress, bytes_text, objects_text
from treewide.scale.reading import Retries, Source
from treewide.scale.sources import path_of, source_of

__all__ = ["BucketCommand", "bucket_of"]

#: A file that says what the others are. It is written first.
_NOTE = "README.txt"
_ABOUT = b"""These are lists of BLAKE3 digests, which `python -m treewide scale sum -r` wrote.

bucket.b3 names all other files, except for this one. `b3sum --check bucket.b3` checks them, in this folder;
`python -m treewide scale verify --list bucket.b3` compares the objects with them.
"""

_FINE, _DIFFERS, _UNKNOWN = 0, 1, 3
_UNSURE = frozenset({"unreadable", "changing"})
#: What differs from a list; `update` takes all of it, except for rot.
_DIFFERENT = frozenset({"changed", "rot", "added", "removed"})
#: The order in which they are counted.
_VERDICTS = ("hashed", "same", "touched", "changed", "rot", "added", "removed", "changing", "unreadable")


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
        self.source: Source = source_of(root, **({} if scheme_of(root) == "file" else store))
        output = options.output if self.command == "sum" else lists if self.command == "update" else None
        output = output.rstrip("/") or "/" if output is not None else None
        if output is not None and _place(output) == _place(root):
            raise ListError(f"lists cannot be written among what is hashed: name another folder than {output}")
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
            limit=self.old.limit if self.old is not None else options.part,
        )
        self._is_large_intact = False
        #: The lists that are in the output folder, when a run goes on.
        self._written: set[str] | None = None
        #: Where a store is can be an option, and two stores may have buckets of one name.
        self.endpoint = str(
            store.get("endpoint") or store.get("endpoint_url") or os.environ.get("AWS_ENDPOINT_URL", "")
        )
        self.journal_path = self._journal_path()

    def run(self) -> int:
        """Run it. Returns the exit code."""
        job, options = self.job, self.options
        # What is missing is said at once, and not by each worker.
        next(listed(listing_of(job.root, self.source, job.inventory), job.root, "", None, Retries(), most=1), None)
        if job.output is not None:
            # And so is it if nothing can be written there, and not after everything was read.
            folder_of(job.output, self.source).put(_NOTE, _ABOUT)
        self.journal_path.parent.mkdir(parents=True, exist_ok=True)
        large_path = self.journal_path.with_name(self.journal_path.name + ".large")
        if options.no_resume:
            for path, make in ((self.journal_path, self._journal), (large_path, lambda: Journal(large_path))):
                make().remove() if path.exists() else None
        journal = self._journal()
        large: list[Journal] = []

        def large_journal() -> Journal:
            large.append(Journal(large_path))
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
            say(f"{driver.resumed:,} objects were done by an earlier run: going on from {self.journal_path}")
        drive_shown(
            driver,
            lambda: ENGINES[options.engine](self.source, options.workers),
            self.journal_path,
            options.progress,
            _Progress,
        )
        bucket = self._write(driver)
        code = self._summary(driver, bucket)
        kept: list[BucketJournal | Journal] = [journal, *large]
        for it in kept:
            it.close() if driver.failures else it.remove()
        return code

    def _old_large(self) -> list[Fact]:
        if self.old is None or self.old.large is None or self.job.lists is None:
            return []
        found = read_part(folder_of(self.job.lists, self.source), self.old.large)
        self._is_large_intact = is_intact(found)
        return found

    # ---- The journal -----------------------------------------------------------------------------

    def _what(self) -> dict[str, Any]:
        job = self.job
        old = self.old.digest.hex() if self.old is not None else None
        output = _place(job.output) if job.output is not None else None
        what = {"command": self.command, "root": job.root, "output": output, "list": old}
        return {**what, "inventory": job.inventory, "reads_all": job.reads_all, "endpoint": self.endpoint}

    def _is_there(self, part: Part) -> bool:
        """Whether a list that an earlier run wrote is still in the output folder."""
        if self.job.output is None:
            return True
        if self._written is None:
            self._written = set(folder_of(self.job.output, self.source).names("part-"))
        return f"{part.name}.b3" in self._written

    def _journal_path(self) -> Path:
        if self.options.journal:
            return Path(self.options.journal)
        cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        where = os.path.abspath(".") if scheme_of(self.job.root) == "file" else ""
        name = hexdigest(json.dumps([self._what(), where]).encode(), length=16)
        return Path(cache, "treewide", "scale", f"{name}.bucket")

    def _journal(self) -> BucketJournal:
        return BucketJournal(self.journal_path, self._what())

    # ---- What is written and said ----------------------------------------------------------------

    def _write(self, driver: BucketDriver) -> Bucket | None:
        job = self.job
        if job.output is None or driver.failures:
            return None
        folder: Folder = folder_of(job.output, self.source)
        known = {self.old.large.name} if self.old is not None and self.old.large is not None else set()
        known = known if self._is_large_intact else set()
        large = write_part(folder, driver.large, "large", known)
        bucket = Bucket(job.root, driver.all_ranges(), large, b"", job.skip, job.limit)
        return write_bucket(folder, bucket, self.name)

    def _tell(self, it: Difference) -> None:
        uri = self.job.root + it.key
        if self.options.json:
            digests = {"expected": _hex(it.expected), "digest": _hex(it.digest)}
            print_line(json.dumps({"uri": uri, "verdict": it.verdict, **digests, "detail": it.detail}))
            return
        # On one line, as b3sum writes names.
        name = line_of(uri, b"").removeprefix("\\").removeprefix("  ")
        detail = it.detail.removeprefix(f"{uri}: ")
        line = f"{it.verdict:10} {name}" + (f"  ({detail})" if detail else "")
        say(line) if self.command == "sum" else print_line(line)

    def _summary(self, driver: BucketDriver, bucket: Bucket | None) -> int:
        counts = {it: driver.counts[it] for it in _VERDICTS if driver.counts.get(it)}
        code = self._code(driver)
        for it in driver.failures:
            say(it)
        if driver.failures:
            what = "the list was not written" if self.job.output is not None else "nobody can say what is there"
            say(f"{what}: the same command goes on from {self.journal_path}")
        elif not driver.objects:
            # For a store, a prefix that is spelt wrong is one that has no objects.
            say(f"there is no object below {self.job.root}: is that the right place?")
        if self.options.json:
            found = {"counts": counts, "objects_read": driver.objects_read, "bytes_read": driver.bytes_read}
            found |= {"requests": driver.requests, "list": _hex(bucket.digest) if bucket else None, "exit": code}
            print_line(json.dumps(found))
            return code
        text = ", ".join(f"{count:,} {verdict}" for verdict, count in counts.items())
        text = objects_text(driver.objects) + (f": {text}" if text else "")
        text += f"; {driver.objects_read:,} read, {bytes_text(driver.bytes_read)}"
        say(text) if self.command == "sum" else print_line(text)
        if bucket is not None and self.job.output is not None:
            print_line(line_of(join(self.job.output, self.name), bucket.digest))
        return code

    def _code(self, driver: BucketDriver) -> int:
        there = {it for it, count in driver.counts.items() if count}
        if driver.failures or there & _UNSURE:
            return _UNKNOWN
        wrong = _DIFFERENT if self.command == "verify" else {"rot"}
        return _DIFFERS if there & wrong else _FINE


class _Progress(Progress):
    """How far a run over a bucket is. How many objects there are, nobody knows before the end."""

    def line(self, driver: Any, workers: int) -> str:
        (began, first), (now, last) = self._seen[0], self._seen[-1]
        rate = max(0, last - first) / (now - began) if now > began else 0.0
        text = f"{driver.objects:,} objects, {rate:,.0f}/s, {bytes_text(driver.bytes_read)} read, "
        if driver.inner is not None and driver.inner.left:
            text += f"{bytes_text(driver.inner.left)} of large objects left"
        else:
            text += f"{driver.ranges:,} {'range' if driver.ranges == 1 else 'ranges'} of keys left"
        return f"{text}, {workers} {'worker' if workers == 1 else 'workers'}"


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
