"""The files that a run over a bucket writes: lists of parts, facts, and the list of lists.

    bucket.b3            a line for each file below: its digest and its name
    index-NAME.objects   lines of JSON: the root, and which list has which key range
    part-NAME.b3         a line for each object of a key range: its digest and its key below the root
    part-NAME.objects.gz lines of JSON: size, ETag, version, time and digest of these objects
    large-NAME.b3        the same for objects that many workers hash together, of all ranges

All that end in `.b3` can be read by `b3sum --check`, in the folder where they are or in a copy of the bucket. NAME is
a digest of what is in the files. So it does not matter who writes them, when, and how
often. Only `bucket.b3` is ever replaced.
"""

import gzip
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from treewide._treewide import digest
from treewide.scale.buckets.sinks import Folder
from treewide.scale.found import Found
from treewide.scale.lists import ListError, entry_of, line_of
from treewide.scale.objects import TIME

__all__ = [
    "LIST",
    "Bucket",
    "Fact",
    "Part",
    "Range",
    "is_intact",
    "is_unchanged",
    "read_bucket",
    "read_part",
    "write_bucket",
    "write_part",
]

#: The name of the list of lists.
LIST = "bucket.b3"
_FIRST = {"treewide": "list of lists", "version": 1}
_FACTS = {"treewide": "facts of a part", "version": 1}
_NAME = re.compile(r"(part|large)-[0-9a-f]{32}")
_INDEX = re.compile(r"index-[0-9a-f]{32}\.objects")
#: Seconds: clocks of stores have steps of one second, and what is written twice in one has one time.
_SLACK = 2.0


class Fact(NamedTuple):
    """An object and its digest."""

    found: Found
    digest: bytes
    #: Whether it was written so long before others that the same time means the same content.
    is_settled: bool = True

    @property
    def key(self) -> str:
        """The key below the root."""
        return self.found.key


class Part(NamedTuple):
    """A list of objects, as the list of lists has it."""

    name: str
    #: The digest of the list.
    digest: bytes
    objects: int
    bytes: int


class Range(NamedTuple):
    """A key range, and the list of the objects in it. There is no list if there are no objects."""

    after: str
    until: str | None
    part: Part | None


class Bucket(NamedTuple):
    """A list of lists."""

    root: str
    #: Without gaps, from the first key to the last one.
    ranges: list[Range]
    large: Part | None
    #: The digest of the list of lists.
    digest: bytes
    #: Keys below the root that begin with this are left out: the lists themselves.
    skip: str | None
    #: The most objects of a part.
    limit: int

    @property
    def objects(self) -> int:
        """How many objects there are."""
        return sum(it.objects for it in self.parts())

    @property
    def bytes(self) -> int:
        """How many bytes they have."""
        return sum(it.bytes for it in self.parts())

    def parts(self) -> Iterator[Part]:
        """Return all lists, in the order of their keys."""
        yield from (it.part for it in self.ranges if it.part is not None)
        if self.large is not None:
            yield self.large


def is_unchanged(fact: Fact, found: Found) -> bool:
    """Whether an object that was listed is the one that was hashed, as far as the store says."""
    was = fact.found
    if was.size != found.size:
        return False
    if was.version is not None and found.version is not None:
        return was.version == found.version
    if was.etag is not None and found.etag is not None and (was.etag != found.etag or not was.etag.startswith(TIME)):
        return was.etag == found.etag
    return was.modified is not None and was.modified == found.modified and fact.is_settled


def is_intact(facts: Iterable[Fact]) -> bool:
    """Whether all is known of the objects of a list that was read."""
    return all(it.found.size >= 0 for it in facts)


def write_part(folder: Folder, facts: list[Fact], kind: str = "part", known: Iterable[str] = ()) -> Part | None:
    """Write a list of objects, in the order of their keys, and their facts; not if it is one of those `known`."""
    if not facts:
        return None
    newest = max((it.found.modified for it in facts if it.found.modified is not None), default=None)
    lines = [json.dumps({**_FACTS, "newest": newest}), *(_line_of(it) for it in facts)]
    raw = ("\n".join(lines) + "\n").encode("ascii")
    name = f"{kind}-{digest(raw).hex()[:32]}"
    text = "".join(line_of(it.key, it.digest) + "\n" for it in facts).encode("utf-8", "surrogateescape")
    if name not in known:
        folder.put(f"{name}.objects.gz", gzip.compress(raw, 6, mtime=0))
        folder.put(f"{name}.b3", text)
    return Part(name, digest(text), len(facts), sum(max(0, it.found.size) for it in facts))


def read_part(folder: Folder, part: Part, after: str = "", until: str | None = None) -> list[Fact]:
    """Return the objects of a list, with what is known of them.

    Digests are those of the list, which must be the one that the list of lists names. Facts that are missing or
    damaged are not known, so that their objects are read again. Raises `ListError` if the list is another one, or has
    keys that are not between `after` and `until`.
    """
    name = f"{part.name}.b3"
    data = folder.get(name)
    if digest(data) != part.digest:
        raise ListError(f"{name} is not the list that the list of lists names: it was changed or is damaged")
    known = _facts_of(folder, part)
    facts = []
    last = after
    for line in data.decode("utf-8", "surrogateescape").split("\n")[:-1]:
        try:
            key, found = entry_of(line)
        except ValueError:
            raise ListError(f"{name} has a line that is not a digest, two spaces and a key: {line!r}") from None
        if key <= last or (until is not None and key > until):
            raise ListError(f"{name} has the key {key!r}, which is out of order or not of its range")
        last = key
        fact = known.get(key)
        is_same = fact is not None and fact.digest == found
        facts.append(fact if fact is not None and is_same else Fact(Found(key, -1, None, None, None), found))
    return facts


def _facts_of(folder: Folder, part: Part) -> dict[str, Fact]:
    try:
        raw = gzip.decompress(folder.get(f"{part.name}.objects.gz"))
    except (FileNotFoundError, EOFError, gzip.BadGzipFile, ValueError):
        return {}
    except Exception as error:
        if type(error).__module__ == "zlib":
            return {}
        raise
    if digest(raw).hex()[:32] != part.name.rpartition("-")[2]:
        return {}
    first, *lines = raw.decode("ascii").splitlines()
    newest = json.loads(first)["newest"]
    facts = {}
    for line in lines:
        entry = json.loads(line)
        found = Found(entry["key"], entry["size"], entry["etag"], entry["version"], entry["modified"])
        is_settled = found.modified is not None and newest is not None and found.modified + _SLACK < newest
        facts[found.key] = Fact(found, bytes.fromhex(entry["digest"]), is_settled)
    return facts


def _line_of(fact: Fact) -> str:
    return json.dumps({**fact.found._asdict(), "digest": fact.digest.hex()})


# ---- The list of lists ---------------------------------------------------------------------------


def write_bucket(folder: Folder, bucket: Bucket, name: str = LIST) -> Bucket:
    """Write a list of lists, after its index. It names that too, so that its digest stands for all that is written.

    Returns it with its digest.
    """
    first = {**_FIRST, "root": bucket.root, "skip": bucket.skip, "limit": bucket.limit}
    first |= {"objects": bucket.objects, "bytes": bucket.bytes}
    lines = [json.dumps(first)]
    for it in bucket.ranges:
        lines.append(json.dumps({"after": it.after, "until": it.until, **_part_fields(it.part)}))
    if bucket.large is not None:
        lines.append(json.dumps({"large": True, **_part_fields(bucket.large)}))
    index = ("\n".join(lines) + "\n").encode("ascii")
    text = _text_of(bucket, digest(index))
    folder.put(_index(digest(index)), index)
    folder.put(name, text)
    return bucket._replace(digest=digest(text))


def _text_of(bucket: Bucket, index: bytes) -> bytes:
    lines = [line_of(f"{it.name}.b3", it.digest) for it in bucket.parts()]
    return "".join(f"{it}\n" for it in [*lines, line_of(_index(index), index)]).encode("ascii")


def _index(of: bytes) -> str:
    return f"index-{of.hex()[:32]}.objects"


def _part_fields(part: Part | None) -> dict[str, Any]:
    if part is None:
        return {}
    return {"part": part.name, "digest": part.digest.hex(), "objects": part.objects, "bytes": part.bytes}


def read_bucket(folder: Folder, name: str = LIST) -> Bucket | None:
    """Return a list of lists; `None` if this is another list.

    Raises `ListError` if its index is missing or damaged, or is not that of the list.
    """
    text = folder.get(name)
    *others, last = text.decode("ascii", "replace").split("\n")[:-1] or [""]
    own = last[66:]
    if not _INDEX.fullmatch(own):
        if any(_NAME.match(it[66:]) for it in [*others, last]):
            raise ListError(f"{name} is a list of lists that was changed: its last line does not name its index")
        return None
    try:
        index = folder.get(own)
    except FileNotFoundError:
        raise ListError(
            f"{name} is a list of lists, and its index {own} is missing: copy it there, or write the list again"
        ) from None
    if digest(index).hex() != last[:64]:
        raise ListError(f"{own} is damaged, or was changed: write the list again with `sum -r`")
    first, *lines = index.decode("utf-8", "surrogateescape").split("\n")[:-1] or [""]
    try:
        head = json.loads(first)
        if head["version"] != _FIRST["version"]:
            raise ListError(f"{name} is a list of lists of version {head['version']}, and this release reads 1")
        bucket = Bucket(head["root"], [], None, digest(text), head["skip"], head["limit"])
        for line in lines:
            entry = json.loads(line)
            part = _part_of(entry)
            if entry.get("large"):
                bucket = bucket._replace(large=part)
            else:
                bucket.ranges.append(Range(entry["after"], entry["until"], part))
    except ListError:
        raise
    except (ValueError, KeyError, TypeError):
        raise ListError(f"{own} is damaged: write the list again with `sum -r`") from None
    _check(bucket, own, text, digest(index))
    return bucket


def _part_of(entry: Any) -> Part | None:
    if "part" not in entry:
        return None
    if not _NAME.fullmatch(entry["part"]):
        raise ValueError
    return Part(entry["part"], bytes.fromhex(entry["digest"]), int(entry["objects"]), int(entry["bytes"]))


def _check(bucket: Bucket, name: str, text: bytes, index: bytes) -> None:
    if _text_of(bucket, index) != text:
        raise ListError(f"{name} is not the index of its list: write the list again with `sum -r`")
    ends: list[str | None] = [""]
    for it in bucket.ranges:
        if it.after != ends[-1] or (it.until is not None and it.until <= it.after):
            raise ListError(f"{name} has a gap after the key {ends[-1]!r}: write the list again with `sum -r`")
        ends.append(it.until)
    if ends[-1] is not None or not bucket.ranges:
        raise ListError(f"{name} does not reach the last key: write the list again with `sum -r`")
