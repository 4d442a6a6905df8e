"""The indices of a sharded tensor that a rank has: the rules of PyTorch's placements, without PyTorch."""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

#: Indices of a dimension, as pairs of a start and a count, in the order of local memory.
Indices: TypeAlias = list[tuple[int, int]]


class Placement(NamedTuple):
    """How a dimension of a mesh holds a tensor: `dim` is -1 for replicas; `split_factor` is that of `_StridedShard`."""

    dim: int
    split_factor: int = 1


def _split(n: int, ranks: int, rank: int) -> tuple[int, int]:
    """Return the start and the count that `torch.chunk` gives to a rank. The last ranks may get none."""
    size = -(-n // ranks)
    start = min(size * rank, n)
    return start, min(size, n - start)


def _cut(indices: Indices, start: int, count: int) -> Indices:
    """Return a range of a list of indices, counted in the order of the list."""
    out = []
    for at, size in indices:
        first, last = max(start, 0), min(start + count, size)
        if first < last:
            out.append((at + first, last - first))
        start -= size
    return out


def indices_of(
    shape: Sequence[int], placements: Sequence[Placement], mesh: Sequence[int], coordinate: Sequence[int]
) -> list[Indices]:
    """Return the indices of each dimension that the rank at `coordinate` of a mesh has.

    Placements apply from the first dimension of the mesh on. One with a split factor cuts into that many pieces, and
    each piece among the ranks.
    """
    found: list[Indices] = [[(0, n)] if n else [] for n in shape]
    for placement, ranks, rank in zip(placements, mesh, coordinate, strict=True):
        if placement.dim < 0:
            continue
        before = found[placement.dim]
        n = sum(count for _, count in before)
        after: Indices = []
        for piece in range(placement.split_factor):
            start, count = _split(n, placement.split_factor, piece)
            first, count = _split(count, ranks, rank)
            after += _cut(before, start + first, count)
        found[placement.dim] = after
    return found
