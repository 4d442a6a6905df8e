"""Prints results on standard output, and everything else on standard error."""

import os
import sys
from collections.abc import Callable

from treewide._scale.engines.loop import Deals, Engine, drive
from treewide._scale.progress import Progress

__all__ = ["UsageError", "drive_shown", "print_line", "say"]


class UsageError(Exception):
    """The command is invalid."""


def print_line(line: str) -> None:
    """Print a result. Names that are not UTF-8 are printed as they are."""
    file = getattr(sys.stdout, "buffer", None)
    if file is None:
        # A notebook shows text only.
        print(line.encode("utf-8", "backslashreplace").decode())
    else:
        file.write(line.encode("utf-8", "surrogateescape") + b"\n")


def say(text: str) -> None:
    """Print a line that is not a result."""
    print(f"treewide: {text}", file=sys.stderr)


def drive_shown(
    driver: Deals,
    start: Callable[[], Engine],
    journal: str | None,
    wanted: bool | None,
    kind: type[Progress] = Progress,
) -> None:
    """Run until all is done, with progress if it is `wanted`, or without a wish on a terminal.

    If it is interrupted, the process ends with 130.
    """
    shown = sys.stderr.isatty() if wanted is None else wanted
    progress = kind() if shown else None
    try:
        drive(driver, start(), progress)
    except KeyboardInterrupt:
        say("interrupted" + (f": the same command continues from {journal}" if journal else ""))
        # A worker may be in the middle of a request.
        sys.stdout.flush()
        os._exit(130)
    finally:
        if progress:
            progress.end()
