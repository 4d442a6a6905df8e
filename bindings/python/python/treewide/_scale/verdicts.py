"""Verdicts on objects that were compared with a list, and the evidence for them."""

from dataclasses import dataclass

from treewide._scale.lists import Entry
from treewide._scale.objects import Evidence, Read, evidence_of, is_suspect

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


def judge(outcome: Read, entry: Entry | None, *, was_read: bool) -> Judged:
    """Return the verdict on an object that is there. `was_read` says that this run read all of its bytes."""
    object = outcome.object
    if outcome.digest is None:
        return Judged(outcome.verdict, outcome.detail)
    evidence: Evidence = "read" if was_read else evidence_of(object.etag, object.version)
    if entry is None:
        return Judged("added", "", evidence)
    if outcome.digest == entry.digest:
        return Judged("same", "", evidence)
    was, detail = entry.object, f"expected {entry.digest.hex()}, found {outcome.digest.hex()}"
    if was is None:
        return Judged("suspect", f"{detail}; the list does not say which version it had", evidence)
    is_same = was == object and object.is_pinned
    return Judged(*differing(detail, was.etag, object.etag, is_same, entry.is_settled), evidence)


def differing(detail: str, was: str | None, now: str | None, is_same: bool, is_settled: bool) -> tuple[str, str]:
    """Return the verdict on other bytes of an object, whose ETag was one and is another, and the detail.

    `is_same` says that the store calls it the same version; `is_settled`, that a change would have another one.
    """
    if is_same:
        return "rot" if is_settled else "suspect", detail
    if is_suspect(was, now):
        return "suspect", f"{detail}; its size and time are as recorded"
    return "changed", detail


def summary(objects: str, counts: dict[str, int], evidence: dict[str, int], size: str) -> str:
    """Return the last line, such as `4 objects: 3 same, 1 changed; 2 read, 2 attested, 5.0 kB`."""
    verdicts = ", ".join(f"{count:,} {word}" for word, count in counts.items())
    known = ", ".join(f"{count:,} {word}" for word, count in evidence.items()) or "0 read"
    return f"{objects}{': ' if verdicts else ''}{verdicts}; {known}, {size}"


def ending(counts: dict[str, int], wrong: frozenset[str], causes: list[str]) -> tuple[int, str]:
    """Return the exit status of a run, and why it is not 0, on one line: verdicts `wrong` or unsure, and causes."""
    found = ", ".join(f"{count:,} {word}" for word, count in counts.items() if word in UNSURE | wrong)
    why = "; ".join([*filter(None, [found]), *causes])
    return 3 if causes or counts.keys() & UNSURE else int(bool(counts.keys() & wrong)), why


def tally(counts: dict[str, int], more: dict[str, int]) -> None:
    """Add counts."""
    for word, number in more.items():
        if number:
            counts[word] = counts.get(word, 0) + number
