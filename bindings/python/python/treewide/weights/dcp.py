"""Checkpoints of `torch.distributed.checkpoint` that are hashed while they are written, and checked when read.

PyTorch loads a checkpoint with a flipped bit without an error. With `FileSystemWriter`, each rank hashes the files that
it writes, in the same pass. The checkpoint gets a list `checkpoint.b3`, which `b3sum --check` and `treewide check`
read.

```
dcp.save(state, storage_writer=treewide.weights.dcp.FileSystemWriter(path))
dcp.load(state, storage_reader=treewide.weights.dcp.FileSystemReader(path))
```

It needs PyTorch 2.5 or newer. Anyone who can change the files can change the list, so sign it, or keep its digest.
`treewide.weights.verify` checks what was loaded, in the memory of the GPU.
"""

from torch.distributed.checkpoint.filesystem import FileSystemReader as _Reader, FileSystemWriter as _Writer

from treewide._tensors.checkpoint import CheckingReader, HashingWriter, verify
from treewide._treewide import DamageError

__all__ = ["CheckingReader", "DamageError", "FileSystemReader", "FileSystemWriter", "HashingWriter", "verify"]


class FileSystemWriter(HashingWriter, _Writer):  # type: ignore[misc]
    """The `FileSystemWriter` of PyTorch that hashes what it writes. It has its arguments."""


class FileSystemReader(CheckingReader, _Reader):  # type: ignore[misc]
    """The `FileSystemReader` of PyTorch that checks each file before it reads of it. It has its arguments."""
