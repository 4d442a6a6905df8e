"""Keys, and places between them.

Stores list keys in the order of their UTF-8 bytes, which is that of code points: the order of `str`. Any string is a
place to start after, whether there is such a key or not.
"""

from bisect import bisect_left
from collections.abc import Iterable

#: Characters of a place after what both keys have in common. A guess: four of them distinguish 10,000 numbers.
_DEPTH = 4
_LAST = 0x10FFFF


def common(left: str, right: str | None) -> int:
    """Return how many characters two keys have in common at the start; `None` is after all keys."""
    pairs = enumerate(zip(left, right or "", strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(left), len(right or "")))


def successor(prefix: str) -> str | None:
    """Return a place after all keys that begin with `prefix`, and before all others that are greater."""
    while prefix and ord(prefix[-1]) == _LAST:
        prefix = prefix[:-1]
    code = ord(prefix[-1]) + 1 if prefix else 0
    # No character is half of a pair of UTF-16.
    return prefix[:-1] + chr(code if not 0xD800 <= code <= 0xDFFF else 0xE000) if prefix else None


def shared(low: str, high: str | None) -> int:
    """Return how many characters all keys between two have in common, as far as that can be said."""
    at = common(low, high)
    # Between `ab1` and `ac` all keys begin with `ab`.
    return at + 1 if high is not None and len(high) == at + 1 and _is_next(low, high, at) else at


def middle(low: str, high: str | None) -> str | None:
    """Return a place between two keys, by their first character that differs; `None` if there is none."""
    at = common(low, high)
    if high is not None and _is_next(low, high, at):
        if len(high) > at + 1:
            return high[: at + 1]
        at, high = at + 1, None
    first = ord(low[at]) if at < len(low) else 0x1F
    last = ord(high[at]) if high is not None else (0x7F if first < 0x7E else _LAST)
    half = (first + last) // 2
    if half <= first:
        return None
    half = half if not 0xD800 <= half <= 0xDFFF else 0xE000
    return low[:at] + chr(half) if first < half < last else None


def between(low: str, high: str, count: int, known: Iterable[str] = ()) -> list[str]:
    """Return up to `count` places between two keys, evenly apart among names of the letters of the `known` keys."""
    at = common(low, high)
    if max(low[at : at + 1], high[at : at + 1]) > "~":
        # There may be many more letters than are known: one of them is enough.
        first, last = ord(low[at]) if at < len(low) else 0x20, ord(high[at])
        codes = {first + (last - first) * step // (count + 1) for step in range(1, count + 1)}
        places = {low[:at] + chr(it) for it in codes if not 0xD800 <= it <= 0xDFFF}
    else:
        letters = sorted({letter for key in (low, high, *known) for letter in key[at:]})
        first, last = _value(low[at:], letters), _value(high[at:], letters)
        values = {first + (last - first) * step // (count + 1) for step in range(1, count + 1)}
        places = {low[:at] + _text(it, letters) for it in values}
    return sorted(it for it in places if low < it < high)


def _is_next(low: str, high: str, at: int) -> bool:
    return at < len(low) and ord(low[at]) + 1 == ord(high[at])


def _value(text: str, letters: list[str]) -> int:
    value = 0
    for index in range(_DEPTH):
        digit = bisect_left(letters, text[index]) if index < len(text) else 0
        value = value * len(letters) + digit
    return value


def _text(value: int, letters: list[str]) -> str:
    digits = []
    for _ in range(_DEPTH):
        value, digit = divmod(value, len(letters))
        digits.append(letters[digit])
    return "".join(reversed(digits))
