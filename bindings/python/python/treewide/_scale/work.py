"""A folder that keeps the results of a run, so that the same command continues after it was killed.

    job.json       what the run does: a key, and of a run that was planned the job
    tasks          the tasks of the round that was planned
    NAME.result    a result, named by its task; it has a check, and names its job

A result that is torn, damaged or of another job does not count. A run that ended removes the folder. So no lock is
needed, nothing is replayed, and two runs at once do no harm.
"""

import contextlib
import os
import re
import shutil
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from treewide._scale.console import UsageError
from treewide._scale.job import Job
from treewide._scale.outcome import Row
from treewide._scale.results import Damaged, unseal
from treewide._scale.temporary import is_temporary
from treewide._treewide import _replace_file, digest

#: Seconds for which results count: what was read before says too little about the objects now.
_RECENT = 24 * 3600
#: Seconds after which a folder is removed by whatever run comes next: its run will not come again. A guess.
_FORGOTTEN = 30 * _RECENT
_JOB, _TASKS = "job.json", "tasks"
_RESULT = re.compile(r"[0-9a-f]{32}\.result")


class Work:
    """The folder of a run."""

    def __init__(self, path: str | os.PathLike[str], key: str) -> None:
        """Look at it; it need not exist. `key` is that of the job.

        Raises `UsageError` if it is the folder of another job, or of another program.
        """
        self.path, self.key = Path(path), key
        names = os.listdir(path) if self.path.is_dir() else []
        job = (self.path / _JOB).read_text(errors="replace").partition("\n")[0] if _JOB in names else ""
        known = _is_ours if job == key else is_temporary
        if not all(map(known, names)):
            what = "another run" if job else "something else"
            raise UsageError(f"{path}: is a folder of {what}: name another, or remove it")
        #: Whether it was made. If another run removes it, as that one is over, it is not made again.
        self._is_begun = bool(job)

    def begin(self, job: str = "") -> None:
        """Say that the folder is that of a job, as text if it was planned; its tasks are left to the next plan.

        Raises `OSError`.
        """
        # Only the owner reads it: with the values of ranges anyone can check a guess of their bytes.
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        _replace_file(self.path / _JOB, f"{self.key}\n{job}\n".encode())
        self._is_begun = True

    def plan(self, job: str, tasks: list[bytes]) -> None:
        """Write the tasks of a round, for `run`. Raises `OSError`."""
        self.begin(job)
        _replace_file(self.path / _TASKS, b"".join(it + b"\n" for it in tasks))

    def results(self) -> list[Callable[[], Row | None]]:
        """Return what reads each result, as `read` does."""
        return [partial(self.read, path) for path in sorted(self.path.glob("*.result"))]

    def read(self, path: Path) -> Row | None:
        """Return a result; `None` if it is not one of this job, or not there any more."""
        try:
            fields = unseal(path.read_bytes())
            if fields.get("job") != self.key or "ended" not in fields:
                return None
            # A copy has a new time, and a clock may be wrong.
            return fields | {"ended": min(fields["ended"], path.stat().st_mtime)}
        except (OSError, Damaged):
            return None

    def is_done(self, task: bytes) -> bool:
        """Whether there is a result of a task."""
        return self.read(self.path / f"{digest(task).hex()[:32]}.result") is not None

    def keep(self, result: bytes) -> None:
        """Keep a result. Raises `OSError`."""
        if not self._is_begun:
            self.begin()
        _replace_file(self.path / f"{unseal(result)['task']}.result", result)

    def forget_old(self, run: str, told: Callable[[Row], object]) -> None:
        """Remove results of another run that stopped more than a day ago. Raises `OSError`."""
        found = [it for read in self.results() if (it := read()) is not None]
        ends = [it["ended"] for it in found] if all(it["run"] != run for it in found) else []
        days = int((time.time() - max(ends)) / _RECENT) if ends else 0
        if days:
            self.forget()
            text = f"an earlier run stopped {days} days ago, which is too long to continue it: starting anew"
            told({"note": text})

    def end(self, told: Callable[[Row], object]) -> None:
        """Remove the folder: the run is over, and vouches for nothing."""
        try:
            self.forget()
        except OSError as why:
            told({"note": f"remove {self.path}, or the next run takes what this one found: {why}"})

    def forget(self) -> None:
        """Remove the folder. A result that cannot be removed is emptied. Raises `OSError` if one is still there."""
        self._is_begun = False
        problem: OSError | None = None
        # That it is ours is forgotten last.
        for path in sorted(self.path.iterdir(), key=lambda it: it.name == _JOB) if self.path.is_dir() else ():
            if _is_ours(path.name):
                try:
                    path.unlink()
                except OSError as error:
                    # What says that the folder is ours stays.
                    if path.name != _JOB:
                        with contextlib.suppress(OSError):
                            os.truncate(path, 0)
                    problem = error if self.read(path) is not None else problem
        with contextlib.suppress(OSError):
            self.path.rmdir()
        if problem is not None:
            raise problem


def _is_ours(name: str) -> bool:
    return name in (_JOB, _TASKS) or _RESULT.fullmatch(name) is not None or is_temporary(name)


def usual_place(key: str) -> Path:
    """Return the place of a folder in the cache of the user. Folders of runs that were never resumed are removed."""
    try:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "treewide", "scale")
    except RuntimeError:
        raise UsageError("there is no home directory for results: name a folder with --work") from None
    with contextlib.suppress(OSError):
        for it in cache.iterdir():
            if time.time() - it.stat().st_mtime > _FORGOTTEN:
                shutil.rmtree(it, ignore_errors=True)
    return cache / key


def planned(path: str | os.PathLike[str]) -> tuple[str, Job, list[bytes]]:
    """Return the key and the job of a run that was planned, and its tasks. Raises `UsageError` if there is none."""
    try:
        key, job, *_ = (Path(path) / _JOB).read_text().split("\n")
        tasks = (Path(path) / _TASKS).read_bytes().splitlines()
        for it in tasks:
            unseal(it)
        return key, Job.of_json(job), tasks
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise UsageError(f"{path}: nothing was planned there: `plan --work {path} -- sum ...` does") from None
