"""The tensors of this process, and their bytes."""

from collections.abc import Mapping
from typing import Any

import torch
from torch.distributed.tensor import DTensor

__all__ = ["bytes_of", "check_plain", "local_of", "state_of"]

#: Types whose tensors have bytes of their own; others are classes of libraries.
_PLAIN = (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)


def state_of(model: torch.nn.Module | Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """Return the tensors of a model without the prefixes of wrappers, or those of a mapping as they are.

    Raises `TypeError` for something else, and for values of a mapping that have weights and are not tensors.
    """
    if isinstance(model, torch.nn.Module):
        from torch.distributed.checkpoint.state_dict import get_model_state_dict

        model = get_model_state_dict(model)
    elif not isinstance(model, Mapping):
        raise TypeError(f"a model is a module or a mapping of tensors, and not {type(model).__name__}")
    for name, it in model.items():
        if not isinstance(name, str):
            raise TypeError(f"the name of a tensor is a string: {name!r}")
        if _has_weights(it):
            raise TypeError(f"{name} is {type(it).__name__}: pass its tensors by names of their own, or leave it out")
    return {name: it for name, it in model.items() if isinstance(it, torch.Tensor)}


def _has_weights(it: object) -> bool:
    """Return whether something that is not a tensor has some, or is an array of NumPy."""
    inside = it.values() if isinstance(it, Mapping) else it if isinstance(it, (list, tuple)) else ()
    return hasattr(it, "__array_interface__") or any(
        isinstance(one, torch.Tensor) or _has_weights(one) for one in inside
    )


def _waited(tensor: torch.Tensor) -> torch.Tensor:
    """Return the result of a collective that is still at work."""
    return tensor.wait() if hasattr(tensor, "wait") else tensor


def local_of(tensor: torch.Tensor) -> torch.Tensor:
    return _waited(tensor.to_local() if isinstance(tensor, DTensor) else tensor).detach()


def check_plain(tensor: torch.Tensor) -> None:
    """Raise `ValueError` or `TypeError` for tensors that have no bytes in row-major order."""
    if tensor.is_nested:
        raise ValueError("a nested tensor has no shape: hash its `values()` and `offsets()`")
    if tensor.is_meta:
        raise ValueError("a tensor on the device meta has no bytes")
    if tensor.layout is not torch.strided:
        raise ValueError(f"a tensor of the layout {tensor.layout} has no bytes in row-major order")
    if type(tensor) not in _PLAIN and not hasattr(tensor, "wait"):
        raise TypeError(
            f"{type(tensor).__name__} is a tensor of a library: hash the tensors inside it (`__tensor_flatten__`)"
        )
    if tensor.is_quantized:
        raise TypeError(f"a quantized tensor ({tensor.dtype}) has bytes and scales: hash `int_repr()` and the scales")


def bytes_of(tensor: torch.Tensor, *, on_cpu: bool = True) -> torch.Tensor:
    """Return a local tensor as bytes in row-major order: in place if it is contiguous, or in the memory of the CPU."""
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    if tensor.numel() == 0:
        return torch.empty(0, dtype=torch.uint8)
    if tensor.element_size() == 1:
        # Not all such types can be copied.
        tensor = tensor.view(torch.uint8)
    data = tensor.contiguous().view(-1).view(torch.uint8)
    return data.cpu() if on_cpu else data
