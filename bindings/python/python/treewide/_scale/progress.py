"""How far a run is, for people: bytes, rate, the time that is left, and workers."""

import sys
import time
from collections import deque
from collections.abc import Callable
from typing import TextIO

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

    def __call__(self, done: int, left: int | None, text: str, workers: int) -> None:
        """Say how far it is, if it is time for that: bytes, or objects where no one knows how many are left."""
        now = self._clock()
        self._seen.append((now, done))
        while now - self._seen[0][0] > _WINDOW and len(self._seen) > 2:
            self._seen.popleft()
        self._last = f"{self.line(done, left, text)}, {workers} {'worker' if workers == 1 else 'workers'}"
        if now >= self._next:
            self._next = now + (0.5 if self._is_terminal else _WINDOW)
            self._write(self._last)

    def line(self, done: int, left: int | None, text: str) -> str:
        """Return what to say."""
        (began, first), (now, last) = self._seen[0], self._seen[-1]
        rate = max(0, last - first) / (now - began) if now > began else 0.0
        if left is None:
            return f"{done:,} objects, {rate:,.0f}/s, {text}"
        total = done + left
        share = 100 * done // total if total else 100
        text = f"{bytes_text(done)} of {bytes_text(total)} ({share} %), {bytes_text(rate)}/s, "
        return text + (f"{_time_text(left / rate)} left" if rate else "time left unknown")

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
    """Return a number of bytes, in the units of the command line."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024:
            return f"{count:.0f} B" if unit == "B" else f"{count:.2f} {unit}"
        count /= 1024
    return f"{count:.2f} PiB"


def objects_text(count: int) -> str:
    """Return a number of objects."""
    return f"{count:,} {'object' if count == 1 else 'objects'}"


def _time_text(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
