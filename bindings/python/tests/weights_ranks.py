"""Ranks of gloo: each layout of a model against the file and against the bytes of its full tensors.

`python weights_ranks.py RANKS` starts that many processes. It prints a line for each layout, and `passed` at the end.
"""

import os
import sys
import tempfile
import threading
import warnings
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import treewide
from safetensors.torch import save_file
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import CPUOffloadPolicy, fully_shard
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.distributed.tensor.placement_types import _StridedShard
from treewide._tensors import collective
from treewide.safetensors import tensors
from treewide.tensors import fingerprint, merge, write_list
from treewide.torch import digests, parts, verify

warnings.filterwarnings("ignore")
torch.set_num_threads(1)

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
        expected = {name: treewide.digest(collective.bytes_of(it)) for name, it in full.items()}
        assert {name: it.digest for name, it in found.items()} == expected, layout
        assert all(found[name].shape == tuple(it.shape) for name, it in full.items()), layout
        if self.rank == 0:
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "model.safetensors")
                save_file({name: it.detach().resolve_conj().contiguous().clone() for name, it in full.items()}, path)
                assert tensors(path) == found, layout
        assert most is None or sent <= most, f"{layout}: {sent} bytes were sent, of at most {most}"
        self.say(f"{layout}: {sent} bytes sent")
        self.layouts += 1
        return found

    def refuse(self, layout, make, *words):
        """All ranks raise the same text."""
        try:
            digests(make())
        except ValueError as error:
            text = str(error)
        else:
            raise AssertionError(f"{layout} is not refused")
        assert all(word in text for word in words), (layout, text)
        texts = [None] * self.world
        dist.all_gather_object(texts, text)
        assert len(set(texts)) == 1, texts
        self.layouts += 1

    def distribute(self, full, *placements):
        return {name: distribute_tensor(it, self.mesh, placements) for name, it in full.items()}

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
    ranks.check("columns of odd widths", ranks.distribute(odd, Shard(1)), odd, {2: 33878, 4: 97900}[world])
    ranks.check("Shard(2)", {"c": distribute_tensor(odd["c"], ranks.mesh, [Shard(2)])}, {"c": odd["c"]})
    strided = {"a": torch.randn(64, 300), "b": torch.randn(50, 77)}
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
    plain = fingerprint(digests(full))
    fully_shard(made, mesh=mesh)
    found = ranks.check("FSDP2", made, full, {2: 10708, 4: 35806}[world])
    assert fingerprint(found) == plain
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.tensors.b3")
        write_list(path, found)
        assert verify(made, path) and verify(made, found)
        with torch.no_grad():
            made.layers[1].down.weight.to_local()[0, 0] += 1
        report = verify(made, path)
        assert not report and all(
            it.name == "layers.1.down.weight" and it.verdict == "changed" for it in report.findings
        )
    made, full = model(vocabulary=301, dim=97, hidden=5)
    for layer in made.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(made, mesh=mesh)
    ranks.check("FSDP2, padded shards", made, full, {2: 5692, 4: 25000}[world])
    made(torch.randint(0, 300, (4, 8))).sum()
    ranks.check("FSDP2, after a forward pass", made, full)
    made, full = model(tied=True)
    fully_shard(made, mesh=mesh)
    found = ranks.check("FSDP2, tied weights", made, full)
    assert found["embed.weight"] == found["head.weight"]
    made, full = model()
    fully_shard(made, mesh=mesh, shard_placement_fn=lambda it: Shard(int(it.ndim == 2 and it.shape[1] % world == 0)))
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
    ranks.check("DDP", nn.parallel.DistributedDataParallel(made), full)
    full = model()[1]
    own = {k: it for k, it in full.items() if not k.startswith("layers.") or int(k.split(".")[1]) % world == ranks.rank}
    ranks.check("a pipeline", own, full, {2: 3869, 4: 12579}[world])
    ranks.check("another order of names", dict(sorted(full.items(), reverse=bool(ranks.rank))), full)
    group = dist.new_group([0])
    if ranks.rank == 0:
        assert fingerprint(digests(full, group=group)) == plain
    if world == 4:
        of_meshes(ranks)


def of_meshes(ranks):
    made, full = model()
    fully_shard(made, mesh=init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard")))
    ranks.check("HSDP", made, full, 35284)
    ranks.check("HSDP, the first copy", made, full, 21600, replicas="first")
    two = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    by_layer = {"up": ColwiseParallel(), "down": RowwiseParallel()}
    for hidden in (328, 330):
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
    big = {f"w{i}": torch.ones(2000, 2000) for i in range(8)}
    stop = threading.Event()

    def change():
        while not stop.is_set():
            for it in big.values():
                it.add_(1)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        ranks.refuse("changed while it is hashed", lambda: big, "changed while it was hashed")
    finally:
        stop.set()
        thread.join()


def main(rank, world, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    dist.init_process_group("gloo", rank=rank, world_size=world, timeout=timedelta(seconds=120))
    torch.manual_seed(1)
    ranks = Ranks(rank, world)
    of_tensors(ranks)
    of_models(ranks)
    of_faults(ranks)
    dist.barrier()
    if rank == 0:
        print(f"weights: {ranks.layouts} cases, passed with {world} ranks", flush=True)
    # Threads of gloo may outlive the group.
    os._exit(0)


if __name__ == "__main__":
    ranks = int(sys.argv[1])
    mp.spawn(main, (ranks, 29500 + os.getpid() % 2000), ranks)
