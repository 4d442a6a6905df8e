"""A file of lines of JSON that a run appends to, and the next one continues from.

The first line says which run it is. One run at a time has the file. A last line that is torn is cut off. A file that
was not written to for a day does not count: what was read then says too little about the objects now.
"""

import contextlib
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

if sys.platform != "win32":
    import fcntl

__all__ = ["JournalError", "JournalFile", "journal_place"]

#: Seconds for which a journal counts after it was written to.
_RECENT = 24 * 3600
#: Seconds after which a journal is removed by whatever run comes next: its run will not come again. A guess.
_FORGOTTEN = 30 * _RECENT


class JournalError(ValueError):
    """A file that cannot be the journal of this run."""


class JournalFile:
    """The common part of all journals."""

    def __init__(self, path: str | os.PathLike[str], first: dict[str, Any]) -> None:
        """Open the file, or begin one.

        Raises `JournalError` if its first line is not `first`, or another run uses it; `OSError` that names it.
        """
        self.path = Path(path)
        #: The days since it was written to, if it was too old to count.
        self.outdated: int | None = None
        # Only the owner reads it: with the values of ranges anyone can check a guess of their bytes.
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
        self._file: BinaryIO = os.fdopen(handle, "r+b")
        try:
            self._lock()
            self._begin(first)
        except BaseException:
            self._file.close()
            raise

    def _lock(self) -> None:
        # Windows has no such lock: there, two runs may share a journal.
        if sys.platform != "win32":
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                text = "another run uses this journal: wait for it, or name another"
                raise JournalError(f"{self.path}: {text}") from None

    def _begin(self, first: dict[str, Any]) -> None:
        age = time.time() - os.fstat(self._file.fileno()).st_mtime
        wanted = _line(first)
        found = self._file.readline()
        if found == wanted and age <= _RECENT:
            return
        if found == wanted:
            self.outdated = int(age / _RECENT)
            found = b""
        # The start of it, or nothing, is torn: nothing was appended yet.
        if not wanted.startswith(found):
            raise JournalError(f"{self.path}: {self._why(_parsed(found))}")
        self._file.seek(0)
        self._file.truncate()
        self._append(first)

    def _why(self, found: Any) -> str:
        """Return what is wrong with a first line, which is `None` if it is not JSON."""
        raise NotImplementedError

    def _lines(self) -> Iterator[bytes]:
        """Return what was appended, in order."""
        self._file.seek(0)
        at = len(self._file.readline())
        for line in self._file:
            if not line.endswith(b"\n"):
                break
            at += len(line)
            yield line
        # What is appended next must not continue a torn line.
        self._file.seek(at)
        self._file.truncate()

    def _append(self, entry: object) -> None:
        # At once, so that only a crash of the machine can lose it. Then it is done again.
        self._file.write(_line(entry))
        self._file.flush()

    def close(self) -> None:
        """Close the file; it stays."""
        self._file.close()

    def remove(self) -> None:
        """Close the file and remove it: everything is done."""
        self.close()
        self.path.unlink(missing_ok=True)


def journal_place(name: str) -> Path:
    """Return the place of a journal in the cache of the user. Journals of runs that were never resumed are removed."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "treewide", "scale")
    folder.mkdir(parents=True, exist_ok=True)
    for it in folder.iterdir():
        with contextlib.suppress(OSError):
            if time.time() - it.stat().st_mtime > _FORGOTTEN:
                it.unlink()
    return folder / name


def _line(entry: object) -> bytes:
    return (json.dumps(entry) + "\n").encode()


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None
