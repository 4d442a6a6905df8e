"""How a run ends."""

from dataclasses import dataclass, field
from typing import Any

from treewide._scale.verdicts import UNSURE, counted

Row = dict[str, Any]
"""A line that a run reports: an object, as `--json` prints it; or a `note`."""


@dataclass
class Outcome:
    """How a run ended, as the last line of `--json` says it."""

    #: Objects by verdict, and by the evidence that they are as recorded.
    counts: dict[str, int]
    evidence: dict[str, int]
    bytes_read: int
    #: Verdicts with which the exit status is 1; and why it is 3, apart from verdicts.
    wrong: frozenset[str]
    causes: list[str]
    #: The digests of the objects that were named.
    digests: dict[str, bytes] = field(default_factory=dict)
    #: Of a bucket: where its list of lists was written, the digest of that, and the one that copies have too.
    place: str | None = None
    list: bytes | None = None
    contents: bytes | None = None
    #: What else the last line says.
    more: Row = field(default_factory=dict)
    #: Whether nothing is left to continue.
    is_over: bool = True

    @property
    def exit(self) -> int:
        """The exit status of the command."""
        return 3 if self.causes or self.counts.keys() & UNSURE else int(bool(self.counts.keys() & self.wrong))

    @property
    def why(self) -> str:
        """On one line, why the exit status is not 0."""
        found = counted({word: count for word, count in self.counts.items() if word in UNSURE | self.wrong})
        return "; ".join([*filter(None, [found]), *self.causes])

    @property
    def objects_read(self) -> int:
        """How many objects this run read."""
        return self.evidence.get("read", 0)
