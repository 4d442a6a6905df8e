"""Prints results on standard output, and everything else on standard error."""

import sys
from argparse import ArgumentTypeError


class UsageError(ValueError, ArgumentTypeError):
    """The command is invalid. As the type of an option, what raises it is said as it is."""


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
