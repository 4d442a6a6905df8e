"""The list of lists of a bucket, which names every other file that a run writes.

    bucket.b3            a line for each list of objects and for the index: its digest and its name
    index-NAME.objects   lines of JSON: the root, and which list has which key range

All that end in `.b3` can be read by `b3sum --check`, in the folder where they are or in a copy of the bucket. Only
`bucket.b3` is ever replaced.
"""

import json
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

from treewide._scale.buckets.list_files import ListFile
from treewide._scale.buckets.sinks import Folder
from treewide._scale.lists import ListError, line_of
from treewide._treewide import digest

#: The name of the list of lists.
LIST = "bucket.b3"
_FIRST = {"treewide": "list of lists", "version": 3}
_NAME = re.compile(r"(part|large)-[0-9a-f]{32}")
_INDEX = re.compile(r"index-[0-9a-f]{32}\.objects")


class Range(NamedTuple):
    """A key range, and the list of the objects in it. There is no list if there are no objects."""

    after: str
    until: str | None
    part: ListFile | None


class Bucket(NamedTuple):
    """A list of lists."""

    root: str
    #: Without gaps, from the first key to the last one.
    ranges: list[Range]
    large: ListFile | None
    #: The digest of the list of lists.
    digest: bytes
    #: Keys below the root that begin with this are left out: the lists themselves.
    skip: str | None
    #: Objects of a list, about.
    limit: int
    #: The name and the digest of the index.
    own_index: tuple[str, str] = ("", "")

    @property
    def objects(self) -> int:
        """How many objects there are."""
        return sum(it.objects for it in self.parts())

    @property
    def contents(self) -> bytes:
        """The digest of the digests of all lists: the same for copies, as neither the URL nor an ETag is in it."""
        return digest("".join(f"{it.digest.hex()}\n" for it in self.parts()).encode())

    def parts(self) -> Iterator[ListFile]:
        """Return all lists, in the order of their keys; that of large objects is the last."""
        yield from (it.part for it in self.ranges if it.part is not None)
        if self.large is not None:
            yield self.large


def write_bucket(folder: Folder, bucket: Bucket, name: str = LIST) -> bytes:
    """Write a list of lists, after its index. It names that too, so that its digest stands for all that is written.

    Returns its digest.
    """
    first = {**_FIRST, "root": bucket.root, "skip": bucket.skip, "limit": bucket.limit}
    first |= {"large": _fields_of(bucket.large)}
    # Byte by byte: for 10 to the 9 objects it has 25 MB, and a list of its lines would have some times that.
    index = bytearray()
    for line in chain([first], ([it.until, _fields_of(it.part)] for it in bucket.ranges)):
        index += json.dumps(line).encode("ascii") + b"\n"
    text = _text_of(bucket, digest(index))
    folder.put(_index(digest(index)), bytes(index))
    folder.put(name, text)
    return digest(text)


def _text_of(bucket: Bucket, index: bytes) -> bytes:
    text = bytearray()
    for it in bucket.parts():
        text += f"{line_of(f'{it.name}.b3', it.digest)}\n".encode("ascii")
    return bytes(text + f"{line_of(_index(index), index)}\n".encode("ascii"))


def _index(of: bytes) -> str:
    return f"index-{of.hex()[:32]}.objects"


def _fields_of(part: ListFile | None) -> list[Any] | None:
    return [part.name, part.digest.hex(), part.objects] if part is not None else None


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
    bucket = read_index(folder, own, last[:64])._replace(digest=digest(text))
    if _text_of(bucket, bytes.fromhex(last[:64])) != text:
        raise ListError(f"{own} is not the index of its list: write the list again with `sum -r`")
    return bucket


def read_index(folder: Folder, name: str, wanted: str) -> Bucket:
    """Return a list of lists by its index alone, whose digest is wanted. Raises `ListError`."""
    try:
        index = folder.get(name)
    except FileNotFoundError:
        raise ListError(
            f"this is a list of lists, and its index {name} is missing: copy it there, or write the list again"
        ) from None
    if digest(index).hex() != wanted:
        raise ListError(f"{name} is damaged, or was changed: write the list again with `sum -r`")
    first, *lines = index.decode("utf-8", "surrogateescape").split("\n")[:-1] or [""]
    try:
        head = json.loads(first)
        if head["version"] != _FIRST["version"]:
            raise ListError(f"{name} is a list of lists of version {head['version']}, and this release reads 3")
        large = _part_of(head["large"])
        bucket = Bucket(head["root"], [], large, b"", head["skip"], head["limit"], (name, wanted))
        until: str | None = ""
        for line in lines:
            after, (until, part) = until, json.loads(line)
            if after is None or (until is not None and until <= after):
                raise ValueError
            bucket.ranges.append(Range(after, until, _part_of(part)))
        if until is not None:
            raise ListError(f"{name} does not reach the last key: write the list again with `sum -r`")
    except ListError:
        raise
    except (ValueError, KeyError, TypeError):
        raise ListError(f"{name} is damaged: write the list again with `sum -r`") from None
    return bucket


def _part_of(fields: Any) -> ListFile | None:
    if fields is None:
        return None
    name, digest, objects = fields
    if not _NAME.fullmatch(name):
        raise ValueError
    return ListFile(name, bytes.fromhex(digest), int(objects))
