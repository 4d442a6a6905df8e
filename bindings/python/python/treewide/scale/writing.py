"""Files of a store, written whole, and again if that fails."""

from collections.abc import Mapping
from typing import Protocol

from treewide.scale.reading import Refused, Retries

__all__ = ["Sink", "write"]


class Sink(Protocol):
    """Where files are written to."""

    def put(self, uri: str, data: bytes, notes: Mapping[str, str]) -> None:
        """Write an object, which appears when it is complete, with `notes` where the store has a place for them."""


def write(sink: Sink, uri: str, data: bytes, notes: Mapping[str, str], retries: Retries) -> None:
    """Write an object. Raises `OSError` that names it."""
    failures = 0
    while True:
        try:
            return sink.put(uri, data, notes)
        except ModuleNotFoundError:
            raise
        except Refused as error:
            raise Refused(f"{uri}: it cannot be written: {error}") from error
        except Exception as error:
            failures += 1
            if not retries.wait(failures):
                text = str(error).strip().partition("\n")[0] or type(error).__name__
                raise OSError(f"{uri}: it cannot be written, tried {failures} times: {text}") from error
