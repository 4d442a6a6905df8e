"""The command `python -m treewide scale`."""

from treewide._scale.program import main

__all__ = ["main"]
