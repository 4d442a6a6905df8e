"""Tasks that workers get, and results that they return. Both are small and can be pickled."""

import os
import socket
import time
from dataclasses import dataclass
from typing import Any, Protocol

from treewide._scale.lease import Lease, Status
from treewide._scale.objects import Object
from treewide._scale.reading import Retries, Source
from treewide._treewide import Parts

__all__ = ["Result", "Runs", "Task", "host", "run"]


class Runs(Protocol):
    """A task of any kind. It can be pickled, and changes nothing but what it returns, so it may run twice."""

    def run(self, source: Source) -> Any:
        """Do it. What is raised here is a fault of the program: a store that fails is a result."""


@dataclass(frozen=True)
class Task:
    """A lease: the bytes from `start` up to `stop` of an object."""

    object: Object
    start: int
    stop: int
    #: Unlike any other in the same run.
    number: int = 0
    #: After this time a worker returns what it has, and the rest is dealt again. So a slow worker delays nothing.
    seconds: float | None = None
    #: How often it was tried before without any progress.
    attempt: int = 0
    #: Hosts that disagree about these bytes, so that another one should decide. Not empty only then.
    avoid: tuple[str, ...] = ()
    #: The value of each group of this many bytes is wanted, for an outboard: a power of two.
    group: int | None = None

    def run(self, source: Source, *, retries: Retries | None = None, name: str | None = None) -> "Result":
        """Hash the bytes, and return what was found out. `name` is that of the host, if it is not this one."""
        began, retries, object = time.monotonic(), retries or Retries(), self.object
        lease = Lease(object, self.start, self.stop, source, retries, seconds=self.seconds, group=self.group)
        status, detail = lease.run()
        parts = Parts(object.size, object=object.identity) if status == "changed" else lease.parts
        if self.group is None:
            parts.compact()
        seconds = time.monotonic() - began
        return Result(self, status, parts.to_bytes(), name or host(), detail, seconds, retries.requests)


@dataclass(frozen=True)
class Result:
    """The result of a task."""

    task: Task
    status: Status
    #: `Parts.to_bytes`.
    parts: bytes
    #: The machine and the process.
    host: str
    #: What went wrong. Empty if nothing.
    detail: str = ""
    seconds: float = 0.0
    #: Requests to the store.
    requests: int = 0


def run(task: Runs, source: Source) -> Any:
    """Run a task: the only function that an engine calls."""
    return task.run(source)


def host() -> str:
    """Return the name of this machine and process."""
    return f"{socket.gethostname()}:{os.getpid()}"
