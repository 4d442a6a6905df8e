"""The tensors of this process, and their bytes."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch.distributed.tensor import DTensor

from treewide._tensors.lists import renamed

#: Types whose tensors have bytes of their own; others are classes of libraries.
_PLAIN = (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)
_DISPATCH = torch.Tensor.__torch_dispatch__


def state_of(model: Any, rename: Callable[[str], str] | None = None) -> dict[str, torch.Tensor]:
    """Return the tensors of a model without the prefixes of wrappers, or those of a mapping, flattened as DCP does.

    Raises `TypeError` for something else, and for arrays that are not tensors; `ValueError` for a parameter that is not
    here.
    """
    if isinstance(model, torch.nn.Module):
        from torch.distributed.checkpoint.state_dict import get_model_state_dict

        for name, it in model.named_parameters():
            _check_here(name, it)
        model = get_model_state_dict(model)
    elif not isinstance(model, Mapping):
        raise TypeError(f"a model is a module or a mapping of tensors, and not {type(model).__name__}")
    return renamed(_tensors_in(model, ""), rename)


def _tensors_in(inside: Any, before: str) -> Iterator[tuple[str, torch.Tensor]]:
    for key, it in inside.items() if isinstance(inside, Mapping) else enumerate(inside):
        name = f"{before}{key}"
        try:
            name.encode()
        except UnicodeEncodeError:
            raise ValueError(f"the name of a tensor is not text: {name!r}") from None
        if isinstance(it, torch.Tensor):
            _check_here(name, it)
            yield name, it
        elif isinstance(it, (Mapping, list, tuple)):
            yield from _tensors_in(it, f"{name}.")
        elif hasattr(it, "__array_interface__"):
            raise TypeError(f"{name} is {type(it).__name__}: pass torch.from_numpy of it, or leave it out")


def _check_here(name: str, it: Any) -> None:
    """Raise `ValueError` for a parameter that ZeRO-3 of DeepSpeed has emptied."""
    if hasattr(it, "ds_id"):
        status = getattr(getattr(it, "ds_status", None), "name", "AVAILABLE")
        if status != "AVAILABLE" or tuple(it.shape) != tuple(getattr(it, "ds_shape", it.shape)):
            raise ValueError(
                f"{name}: ZeRO-3 of DeepSpeed has emptied this parameter: hash it inside of "
                "deepspeed.zero.GatheredParameters, or hash the saved files"
            )


def _waited(tensor: torch.Tensor) -> torch.Tensor:
    """Return the result of a collective that is still at work."""
    return tensor.wait() if hasattr(tensor, "wait") else tensor


def local_of(tensor: torch.Tensor) -> torch.Tensor:
    if type(tensor) is torch.Tensor and not tensor.requires_grad:
        return tensor
    with torch._C.DisableTorchFunctionSubclass():
        return _waited(tensor.to_local() if isinstance(tensor, DTensor) else tensor).detach()


def place_of(tensor: torch.Tensor) -> tuple[Any, ...] | None:
    """Return where the bytes of a tensor are: tied weights have one place, also where a rank has none of them."""
    local = tensor._local_tensor if isinstance(tensor, DTensor) else tensor
    if hasattr(local, "wait"):
        return None
    at = local.data_ptr() if local.numel() else local.untyped_storage()._cdata
    return at, local.stride(), local.is_conj(), local.is_neg()


def address_of(tensor: torch.Tensor) -> int:
    """Return the address of a local tensor.

    Raises `ValueError` or `TypeError` for one that has no bytes in row-major order.
    """
    if tensor.is_nested:
        raise ValueError("a nested tensor has no shape: hash its `values()` and `offsets()`")
    if tensor.layout is not torch.strided:
        raise ValueError(f"a tensor of the layout {tensor.layout} has no bytes in row-major order")
    own = type(tensor)
    # A class that answers for its operators has other tensors inside. Others, as those of vLLM, have bytes of their
    # own.
    if own not in _PLAIN and own.__torch_dispatch__ is not _DISPATCH and not hasattr(tensor, "wait"):
        raise TypeError(f"{own.__name__} is a tensor of a library: hash the tensors inside it (`__tensor_flatten__`)")
    address: int = tensor.data_ptr()
    if not address and tensor.numel() and not hasattr(tensor, "wait"):
        if tensor.is_meta:
            raise ValueError("a tensor on the device meta has no bytes")
        raise ValueError("its memory was freed, so its bytes are elsewhere: hash it where the model is gathered")
    return address


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
