"""Lists of objects that a run over a bucket writes, and what is known of each object.

    part-NAME.b3         a line for each object of a key range: its digest and its key below the root
    part-NAME.objects.gz lines of JSON: size, ETag, version, time and digest of these objects
    large-NAME.b3        the same for objects that many workers hash together, of all ranges

NAME is a digest of the files' content. So it does not matter who writes them, when, and how often.
"""

import gzip
import json
import re
import zlib
from collections.abc import Iterable
from typing import NamedTuple

from treewide._scale.buckets.sinks import Folder
from treewide._scale.found import Fact, fact_of, text_of, unknown
from treewide._scale.lists import ListError, line_of
from treewide._scale.objects import SLACK
from treewide._treewide import _list_entries, digest

_FACTS = {"treewide": "facts of a part", "version": 1}


class ListFile(NamedTuple):
    """A list of objects, as the list of lists has it."""

    name: str
    #: The digest of the list.
    digest: bytes
    objects: int


def is_list_file(name: str) -> bool:
    """Whether a path or URL is that of a list of objects, and not of the list of lists."""
    return re.search(r"(^|[/\\])(part|large)-[0-9a-f]{32}\.b3$", name) is not None


def is_intact(facts: Iterable[Fact]) -> bool:
    """Whether all is known of the objects of a list that was read."""
    return all(it.is_known for it in facts)


def write_list(
    folder: Folder, facts: list[Fact], began: float, kind: str = "part", known: Iterable[str] = ()
) -> ListFile | None:
    """Write a list of objects, in the order of their keys, and their facts; not if it is one of those `known`.

    `began` is when the first of them may have been read: what was written later says nothing of the time before.
    """
    if not facts:
        return None
    times = (it.found.modified for it in facts)
    newest = max((it for it in times if it is not None and it <= began), default=None)
    lines = [json.dumps({**_FACTS, "newest": newest}), *(text_of(it._replace(is_settled=True)) for it in facts)]
    raw = ("\n".join(lines) + "\n").encode("ascii")
    name = f"{kind}-{digest(raw).hex()[:32]}"
    text = "".join(line_of(it.key, it.digest) + "\n" for it in facts).encode("utf-8", "surrogateescape")
    if name not in known:
        folder.put(f"{name}.objects.gz", gzip.compress(raw, 6, mtime=0))
        folder.put(f"{name}.b3", text)
    return ListFile(name, digest(text), len(facts))


def read_list(folder: Folder, part: ListFile, after: str = "", until: str | None = None) -> list[Fact]:
    """Return the objects of a list, with all that is known of them.

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
    try:
        entries = _list_entries(data)
    except ValueError as error:
        raise ListError(f"{name}: {error}") from None
    for key, found in entries:
        if key <= last or (until is not None and key > until):
            raise ListError(f"{name} has the key {key!r}, which is out of order or not of its range")
        last = key
        fact = known.get(key)
        facts.append(fact if fact is not None and fact.digest == found else unknown(key, found))
    return facts


def _facts_of(folder: Folder, part: ListFile) -> dict[str, Fact]:
    try:
        raw = gzip.decompress(folder.get(f"{part.name}.objects.gz"))
    except (FileNotFoundError, EOFError, gzip.BadGzipFile, zlib.error):
        return {}
    if digest(raw).hex()[:32] != part.name.rpartition("-")[2]:
        return {}
    first, *lines = raw.decode("ascii").splitlines()
    newest = json.loads(first)["newest"]
    facts = {}
    for line in lines:
        fact = fact_of(line)
        modified = fact.found.modified
        is_settled = modified is not None and newest is not None and modified + SLACK < newest
        facts[fact.key] = fact._replace(is_settled=is_settled)
    return facts
