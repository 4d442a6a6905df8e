"""How a run ends, and what a command must know to be run in rounds."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

Row = dict[str, Any]
"""A line that a run reports: an object, as `--json` prints it; or a `note`."""


@dataclass
class Outcome:
    """How a run ended, as the last line of `--json` says it."""

    #: The exit status of the command.
    exit: int
    #: Objects by verdict, and by the evidence that they are as recorded.
    counts: dict[str, int]
    evidence: dict[str, int]
    objects_read: int
    bytes_read: int
    #: Why the exit status is 3, apart from verdicts.
    causes: list[str]
    #: The digests of the objects that were named.
    digests: dict[str, bytes] = field(default_factory=dict)
    #: Of a bucket: where its list of lists was written, the digest of that, and the one that copies have too.
    place: str | None = None
    list: bytes | None = None
    contents: bytes | None = None
    #: What else the last line says.
    more: Row = field(default_factory=dict)
    #: On one line, why the exit status is not 0.
    why: str = ""
    #: Whether nothing is left to continue.
    is_over: bool = True


class Covering(Protocol):
    """Knows what results cover: of named objects, or of a bucket."""

    #: What runs have in common that do the same: a run continues only such a one.
    key: str
    #: The directory that paths are relative to; `None` if none is.
    here: str | None

    def earlier(self, results: list[Callable[[], Row | None]]) -> str | None:
        """Take what an earlier run found, as far as it counts now. Returns what to say of it."""

    def missing(self, workers: int) -> list[Row]:
        """Return the tasks of the next round."""

    def take(self, result: Row) -> None:
        """Take a result."""

    def end(self) -> Outcome:
        """Judge, write, count."""

    def progress(self) -> tuple[int, int | None, str]:
        """Return what is done, what is left if that is known, and what to say of it."""
