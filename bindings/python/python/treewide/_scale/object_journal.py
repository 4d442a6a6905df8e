"""Keeps in a file what is hashed so far, so that a driver that died can be resumed.

Each line after the first has parts, which carry their own check and say which object they are of; or a range that is
forgotten because hosts disagree about it.
"""

import base64
import json
import os
from collections.abc import Iterable
from typing import Any

from treewide._scale.journal_file import JournalError, JournalFile
from treewide._scale.objects import Object
from treewide._scale.tasks import Result, Task
from treewide._treewide import Parts

__all__ = ["Journal", "JournalError"]

_FIRST = {"treewide": "journal of scale", "version": 2}


class Journal(JournalFile):
    """A file that results are appended to."""

    def __init__(self, path: str | os.PathLike[str], run: dict[str, Any] | None = None) -> None:
        """Open the journal, or begin one. `run` says what the run does: another run has another journal.

        Raises `JournalError` if there is another file in its place, or another run uses it; `OSError` that names it.
        """
        #: JournalFile that were damaged, or of objects that changed. Their bytes are hashed again.
        self.dropped = 0
        super().__init__(path, {**_FIRST, **(run or {})})

    def _why(self, found: Any) -> str:
        if isinstance(found, dict) and found.get("treewide") == _FIRST["treewide"]:
            if found.get("version") == _FIRST["version"]:
                return "this is the journal of another run: name another file, or remove it to start anew"
            return f"a journal of version {found.get('version')}, and this release reads 2: remove it to start anew"
        return "this is not a journal of treewide scale: name another file"

    def replay(self, objects: Iterable[Object]) -> Iterable[Result | Task]:
        """Return what was appended, in order: results, and ranges that were forgotten. Other objects are dropped."""
        known = {it.identity: it for it in objects}
        for line in self._lines():
            entry = _entry(line, known)
            if entry is None:
                self.dropped += 1
            else:
                yield entry

    def append(self, entry: Result | Task) -> None:
        """Append a result, or a range that is forgotten."""
        if isinstance(entry, Result):
            parts = base64.b85encode(entry.parts).decode()
            self._append({"parts": parts, "host": entry.host})
        else:
            identity = entry.object.identity.decode()
            self._append({"forget": [entry.start, entry.stop], "object": identity})


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
