"""Hashing the tensors of this process: those of the CPU one by one, those of CUDA devices in groups, where they lie."""

import contextlib
import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from treewide import gpu
from treewide._tensors.local import bytes_of
from treewide._tensors.pieces import Block
from treewide._treewide import Parts, _gpu_hash_blocks, _hash_memory

#: Bytes of a group of tensors. It bounds the memory of copies, which all but contiguous tensors need, and of tables.
GROUP = 1 << 30


@functools.lru_cache
def _can_hash(index: int) -> bool:
    return torch.version.hip is None and any(it.index == index and it.problem is None for it in gpu.devices())


def device_of(tensor: torch.Tensor) -> int | None:
    """Return the number of the CUDA device that hashes a tensor where it lies. All others are hashed by the CPU."""
    return tensor.get_device() if tensor.is_cuda and _can_hash(tensor.get_device()) else None


@contextlib.contextmanager
def in_stream(index: int) -> Iterator[int]:
    """Make a CUDA device the current one, as PyTorch lends no tensors of others, and return its current stream."""
    with torch.cuda.device(index):
        yield torch.cuda.current_stream().cuda_stream


class _Waiting(NamedTuple):
    name: str
    known: Parts
    data: Any
    block: Block
    local: torch.Tensor
    version: int | None


def _version(local: torch.Tensor) -> int | None:
    """Return how often PyTorch changed a tensor in place. It counts no inference tensors, and no kernels of others."""
    try:
        return int(local._version)
    except RuntimeError:
        return None


def _on_cpu(local: torch.Tensor) -> torch.Tensor:
    """Return a tensor whose memory is that of the CPU, in row-major order: itself if it is one."""
    is_one = local.is_cpu and local.is_contiguous() and not (local.is_conj() or local.is_neg())
    return local if is_one else bytes_of(local)


_CHANGED = "the tensor changed while it was hashed"


class Hashing:
    """Hashes tensors. Their parts are complete after `finish`."""

    def __init__(self) -> None:
        #: The bytes of the groups.
        self.nbytes = 0
        self._groups: dict[int, list[_Waiting]] = {}
        self._whole: list[tuple[str, torch.Tensor, torch.Tensor, int | None]] = []

    def add(self, name: str, known: Parts, local: torch.Tensor, block: Block) -> None:
        """Add a block of a full tensor to its parts: at once, or in a group."""
        index = device_of(local) if local.numel() else None
        version = _version(local)
        if index is not None:
            data: Any = bytes_of(local, on_cpu=False)
            self._groups.setdefault(index, []).append(_Waiting(name, known, data, block, local, version))
            self.nbytes += local.nbytes
            return
        data = _on_cpu(local)
        known._hash_block((data.data_ptr(), data.nbytes), *block)
        if version != _version(local):
            raise ValueError(_CHANGED)

    def add_whole(self, name: str, local: torch.Tensor) -> bool:
        """Add a full tensor for `whole`, unless a device hashes it where it lies."""
        version = _version(local)
        if not local.is_cpu and local.numel() and device_of(local) is not None:
            return False
        data = _on_cpu(local)
        self.nbytes += data.nbytes if data is not local else 0
        self._whole.append((name, local, data, version))
        return True

    def whole(self, threads: int) -> Iterator[tuple[str, bytes]]:
        """Hash the full tensors, and return their digests."""
        whole, self._whole = self._whole, []
        found = _hash_memory([(data.data_ptr(), data.nbytes) for _, _, data, _ in whole], threads)
        for (name, local, _, version), digest in zip(whole, found, strict=True):
            if version != _version(local):
                raise ValueError(f"{name}: {_CHANGED}")
            yield name, digest

    def finish(self) -> None:
        """Hash the groups. Raises errors of the device, which name no tensor."""
        groups, self._groups, self.nbytes = self._groups, {}, 0
        for index, group in groups.items():
            with in_stream(index) as stream:
                _gpu_hash_blocks([(it.known, it.data, it.block) for it in group], stream=stream)
            for it in group:
                if it.version != _version(it.local):
                    raise ValueError(f"{it.name}: {_CHANGED}")
