"""Checkpoints of `torch.distributed.checkpoint` that are hashed while they are written, and checked when read.

PyTorch loads a checkpoint with a flipped bit without an error. With `writer`, each rank hashes the files that it
writes, in the same pass. The checkpoint gets a list `checkpoint.b3`, which `b3sum --check` and `treewide check` read.

```
dcp.save(state, storage_writer=treewide.dcp.writer()(path))
dcp.load(state, storage_reader=treewide.dcp.reader()(path))
```

It needs PyTorch 2.5 or newer. Anyone who can change the files can change the list, so sign it, or keep its digest.
`treewide.torch.verify` checks what was loaded, in the memory of the GPU.
"""

from os import PathLike as _PathLike, fspath as _fspath
from typing import Any as _Any

from treewide._treewide import DamageError

__all__ = ["DamageError", "reader", "verify", "writer"]


def writer(base: type[_Any] | None = None, /) -> type[_Any]:
    """Return a class that writes as `base` does, and hashes: by default `FileSystemWriter`.

    `base` is a class whose files come from `self.fs.create_stream`, such as `FsspecWriter`. The list is complete before
    `.metadata` appears. With `use_collectives=False`, each rank has its list `__RANK_checkpoint.b3`, as it has its
    metadata.

    Raises `TypeError` if `base` is not a class of a writer.
    """
    from torch.distributed.checkpoint.filesystem import FileSystemWriter

    from treewide._tensors import checkpoint

    return checkpoint.writer_of(base or FileSystemWriter)


def reader(base: type[_Any] | None = None, /) -> type[_Any]:
    """Return a class that reads as `base` does, and checks a file before it reads of it: by default `FileSystemReader`.

    `base` is a class whose files come from `self.fs.create_stream`. A rank reads each file from which it needs
    something, all of it, once more. `.metadata` is a pickle, and is checked before it is loaded. Raises `DamageError`
    that names a file, which PyTorch wraps in its `CheckpointException`, a `BaseException`. Raises `TypeError` for
    `HuggingFaceStorageReader`, which opens files by itself.
    """
    from torch.distributed.checkpoint.filesystem import FileSystemReader

    from treewide._tensors import checkpoint

    return checkpoint.reader_of(base or FileSystemReader)


def verify(path: str | _PathLike[str], /, *, group: _Any = None) -> None:
    """Compare the files of a checkpoint in a local directory with its list.

    With a process group, all ranks of `group` call it, and each file is read by one of them. So all of them must see
    one directory: where each machine has a copy, `group` has the ranks of one machine. Raises `DamageError`, on all
    ranks, that names the files which are missing, are not as they were written, or are not in the list. If there is no
    list, raises `OSError` without a process group and `DamageError` with one.
    """
    from treewide._tensors import checkpoint

    checkpoint.verify(_fspath(path), group)
