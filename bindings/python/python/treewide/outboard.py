"""Outboards: verify any range of a file by reading that range only.

An outboard is the tree of BLAKE3 over a file, stored apart from it: 0.4 % of its bytes with groups of 16 KiB. With it
and the digest of the file, which comes from where you trust, a range is verified without the rest. The files are those
of bao-tree and iroh (`.obao4`). `docs/outboards.md` says more.

`group` is the size of groups, a power of two from 1 KiB to 64 MiB, such as `16384` or `"16K"`. It must be the one with
which the outboard was made.
"""

from treewide._treewide import (
    Damage,
    DamageError,
    _outboard_create as create,
    _outboard_read as read,
    _outboard_verify as verify,
)

__all__ = ["Damage", "DamageError", "create", "read", "verify"]
