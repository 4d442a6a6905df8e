"""Which key ranges of a bucket are done, in a file, so that a driver that died can be resumed.

Each line after the first is the result of a shard, with its differences. So they need no memory, and a run that is
resumed can print them again.
"""

import base64
import contextlib
import json
import os
from collections.abc import Iterator
from typing import Any

from treewide._scale.buckets.list_files import Fact, ListFile
from treewide._scale.buckets.shards import Difference, Handed, ShardResult
from treewide._scale.found import Found
from treewide._scale.journal_file import JournalFile

__all__ = ["BucketJournal"]

_WHAT = "journal of a bucket"


class BucketJournal(JournalFile):
    """A file that results of shards are appended to."""

    def __init__(self, path: str | os.PathLike[str], run: dict[str, Any]) -> None:
        """Open the journal of a run, or begin one. `run` says what it does: another run is another journal.

        Raises `JournalError` if there is another file in its place, or another run uses it.
        """
        super().__init__(path, {"treewide": _WHAT, "version": 2, **run})

    def _why(self, found: Any) -> str:
        if isinstance(found, dict) and found.get("treewide") == _WHAT:
            return "this is the journal of another run: start anew with --no-resume"
        return "this is not a journal of a bucket: remove it"

    def replay(self) -> Iterator[tuple[str, ShardResult]]:
        """Return where each range begins, and what became of it. A range that was done again counts as it was then."""
        last: dict[str, int] = {}
        for number, line in enumerate(self._lines()):
            with contextlib.suppress(ValueError, KeyError, TypeError):
                last[json.loads(line)["after"]] = number
        for number, line in enumerate(self._lines()):
            # A line that is damaged: its range is done again.
            with contextlib.suppress(ValueError, KeyError, TypeError):
                entry = json.loads(line)
                if last.get(entry["after"]) == number and "reached" in entry:
                    yield entry["after"], _result_of(entry)

    def append(self, after: str, result: ShardResult) -> None:
        """Append what became of a range."""
        self._append({"after": after, **_fields_of(result)})

    def forget(self, after: str) -> None:
        """Say that a range is not any more as it was when it was done."""
        self._append({"after": after})


def _fields_of(result: ShardResult) -> dict[str, Any]:
    part = result.part
    return {
        "reached": result.reached,
        "part": [part.name, _text(part.digest), part.objects, part.bytes] if part else None,
        "counts": result.counts,
        "differences": [[*it[:3], _text(it.expected), _text(it.digest)] for it in result.differences],
        "large": [[it.found, [it.old.found, _text(it.old.digest)] if it.old else None, it.kept] for it in result.large],
        "read": [result.objects_read, result.bytes_read, result.requests],
        "unread": result.unread,
        "unknown": result.unknown,
        "seen": result.seen,
    }


def _result_of(entry: Any) -> ShardResult:
    objects, size, requests = entry["read"]
    part = entry["part"]
    return ShardResult(
        number=-1,
        reached=entry["reached"],
        part=ListFile(part[0], _bytes(part[1]) or b"", part[2], part[3]) if part else None,
        counts=dict(entry["counts"]),
        differences=[Difference(it[0], it[1], it[2], _bytes(it[3]), _bytes(it[4])) for it in entry["differences"]],
        large=[
            Handed(Found(*found), Fact(Found(*old[0]), _bytes(old[1]) or b"") if old else None, kept)
            for found, old, kept in entry["large"]
        ],
        objects_read=objects,
        bytes_read=size,
        requests=requests,
        unread=dict(entry["unread"]),
        unknown=entry["unknown"],
        seen=entry["seen"],
    )


def _text(digest: bytes | None) -> str | None:
    return base64.b85encode(digest).decode() if digest is not None else None


def _bytes(text: str | None) -> bytes | None:
    return base64.b85decode(text) if text is not None else None
