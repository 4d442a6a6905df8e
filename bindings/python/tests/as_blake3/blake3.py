"""A module `blake3`, for programs that the tests start."""

from treewide.compat import __version__, blake3

__all__ = ["__version__", "blake3"]
