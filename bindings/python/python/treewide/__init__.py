"""BLAKE3 of bytes, arrays, batches and files."""

from treewide._async import hash_file_async
from treewide._check import CheckFinding, CheckReport, MalformedLine, check
from treewide._treewide import (
    AUTO,
    Digests,
    MerkleTree,
    __version__,
    blake3,
    digest,
    digests,
    hash_file,
    hash_files,
    hash_many,
    hash_tree,
    hexdigest,
    new,
    verify_proof,
)

__all__ = [
    "AUTO",
    "CheckFinding",
    "CheckReport",
    "Digests",
    "MalformedLine",
    "MerkleTree",
    "__version__",
    "blake3",
    "check",
    "digest",
    "digests",
    "hash_file",
    "hash_file_async",
    "hash_files",
    "hash_many",
    "hash_tree",
    "hexdigest",
    "new",
    "verify_proof",
]
