"""Verdicts on objects that were compared with a list, and the evidence for them."""

from collections.abc import Iterable
from dataclasses import dataclass

from treewide._scale.bytes_cover import Hashed
from treewide._scale.lists import Entry
from treewide._scale.objects import Evidence, evidence_of, is_suspect

__all__ = ["DIFFERENT", "KEPT", "UNSURE", "Judged", "judge", "reason", "summary", "tally"]

#: It is not known whether the object is as recorded.
UNSURE = frozenset({"unreadable", "changing"})
#: The object differs from the record.
DIFFERENT = frozenset({"changed", "rot", "suspect", "added", "removed"})
#: The content differs, and the old digest stays until it is accepted.
KEPT = frozenset({"rot", "suspect"})


@dataclass(frozen=True)
class Judged:
    """A verdict on an object."""

    verdict: str
    detail: str = ""
    #: How it is known. `None`: not at all.
    evidence: Evidence | None = None


def judge(outcome: Hashed, entry: Entry | None, *, was_read: bool) -> Judged:
    """Return the verdict on an object that is there. `was_read` says that this run read all of its bytes."""
    object = outcome.object
    if outcome.digest is None:
        return Judged("changing" if outcome.status == "changed" else "unreadable", outcome.detail)
    evidence: Evidence = "read" if was_read else evidence_of(object.etag, object.version)
    if entry is None:
        return Judged("added", "", evidence)
    if outcome.digest == entry.digest:
        return Judged("same", "", evidence)
    detail = f"expected {entry.digest.hex()}, found {outcome.digest.hex()}"
    if entry.object is None:
        return Judged("suspect", f"{detail}; the list does not say which version it had", evidence)
    if entry.object == object and object.is_pinned:
        return Judged("rot" if entry.is_settled else "suspect", detail, evidence)
    if is_suspect(entry.object.etag, object.etag):
        return Judged("suspect", f"{detail}; its size and time are as recorded", evidence)
    return Judged("changed", detail, evidence)


def summary(objects: str, counts: dict[str, int], evidence: dict[str, int], size: str) -> str:
    """Return the last line, such as `4 objects: 3 same, 1 changed; 2 read, 2 attested, 5.0 kB`."""
    verdicts = ", ".join(f"{count:,} {word}" for word, count in counts.items())
    known = ", ".join(f"{count:,} {word}" for word, count in evidence.items()) or "0 read"
    return f"{objects}{': ' if verdicts else ''}{verdicts}; {known}, {size}"


def reason(counts: dict[str, int], wrong: frozenset[str], causes: Iterable[str]) -> str:
    """Return on one line why a run does not end with 0: by verdicts that are `wrong` or unsure, and other causes."""
    found = [f"{count:,} {word}" for word, count in counts.items() if word in UNSURE | wrong]
    return "; ".join([*([", ".join(found)] if found else []), *causes])


def tally(counts: dict[str, int], more: dict[str, int]) -> None:
    """Add counts."""
    for word, number in more.items():
        if number:
            counts[word] = counts.get(word, 0) + number
