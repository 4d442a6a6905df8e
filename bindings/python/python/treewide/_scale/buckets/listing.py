"""The keys of a bucket, or of a folder, in order: a range of them at a time, and where to cut it.

A key range `(after, until]` is for a bucket what a range of bytes is for an object.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from treewide._scale.buckets.keys import between, middle, shared, successor
from treewide._scale.found import Found, Lists
from treewide._scale.reading import Refused, Retries, repeated
from treewide._scale.temporary import is_temporary

#: Requests for the last key of a range. A guess: seven bisect a character, and six positions among 64.
_PROBES = 48
#: Requests at the same time that look for keys between.
_REQUESTS = 16


def listed(
    listing: Lists, root: str, after: str, until: str | None, retries: Retries, *, most: int | None = None
) -> Iterator[list[Found]]:
    """Return the objects of a key range, page by page, without temporary files of killed runs.

    A listing that fails is asked again from where it was. Raises `Refused` if it is not in order, because then keys
    would be missed; `OSError` if it cannot be read, with the cause.
    """
    last = after
    pages: Iterator[list[Found]] | None = None

    def ask() -> list[Found] | None:
        nonlocal pages
        try:
            pages = pages or listing.pages(root, last, most)
            return next(pages, None)
        except Exception:
            # The next one begins where this one was.
            pages = None
            raise

    def failed(times: str, why: str) -> str:
        return f"{root}: the keys after {last!r} cannot be listed, tried {times}: {why.removeprefix(f'{root}: ')}"

    while (page := repeated(ask, retries, failed)) is not None:
        kept: list[Found] = []
        for it in page:
            if it.key <= last:
                raise Refused(
                    f"{root}: its keys are not listed in the order of their bytes ({it.key!r} comes after "
                    f"{last!r}), so that no range of them can be shared out: use a sorted inventory"
                )
            last = it.key
            if until is not None and last > until:
                yield kept
                return
            if not is_temporary(last):
                kept.append(it)
        yield kept


def first_key(listing: Lists, root: str, until: str | None, retries: Retries, after: str) -> str | None:
    """Return the first key of a range; none if there is none."""
    for page in listed(listing, root, after, until, retries, most=1):
        if page:
            return page[0].key
    return None


def cuts(
    listing: Lists, root: str, after: str, until: str | None, count: int, retries: Retries, *, least: int
) -> list[str]:
    """Return up to `count` keys that cut a range into others, none of them empty; none if it has at most `least` keys.

    Nothing is known of the names. So first the last key is looked for, and then keys between it and the first ones, at
    places that are evenly apart.
    """

    first_after = partial(first_key, listing, root, until, retries)
    first: list[str] = []
    for page in listed(listing, root, after, until, retries):
        first += (it.key for it in page)
        if len(first) > least:
            break
    else:
        return []
    low = first[least - 1]
    seen = {low}
    last = _last(low, until, first_after, seen)
    # Keys may have gone since the first ones were listed.
    places = between(low, last, count, first) if low < last else []
    with ThreadPoolExecutor(_REQUESTS) as pool:
        found = {it for it in pool.map(first_after, places) if it is not None and it < last}
    # Nothing comes after the last key itself. The keys on the way to it are near an end, most of the time.
    return sorted(found) or sorted(it for it in seen if it < last)[:count]


def _last(low: str, high: str | None, first_after: Callable[[str], str | None], found: set[str]) -> str:
    """Return a key near the last one. Each key that was seen on the way is put into `found`."""
    level: int | None = None
    for _ in range(_PROBES):
        if low == high:
            break
        at = shared(low, high)
        # First, how much of the key all others share: halfway between nothing and all of it. Then its character.
        level = max((at + len(low)) // 2, at + 1) if level is None else max(level, at)
        place = successor(low[:level]) if level > at else middle(low, high)
        key = None
        if place is not None and low < place and (high is None or place < high):
            key = first_after(place)
            high = place if key is None else high
        elif level == at:
            break
        if key is not None:
            found.add(key)
            low, level = key, (at + level) // 2
        elif shared(low, high) > at:
            level = None
        else:
            level = (at + level) // 2
    return low
