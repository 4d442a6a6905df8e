"""`treewide.weights.digests` next to hashing the same local bytes, in turn: `python measure_weights.py RANKS`.

The model is one layer of Llama 8B, 436 MB, sharded by rows (FSDP) or as tensor parallel does; and 700 small tensors.
With `plain` in place of RANKS it is 2,000 tensors of 4 KiB in this process, without a group and on one thread.
"""

import os
import statistics
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import treewide
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Shard
from treewide.weights import digests

torch.set_num_threads(1)
TURNS = 9
BY_ROWS = {"q": 4096, "k": 1024, "v": 1024, "gate": 14336, "up": 14336}
BY_COLUMNS = {"o": 4096, "down": 14336}


def timed(call):
    dist.barrier()
    started = time.perf_counter()
    call()
    dist.barrier()
    return time.perf_counter() - started


def compare(name, rank, state):
    local = {key: it.to_local() for key, it in state.items()}
    times = [(timed(lambda: treewide.hash_many(local)), timed(lambda: digests(state))) for _ in range(TURNS)]
    floor, full = (statistics.median(column) for column in zip(*times, strict=True))
    beyond = (full - floor) / len(state)
    if rank == 0:
        print(
            f"{name}: local bytes {floor * 1e3:.1f} ms, digests {full * 1e3:.1f} ms, {full / floor:.2f} times as long, "
            f"{beyond * 1e6:.0f} µs more a tensor",
            flush=True,
        )


def plain(count=2000, turns=60):
    state = {f"layers.{i}.w": torch.randint(0, 255, (64, 64), dtype=torch.uint8) for i in range(count)}
    data = [bytes(it.numpy()) for it in state.values()]
    times = []
    for _ in range(turns):
        started = time.perf_counter()
        digests(state, threads=1)
        between = time.perf_counter()
        for it in data:
            treewide.digest(it)
        times.append((between - started, time.perf_counter() - between))
    for which, column in zip(("digests", "digest of the bytes"), zip(*times, strict=True), strict=True):
        low, middle = (it / count * 1e6 for it in (min(column), statistics.median(column)))
        print(f"{which}: {low:.1f} µs a tensor at least, median {middle:.1f}")


def main(rank, world, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    dist.init_process_group("gloo", rank=rank, world_size=world)
    mesh = init_device_mesh("cpu", (world,))

    def shard(rows, columns, dim):
        size = [rows, columns]
        size[dim] //= world
        local = torch.randint(-(2**15), 2**15, size, dtype=torch.int16).view(torch.bfloat16)
        return DTensor.from_local(local, mesh, [Shard(dim)], run_check=False)

    rows = {name: shard(size, 4096, 0) for name, size in BY_ROWS.items()}
    compare("FSDP", rank, rows | {name: shard(4096, size, 0) for name, size in BY_COLUMNS.items()})
    compare("TP", rank, rows | {name: shard(4096, size, 1) for name, size in BY_COLUMNS.items()})
    compare("700 small tensors", rank, {f"w{i}": shard(64, 64, 0) for i in range(700)})
    os._exit(0)


if __name__ == "__main__":
    if sys.argv[1] == "plain":
        sys.exit(plain())
    ranks = int(sys.argv[1])
    mp.spawn(main, (ranks, 29500 + os.getpid() % 2000), ranks)
