"""The collective: each rank hashes its shards, sends parts to the rank that merges the tensor, and all get all digests.

```text
table of each rank    (name, kind, mesh, placements) -> digest; one all-gather of 40 bytes, if all are the same
each rank             the runs of its shard -> parts, and the bytes at their ends
all-to-all            parts to the rank that merges the tensor, which all ranks know from the tables
all-gather            32 bytes of each tensor
```

A failure of one rank, in whatever it does by itself, travels in the same messages (`_Group.local`). So all ranks raise
the same, and none waits for it until the timeout of the group.
"""

import contextlib
import functools
import itertools
import json
import math
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, TypeAlias, get_args

import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
from torch.distributed.tensor.placement_types import _StridedShard

from treewide._tensors.hashing import GROUP, Hashing
from treewide._tensors.layouts import Indices, Placement, indices_of
from treewide._tensors.lists import TensorDigest, TensorDigests
from treewide._tensors.local import address_of, local_of, place_of, state_of
from treewide._tensors.options import Expected, Options, Replicas, Rows, check_options
from treewide._tensors.pieces import Joined, Kind, agreed, answer_of, kind_of
from treewide._treewide import AUTO, Parts, digest

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
    found = _Mesh(tuple(mesh.mesh.flatten().tolist()), tuple(mesh.shape))
    # The collectives of PyTorch go by ranks, and its coordinates by the mesh: only so they agree.
    if any((mesh.mesh.diff(dim=dim) <= 0).any() for dim in range(mesh.mesh.ndim)):
        raise ValueError(f"the ranks of its mesh are not in ascending order: {mesh.mesh.tolist()}")
    return found


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


def _line_of(tensor: torch.Tensor) -> tuple[_Line, int]:
    """Return what all ranks know of a tensor, and where it begins here."""
    if not isinstance(tensor, DTensor):
        address = address_of(tensor)
        return _line(tensor.dtype, tensor.shape), address
    address = address_of(tensor._local_tensor)
    spec = tensor._spec
    order = getattr(spec, "shard_order", None)  # since 2.10
    if order is not None and order != _usual_order(spec.compute_default_shard_order, spec.placements):
        raise ValueError(f"this release does not know shards in another order than that of the mesh: {order}")
    return _line(tensor.dtype, tensor.shape, tensor.device_mesh, tensor.placements), address


@functools.lru_cache(64)
def _usual_order(order: Any, placements: tuple[Any, ...]) -> Any:
    return order(placements)


@functools.lru_cache(4096)
def _line(dtype: torch.dtype, shape: torch.Size, mesh: Any = None, placements: tuple[Any, ...] = ()) -> _Line:
    of_mesh = None if mesh is None else _mesh_of(mesh)
    return _Line(kind_of(None, dtype, tuple(shape), dtype.itemsize), of_mesh, tuple(map(_placement_of, placements)))


@functools.lru_cache(4096)
def _indices(shape: tuple[int, ...], mesh: _Mesh | None, placements: tuple[Placement, ...], rank: int) -> list[Indices]:
    if mesh is None:
        return indices_of(shape, (), (), ())
    return indices_of(shape, placements, mesh.shape, mesh.coordinate(rank))


def _text(error: Exception) -> str:
    """Return the text of an error, which says what it is."""
    is_plain = isinstance(error, (ValueError, TypeError, BufferError, OSError)) and str(error)
    return str(error) if is_plain else f"{type(error).__name__}: {error}"


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
            config = str(dist.get_backend_config(group))
            on_cpu = "gloo" in config or "mpi" in config
            self.device = torch.device("cpu") if on_cpu else torch.device("cuda", torch.cuda.current_device())
        self.world = len(self.members)
        #: The first failure of this rank.
        self.problem: Exception | None = None
        #: Its number among all ranks, by which meshes name it.
        self.me = self.members[self.rank]

    def keep(self, error: Exception, name: str | None = None) -> None:
        """Keep the first failure of this rank, perhaps of a tensor: the next message takes it to all."""
        if self.problem is None:
            self.problem = error if name is None else ValueError(f"{name}: {_text(error)}")
            self.problem.__cause__ = None if name is None else error

    @contextlib.contextmanager
    def local(self) -> Iterator[None]:
        """Keep a failure of this rank."""
        try:
            yield
        except Exception as error:
            self.keep(error)

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

    def fail(self) -> NoReturn:
        """Raise the problems of all ranks on all ranks."""
        if self.world == 1 and self.problem is not None:
            raise self.problem
        problems: list[Any] = [None] * self.world
        dist.all_gather_object(problems, self.problem and _text(self.problem), group=self.group)
        told = [f"rank {self.members[rank]}: {it}" for rank, it in enumerate(problems) if it]
        raise ValueError("; ".join(told)) from self.problem


#: A tensor as the ranks of the group know it: each line, with the places in the group of the ranks that have it.
_Known: TypeAlias = dict[_Line, list[int]]


def _table_of(lines: Mapping[str, _Line], tied: Mapping[str, str], options: Sequence[Any]) -> bytes:
    table = [options, [[name, tied.get(name), *lines[name]] for name in sorted(lines)]]
    return json.dumps(table, separators=(",", ":")).encode()


def _lines_of(table: Any) -> Iterator[tuple[str, str | None, _Line]]:
    for name, tied, (dtype, shape, stored, item), mesh, placements in table:
        kind = Kind(dtype, tuple(shape), tuple(stored), item)
        of_mesh = None if mesh is None else _Mesh(*map(tuple, mesh))
        yield name, tied, _Line(kind, of_mesh, tuple(Placement(*it) for it in placements))


def _lines(
    held: Mapping[str, torch.Tensor], failed: Callable[[Exception, str], None]
) -> tuple[dict[str, _Line], dict[str, str]]:
    """Return what all ranks know of the tensors, and names of tensors that have a name before it, with that name.

    The order is that of the model, which registers a weight before others are tied to it, as files have it.
    """
    lines: dict[str, _Line] = {}
    beginning: dict[int, list[str]] = {}
    for name, tensor in held.items():
        try:
            lines[name], address = _line_of(tensor)
            beginning.setdefault(address, []).append(name)
        except Exception as error:
            failed(error, name)
    first: dict[Any, str] = {}
    several = (name for names in beginning.values() if len(names) > 1 for name in names)
    places = ((name, place_of(held[name])) for name in several)
    tied = {name: first.setdefault((place, lines[name]), name) for name, place in places if place is not None}
    return lines, {name: of for name, of in tied.items() if of != name}


def _tables(
    group: _Group, lines: Mapping[str, _Line], tied: Mapping[str, str], options: Mapping[str, Any]
) -> tuple[dict[str, _Known], Mapping[str, str]]:
    """Learn who has which tensor, and which are tied on all ranks. A table that several ranks have is sent once."""
    everyone = list(range(group.world))
    table = b""
    with group.local():
        table = _table_of(lines, tied, list(options.values())) if group.world > 1 else b""
    heads = group.all_gather(digest(table) + struct.pack("<Q", len(table) << 1 | bool(group.problem)), "tables")
    sizes = [struct.unpack_from("<Q", it, 32)[0] for it in heads]
    if any(size & 1 for size in sizes):
        group.fail()
    same: dict[bytes, list[int]] = {}
    for rank, head in enumerate(heads):
        same.setdefault(head, []).append(rank)
    if len(same) == 1:
        return {name: {lines[name]: everyone} for name in sorted(lines)}, tied
    found: dict[str, _Known] = {}
    names: dict[str, set[str | None]] = {}
    first = list(options.values())
    for head, ranks in same.items():
        source = ranks[0]
        data = table if group.rank == source else None
        theirs = group.broadcast(data, struct.unpack_from("<Q", head, 32)[0] >> 1, source, "tables")
        other, rows = json.loads(theirs)
        first = other if source == 0 else first
        if other != first:
            here, there = (", ".join(map("{}={!r}".format, options, it)) for it in (first, other))
            problem = f"rank {group.members[0]} has {here}, and rank {group.members[source]} has {there}"
            raise ValueError(f"the ranks have other arguments: {problem}")
        for name, of, line in _lines_of(rows):
            found.setdefault(name, {}).setdefault(line, []).extend(ranks)
            names.setdefault(name, set()).add(of)
    known = {name: {line: sorted(ranks) for line, ranks in found[name].items()} for name in sorted(found)}
    # All ranks have the same tables, so all raise the same here.
    _check(group, known)
    return known, agreed(names, known)


def _check(group: _Group, known: Mapping[str, _Known]) -> None:
    """Check that the ranks agree on types and shapes, and that all ranks of a mesh have its tensors."""
    places = {rank: place for place, rank in enumerate(group.members)}
    for name, all_ in known.items():
        first, *_ = all_
        for line, ranks in all_.items():
            if line.kind != first.kind:
                here, there = (f"{it.kind} on rank {group.members[all_[it][0]]}" for it in (first, line))
                raise ValueError(f"{name} is {here}, and {there}")
            for rank in line.mesh.ranks if line.mesh is not None else ():
                if rank in places and places[rank] not in ranks:
                    other_rank = f"rank {rank}, and that rank does not have it, or with other placements"
                    raise ValueError(f"{name} is on a mesh with {other_rank}")


def _kind(known: _Known) -> Kind:
    return next(iter(known)).kind


def _mergers(known: Mapping[str, _Known], world: int) -> dict[str, int]:
    """Say which rank merges a tensor: large ones first, each to the rank with the fewest bytes so far."""
    if world == 1:
        return dict.fromkeys(known, 0)
    sizes = {name: max(1, _kind(all_).nbytes) for name, all_ in known.items()}
    loads = [0] * world
    found = {}
    for name in sorted(sizes, key=lambda name: (-sizes[name], name)):
        found[name] = loads.index(min(loads))
        loads[found[name]] += sizes[name]
    return found


@functools.lru_cache(4096)
def _is_lead(mesh: _Mesh, placements: tuple[Placement, ...], me: int, members: tuple[int, ...]) -> bool:
    """Return whether no rank of the group before this one has the same shard."""

    def shard(rank: int) -> list[int]:
        return [index for index, it in zip(mesh.coordinate(rank), placements, strict=True) if it.dim >= 0]

    # Those of a mesh that come first have the lowest coordinates of replicas.
    return next(rank for rank in mesh.ranks if rank in members and shard(rank) == shard(me)) == me


def _has_bytes(group: _Group, line: _Line, known: _Known, replicas: Replicas) -> bool:
    """Return whether this rank has bytes of a tensor that it should hash."""
    if line.mesh is not None and group.me not in line.mesh.ranks:
        return False
    if replicas == "check":
        return True
    # A plain one is whole.
    if line != next((it for it in known if it.mesh is None), next(iter(known))):
        return False
    if line.mesh is None:
        return known[line][0] == group.rank
    return _is_lead(line.mesh, line.placements, group.me, tuple(group.members))


def _goes_by_rows(group: _Group, line: _Line, rows: Rows) -> bool:
    """Return whether shards of rows are made of a tensor that has others. Only if all ranks of its mesh are here."""
    mesh = line.mesh
    if mesh is None or rows == "exchange" or all(it.dim <= 0 for it in line.placements):
        return False
    if group.me not in mesh.ranks or not set(mesh.ranks) <= set(group.members):
        return False
    if rows == "redistribute" or group.device.type == "cuda":
        return True
    cut = [(it, size) for it, size in zip(line.placements, mesh.shape, strict=True) if it.dim > 0]
    # Runs that are shorter than a chunk are sent as they are.
    last = max(it.dim for it, _ in cut)
    pieces = math.prod(size * it.split_factor for it, size in cut if it.dim == last)
    return math.prod(line.kind.stored[last:]) * line.kind.item < 1024 * pieces


def _by_rows(tensor: torch.Tensor) -> torch.Tensor:
    """Return a DTensor whose shards are rows, by one all-to-all."""
    assert isinstance(tensor, DTensor)
    rows = [Shard(0) if isinstance(it, (Shard, _StridedShard)) else it for it in tensor.placements]
    return tensor.redistribute(placements=rows)


def _hash(hashing: Hashing, name: str, tensor: torch.Tensor, line: _Line, rank: int, identity: bytes = b"") -> Parts:
    known = Parts(line.kind.nbytes, object=identity)
    indices = _indices(line.kind.stored, line.mesh, line.placements, rank)
    hashing.add(name, known, local_of(tensor), (line.kind.item, line.kind.stored, indices))
    return known


def parts_of(state: Mapping[str, torch.Tensor]) -> bytes:
    """Return what `merge` takes of the shards of this rank."""
    rank = dist.get_rank() if dist.is_available() and dist.is_initialized() else 0

    def failed(error: Exception, name: str) -> NoReturn:
        raise ValueError(f"{name}: {_text(error)}") from error

    found = []
    lines, tied = _lines(state, failed)
    hashing = Hashing()
    for name, line in sorted(lines.items()):
        try:
            identity = line.kind.identity(name)
            is_here = line.mesh is None or rank in line.mesh.ranks
            known = Parts(line.kind.nbytes, object=identity)
            if is_here:
                known = _hash(hashing, name, state[name], line, rank, identity)
            found.append((name, line.kind, known))
        except Exception as error:
            failed(error, name)
        if hashing.nbytes > GROUP:
            hashing.finish()
    hashing.finish()
    return answer_of(found, tied)


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


def _again(message: bytes, place: int) -> Parts:
    return next(itertools.islice(_read(message), place, None))[1]


def digests_of(model: Any, options: Options, expected: Expected) -> tuple[TensorDigests, Any]:
    """Return the digest of each full tensor, and what is expected: the same on all ranks of the group."""
    ranks = _Group(options.get("group"))
    # Some versions of PyTorch send nothing that was made in inference mode.
    with torch.inference_mode(False), torch.no_grad():
        try:
            return _digests_of(model, ranks, options, expected)
        except RuntimeError as error:
            # The group failed, and perhaps because this rank did, in a collective of others.
            if ranks.problem is None:
                raise
            raise ranks.problem from ranks.problem.__cause__ or error


def _digests_of(model: Any, ranks: _Group, options: Options, expected: Expected) -> tuple[TensorDigests, Any]:
    held: Mapping[str, torch.Tensor] = {}
    lines: Mapping[str, _Line] = {}
    tied: Mapping[str, str] = {}
    replicas, rows, wanted = options.get("replicas", "check"), options.get("rows", "auto"), None
    common: dict[str, Any] = {"replicas": replicas, "rows": rows, "stable": bool(options.get("stable"))}
    with ranks.local():
        check_options(options)
        for option, given, known_values in (("replicas", replicas, Replicas), ("rows", rows, Rows)):
            if given not in get_args(known_values):
                raise ValueError(f"{option} is one of {get_args(known_values)}, and not {given!r}")
        wanted = expected and expected()
        fingerprint = wanted.fingerprint if isinstance(wanted, TensorDigests) else wanted
        common["expected"] = fingerprint and fingerprint.hex()
        held = state_of(model, options.get("rename"))
        lines, tied = _lines(held, ranks.keep)
    known, tied = _tables(ranks, lines, tied, common)
    names = [name for name in known if name not in tied]
    merger = _mergers(known, ranks.world)
    threads = options.get("threads")
    threads = AUTO if threads is None else threads

    numbers: list[list[int]] = [[] for _ in range(ranks.world)]
    outgoing: list[list[Parts]] = [[] for _ in range(ranks.world)]
    hashing, found = Hashing(), dict[str, bytes]()
    for number, name in enumerate(names):
        if name not in lines:
            continue
        try:
            tensor, line = held[name], lines[name]
            is_whole = ranks.world == 1 and (line.mesh is None or len(line.mesh.ranks) == 1)
            is_added = is_whole and ranks.problem is None and hashing.add_whole(name, local_of(tensor))
            # Also after a problem, as others take part in it.
            if not is_whole and _goes_by_rows(ranks, line, rows):
                tensor = _by_rows(tensor)
                line, _ = _line_of(tensor)
            if not is_added and ranks.problem is None and _has_bytes(ranks, lines[name], known[name], replicas):
                hashed = _hash(hashing, name, tensor, line, ranks.me)
                numbers[merger[name]].append(number)
                outgoing[merger[name]].append(hashed)
        except Exception as error:
            ranks.keep(error, name)
        del tensor
        if hashing.nbytes > GROUP:
            with ranks.local():
                hashing.finish()
                found.update(hashing.whole(threads))
    messages = [b""] * ranks.world
    with ranks.local():
        if ranks.problem is None:
            hashing.finish()
            found.update(hashing.whole(threads))
            messages = [_message(*it) for it in zip(numbers, outgoing, strict=True)]
    outgoing.clear()
    incoming = ranks.all_to_all(messages)

    with ranks.local():
        if ranks.problem is None:
            found |= _merged(ranks, names, known, incoming)
    digests = _shared(ranks, names, known, merger, found)
    return TensorDigests({name: digests[tied.get(name, name)] for name in known}, tied), wanted


def _merged(
    group: _Group, names: Sequence[str], known: Mapping[str, _Known], incoming: Sequence[bytes]
) -> dict[str, bytes]:
    """Merge the tensors that came to this rank."""
    joined: dict[str, Joined] = {}
    for sender, data in enumerate(incoming):
        for place, (number, hashed) in enumerate(_read(data)):
            name = names[number]
            if name not in joined:
                joined[name] = Joined(name, _kind(known[name]), b"")
            joined[name].add(hashed, f"rank {group.members[sender]}", functools.partial(_again, data, place))
    return {name: it.finish().digest for name, it in joined.items()}


def _shared(
    group: _Group,
    names: Sequence[str],
    known: Mapping[str, _Known],
    merger: Mapping[str, int],
    found: Mapping[str, bytes],
) -> dict[str, TensorDigest]:
    """Give all digests to all ranks."""
    own: list[list[str]] = [[] for _ in range(group.world)]
    for name in names:
        own[merger[name]].append(name)
    body = b""
    with group.local():
        absent = [name for name in own[group.rank] if name not in found]
        if absent and group.problem is None:
            raise ValueError(f"{absent[0]}: no rank sent parts of it")
        body = b"".join(found[name] for name in own[group.rank] if not absent)
    heads = group.all_gather(bytes([bool(group.problem)]) + body.ljust(32 * max(map(len, own)), b"\0"), "digests")
    if any(it[0] for it in heads):
        group.fail()
    digests = {}
    for head, mine in zip(heads, own, strict=True):
        for at, name in enumerate(mine):
            kind = _kind(known[name])
            digests[name] = TensorDigest(kind.dtype, kind.shape, head[1 + 32 * at : 33 + 32 * at])
    return digests
