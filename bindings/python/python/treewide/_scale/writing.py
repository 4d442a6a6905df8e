"""Files of a store, written whole, and again if that fails."""

from collections.abc import Mapping
from typing import Protocol

from treewide._scale.reading import Refused, Retries, repeated


class Sink(Protocol):
    """Where files are written to."""

    def put(self, uri: str, data: bytes, notes: Mapping[str, str]) -> None:
        """Write an object, which appears when it is complete, with `notes` where the store has a place for them."""


def write(sink: Sink, uri: str, data: bytes, notes: Mapping[str, str], retries: Retries) -> None:
    """Write an object. Raises `OSError` that names it."""
    try:
        repeated(
            lambda: sink.put(uri, data, notes),
            retries,
            lambda times, why: f"{uri}: it cannot be written, tried {times}: {why}",
        )
    except Refused as error:
        raise Refused(f"{uri}: it cannot be written: {error}") from error
