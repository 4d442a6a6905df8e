"""Everything that can be a model: files and lists of them, digests, and modules or state dicts of PyTorch."""

import os
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from treewide._arguments import Path
from treewide._tensors.lists import Report, TensorDigest, TensorDigests, VerifyError, compared, of_path, renamed
from treewide._tensors.options import Expected, Options, check_options
from treewide._treewide import AUTO, _expected_bytes

#: A path, digests, a module, or a state dict. PyTorch may not be installed.
Model: TypeAlias = Path | Mapping[str, Any] | Any


def _is_known(x: Model) -> bool:
    """Return whether digests come from files or are there. All else goes to the ranks, which fail together."""
    if isinstance(x, (str, bytes, os.PathLike, TensorDigests)) or "torch" not in sys.modules:
        return True
    return isinstance(x, Mapping) and len(x) > 0 and all(isinstance(it, TensorDigest) for it in x.values())


def _known(x: Model, options: Options) -> TensorDigests:
    check_options(options)
    if _fingerprint(x):
        raise TypeError(
            "a fingerprint does not say which tensors there are: pass it to `verify`, as the second argument"
        )
    threads, rename = options.get("threads"), options.get("rename")
    if isinstance(x, (str, os.PathLike)):
        found = of_path(x, AUTO if threads is None else threads, options.get("progress"))
    elif isinstance(x, Mapping) and all(isinstance(it, TensorDigest) for it in x.values()):
        found = x if isinstance(x, TensorDigests) else TensorDigests(x)
    else:
        what = "a path, digests, a module of PyTorch, or a mapping of its tensors"
        raise TypeError(f"a model is {what}, and not {type(x).__name__}")
    if rename is None:
        return found
    aliases = renamed(found.aliases.items(), rename)
    aliases = {name: rename(of) for name, of in aliases.items()}
    return TensorDigests(renamed(found.items(), rename), aliases, found.not_read)


def _fingerprint(x: Model) -> bytes | None:
    """Return the bytes of a fingerprint: 32 bytes, or 64 hexadecimal digits."""
    if isinstance(x, bytes) or (isinstance(x, str) and re.fullmatch("[0-9A-Fa-f]{64}", x)):
        return _expected_bytes(x)
    return None


def digests(x: Model, options: Options, expected: Expected = None) -> tuple[TensorDigests, Any]:
    """Return the digests of a model, and what is `expected`: all ranks have the same, or all raise the same."""

    def once() -> tuple[TensorDigests, Any]:
        if _is_known(x):
            return _known(x, options), expected and expected()
        from treewide._tensors import collective

        return collective.digests_of(x, options, expected)

    found = once()
    # All ranks have the same options by now.
    if options.get("stable"):
        again = once()
        if changed := [name for name, it in found[0].items() if again[0].get(name) != it]:
            raise ValueError(f"{changed[0]}: the tensor changed between two passes that hashed it")
    return found


def _both(old: Model, new: Model, options: Options, fingerprint: bytes | None = None) -> tuple[Any, Any]:
    def of(x: Model) -> Callable[[], TensorDigests | bytes]:
        return lambda: fingerprint or _known(x, options)

    if _is_known(old):
        return digests(new, options, of(old))[::-1]
    if _is_known(new):
        return digests(old, options, of(new))
    return digests(old, options)[0], digests(new, options)[0]


def compare(old: Model, new: Model, values: bool, options: Options) -> Report:
    """Return what differs between two models, also in their values."""
    both = _both(old, new, options)
    # After the ranks have met, so that none waits for this one.
    paths = tuple(it for it in (old, new) if isinstance(it, (str, os.PathLike))) if values else None
    if paths is not None and len(paths) != 2:
        raise TypeError("values are compared between models in files: save the one in memory, and pass its path")
    return compared(*both, paths, options.get("rename"))


def verify(x: Model, expected: Model, options: Options) -> Report:
    """Compare a model with the expected one. Raises `VerifyError` if anything differs."""
    wanted, found = _both(expected, x, options, _fingerprint(expected))
    if isinstance(wanted, bytes):
        if wanted != found.fingerprint:
            raise VerifyError(f"the fingerprint is {found.fingerprint.hex()}, and {wanted.hex()} is expected")
        return Report((), {"same": len(found)}, (), found.not_read)
    report = compared(wanted, found)
    if not report:
        raise VerifyError(f"these are not the weights that are expected:\n{report}", report)
    return report
