"""Digests of the tensors in safetensors files, straight from the files: no tensor is loaded.

A file has the length of its header in 8 bytes, the header as JSON, and the bytes of the tensors, without gaps and in
any order. Headers are checked before anything is hashed, as those who load the file check them, or more strictly.
"""

from treewide._arguments import Bytes as _Bytes, BytesDone as _BytesDone, Path as _Path
from treewide._tensors.lists import TensorDigest as _TensorDigest, of_model as _of_model
from treewide._treewide import _tensors

__all__ = ["digests", "tensors"]


def digests(
    path: _Path,
    /,
    *,
    key: _Bytes | None = None,
    derive_key_context: str | None = None,
    length: int = 32,
    threads: int = 1,
    progress: _BytesDone | None = None,
) -> dict[str, bytes]:
    """Return the BLAKE3 digest of each tensor in a safetensors file, by its name, in the order of the header.

    `path` is a file `*.safetensors`, the index `*.safetensors.index.json` of a model in several files, or a directory
    as the Hub has it. The digests are those of `hash_many` for the loaded model: of the bytes of each tensor; type and
    shape are not part of them.

    `progress` is called about 20 times a second with the number of bytes so far, and once at the end. If it raises
    an exception, or Ctrl-C is pressed, hashing stops, and the exception is raised.

    Raises `OSError` that names a file if it cannot be read, or becomes shorter while it is read; `ValueError` that
    names a file if it is not valid: tensors that overlap, leave gaps or end outside of the file, names that appear
    twice, types and shapes that do not fit.
    """
    found = _tensors(
        path, key=key, derive_key_context=derive_key_context, length=length, threads=threads, progress=progress
    )
    return {name: output for name, _, _, output in found}


def tensors(path: _Path, /, *, threads: int = 1, progress: _BytesDone | None = None) -> dict[str, _TensorDigest]:
    """Return type, shape and BLAKE3 digest of each tensor of a model, by its name: what `treewide tensors` prints.

    `path`, `progress` and errors are as for `digests`. The result does not depend on how the model is cut into files.
    `treewide.tensors` compares it with another model, and writes it as a list.
    """
    return _of_model(path, threads=threads, progress=progress)
