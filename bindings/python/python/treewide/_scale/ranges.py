"""`verify --range`: ranges of objects by their outboards, on this machine."""

from treewide._scale.console import UsageError
from treewide._scale.objects import Object
from treewide._scale.outboards import is_outboard, place_of
from treewide._scale.outcome import Row
from treewide._scale.reading import Changed, Source
from treewide._scale.verified import NoOutboard, Verified
from treewide._treewide import Damage, _size_of

_FORM = "a range is A..B, A.., ..B or A..+N, in bytes or with K, M, G or T"


def range_of(text: str) -> tuple[int, int | None]:
    """Return where a range starts and stops, as `treewide outboard verify` reads them; `None` for the end.

    Raises `UsageError` for another text.
    """
    first, separator, last = text.partition("..")
    try:
        start = _bytes(first) if first else 0
        stop = start + _bytes(last[1:]) if last.startswith("+") else _bytes(last) if last else None
    except ValueError:
        separator = ""
    if not separator:
        raise UsageError(f"{text!r}: {_FORM}")
    if stop is not None and start >= stop:
        raise UsageError(f"{text!r} has no bytes; {_FORM}")
    return start, stop


def _bytes(text: str) -> int:
    # Such as 1G+64K.
    return sum(map(_size_of, text.split("+")))


def verify_ranges(
    object: Object,
    digest: bytes,
    ranges: list[tuple[int, int | None]],
    source: Source,
    pairs: Source,
    outboard: str | None,
) -> Row:
    """Verify ranges of an object. Returns what to report of it.

    `outboard` is its outboard, or a folder of them. Without it, the outboard is next to the object.
    """
    for start, _ in ranges:
        if start >= max(object.size, 1):
            raise UsageError(f"{object.uri}: has no byte {start}, because it has {object.size} bytes")
    if outboard is not None and not is_outboard(outboard):
        outboard = place_of(object.uri, object.size, digest, outboard)
    verdict, detail, damage = "same", "", list[Damage]()
    verified: Verified | None = None
    try:
        verified = Verified(source, object, digest, outboard, pairs=pairs)
        for start, stop in ranges:
            damage += verified.damage(start, stop)
        if damage:
            unknown = [it for it in damage if it.state != "bad"]
            verdict = "unreadable" if unknown else "changed"
            detail = verified.text((unknown or damage)[0])
    except Changed as change:
        verdict, detail = "changing", str(change)
    except FileNotFoundError as error:
        verdict, detail = "unreadable", f"{error}; write it with sum --outboards, or name it with --outboard"
    except (NoOutboard, OSError) as error:
        verdict, detail = "unreadable", str(error)
    return {
        **object._asdict(),
        "verdict": verdict,
        "damage": [{"start": it.start, "stop": it.stop, "state": it.state} for it in damage],
        **{name: getattr(verified, name, 0) for name in ("bytes_read", "bytes_of_outboard")},
        "detail": detail,
    }
