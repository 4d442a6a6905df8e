"""BLAKE3 of bytes, arrays, batches and files."""

from treewide._treewide import __version__, blake3, digest, hexdigest, new

__all__ = ["__version__", "blake3", "digest", "hexdigest", "new"]
