"""`python -m treewide`: the command line, which is that of the program `treewide`, and `scale`."""

import signal
import sys

from treewide._treewide import _run_program


def main() -> int:
    """Run the program with the arguments of this process. Returns its exit code."""
    if sys.argv[1:2] == ["scale"]:
        # Only this command is Python, and only it loads what it needs.
        from treewide.scale.program import main as scale

        return scale(sys.argv[2:])
    # Ctrl-C ends it at once, as it ends the program `treewide`. Where it was ignored, it stays so.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    closed = [stream is None for stream in (sys.stdin, sys.stdout, sys.stderr)]
    return _run_program(["python -m treewide", *sys.argv[1:]], closed)


if __name__ == "__main__":
    sys.exit(main())
