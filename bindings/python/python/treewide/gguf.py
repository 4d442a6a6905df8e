"""Digests of the tensors in GGUF files, straight from the files: no tensor is loaded."""

from treewide._arguments import BytesDone as _BytesDone, Path as _Path
from treewide._tensors.lists import TensorDigest as _TensorDigest, of_model as _of_model

__all__ = ["tensors"]


def tensors(path: _Path, /, *, threads: int = 1, progress: _BytesDone | None = None) -> dict[str, _TensorDigest]:
    """Return type, shape and BLAKE3 digest of each tensor of a model, by its name.

    `path` is a file `*.gguf` of version 2 or 3, the first part `*-00001-of-0000N.gguf` of a split file, or a directory
    with one of these. Types have the names of ggml, such as `Q4_K`; shapes are in row-major order, as PyTorch has them.
    The digest is that of the bytes in the file: of a quantised tensor, those of its blocks.

    `progress` is called as by `treewide.safetensors.tensors`, and errors are the same.
    """
    return _of_model(path, threads=threads, progress=progress)
