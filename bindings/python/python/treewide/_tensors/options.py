"""The options of `digests`, as all ranks have them."""

from collections.abc import Callable
from typing import Any, Literal, TypeAlias, TypedDict

from treewide._arguments import BytesDone
from treewide._tensors.lists import TensorDigests

Replicas: TypeAlias = Literal["check", "first"]
Rows: TypeAlias = Literal["auto", "exchange", "redistribute"]

#: What a model is compared with: its digests or its fingerprint.
Expected: TypeAlias = Callable[[], TensorDigests | bytes] | None


class Options(TypedDict, total=False):
    """The options of `digests`."""

    threads: int | None
    rename: Callable[[str], str] | None
    stable: bool
    group: Any
    replicas: Replicas
    rows: Rows
    progress: BytesDone | None


def check_options(options: Options) -> None:
    """Raise `TypeError` for an option that there is not. Ranks call it where a failure is one of all of them."""
    if unknown := options.keys() - Options.__annotations__.keys():
        raise TypeError(f"there is no option {min(unknown)}: {', '.join(Options.__annotations__)}")
