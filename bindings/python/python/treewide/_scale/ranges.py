"""`verify --range`: ranges of objects by their outboards, on this machine."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from treewide._scale.lists import Entry
from treewide._scale.objects import Object
from treewide._scale.outboards import is_outboard, place_of
from treewide._scale.progress import bytes_text, objects_text
from treewide._scale.reading import Changed, Source
from treewide._scale.verified import NoOutboard, Verified
from treewide._treewide import Damage, _size_of

_FORM = "a range is A..B, A.., ..B or A..+N, in bytes or with K, M, G or T"


class RangeError(ValueError):
    """An invalid range."""


def range_of(text: str) -> tuple[int, int | None]:
    """Return where a range starts and stops, as `treewide outboard verify` reads them; `None` for the end."""
    first, separator, last = text.partition("..")
    if not separator:
        raise RangeError(f"{text!r}: {_FORM}")
    start = _bytes(first, text) if first else 0
    if last.startswith("+"):
        stop: int | None = start + _bytes(last[1:], text)
    else:
        stop = _bytes(last, text) if last else None
    if stop is not None and start >= stop:
        raise RangeError(f"{text!r} has no bytes; {_FORM}")
    return start, stop


def _bytes(text: str, whole: str) -> int:
    # Such as 1G+64K.
    total = 0
    for part in text.split("+"):
        try:
            total += _size_of(part)
        except ValueError:
            raise RangeError(f"{whole!r}: {_FORM}") from None
    return total


@dataclass
class Found:
    """The outcome of an object."""

    uri: str
    #: `same`, `changed`, `removed`, `changing` or `unreadable`, as in lists.
    verdict: str
    detail: str = ""
    object: Object | None = None
    damage: list[Damage] = field(default_factory=list)
    bytes_read: int = 0
    bytes_of_outboard: int = 0


def verify_ranges(
    objects: list[Object],
    entries: Mapping[str, Entry],
    ranges: list[tuple[int, int | None]],
    source: Source,
    pairs: Source,
    outboard: str | None,
) -> Iterator[Found]:
    """Verify the same ranges of each object.

    `outboard` is that of the only object, or a folder. Without it, it is where the list says, or next to the object.
    """
    for object in objects:
        entry = entries[object.uri]
        yield _verify(object, entry.digest, ranges, source, pairs, outboard or entry.outboard)


def _verify(
    object: Object,
    digest: bytes,
    ranges: list[tuple[int, int | None]],
    source: Source,
    pairs: Source,
    outboard: str | None,
) -> Found:
    for start, _ in ranges:
        if start >= max(object.size, 1):
            raise RangeError(f"{object.uri}: has no byte {start}, because it has {object.size} bytes")
    if outboard is not None and not is_outboard(outboard):
        outboard = place_of(object.uri, object.size, digest, outboard)
    found = Found(object.uri, "same", object=object)
    verified: Verified | None = None
    try:
        verified = Verified(source, object, digest, outboard, pairs=pairs)
        for start, stop in ranges:
            found.damage += verified.damage(start, stop)
    except Changed as change:
        found.verdict, found.detail = "changing", str(change)
    except FileNotFoundError as error:
        text = "write it with sum --outboards, or name it with --outboard"
        found.verdict, found.detail = "unreadable", f"{error}; {text}"
    except (NoOutboard, OSError) as error:
        found.verdict, found.detail = "unreadable", str(error)
    if verified is not None:
        found.bytes_read, found.bytes_of_outboard = verified.bytes_read, verified.bytes_of_outboard
        if found.damage and found.verdict == "same":
            unknown = [it for it in found.damage if it.state != "bad"]
            found.verdict = "unreadable" if unknown else "changed"
            found.detail = verified.text((unknown or found.damage)[0])
    return found


def print_found(all: list[Found], *, is_json: bool, code: int) -> Iterator[str]:
    """Return the lines to print: what is wrong, and one for all."""
    for it in all:
        if is_json:
            facts = {"size": it.object.size, "etag": it.object.etag, "version": it.object.version} if it.object else {}
            damage = [{"start": part.start, "stop": part.stop, "state": part.state} for part in it.damage]
            bytes = {"bytes_read": it.bytes_read, "bytes_of_outboard": it.bytes_of_outboard}
            yield json.dumps(
                {"uri": it.uri, "verdict": it.verdict, **facts, "damage": damage, **bytes, "detail": it.detail}
            )
            continue
        for part in it.damage:
            yield f"{part.state.upper():10} {it.uri}  {part.start}..{part.stop}"
        if it.verdict != "same":
            # The line names the object already.
            detail = it.detail.removeprefix(f"{it.uri}: ")
            yield f"{it.verdict:10} {it.uri}" + (f"  ({detail})" if detail else "")
    counts: dict[str, int] = {}
    for it in all:
        counts[it.verdict] = counts.get(it.verdict, 0) + 1
    data, pairs = sum(it.bytes_read for it in all), sum(it.bytes_of_outboard for it in all)
    if is_json:
        yield json.dumps({"counts": counts, "bytes_read": data, "bytes_of_outboard": pairs, "exit": code})
    else:
        text = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
        yield f"{objects_text(len(all))}: {text}; {bytes_text(data)} read, and {bytes_text(pairs)} of outboards"
