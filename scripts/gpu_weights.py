"""Checks and times `treewide.weights.digests` with two processes on one GPU: python scripts/gpu_weights.py OUT QUICK.

Messages go over gloo, as NCCL takes no two ranks on one GPU. First the digests of small shards of all layouts are compared
with those of full tensors on the CPU. Then a model of the shapes of Llama 8B, sharded by rows (FSDP) and as tensor parallel
does, is timed next to `gpu.hash_many` of the same local bytes. Writes OUT/weights.json. Exits with 1 if a digest is wrong,
and with 77 where there is no GPU; with QUICK=1 the CPU takes its place, which tries this program.
"""

import json
import os
import statistics
import sys
import time
from pathlib import Path

import treewide

#: A layer of Llama 8B: rows, columns, and the dimension that tensor parallel cuts.
LAYER = {
    "q": (4096, 4096, 0),
    "k": (1024, 4096, 0),
    "v": (1024, 4096, 0),
    "o": (4096, 4096, 1),
    "gate": (14336, 4096, 0),
    "up": (14336, 4096, 0),
    "down": (4096, 14336, 1),
}
RANKS, TURNS = 2, 7


def main(rank, port, out, quick):
    import torch
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Shard
    from treewide._tensors import collective
    from treewide.weights import digests

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    dist.init_process_group("gloo", rank=rank, world_size=RANKS)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    mesh = init_device_mesh(device, (RANKS,))
    results = {"device": torch.cuda.get_device_name() if device == "cuda" else "cpu", "torch": torch.__version__}
    results |= {"ranks": RANKS, "turns": TURNS, "checked": 0, "wrong": [], "times": []}

    def shard(full, dim):
        local = Shard(dim)._split_tensor(full, RANKS, with_padding=False)[0][rank].contiguous().to(device)
        return DTensor.from_local(local, mesh, [Shard(dim)], run_check=False, shape=full.shape, stride=full.stride())

    def synchronized():
        if device == "cuda":
            torch.cuda.synchronize()
        dist.barrier()
        return time.perf_counter()

    def seconds(call):
        start = synchronized()
        call()
        return synchronized() - start

    torch.manual_seed(1)
    for rows, columns in [(1, 5), (7, 1000), (64, 64), (300, 4099), (1024, 2048)]:
        for dtype in (torch.bfloat16, torch.float32, torch.uint8):
            full = torch.randint(0, 256, (rows, columns)).to(dtype)
            for name, made in [
                ("plain", lambda f: f.to(device)),
                ("view", lambda f: f.t().contiguous().to(device).t()),
            ]:
                check(results, f"{name} {dtype} {rows}x{columns}", digests({"w": made(full)}), full)
            for dim in (0, 1):
                for option in ("exchange", "redistribute") if device == "cpu" else ("exchange",):
                    found = digests({"w": shard(full, dim)}, rows=option)
                    check(results, f"Shard({dim}) {option} {dtype} {rows}x{columns}", found, full)

    def local(rows, columns, dim):
        size = [rows, columns]
        size[dim] //= RANKS
        bits = torch.randint(-(2**15), 2**15, size, dtype=torch.int16, device=device)
        return DTensor.from_local(bits.view(torch.bfloat16), mesh, [Shard(dim)], run_check=False)

    layers = 1 if quick else 32
    for layout in ("FSDP", "TP"):
        state = {
            f"{layer}.{name}": local(rows // (16 if quick else 1), columns, dim if layout == "TP" else 0)
            for layer in range(layers)
            for name, (rows, columns, dim) in LAYER.items()
        }
        here = {name: it.to_local() for name, it in state.items()}
        floor = treewide.gpu.hash_many if device == "cuda" else treewide.hash_many
        times = {"hash_many": [], "digests": []}
        for _ in range(TURNS):
            times["hash_many"].append(seconds(lambda: floor(here)))
            collective.sent.clear()
            times["digests"].append(seconds(lambda: digests(state, rows="exchange")))
        row = {"layout": layout, "tensors": len(state), "local_bytes": sum(it.nbytes for it in here.values())}
        row |= {f"{name}_seconds": statistics.median(it) for name, it in times.items()}
        row |= {"all_seconds": times, "sent_bytes": sum(collective.sent.values())}
        results["times"].append(row)
        del state, here
    if rank == 0:
        text = json.dumps(results, indent=1)
        (Path(out) / "weights.json").write_text(text)
        print(text)
    dist.barrier()
    os._exit(1 if results["wrong"] else 0)


def check(results, name, found, full):
    results["checked"] += 1
    expected = treewide.digest(full.contiguous())
    if found["w"].digest != expected:
        results["wrong"].append(name)


if __name__ == "__main__":
    out, quick = sys.argv[1], sys.argv[2:] == ["1"]
    try:
        import torch
        import torch.multiprocessing as mp
        import treewide.gpu
    except ImportError as error:
        print(f"NOT RUN: {error}")
        sys.exit(77)
    if not (torch.cuda.is_available() or quick):
        print("NOT RUN: PyTorch finds no GPU")
        sys.exit(77)
    try:
        mp.spawn(main, (29500 + os.getpid() % 2000, out, quick), RANKS)
    except mp.ProcessExitedException as error:
        sys.exit(error.exit_code)
