"""Ranks of gloo: each layout of a model against the file and against the bytes of its full tensors.

`python weights_ranks.py RANKS` starts that many processes. It prints a line for each layout, and `passed` at the end.
With the path of the stand-in for NVIDIA's driver, shards are lent to its device.
"""

import contextlib
import ctypes
import gc
import os
import sys
import tempfile
import warnings
import weakref
from datetime import timedelta
from unittest import mock

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
import torch.multiprocessing as mp
import treewide
from dlpack_by_hand import Lent
from safetensors.torch import save_file
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, StateDictType
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.distributed.tensor.placement_types import _StridedShard
from treewide._tensors import collective, hashing
from treewide._tensors.local import bytes_of
from treewide.weights import digests, merge, parts, verify

try:
    from torch.distributed.fsdp import CPUOffloadPolicy, fully_shard
except ImportError:  # before 2.6
    from torch.distributed._composable.fsdp import CPUOffloadPolicy, fully_shard

warnings.filterwarnings("ignore")
torch.set_num_threads(1)

VERSION = tuple(map(int, torch.__version__.split(".")[:2]))

#: Types of safetensors that PyTorch has.
TYPES = (
    "bool uint8 int8 uint16 int16 uint32 int32 uint64 int64 float16 bfloat16 float32 float64 complex64"
    " float8_e4m3fn float8_e5m2"
)


class Block(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(dim), nn.Linear(dim, hidden), nn.Linear(hidden, dim, bias=False)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self, vocabulary=300, dim=96, hidden=328, tied=False):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, dim)
        self.layers = nn.ModuleList(Block(dim, hidden) for _ in range(3))
        self.scale = nn.Parameter(torch.ones(3))
        self.head = nn.Linear(dim, vocabulary, bias=False)
        if tied:
            self.head.weight = self.embed.weight

    def forward(self, x):
        x = self.embed(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(x) * self.scale.sum()


def model(**options):
    """A model, and its full tensors."""
    torch.manual_seed(7)
    made = Model(**options)
    return made, {name: it.detach().clone() for name, it in made.state_dict().items()}


class Ranks:
    """The ranks, and the checks that layouts share."""

    def __init__(self, rank, world):
        self.rank, self.world = rank, world
        self.mesh = init_device_mesh("cpu", (world,))
        self.layouts = 0

    def say(self, *text):
        if self.rank == 0:
            print(*text, flush=True)

    def check(self, layout, state, full, most=None, **options):
        """`full` has the full tensors, the same on all ranks; `most` bytes are sent by all ranks together."""
        collective.sent.clear()
        found = digests(state, **options)
        sent = torch.tensor(sum(collective.sent.values()))
        dist.all_reduce(sent)
        expected = {name: treewide.digest(bytes_of(it)) for name, it in full.items()}
        assert {name: it.digest for name, it in found.items()} == expected, layout
        assert all(found[name].shape == tuple(it.shape) for name, it in full.items()), layout
        if self.rank == 0:
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "model.safetensors")
                save_file({name: it.detach().resolve_conj().contiguous().clone() for name, it in full.items()}, path)
                assert digests(path) == found, layout
        assert most is None or sent <= most, f"{layout}: {sent} bytes were sent, of at most {most}"
        self.say(f"{layout}: {sent} bytes sent")
        self.layouts += 1
        return found

    def refuse(self, layout, make, *words, call=digests, **options):
        """All ranks raise the same text."""
        try:
            call(make(), **options)
        except (ValueError, TypeError) as error:
            text = str(error)
        else:
            raise AssertionError(f"{layout} is not refused")
        assert all(word in text for word in words), (layout, text)
        texts = [None] * self.world
        dist.all_gather_object(texts, text)
        assert len(set(texts)) == 1, texts
        self.layouts += 1

    def distribute(self, full, *placements):
        return self.distribute_on(self.mesh, full, *placements)

    def distribute_on(self, mesh, full, *placements):
        return {name: distribute_tensor(it, mesh, placements) for name, it in full.items()}

    def by_hand(self, full, placement, **options):
        """Shards of types and cuts that the collectives of DTensor do not take."""
        cut = placement._split_tensor(full, self.world, with_padding=False)[0][self.rank].clone()
        return DTensor.from_local(cut, self.mesh, [placement], run_check=False, shape=full.shape, stride=full.stride())


def of_tensors(ranks):
    world = ranks.world
    shapes = [(64, 512), (5, 7), (1, 3000), (4096,), (3,), (64, 3, 40), (world * 3 - 1, 1000)]
    some = {f"t{i}": torch.randn(shape).to(torch.bfloat16) for i, shape in enumerate(shapes)}
    ranks.check("plain tensors", some, some, {2: 2142, 4: 7122}[world])
    ranks.check("Replicate", ranks.distribute(some, Replicate()), some)
    ranks.check("Replicate, the first copy", ranks.distribute(some, Replicate()), some, replicas="first")
    ranks.check("Shard(0), uneven and empty", ranks.distribute(some, Shard(0)), some, {2: 3208, 4: 9946}[world])
    wide = {"a": torch.randn(64, 512 * world), "b": torch.randn(33, 256 * world), "c": torch.randn(17, 32, 256 * world)}
    last = {name: distribute_tensor(it, ranks.mesh, [Shard(it.ndim - 1)]) for name, it in wide.items()}
    ranks.check("columns of some KiB", last, wide, {2: 31462, 4: 94698}[world])
    ranks.check("columns, redistributed", last, wide, {2: 1030, 4: 3354}[world], rows="redistribute")
    odd = {
        "a": torch.randn(64, 224 * world + 3).to(torch.bfloat16),
        "b": torch.randn(3, 50, 7),
        "c": torch.randn(2, 5, 999),
    }
    narrow = ranks.distribute(odd, Shard(1))
    ranks.check("columns of odd widths", narrow, odd, {2: 33878, 4: 97900}[world], rows="exchange")
    ranks.check("columns of some bytes are made into rows", narrow, odd, {2: 5000, 4: 16000}[world])
    ranks.check("Shard(2)", {"c": distribute_tensor(odd["c"], ranks.mesh, [Shard(2)])}, {"c": odd["c"]})
    # Only even ones before 2.8.
    strided = (
        {"a": torch.randn(64, 300), "b": torch.randn(50, 77)} if VERSION >= (2, 8) else {"a": torch.randn(48, 300)}
    )
    for factor, most in ((2, {2: 4560, 4: 13574}), (3, {2: 7624, 4: 21624})):
        placement = _StridedShard(0, split_factor=factor)
        placed = {name: ranks.by_hand(it, placement) for name, it in strided.items()}
        ranks.check(f"_StridedShard in {factor}", placed, strided, most[world])
    typed = {}
    for name in TYPES.split():
        dtype = getattr(torch, name)
        raw = torch.randint(0, 256, (30, 50 * torch.empty(0, dtype=dtype).element_size()), dtype=torch.uint8)
        typed[name] = raw > 127 if dtype == torch.bool else raw.view(dtype)
    typed["two in a byte"] = torch.randint(0, 256, (128, 64), dtype=torch.uint8)
    ranks.check("all types", typed, typed)
    ranks.check(
        "all types, Shard(0)",
        {k: ranks.by_hand(it, Shard(0)) for k, it in typed.items()},
        typed,
        {2: 12698, 4: 39596}[world],
    )
    base = torch.randn(40, 50)
    views = {
        "0-d": torch.tensor(3.5),
        "empty": torch.empty(0, 5),
        "transposed": base.t(),
        "slice": base[3:20:2, 1:],
        "expanded": torch.ones(1, 7).expand(300, 7),
        "conjugate": torch.view_as_complex(torch.randn(9, 2)).conj(),
        "not a number": torch.tensor([float("nan"), -0.0, 0.0]),
    }
    ranks.check("views", views, views)
    # Without a group: what each rank has, merged from bytes.
    answers = [None] * world
    dist.all_gather_object(answers, parts(ranks.distribute(odd, Shard(1))))
    assert merge(answers) == digests(odd)


def of_models(ranks):
    world, mesh = ranks.world, ranks.mesh
    made, full = model()
    plain = digests(full).fingerprint
    fully_shard(made, mesh=mesh)
    found = ranks.check("FSDP2", made, full, {2: 10708, 4: 35806}[world])
    assert found.fingerprint == plain
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.tensors.b3")
        found.save(path)
        assert verify(made, path) and verify(made, found, stable=True) and verify(made, plain)
        with torch.no_grad():
            made.layers[1].down.weight.to_local()[0, 0] += 1
        ranks.refuse(
            "a model that changed", lambda: made, "CHANGED   layers.1.down.weight", call=lambda it: verify(it, path)
        )
        ranks.refuse(
            "another fingerprint", lambda: made, f"{plain.hex()} is expected", call=lambda it: verify(it, plain)
        )
    made, full = model(vocabulary=301, dim=97, hidden=5)
    for layer in made.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(made, mesh=mesh)
    ranks.check("FSDP2, padded shards", made, full, {2: 5692, 4: 25000}[world])
    if VERSION >= (2, 6):  # else it wants CUDA
        made(torch.randint(0, 300, (4, 8))).sum()
        ranks.check("FSDP2, after a forward pass", made, full)
    made, full = model(tied=True)
    fully_shard(made, mesh=mesh)
    found = ranks.check("FSDP2, tied weights", made, full)
    assert found["embed.weight"] == found["head.weight"] and found.aliases == {"head.weight": "embed.weight"}
    assert verify({name: it for name, it in full.items() if name != "head.weight"}, found)
    # Where a rank has nothing of them.
    few = ranks.distribute({"w": torch.randn(1, 5)}, Shard(0))
    assert digests({"a": few["w"], "b": few["w"].detach()}).aliases == {"b": "a"}
    one = {"a": few["w"], "b": few["w"] if ranks.rank else few["w"].clone()}
    assert digests(one).aliases == {}
    if VERSION >= (2, 6):
        made, full = model()
        fully_shard(
            made, mesh=mesh, shard_placement_fn=lambda it: Shard(int(it.ndim == 2 and it.shape[1] % world == 0))
        )
        ranks.check("FSDP2, Shard(1)", made, full)
    made, full = model()
    fully_shard(made, mesh=mesh, offload_policy=CPUOffloadPolicy(pin_memory=False))
    ranks.check("FSDP2, offloaded", made, full)
    # Wrappers and compilers put prefixes before names.
    made, full = model()
    for i, layer in enumerate(made.layers):
        made.layers[i] = checkpoint_wrapper(layer)
        fully_shard(made.layers[i], mesh=mesh)
    fully_shard(made, mesh=mesh)
    ranks.check("compiled, checkpointed", torch.compile(made), full)
    made, full = model()
    wrapped = FullyShardedDataParallel(made, device_mesh=mesh, use_orig_params=True, device_id=torch.device("cpu"))
    with FullyShardedDataParallel.state_dict_type(wrapped, StateDictType.SHARDED_STATE_DICT):
        ranks.check("FSDP1", wrapped.state_dict(), full)
    ranks.check("FSDP1, as a module", wrapped, full)
    made, full = model()
    ranks.check("DDP", nn.parallel.DistributedDataParallel(made), full)
    full = model()[1]
    own = {k: it for k, it in full.items() if not k.startswith("layers.") or int(k.split(".")[1]) % world == ranks.rank}
    ranks.check("a pipeline", own, full, {2: 3869, 4: 12579}[world])
    ranks.check("another order of names", dict(sorted(full.items(), reverse=bool(ranks.rank))), full)
    group = dist.new_group([0])
    if ranks.rank == 0:
        assert digests(full, group=group).fingerprint == plain
    if world == 4:
        of_meshes(ranks)


def of_meshes(ranks):
    made, full = model()
    fully_shard(made, mesh=init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard")))
    ranks.check("HSDP", made, full, 35284)
    ranks.check("HSDP, the first copy", made, full, 21600, replicas="first")
    groups = [dist.new_group([0, 1]), dist.new_group([2, 3])]
    for replicas in ("check", "first"):
        found = digests(made, group=groups[ranks.rank // 2], replicas=replicas)
        assert {name: it.digest for name, it in found.items()} == {
            name: treewide.digest(it) for name, it in full.items()
        }
    two = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    by_layer = {"up": ColwiseParallel(), "down": RowwiseParallel()}
    for hidden in (328, 330) if VERSION >= (2, 8) else (328,):
        made, full = model(hidden=hidden)
        for layer in made.layers:
            parallelize_module(layer, two["tp"], by_layer)
            fully_shard(layer, mesh=two["dp"])
        parallelize_module(made, two["tp"], {"head": ColwiseParallel()})
        fully_shard(made, mesh=two["dp"])
        ranks.check(f"FSDP2 and TP, hidden {hidden}", made, full, 326968)
        ranks.check(f"FSDP2 and TP, hidden {hidden}, redistributed", made, full, 45732, rows="redistribute")
    made, full = model()
    for layer in made.layers:
        parallelize_module(layer, two["tp"], by_layer)
    ranks.check("TP in two groups", made, full, 610456)
    # A whole copy on one rank, and another one in shards whose cuts lie in chunks.
    full = {"w": torch.arange(1001 * 3, dtype=torch.int32).view(1001, 3)}
    three = DeviceMesh("cpu", [1, 2, 3])
    placed = ranks.distribute_on(three, full, Shard(0)) if ranks.rank else full
    ranks.check("plain on rank 0, and sharded", placed, full)


def of_faults(ranks):
    one, last = torch.randn(64, 300), ranks.world - 1

    def flipped():
        mine = one.clone()
        if ranks.rank == last:
            mine.view(torch.int32)[17, 5] ^= 1
        return mine

    def of_local(local, placement):
        return DTensor.from_local(local, ranks.mesh, [placement], run_check=False, shape=one.shape, stride=one.stride())

    ranks.refuse("a bit of a replica", lambda: {"w": flipped()}, "w: bytes ", "rank 0", f"rank {last}")
    ranks.refuse("a bit of a replicated DTensor", lambda: {"w": of_local(flipped(), Replicate())}, "w: bytes ")
    ranks.refuse("other types", lambda: {"w": one if ranks.rank else one.half()}, "w is F16[64,300] on rank 0")
    ranks.refuse("other shapes", lambda: {"w": one if ranks.rank else one[:7]}, "[7,300]")
    ranks.refuse("Partial", lambda: {"w": of_local(one, Partial())}, "redistribute it first")
    ranks.refuse("meta", lambda: {"w": one.to("meta") if ranks.rank == last else one}, f"rank {last}: w: ", "meta")
    ranks.refuse("sparse", lambda: {"w": one.to_sparse()}, "sparse")
    ranks.refuse(
        "a shard that is too short", lambda: {"w": of_local(one[: 5 + ranks.rank], Shard(0))}, "bytes are here"
    )
    ranks.refuse(
        "other names of a DTensor", lambda: {("v" if ranks.rank else "w"): of_local(flipped(), Replicate())}, "mesh"
    )
    ranks.refuse("-0.0 and 0.0", lambda: {"w": torch.tensor([-0.0 if ranks.rank else 0.0])}, "w: bytes 0..4")

    lent = hashing.bytes_of

    def changing(tensor, on_cpu=True):
        tensor.add_(ranks.rank == last)
        return lent(tensor, on_cpu=on_cpu)

    with mock.patch.multiple(hashing, bytes_of=changing, _on_cpu=changing):
        ranks.refuse(
            "changed while it is hashed", lambda: {"w": one.clone()}, f"rank {last}: w: the tensor changed while"
        )


def of_lonely_faults(ranks):
    """A failure of one rank is an error on all of them, and soon."""
    last = ranks.world - 1
    is_last = ranks.rank == last
    one = torch.randn(60, 100)
    full = {"w": one, "v": one + 1}
    columns, by_row = ranks.distribute(full, Shard(1)), ranks.distribute(full, Shard(0))

    def out_of_memory(*given, **options):
        raise MemoryError

    here = f"rank {last}: "
    ranks.refuse("a model of a wrong type", lambda: None if is_last else full, here, "a model is a module or a mapping")
    ranks.refuse("a name that is not text", lambda: {"\ud800": one} if is_last else full, here, "is not text")
    ranks.refuse("an array", lambda: {"w": one.numpy()} if is_last else full, here, "w is ndarray: pass torch")
    ranks.refuse("no tensor", lambda: {"step": 1}, "there are no weights")
    failing = nn.Linear(3, 3)
    failing.register_state_dict_pre_hook(lambda *_: out_of_memory())
    ranks.refuse("a module that fails", lambda: failing if is_last else full, here, "MemoryError")
    for name in ("_hash", "_message", "_merged"):
        with mock.patch.object(collective, name, out_of_memory if is_last else getattr(collective, name)):
            ranks.refuse(f"no memory in {name}", lambda: full, here, "MemoryError")
            ranks.refuse(f"no memory in {name}, by rows", lambda: columns, here, "MemoryError", rows="redistribute")
    for rows in ("exchange", "redistribute"):
        less = {"w": columns["w"]} if is_last else columns
        ranks.refuse(f"a tensor that one rank lacks, {rows}", lambda less=less: less, "v is on a mesh with", rows=rows)
        mixed = by_row if is_last else columns
        ranks.refuse(f"other placements, {rows}", lambda it=mixed: it, "or with other placements", rows=rows)
    for option in ("replicas", "rows"):
        ranks.refuse(f"a wrong word for {option}", lambda: full, f"{option} is one of", **{option: "frist"})
    ranks.refuse(
        "other arguments", lambda: full, "other arguments: rank 0 has", replicas="first" if is_last else "check"
    )
    ranks.refuse("stable on one rank", lambda: full, "other arguments: rank 0 has", stable=is_last)
    ranks.refuse(
        "an option that there is not", lambda: full, "there is no option treads", **({"treads": 1} if is_last else {})
    )
    ranks.refuse("threads of one rank", lambda: full, here, "threads", threads=0 if is_last else 1)
    ranks.refuse("a renaming that fails", lambda: full, here, "two tensors", rename=lambda it: "x" if is_last else it)
    found = digests(full)
    for wrong in ({"w": found["w"]}, bytes(32), None, 5, {"w": 3}, {}):

        def expecting(it, wrong=wrong):
            return verify(it, wrong if is_last else found)

        ranks.refuse(f"another expectation: {wrong!r:.20}", lambda: full, f"rank {last}", call=expecting)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.tensors.b3")
        if not is_last:
            found.save(path)
        ranks.refuse(
            "a list that one rank lacks", lambda: path, here, "model.tensors.b3", call=lambda path: verify(full, path)
        )
    # A mesh whose coordinates are not in the order of its group.
    backwards = DeviceMesh("cpu", list(reversed(range(ranks.world))))
    ranks.refuse(
        "a mesh that runs backwards", lambda: {"w": distribute_tensor(one, backwards, [Shard(0)])}, "ascending"
    )
    # Ranks outside of the mesh of a tensor have none of its bytes.
    part = DeviceMesh("cpu", list(range(1, ranks.world)))
    if ranks.rank:
        placed = distribute_tensor(one, part, [Shard(1)])
    else:
        placed = DTensor.from_local(torch.empty(0), part, [Shard(1)], run_check=False, shape=(60, 100), stride=(100, 1))
    for options in ({}, {"replicas": "first"}, {"rows": "redistribute"}):
        ranks.check(f"a mesh without rank 0, {options}", {"w": placed}, {"w": one}, **options)
        mixed = {"w": placed if ranks.rank else one}
        ranks.check(f"plain on rank 0, and sharded, {options}", mixed, {"w": one}, **options)
    with torch.inference_mode():
        made = torch.arange(5000.0)
        inside = {**columns, "made": made}
        for rows in ("exchange", "redistribute"):
            ranks.check(f"in inference mode, {rows}", inside, {**full, "made": made}, rows=rows)
    waiting = funcol.all_reduce(torch.ones(40), "sum", dist.group.WORLD)
    ranks.check("a collective at work", {"w": waiting}, {"w": torch.full((40,), float(ranks.world))})
    # One tensor at a time is redistributed.
    held = []
    by_rows = collective._by_rows

    def counting(tensor):
        gc.collect()
        assert not any(it() is not None for it in held), "what was redistributed before is still there"
        made = by_rows(tensor)
        held.append(weakref.ref(made))
        return made

    # In groups of one, where a device hashes.
    with mock.patch.object(collective, "_by_rows", counting), mock.patch.object(collective, "GROUP", 0):
        many = {f"w{i}": torch.randn(40, 40) for i in range(5)}
        ranks.check("one tensor at a time", ranks.distribute(many, Shard(1)), many, rows="redistribute")
    assert len(held) == 5


def lend_to(library):
    """Let the device of a driver hash the shards. Returns a list that gets the bytes of each."""
    ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
    lent = []

    def lend(tensor, *, on_cpu):
        data = bytes_of(tensor)
        if on_cpu:
            return data
        lent.append(data.numel())
        return Lent(bytes(data.numpy()), (data.numel(),), 8, device=(2, 0))

    hashing.bytes_of, hashing.device_of = lend, lambda tensor: 0
    hashing.in_stream = lambda index: contextlib.nullcontext(1)
    return lent


def main(rank, world, port, *library):
    lent = [lend_to(path) for path in library]
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    dist.init_process_group("gloo", rank=rank, world_size=world, timeout=timedelta(seconds=60))
    torch.manual_seed(1)
    ranks = Ranks(rank, world)
    of_tensors(ranks)
    of_models(ranks)
    of_faults(ranks)
    # A rank that waits for another raises the error of the group after a minute, which no case expects.
    of_lonely_faults(ranks)
    assert all(map(sum, lent)), "the device hashed nothing"
    dist.barrier()
    if rank == 0:
        print(f"weights: {ranks.layouts} cases, passed with {world} ranks", flush=True)
    # Threads of gloo may outlive the group.
    os._exit(0)


if __name__ == "__main__":
    ranks = int(sys.argv[1])
    mp.spawn(main, (ranks, 29500 + os.getpid() % 2000, *sys.argv[2:]), ranks)
