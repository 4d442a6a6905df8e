"""Digests of the tensors of a model: lists of them, fingerprints, and what differs between two models."""

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

__all__ = ["Finding", "Report", "TensorDigest", "Verdict", "compare", "fingerprint", "read_list", "write_list"]
