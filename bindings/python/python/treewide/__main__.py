"""`python -m treewide`, or `treewide`: the command line of the program `treewide`, and `scale`."""

import os
import signal
import sys

from treewide._treewide import _run_program


def main() -> int:
    """Run the program with the arguments of this process. Returns its exit code."""
    if sys.argv[1:2] == ["scale"]:
        # Only this command is Python, and only it loads what it needs.
        from treewide._scale.program import main as scale

        return scale(sys.argv[2:])
    # Ctrl-C ends it at once, as it ends the program `treewide`. Where it was ignored, it stays so.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    closed = [stream is None for stream in (sys.stdin, sys.stdout, sys.stderr)]
    is_script = os.path.basename(sys.argv[0]).startswith("treewide")
    name = "treewide" if is_script else "python -m treewide"
    code = _run_program([name, *sys.argv[1:]], closed)
    if sys.argv[1:] in (["--help"], ["-h"], ["help"]):
        print(f"\nFor objects and buckets of stores, in this package only: {name} scale --help")
    return code


if __name__ == "__main__":
    sys.exit(main())
