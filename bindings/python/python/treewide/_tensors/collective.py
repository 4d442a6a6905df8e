"""The collective: each rank hashes its shards, sends parts to the rank that merges the tensor, and all get all digests.

```text
table of each rank    (name, kind, mesh, placements) -> digest; one all-gather of 40 bytes, if all are the same
each rank             the runs of its shard -> parts, and the bytes at their ends
all-to-all            parts to the rank that merges the tensor, which all ranks know from the tables
all-gather            32 bytes of each tensor
```

A problem of one rank that hashes travels in the same messages, so all ranks raise the same. Other failures of one
rank, such as a list that it cannot read, let the others wait until the timeout of the group.
"""

import functools
import itertools
import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
from torch.distributed.tensor.placement_types import _StridedShard

from treewide._tensors.layouts import Indices, Placement, indices_of
from treewide._tensors.lists import TensorDigest
from treewide._tensors.pieces import Joined, Kind, answer_of, kind_of
from treewide._treewide import Parts, digest

__all__ = ["Replicas", "Rows", "bytes_of", "digests_of", "parts_of", "state_of"]

Replicas: TypeAlias = Literal["check", "first"]
Rows: TypeAlias = Literal["auto", "exchange", "redistribute"]

#: Bytes that this rank sent, by their purpose. Tests read it.
sent: dict[str, int] = {}


class _Mesh(NamedTuple):
    """A mesh by its ranks, in order, and its shape."""

    ranks: tuple[int, ...]
    shape: tuple[int, ...]

    def coordinate(self, rank: int) -> list[int]:
        """Return where a rank is."""
        place = self.ranks.index(rank)
        found = []
        for size in reversed(self.shape):
            place, index = divmod(place, size)
            found.append(index)
        return found[::-1]


class _Line(NamedTuple):
    """A tensor as all ranks know it. One that is not a DTensor has no mesh: all of it is there."""

    kind: Kind
    mesh: _Mesh | None
    placements: tuple[Placement, ...]


@functools.lru_cache(64)
def _mesh_of(mesh: Any) -> _Mesh:
    # To ask a mesh for its ranks takes 50 µs (2.15).
    return _Mesh(tuple(mesh.mesh.flatten().tolist()), tuple(mesh.shape))


def _placement_of(it: Any) -> Placement:
    # First, as it is a shard for some versions of PyTorch.
    if isinstance(it, _StridedShard):
        return Placement(int(it.dim), int(it.split_factor))
    if type(it) is Shard:
        return Placement(int(it.dim))
    if isinstance(it, Replicate):
        return Placement(-1)
    if isinstance(it, Partial):
        raise ValueError(f"{it}: each rank has a summand, and none has the bytes of the tensor: redistribute it first")
    raise ValueError(f"this release does not know the placement {it!r}")


def _line_of(tensor: torch.Tensor) -> _Line:
    if not isinstance(tensor, DTensor):
        return _Line(kind_of(tensor, tensor.shape), None, ())
    placements = tuple(map(_placement_of, tensor.placements))
    return _Line(kind_of(tensor, tensor.shape), _mesh_of(tensor.device_mesh), placements)


@functools.lru_cache(4096)
def _indices(shape: tuple[int, ...], mesh: _Mesh | None, placements: tuple[Placement, ...], rank: int) -> list[Indices]:
    if mesh is None:
        return indices_of(shape, (), (), ())
    return indices_of(shape, placements, mesh.shape, mesh.coordinate(rank))


def state_of(model: torch.nn.Module | Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """Return the tensors of a model without the prefixes of wrappers, or those of a mapping as they are."""
    if isinstance(model, torch.nn.Module):
        from torch.distributed.checkpoint.state_dict import get_model_state_dict

        model = get_model_state_dict(model)
    return {name: it for name, it in model.items() if isinstance(it, torch.Tensor)}


def _local_of(tensor: torch.Tensor) -> torch.Tensor:
    if isinstance(tensor, DTensor):
        tensor = tensor.to_local()
        if hasattr(tensor, "wait"):  # a collective that is still at work
            tensor = tensor.wait()
    return tensor.detach()


def bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    """Return a local tensor as bytes in row-major order: in place if it is contiguous, and in the memory of the CPU.

    Raises `ValueError` or `TypeError` for tensors that have no such bytes.
    """
    if tensor.is_meta:
        raise ValueError("a tensor on the device meta has no bytes")
    if tensor.layout is not torch.strided:
        raise ValueError(f"a tensor of the layout {tensor.layout} has no bytes in row-major order")
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer):
        raise TypeError(
            f"{type(tensor).__name__} is a tensor of a library: hash the tensors inside it (`__tensor_flatten__`)"
        )
    if tensor.is_quantized:
        raise TypeError(f"a quantized tensor ({tensor.dtype}) has bytes and scales: hash `int_repr()` and the scales")
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    if tensor.numel() == 0:
        return torch.empty(0, dtype=torch.uint8)
    return tensor.contiguous().view(-1).view(torch.uint8).cpu()


class _Group:
    """The ranks that take part, and messages among them, counted."""

    def __init__(self, group: Any) -> None:
        self.group = group
        self.is_one = not (dist.is_available() and dist.is_initialized())
        if self.is_one:
            self.rank, self.members = 0, [0]
        else:
            self.rank, self.members = dist.get_rank(group), dist.get_process_group_ranks(group or dist.group.WORLD)
            if self.rank < 0:
                raise ValueError(f"rank {dist.get_rank()} is not in the group, so it cannot take part")
            config = (
                str(dist.get_backend_config(group)) if hasattr(dist, "get_backend_config") else dist.get_backend(group)
            )
            on_cpu = "gloo" in config or "mpi" in config
            self.device = torch.device("cpu") if on_cpu else torch.device("cuda", torch.cuda.current_device())
        self.world = len(self.members)
        #: Its number among all ranks, by which meshes name it.
        self.me = self.members[self.rank]

    def _tensor(self, data: bytes) -> torch.Tensor:
        # A buffer of no bytes is refused.
        return torch.frombuffer(bytearray(data or b"\0"), dtype=torch.uint8)[: len(data)].to(self.device)

    def all_gather(self, data: bytes, purpose: str) -> list[bytes]:
        """Exchange messages that have as many bytes on all ranks."""
        if self.world == 1 or not data:
            return [data] * self.world
        sent[purpose] = sent.get(purpose, 0) + len(data) * (self.world - 1)
        out = torch.empty(self.world * len(data), dtype=torch.uint8, device=self.device)
        dist.all_gather_into_tensor(out, self._tensor(data), group=self.group)
        found = bytes(out.cpu().numpy())
        return [found[at : at + len(data)] for at in range(0, len(found), len(data))]

    def broadcast(self, data: bytes | None, size: int, source: int, purpose: str) -> bytes:
        """Send bytes from one rank to all."""
        if data is not None:
            sent[purpose] = sent.get(purpose, 0) + size * (self.world - 1)
        buffer = self._tensor(bytes(size) if data is None else data)
        dist.broadcast(buffer, self.members[source], group=self.group)
        return bytes(buffer.cpu().numpy())

    def all_to_all(self, outgoing: Sequence[bytes]) -> list[bytes]:
        """Send a message to each rank."""
        if self.world == 1:
            return list(outgoing)
        sizes = torch.tensor([len(it) for it in outgoing], device=self.device)
        theirs = torch.empty_like(sizes)
        dist.all_to_all_single(theirs, sizes, group=self.group)
        sent["sizes"] = sent.get("sizes", 0) + 8 * (self.world - 1)
        own = sum(len(it) for rank, it in enumerate(outgoing) if rank != self.rank)
        sent["parts"] = sent.get("parts", 0) + own
        counts = theirs.tolist()
        out = torch.empty(sum(counts), dtype=torch.uint8, device=self.device)
        data = self._tensor(b"".join(outgoing))
        dist.all_to_all_single(out, data, counts, sizes.tolist(), group=self.group)
        found = bytes(out.cpu().numpy())
        ends = list(itertools.accumulate(counts, initial=0))
        return [found[start:stop] for start, stop in itertools.pairwise(ends)]

    def fail(self, problem: str | None) -> None:
        """Raise the problems of all ranks on all ranks, if there are any."""
        problems: list[str | None] = [None] * self.world
        if self.world == 1:
            problems = [problem]
        else:
            dist.all_gather_object(problems, problem, group=self.group)
        told = [f"rank {self.members[rank]}: {it}" if self.world > 1 else it for rank, it in enumerate(problems) if it]
        if told:
            raise ValueError("; ".join(told))


class _Known(NamedTuple):
    """A tensor as the ranks of the group have it."""

    line: _Line
    #: The ranks that have it so, by their place in the group.
    ranks: list[int]


def _table_of(lines: Mapping[str, _Line]) -> bytes:
    return json.dumps([[name, *lines[name]] for name in sorted(lines)], separators=(",", ":")).encode()


def _lines_of(table: bytes) -> Iterator[tuple[str, _Line]]:
    for name, (dtype, shape, stored, item), mesh, placements in json.loads(table):
        kind = Kind(dtype, tuple(shape), tuple(stored), item)
        of_mesh = None if mesh is None else _Mesh(*map(tuple, mesh))
        yield name, _Line(kind, of_mesh, tuple(Placement(*it) for it in placements))


def _tables(group: _Group, lines: Mapping[str, _Line], problem: str | None) -> dict[str, list[_Known]]:
    """Learn who has which tensor. A table that several ranks have is sent once."""
    everyone = list(range(group.world))
    table = _table_of(lines) if group.world > 1 else b""
    heads = group.all_gather(digest(table) + struct.pack("<Q", len(table) << 1 | bool(problem)), "tables")
    sizes = [struct.unpack_from("<Q", it, 32)[0] for it in heads]
    if problem or any(size & 1 for size in sizes):
        group.fail(problem)
    same: dict[bytes, list[int]] = {}
    for rank, head in enumerate(heads):
        same.setdefault(head, []).append(rank)
    if len(same) == 1:
        return {name: [_Known(lines[name], everyone)] for name in sorted(lines)}
    found: dict[str, dict[_Line, list[int]]] = {}
    for head, ranks in same.items():
        source = ranks[0]
        data = table if group.rank == source else None
        theirs = group.broadcast(data, struct.unpack_from("<Q", head, 32)[0] >> 1, source, "tables")
        for name, line in _lines_of(theirs):
            found.setdefault(name, {}).setdefault(line, []).extend(ranks)
    return {name: [_Known(line, sorted(ranks)) for line, ranks in found[name].items()] for name in sorted(found)}


def _check(group: _Group, known: Mapping[str, Sequence[_Known]]) -> None:
    """Check that the ranks agree on types and shapes, and that all ranks of a mesh have its tensors."""
    places = {rank: place for place, rank in enumerate(group.members)}
    for name, all_ in known.items():
        first = all_[0]
        for other in all_:
            if other.line.kind != first.line.kind:
                here, there = (f"{it.line.kind} on rank {group.members[it.ranks[0]]}" for it in (first, other))
                raise ValueError(f"{name} is {here}, and {there}")
            for rank in other.line.mesh.ranks if other.line.mesh is not None else ():
                if rank in places and places[rank] not in other.ranks:
                    raise ValueError(f"{name} is on a mesh with rank {rank}, and that rank does not have it so")


def _mergers(known: Mapping[str, Sequence[_Known]], world: int) -> dict[str, int]:
    """Say which rank merges a tensor: large ones first, each to the rank with the fewest bytes so far."""
    sizes = {name: max(1, all_[0].line.kind.nbytes) for name, all_ in known.items()}
    loads = [0] * world
    found = {}
    for name in sorted(sizes, key=lambda name: (-sizes[name], name)):
        found[name] = loads.index(min(loads))
        loads[found[name]] += sizes[name]
    return found


def _is_first(group: _Group, line: _Line, known: Sequence[_Known]) -> bool:
    """Return whether this rank has the first copy of its bytes."""
    if line != known[0].line:
        return False
    return known[0].ranks[0] == group.rank if line.mesh is None else _is_lead(group, line)


def _is_lead(group: _Group, line: _Line) -> bool:
    assert line.mesh is not None
    coordinate = line.mesh.coordinate(group.me)
    return all(index == 0 for index, it in zip(coordinate, line.placements, strict=True) if it.dim < 0)


def _by_rows(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor whose shards are rows, by one all-to-all, if they were not."""
    if isinstance(tensor, DTensor) and any(
        isinstance(it, (Shard, _StridedShard)) and it.dim for it in tensor.placements
    ):
        rows = [Shard(0) if isinstance(it, (Shard, _StridedShard)) else it for it in tensor.placements]
        with torch.no_grad():
            return tensor.redistribute(placements=rows)
    return tensor


def _hash(tensor: torch.Tensor, line: _Line, rank: int, identity: bytes = b"") -> Parts:
    local = _local_of(tensor)
    version = local._version
    known = Parts(line.kind.nbytes, object=identity)
    indices = _indices(line.kind.stored, line.mesh, line.placements, rank)
    data: Any = bytes_of(local)
    known._hash_block(data, line.kind.item, line.kind.stored, indices)
    # PyTorch counts changes in place. Kernels of others do not.
    if local._version != version:
        raise ValueError("the tensor changed while it was hashed")
    return known


def parts_of(state: Mapping[str, torch.Tensor]) -> bytes:
    """Return what `merge` takes of the shards of this rank."""
    rank = dist.get_rank() if dist.is_available() and dist.is_initialized() else 0
    found = []
    for name, tensor in state.items():
        try:
            line = _line_of(tensor)
            found.append((name, line.kind, _hash(tensor, line, rank, line.kind.identity(name))))
        except (TypeError, ValueError, BufferError) as error:
            raise type(error)(f"{name}: {error}") from error
    return answer_of(found)


def _message(numbers: Sequence[int], hashed: list[Parts]) -> bytes:
    """Return parts of tensors, which are named by their place in the names that all ranks know."""
    if not numbers:
        return b""
    return struct.pack(f"<I{len(numbers)}I", len(numbers), *numbers) + Parts._pack(hashed)


def _read(message: bytes) -> Iterator[tuple[int, Parts]]:
    if not message:
        return iter(())
    (count,) = struct.unpack_from("<I", message)
    numbers = struct.unpack_from(f"<{count}I", message, 4)
    return zip(numbers, Parts._unpack(message[4 + 4 * count :]), strict=True)


def digests_of(
    state: Mapping[str, torch.Tensor], group: Any, replicas: Replicas, rows: Rows
) -> dict[str, TensorDigest]:
    """Return the digest of each full tensor, the same on all ranks of the group."""
    ranks = _Group(group)
    by_rows = rows == "redistribute" or (rows == "auto" and not ranks.is_one and ranks.device.type == "cuda")
    lines: dict[str, _Line] = {}
    held = dict(state)
    problem = None
    for name in sorted(held):
        try:
            if by_rows:
                held[name] = _by_rows(held[name])
            lines[name] = _line_of(held[name])
        except Exception as error:  # all ranks raise it, below
            problem = problem or f"{name}: {error}"
    known = _tables(ranks, lines, problem)
    # All ranks have the same tables, so all raise the same here.
    _check(ranks, known)
    names = list(known)
    merger = _mergers(known, ranks.world)

    numbers: list[list[int]] = [[] for _ in range(ranks.world)]
    outgoing: list[list[Parts]] = [[] for _ in range(ranks.world)]
    for number, name in enumerate(names):
        line = lines.get(name)
        if line is None or (replicas == "first" and not _is_first(ranks, line, known[name])):
            continue
        try:
            hashed = _hash(held[name], line, ranks.me)
        except Exception as error:
            problem = f"{name}: {error}"
            break
        numbers[merger[name]].append(number)
        outgoing[merger[name]].append(hashed)
    messages = zip(numbers, outgoing, strict=True)
    incoming = ranks.all_to_all([b"" if problem else _message(*it) for it in messages])

    found: dict[str, bytes] = {}
    if problem is None:
        try:
            found = _merged(ranks, names, known, incoming)
        except ValueError as error:
            problem = str(error)
    return _shared(ranks, names, known, merger, found, problem)


def _merged(
    group: _Group, names: Sequence[str], known: Mapping[str, Sequence[_Known]], incoming: Sequence[bytes]
) -> dict[str, bytes]:
    """Merge the tensors that came to this rank."""
    joined: dict[str, Joined] = {}
    for sender, data in enumerate(incoming):
        for number, hashed in _read(data):
            name = names[number]
            if name not in joined:
                joined[name] = Joined(name, known[name][0].line.kind, b"")
            joined[name].add(hashed, f"rank {group.members[sender]}")
    return {name: it.finish().digest for name, it in joined.items()}


def _shared(
    group: _Group,
    names: Sequence[str],
    known: Mapping[str, Sequence[_Known]],
    merger: Mapping[str, int],
    found: Mapping[str, bytes],
    problem: str | None,
) -> dict[str, TensorDigest]:
    """Give all digests to all ranks."""
    own = [[name for name in names if merger[name] == rank] for rank in range(group.world)]
    if problem is None:
        absent = next((name for name in own[group.rank] if name not in found), None)
        problem = absent and f"{absent}: no rank sent parts of it"
    body = b"".join(found.get(name, bytes(32)) for name in own[group.rank]).ljust(32 * max(map(len, own)), b"\0")
    heads = group.all_gather(bytes([bool(problem)]) + body, "digests")
    if problem or any(it[0] for it in heads):
        group.fail(problem)
    by_name = {name: heads[rank][1 + 32 * at :][:32] for rank, mine in enumerate(own) for at, name in enumerate(mine)}
    kinds = {name: all_[0].line.kind for name, all_ in known.items()}
    return {name: TensorDigest(kinds[name].dtype, kinds[name].shape, by_name[name]) for name in names}
