"""Verdicts on objects that were compared with a list, and the evidence for them."""

from dataclasses import dataclass

from treewide._scale.found import Fact, Found, is_unchanged
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


def judge(read: Read, old: Fact | None, *, was_read: bool) -> Judged:
    """Return the verdict on an object that is there. `was_read` says that this run read all of its bytes."""
    if read.digest is None:
        return Judged(read.verdict, read.detail)
    object = read.object
    evidence: Evidence = "read" if was_read else evidence_of(object.etag, object.version)
    verdict = compare(old, Fact(Found(*object, None), read.digest)) if old is not None else ("added", "")
    return Judged(*verdict, evidence)


def compare(old: Fact, new: Fact) -> tuple[str, str]:
    """Return the verdict on an object that two lists have, and a detail."""
    was, now = old.found, new.found
    is_same = is_unchanged(old._replace(is_settled=True), now)
    if old.digest == new.digest:
        return ("same" if is_same or not old.is_known else "touched"), ""
    detail = f"expected {old.digest.hex()}, found {new.digest.hex()}"
    if not old.is_known:
        return "suspect", f"{detail}; the list does not say what it was, or that is damaged"
    if is_same:
        # The store calls it the same version. If a change may have the same time, that says nothing.
        return "rot" if old.is_settled or evidence_of(was.etag, was.version) == "attested" else "suspect", detail
    if is_suspect(was.etag, now.etag):
        return "suspect", f"{detail}; its size and time are as recorded"
    return "changed", detail


def counted(counts: dict[str, int]) -> str:
    """Return counts as text, such as `3 same, 1 changed`."""
    return ", ".join(f"{count:,} {word}" for word, count in counts.items())
