"""How far a run is, for people: bytes, rate, the time that is left, and workers."""

import sys
import time
from collections import deque
from collections.abc import Callable
from typing import TextIO

from treewide._scale.object_driver import Driver

__all__ = ["Progress", "bytes_text", "objects_text"]

#: Seconds over which the rate is measured.
_WINDOW = 10.0


class Progress:
    """Draws one line on a terminal again and again, or writes a line now and then elsewhere."""

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        """Write to `stream`, or to standard error."""
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._is_terminal = self._stream.isatty()
        self._seen: deque[tuple[float, int]] = deque()
        self._next = 0.0
        self._width = 0
        self._last = ""

    def __call__(self, driver: Driver, workers: int) -> None:
        """Say how far it is, if it is time for that."""
        now = self._clock()
        self._seen.append((now, driver.done))
        while now - self._seen[0][0] > _WINDOW and len(self._seen) > 2:
            self._seen.popleft()
        self._last = self.line(driver, workers)
        if now >= self._next:
            self._next = now + (0.5 if self._is_terminal else _WINDOW)
            self._write(self._last)

    def line(self, driver: Driver, workers: int) -> str:
        """Return what to say."""
        (began, first), (now, last) = self._seen[0], self._seen[-1]
        rate = max(0, last - first) / (now - began) if now > began else 0.0
        total = driver.done + driver.left
        share = 100 * driver.done // total if total else 100
        text = f"{bytes_text(driver.done)} of {bytes_text(total)} ({share} %), {bytes_text(rate)}/s, "
        text += f"{_time_text(driver.left / rate)} left" if rate else "time left unknown"
        return f"{text}, {workers} {'worker' if workers == 1 else 'workers'}"

    def _write(self, line: str) -> None:
        if self._is_terminal:
            self._stream.write("\r" + line.ljust(self._width))
            self._width = len(line)
        else:
            self._stream.write(line + "\n")
        self._stream.flush()

    def end(self) -> None:
        """Remove the line from a terminal; or say how it ended."""
        if not self._is_terminal:
            self._write(self._last)
        elif self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()


def bytes_text(count: float) -> str:
    """Return a number of bytes in units of 1,000, as stores count."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 1000:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} PB"


def objects_text(count: int) -> str:
    """Return a number of objects."""
    return f"{count:,} {'object' if count == 1 else 'objects'}"


def _time_text(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
