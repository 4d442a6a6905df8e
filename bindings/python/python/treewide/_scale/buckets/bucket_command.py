"""`sum -r`, and `verify` and `update` of the lists of a bucket."""

import contextlib
import os
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from posixpath import join
from typing import Any

from treewide._scale.buckets.bucket_list import LIST, Bucket, read_bucket, write_bucket
from treewide._scale.buckets.inventory import Inventory, listing_of
from treewide._scale.buckets.keys_cover import KeysCover
from treewide._scale.buckets.list_files import is_intact, is_list_file, read_list, write_list
from treewide._scale.buckets.listing import cuts, listed
from treewide._scale.buckets.shards import BucketJob, difference, judge, removed
from treewide._scale.buckets.sinks import Folder
from treewide._scale.bytes_cover import BytesCover
from treewide._scale.console import UsageError
from treewide._scale.found import Fact, Found
from treewide._scale.job import Job, here, source_for
from treewide._scale.lists import REPLACED, ListError
from treewide._scale.objects import Object, Read, evidence_of
from treewide._scale.outcome import Outcome, Row
from treewide._scale.progress import bytes_text, objects_text
from treewide._scale.reading import Retries
from treewide._scale.sources import path_of, scheme_of, url_of
from treewide._scale.verdicts import DIFFERENT, KEPT, UNSURE
from treewide._treewide import digest

#: A file that says what the others are. It is written first.
_NOTE = "README.txt"
_ABOUT = b"""These are lists of BLAKE3 digests, which `python -m treewide scale sum -r` wrote.

bucket.b3 names all other files, except for this one. `b3sum --check bucket.b3` checks them, in this folder;
`python -m treewide scale verify --list bucket.b3` compares the objects with them.
"""

#: The order in which they are counted.
_VERDICTS = ("hashed", "same", "touched", "changed", "rot", "suspect", "added", "removed", "changing", "unreadable")
#: Objects of a list, about.
_LIMIT = 8192


def bucket_of(job: Job) -> tuple[Bucket, str, str] | None:
    """Return the list of lists that a job names, its folder and its name; `None` if it is another list.

    Raises `UsageError`, `ListError`, `OSError`.
    """
    list = job.list or ""
    # In a store there are only lists of buckets, and their names need not be known.
    is_local = scheme_of(list) == "file"
    is_folder = os.path.isdir(path_of(list)) if is_local else not list.endswith(".b3")
    if list.endswith("/") or is_folder:
        list = join(list, LIST)
    if is_list_file(list):
        raise UsageError(f"{list} is a part of the list of a bucket: name {LIST} in the same folder")
    folder, name = os.path.split(path_of(list)) if is_local else list.rsplit("/", 1)
    folder = folder or "."
    try:
        found = read_bucket(Folder(folder, source_for(list, job.option)), name)
    except FileNotFoundError:
        raise UsageError(f"{list}: there is no such list: `sum -o` writes one") from None
    if found is None and (is_folder or not is_local):
        raise ListError(f"{list} is damaged, or not the list of a bucket")
    return (found, folder, name) if found is not None else None


class BucketCovering:
    """Knows a bucket: what results cover, and how it compares with its lists."""

    def __init__(self, job: Job, told: Callable[[Row], object], found: tuple[Bucket, str, str] | None) -> None:
        """Begin a new list, or compare with one that was `found`. Looks at the store and at the output."""
        self.job, self._told = job, told
        if found is not None and job.urls:
            raise UsageError(f"{job.list} covers a whole bucket and is compared completely; remove the URLs")
        if found is None and (len(job.urls) != 1 or job.output is None):
            raise UsageError("sum -r hashes everything below one URL, and writes lists to a folder: name both, with -o")
        if job.outboards is not None or job.group is not None:
            # Refused, instead of being left out without a word.
            raise UsageError("--outboards is for objects that are named one by one: a whole bucket gets none")
        known, lists, self.name = found or (None, None, LIST)
        root = known.root if known is not None else job.urls[0]
        if scheme_of(root) == "file":
            root = path_of(root)
        root = url_of(root if root.endswith("/") else root + "/")
        #: Verdicts with which the run ends with 1.
        self.wrong = DIFFERENT if job.command == "verify" else KEPT
        self.source = source_for(root, job.option)
        output = job.output if job.command == "sum" else lists if job.command == "update" else None
        output = output.rstrip("/") or "/" if output is not None else None
        if output is not None and _place(output) == _place(root):
            raise UsageError(f"lists cannot be written among what is hashed: name another folder than {output}")
        #: Why the run ends with 3, apart from verdicts.
        self.causes: list[str] = []
        self._listing = listing_of(self.source, job.inventory)
        if isinstance(self._listing, Inventory) and not self._listing.has_identity and not job.unpinned:
            raise UsageError(
                f"{job.inventory}: has neither the column e_tag nor version_id, so that a change would not be noticed: "
                "make one with e_tag, or pass --unpinned if no program writes to the bucket"
            )
        # What is missing is said at once, and not by each worker.
        is_nothing = not any(listed(self._listing, root, "", None, Retries(), most=1))
        if is_nothing and job.command == "sum" and not job.allow_empty:
            raise OSError(f"there is no object below {root}: is that the right place? Nothing was written")
        if output is not None:
            # An output that cannot be written is noticed now, and not after everything was read.
            folder = Folder(output, self.source)
            known = known or self._checked_output(folder, output, root)
            folder.put(_NOTE, _ABOUT)
        #: What objects are compared with, or must not be lost, without its lists; and how many objects these have.
        self.known = known._replace(ranges=[]) if known is not None else None
        self.known_objects = known.objects if known is not None else None
        self.shard = BucketJob(
            root=root,
            output=output,
            old=(lists or output or "", *known.own_index) if known is not None else None,
            compares=job.command != "sum",
            inventory=job.inventory,
            reads_all=job.command != "update" and not job.quick,
            skip=known.skip if known is not None else _below(root, output or ""),
            unpinned=job.unpinned,
            accept=job.accept_rot,
            limit=known.limit if known is not None and job.command != "sum" else _LIMIT,
        )
        self.key = job.key(known.digest if known is not None else b"", [root])
        self.here = here(root, output, lists, job.inventory)
        gone = partial(removed, self.shard, self.source)
        places = [it.until for it in known.ranges if it.until is not None] if known is not None else []
        self.keys = KeysCover(self.shard, self._cuts, places=places, told=told, removed=gone)
        #: The large objects, when it is their turn.
        self.bytes: BytesCover | None = None
        self._wanted: dict[Object, tuple[Found, Fact | None]] = {}
        self._earlier: list[Callable[[], Row | None]] = []

    # ---- Before anything is read -----------------------------------------------------------------

    def _checked_output(self, folder: Folder, output: str, root: str) -> Bucket | None:
        """Return the list that is in the output folder, all of whose files must be ours."""
        try:
            if not folder.get(_NOTE).startswith(_ABOUT.partition(b",")[0]):
                raise UsageError(f"{join(output, _NOTE)} is a file of another program: name another folder")
        except FileNotFoundError:
            pass
        try:
            found = read_bucket(folder)
        except FileNotFoundError:
            return None
        except ListError as error:
            raise UsageError(f"{error}; name another folder") from None
        if found is None or found.root != root:
            what = f"the list of {found.root}" if found is not None else "not the list of a bucket"
            raise UsageError(f"{join(output, LIST)} is {what}: name another folder")
        return found

    # ---- Rounds ----------------------------------------------------------------------------------

    def earlier(self, results: list[Callable[[], Row | None]]) -> str | None:
        """Take what an earlier run found, as far as its lists are still there. Its ranges are listed again."""
        output, objects = self.shard.output, 0
        there = {*Folder(output, self.source).names("part-")} if output is not None and results else set[str]()
        for read in results:
            if (result := read()) is None:
                continue
            if "pieces" in result:
                self._earlier.append(read)
                continue
            names = {f"{part[0]}.b3" for _, part in result.get("lists", []) if part}
            if result["status"] == "ok" and not result.get("is_seen") and (output is None or names <= there):
                self.keys.earlier[result["after"], result["until"]] = read
                objects += sum(result["counts"].values())
        return f"{objects:,} objects were done by an earlier run, and are only listed again" if objects else None

    def missing(self, workers: int) -> list[Row]:
        """Return tasks for the keys that no result covers; then for the bytes of large objects."""
        while self.bytes is None:
            if tasks := self.keys.missing(workers):
                return [{"keys": it, "bucket": asdict(self.shard)} for it in tasks]
            self._begin_large()
        return self.bytes.missing(workers)

    def take(self, result: Row) -> None:
        """Take the result of a range of keys, or of pieces."""
        if "pieces" not in result:
            self.keys.take(result)
        elif self.bytes is not None:
            self.bytes.take(result)

    def progress(self) -> tuple[int, int | None, str]:
        """Return the objects that are done, and what is left. Their number is known only at the end."""
        keys, left = self.keys, self.bytes.left if self.bytes is not None else 0
        text = f"{bytes_text(keys.bytes_read)} read, "
        text += f"{bytes_text(left)} of large objects left" if left else f"{keys.ranges:,} ranges of keys in this round"
        return sum(keys.counts.values()), None, text

    def _cuts(self, after: str, until: str | None, count: int) -> list[str]:
        if isinstance(self._listing, Inventory):
            return self._listing.places(self.shard.root, after, until, count)
        # If the store cannot say where, the range is one task, which says why if that fails too.
        with contextlib.suppress(OSError):
            # Less than a list is not worth several workers.
            least = self.shard.limit
            return cuts(self._listing, self.shard.root, after, until, count, Retries(), least=least)
        return []

    def _begin_large(self) -> None:
        self._wanted = {it[0].object(self.shard.root): it for it in self.keys.handed}
        # Nothing is written without all keys, so there is nothing to wait for; the next run has the rest.
        objects = {} if self.keys.failures else self._wanted
        self.bytes = BytesCover(objects, doubts=lambda read: self._judged(read)[0] in KEPT)
        for read in self._earlier:
            if (result := read()) is not None:
                self.bytes.take(result, is_earlier=True)

    def _judged(self, read: Read) -> tuple[str, str, Fact | None]:
        return judge(self.shard, *self._wanted[read.object], read)

    def _settle(self, read: Read, *, is_read: bool) -> None:
        found, old = self._wanted[read.object]
        verdict, detail, fact = self._judged(read)
        if read.digest is not None:
            by = "read" if is_read else evidence_of(read.object.etag, read.object.version)
            self.keys.evidence[by] += 1
        if fact is not None:
            self.keys.large.append(fact)
        if verdict in KEPT and not self.shard.compares:
            self.keys.doubt, verdict = self.keys.doubt or found.key, "hashed"
        self.keys.counts[verdict] += 1
        if verdict not in ("same", "hashed"):
            self._told(difference(self.shard.root, verdict, found.key, detail, old, read.digest))

    # ---- The end ---------------------------------------------------------------------------------

    def end(self) -> Outcome:
        """Judge, write the lists of the bucket, and count."""
        keys = self.keys
        assert self.bytes is not None
        for object, read in self.bytes.found.items():
            self._settle(read, is_read=object not in self.bytes.resumed)
        keys.bytes_read += self.bytes.bytes_read
        self._look_for_causes()
        found = self._write(self.bytes.began)
        counts = {it: keys.counts[it] for it in _VERDICTS if keys.counts.get(it)}
        for it in keys.failures:
            self._told({"note": it})
        is_over = not keys.failures
        if not is_over:
            what = "the list was not written" if self.shard.output is not None else "not everything was compared"
            self.causes.append(f"{what}: the same command continues")
        more: Row = {"quick": not self.shard.reads_all, "resumed": keys.resumed}
        more |= {it: found[it].hex() if it in found else None for it in ("list", "contents")}
        size = keys.bytes_read
        return Outcome(counts, keys.evidence, size, self.wrong, self.causes, **found, more=more, is_over=is_over)

    def _write(self, began: float) -> dict[str, Any]:
        """Write the lists, unless they would be worse. Returns what to say of them."""
        job, keys = self.shard, self.keys
        if job.output is None or keys.failures:
            return {}
        hashed = sum(keys.counts.values()) - sum(keys.counts.get(it, 0) for it in ("removed", *UNSURE))
        why = self.job.loss(hashed, keys.counts.get("removed", 0), self.known_objects)
        if self.causes:
            why = "--accept-damage writes it"
        if why is None and keys.doubt is not None:
            why = f"it has another digest of {job.root}{keys.doubt}, which may have rotted: `update` keeps the old "
            why += "digest, and accepts the new one"
        folder, there = Folder(job.output, self.source), None
        with contextlib.suppress(FileNotFoundError):
            there = digest(folder.get(self.name))
        if there != (self.known.digest if self.known is not None else None):
            why = REPLACED
        if why is not None:
            self.causes.append(f"the list was not written: {why}")
            return {}
        facts = sorted(keys.large, key=lambda it: it.key)
        # The old one need not be written again, if all of it is still there.
        old = self.known.large if self.known is not None else None
        known = {old.name} if old is not None and is_intact(read_list(folder, old)) else set[str]()
        large = write_list(folder, facts, began, "large", known)
        made = Bucket(job.root, keys.all_ranges(), large, b"", job.skip, job.limit)
        top = write_bucket(folder, made, self.name)
        return {"place": join(job.output, self.name), "list": top, "contents": made.contents}

    def _look_for_causes(self) -> None:
        keys = self.keys
        if keys.unknown and self.shard.compares and not self.job.accept_damage:
            self.causes.append(
                f"what the list says of {objects_text(keys.unknown)} is damaged or missing (*.objects.gz), so that "
                "no one knows which of them were written to"
            )
        if self.job.command == "verify" and 0 < (self.known_objects or 0) <= keys.counts.get("removed", 0):
            self.causes.append("nothing of the list is there: is this the right store?")


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
