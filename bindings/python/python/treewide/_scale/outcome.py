"""How a run ends."""

from dataclasses import dataclass, field
from typing import Any

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
