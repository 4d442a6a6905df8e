"""Digests of tensors in the memory of CUDA devices, where they lie: standard BLAKE3, the same as `digest` of a copy.

Tensors come through DLPack, from PyTorch, CuPy, JAX and others, of any type, by their bytes; type and shape are not
part of a digest. Nothing but digests comes to the host, except for ends in `hash_parts`. NVIDIA's driver is looked for
when a function is called.

`stream` is the stream that the work goes to: the number of a `cudaStream_t`, or an object of PyTorch, CuPy or the
protocol `__cuda_stream__`; without it, the default stream. It must live as long as the work on it. What writes the
tensors, in whatever stream their library knows of, comes first.
"""

from dataclasses import dataclass as _dataclass

from treewide._treewide import (
    _gpu_devices,
    _gpu_digest as digest,
    _gpu_hash_many as hash_many,
    _gpu_hash_many_to as hash_many_to,
    _gpu_hash_parts as hash_parts,
)

__all__ = ["Device", "devices", "digest", "hash_many", "hash_many_to", "hash_parts"]


@_dataclass(frozen=True)
class Device:
    """A CUDA device, or what is wrong with the driver."""

    index: int
    name: str
    #: Bytes of memory, if the driver says.
    memory: int | None
    #: Why it cannot be used. `None` if it can.
    problem: str | None


def devices() -> list[Device]:
    """Return the CUDA devices. Where the driver is missing or broken, one entry says so."""
    return [Device(*it) for it in _gpu_devices()]
