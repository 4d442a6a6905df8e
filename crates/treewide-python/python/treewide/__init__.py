"""BLAKE3 of bytes, arrays, batches and files."""

from collections.abc import Sequence as _Sequence

from treewide._treewide import AUTO, Digests, __version__, blake3, digest, hash_many, hexdigest, new

__all__ = ["AUTO", "Digests", "__version__", "blake3", "digest", "hash_many", "hexdigest", "new"]

_Sequence.register(Digests)
