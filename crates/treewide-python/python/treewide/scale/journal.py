"""What is hashed so far, in a file, so that a driver that died goes on.

A line is a JSON object. The first says what the file is. Each other one has parts, which carry their own check and
say which object they are of, or a range that is forgotten because hosts disagree about it. A last line that is torn
is cut off.
"""

import base64
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

from treewide._treewide import Parts
from treewide.scale.objects import Object
from treewide.scale.tasks import Result, Task

if sys.platform != "win32":
    import fcntl

__all__ = ["Journal", "JournalError"]

_FIRST = {"treewide": "journal of scale", "version": 1}


class JournalError(ValueError):
    """A file that cannot be the journal of this run."""


class Journal:
    """A file that results are appended to."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open the journal, or begin one.

        Raises `JournalError` if there is another file in its place, or another run uses it; `OSError` that names it.
        """
        self.path = Path(path)
        #: Lines that were damaged, or of objects that changed. Their bytes are hashed again.
        self.dropped = 0
        # Only the owner reads it: with the values of ranges anyone can check a guess of their bytes.
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
        self._file: BinaryIO = os.fdopen(handle, "r+b")
        try:
            self._lock()
            self._begin()
        except BaseException:
            self._file.close()
            raise

    def _lock(self) -> None:
        # Windows has no such lock: there, nobody stops two runs that share a journal.
        if sys.platform != "win32":
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise JournalError(
                    f"{self.path}: another run uses this journal: wait for it, or name another"
                ) from None

    def _begin(self) -> None:
        first = self._file.readline()
        if not first.endswith(b"\n"):
            # Torn: nothing was appended yet.
            if first and not (json.dumps(_FIRST) + "\n").encode().startswith(first):
                raise JournalError(f"{self.path}: this is not a journal of treewide scale: name another file")
            self._file.seek(0)
            self._file.truncate()
            self._append(_FIRST)
            return
        try:
            found = json.loads(first)
        except ValueError:
            found = None
        if found == _FIRST:
            return
        if isinstance(found, dict) and found.get("treewide") == _FIRST["treewide"]:
            text = f"a journal of version {found.get('version')}, and this release reads 1: remove it to start again"
        else:
            text = "this is not a journal of treewide scale: name another file"
        raise JournalError(f"{self.path}: {text}")

    def replay(self, objects: Iterable[Object]) -> Iterable[Result | Task]:
        """Return what was appended, in order: results, and ranges that were forgotten. Other objects are dropped."""
        known = {it.identity: it for it in objects}
        self._file.seek(0)
        at = len(self._file.readline())
        for line in self._file:
            if not line.endswith(b"\n"):
                break
            at += len(line)
            entry = _entry(line, known)
            if entry is None:
                self.dropped += 1
            else:
                yield entry
        # What is appended next must not continue a torn line.
        self._file.seek(at)
        self._file.truncate()

    def append(self, entry: Result | Task) -> None:
        """Append a result, or a range that is forgotten."""
        if isinstance(entry, Result):
            parts = base64.b85encode(entry.parts).decode()
            self._append({"parts": parts, "host": entry.host})
        else:
            identity = entry.object.identity.decode()
            self._append({"forget": [entry.start, entry.stop], "object": identity})

    def _append(self, entry: object) -> None:
        # At once, so that only a crash of the machine can lose it. Then its bytes are hashed again.
        self._file.write((json.dumps(entry) + "\n").encode())
        self._file.flush()

    def close(self) -> None:
        """Close the file; it stays."""
        self._file.close()

    def remove(self) -> None:
        """Close the file and remove it: everything is hashed."""
        self.close()
        self.path.unlink(missing_ok=True)


def _entry(line: bytes, known: dict[bytes, Object]) -> Result | Task | None:
    try:
        entry: Any = json.loads(line)
        if "forget" in entry:
            object = known.get(entry["object"].encode())
            start, stop = entry["forget"]
            return Task(object, int(start), int(stop)) if object else None
        raw = base64.b85decode(entry["parts"])
        found = known.get(Parts.from_bytes(raw).object)
        return Result(Task(found, 0, 0), "ok", raw, str(entry["host"])) if found else None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
