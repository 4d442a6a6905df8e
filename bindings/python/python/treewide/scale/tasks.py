"""What a worker gets, and what it gives back. Both are small and can be pickled."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from treewide.scale.objects import Object

__all__ = ["Result", "Status", "Task"]


Status: TypeAlias = Literal["ok", "failed", "changed"]
"""`ok`: what was read is in `parts`, all of it or what the time allowed. `failed`: something could not be read.
`changed`: it is no longer the same object, so that nothing of it counts."""


@dataclass(frozen=True)
class Task:
    """A lease: the bytes from `start` up to `stop` of an object."""

    object: Object
    start: int
    stop: int
    #: Unlike any other in the same run.
    number: int = 0
    #: After this time a worker returns what it has, and the rest is dealt again. So a slow worker holds up nobody.
    seconds: float | None = None
    #: How often it was tried before without any progress.
    attempt: int = 0
    #: Hosts that disagree about these bytes, so that another one should decide. Not empty only then.
    avoid: tuple[str, ...] = ()
    #: The value of each group of this many bytes is wanted, for an outboard: a power of two.
    group: int | None = None


@dataclass(frozen=True)
class Result:
    """What a worker found out."""

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
