"""Digests of the tensors of a model: lists of them, fingerprints, and what differs between two models.

`parts` and `merge` make the digests of tensors whose pieces lie in several processes, such as the ranks of an engine.
`treewide.torch.digests` does it for models of PyTorch.
"""

from treewide._tensors.lists import (
    Finding,
    Report,
    TensorDigest,
    Verdict,
    compare,
    fingerprint,
    read_list,
    write_list,
)
from treewide._tensors.pieces import Different, Missing, Piece, merge, parts

__all__ = [
    "Different",
    "Finding",
    "Missing",
    "Piece",
    "Report",
    "TensorDigest",
    "Verdict",
    "compare",
    "fingerprint",
    "merge",
    "parts",
    "read_list",
    "write_list",
]
