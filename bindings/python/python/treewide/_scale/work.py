"""A folder that keeps the results of a run, so that the same command continues after it was killed.

    job.json       what the run does: a key, and of a run that was planned the job
    tasks          the tasks of the round that was planned
    NAME.result    a result, named by its task; it has a check, and names its job

A result that is torn, damaged, of another job or older than a day does not count. A run that ended removes the folder.
So no lock is needed, nothing is replayed, and two runs at once do no harm.
"""

import contextlib
import os
import shutil
import time
from pathlib import Path
from typing import Any

from treewide._scale.console import UsageError
from treewide._scale.results import Damaged, unseal
from treewide._treewide import _replace_file, digest

__all__ = ["Work", "planned", "usual_place"]

#: Seconds for which results count: what was read before says too little about the objects now.
_RECENT = 24 * 3600
#: Seconds after which a folder is removed by whatever run comes next: its run will not come again. A guess.
_FORGOTTEN = 30 * _RECENT
_JOB, _TASKS = "job.json", "tasks"


class Work:
    """The folder of a run."""

    def __init__(self, path: str | os.PathLike[str], key: str) -> None:
        """Look at it; it need not exist. `key` is that of the job.

        Raises `UsageError` if it is the folder of another job, or of another program.
        """
        self.path, self.key = Path(path), key
        #: Why results cannot be kept.
        self.problem: OSError | None = None
        #: The days since the last result, if that is too long.
        self.outdated: int | None = None
        self._is_begun = False
        names = os.listdir(path) if self.path.is_dir() else []
        found = (self._text() or None) if _JOB in names else None
        is_ours = all(it.endswith((".result", ".tmp")) or it in (_JOB, _TASKS) for it in names)
        if found not in (None, key) or not is_ours:
            what = "another run" if found is not None else "something else"
            raise UsageError(f"{path}: is a folder of {what}: name another, or remove it")

    def _text(self) -> str:
        return (self.path / _JOB).read_text(errors="replace").partition("\n")[0]

    def plan(self, job: str, tasks: list[bytes]) -> None:
        """Write the tasks of a round, for `run`. Raises `OSError`."""
        self.path.mkdir(parents=True, exist_ok=True)
        _replace_file(self.path / _JOB, f"{self.key}\n{job}\n".encode())
        _replace_file(self.path / _TASKS, b"".join(it + b"\n" for it in tasks))

    def results(self) -> list[Path]:
        """Return the files of results that count. Others are removed, as this run does them again."""
        newest, found = 0.0, []
        for path in sorted(self.path.glob("*.result")):
            fields = self.read(path)
            if fields is not None:
                # A copy has a new time, and a clock may be wrong.
                newest = max(newest, min(path.stat().st_mtime, float(fields["ended"])))
                found.append(path)
        age = time.time() - newest
        if found and age > _RECENT:
            self.outdated = int(age / _RECENT)
            self.forget()
            return []
        return found

    def read(self, path: Path) -> dict[str, Any] | None:
        """Return a result; `None` if it is not one of this job."""
        try:
            fields = unseal(path.read_bytes())
        except (OSError, Damaged):
            return None
        return fields if fields.get("job") == self.key and "ended" in fields else None

    def place_of(self, task: bytes) -> Path:
        """Return the file of the result of a task."""
        return self.path / f"{digest(task).hex()[:32]}.result"

    def keep(self, result: bytes) -> Path | None:
        """Keep a result. If it cannot be kept, `problem` says why, and nothing else is tried."""
        if self.problem is not None:
            return None
        try:
            if not self._is_begun:
                # Only the owner reads it: with the values of ranges anyone can check a guess of their bytes.
                self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
                if not (self.path / _JOB).exists() or not self._text():
                    _replace_file(self.path / _JOB, f"{self.key}\n".encode())
                self._is_begun = True
            path = self.path / f"{unseal(result)['task']}.result"
            _replace_file(path, result)
            return path
        except OSError as error:
            self.problem = error
            return None

    def forget(self) -> OSError | None:
        """Remove the folder: the run is over, and vouches for nothing. A result that cannot be removed is emptied.

        Returns why a result is still there.
        """
        self._is_begun = False
        problem: OSError | None = None
        for pattern in ("*.result", ".treewide-*.tmp", _TASKS, _JOB):
            for path in self.path.glob(pattern):
                try:
                    path.unlink()
                except OSError as error:
                    with contextlib.suppress(OSError):
                        os.truncate(path, 0)
                    problem = error if self.read(path) is not None else problem
        with contextlib.suppress(OSError):
            self.path.rmdir()
        return problem


def usual_place(key: str) -> Path:
    """Return the place of a folder in the cache of the user. Folders of runs that were never resumed are removed."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "treewide", "scale")
    with contextlib.suppress(OSError):
        for it in cache.iterdir():
            if time.time() - it.stat().st_mtime > _FORGOTTEN:
                shutil.rmtree(it, ignore_errors=True)
    return cache / key


def planned(path: str | os.PathLike[str]) -> tuple[str, str, list[bytes]]:
    """Return the key and the job of a run that was planned, and its tasks. Raises `UsageError` if there is none."""
    try:
        key, job, *_ = (Path(path) / _JOB).read_text().split("\n")
        if not job:
            raise ValueError
        return key, job, (Path(path) / _TASKS).read_bytes().splitlines()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise UsageError(f"{path}: nothing was planned there: `plan --work {path} -- sum ...` does") from None
