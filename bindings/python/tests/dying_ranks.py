"""Ranks of gloo. One of them dies, or raises and stays, at each collective of `digests` in turn.

All others must end with an error: at once, or when the timeout of the group is over. The one says what it raised.
"""

import os
import signal
import tempfile
import time
import warnings
from datetime import timedelta
from multiprocessing import get_context
from multiprocessing.connection import wait

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor
from treewide._tensors import collective
from treewide.weights import digests

WORLD, VICTIM = 2, 1

warnings.filterwarnings("ignore")


def rank_of(rank, store, manner, at, is_faulty, end):
    torch.set_num_threads(1)
    # No rank waits so long for one that died.
    seconds = 5 if manner == "raises" else 600
    options = {"rank": rank, "world_size": WORLD, "timeout": timedelta(seconds=seconds)}
    said = "no error"
    try:
        dist.init_process_group("gloo", store=dist.FileStore(store, WORLD), **options)
        columns = distribute_tensor(torch.ones(60, 9), init_device_mesh("cpu", (WORLD,)), [Shard(1)])
        # Each rank has another table, so all of them are sent.
        state = {"columns": columns, f"own{rank}": torch.full((5000,), float(rank))}
        if is_faulty and rank == 0:
            state["bad"] = torch.empty(3, device="meta")
        calls = 0

        def watched(call):
            def counted(*given, **named):
                nonlocal calls
                calls += 1
                if rank == VICTIM and calls == at:
                    if manner == "dies":
                        os.kill(os.getpid(), signal.SIGKILL)
                    raise RuntimeError("the wire is cut")
                return call(*given, **named)

            return counted

        for module, name in (
            (dist, "all_gather_into_tensor"),
            (dist, "all_to_all_single"),
            (dist, "broadcast"),
            (dist, "all_gather_object"),
            (collective, "_by_rows"),
        ):
            setattr(module, name, watched(getattr(module, name)))
        digests(state)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    end.send((said, calls))
    # A program that catches the error continues, and its connections stay open.
    time.sleep(3600)


def begin(manner, at, is_faulty):
    """Begin the ranks of a case. Returns them, and what each of them will say."""
    context, store = get_context("fork"), os.path.join(tempfile.mkdtemp(dir=folder), "store")
    pipes = [context.Pipe(duplex=False) for _ in range(WORLD)]
    given = (store, manner, at, is_faulty)
    ranks = [context.Process(target=rank_of, args=(it, *given, pipe)) for it, (_, pipe) in enumerate(pipes)]
    for it in ranks:
        it.start()
    return ranks, [pipe for pipe, _ in pipes]


def end(ranks, pipes):
    """Return what each rank said in the end, and how many collectives there were; `None` of one that died."""
    said = {}
    while len(said) < WORLD:
        for rank, pipe in enumerate(pipes):
            if rank not in said and pipe.poll():
                said[rank] = pipe.recv()
            elif rank not in said and ranks[rank].exitcode is not None:
                said[rank] = None
        # A pipe of one that died says nothing: this process has its other end too.
        wait([*pipes, *(it.sentinel for it in ranks if it.exitcode is None)], timeout=0.1)
    for it in ranks:
        it.kill()
        it.join()
    return said


def main():
    for is_faulty in (False, True):
        calm = end(*begin("calm", 0, is_faulty))
        errors = {said for said, _ in calm.values()}
        assert len(errors) == 1 and ("rank 0: bad" in errors.pop()) == is_faulty, calm
        count = calm[VICTIM][1]
        for manner in ("dies", "raises"):
            cases = [begin(manner, at, is_faulty) for at in range(1, count + 1)]
            for at, case in enumerate(cases, 1):
                said = end(*case)
                # On a slow machine the timeout may come first.
                error, calls = said[VICTIM] or ("", 0)
                assert error != "no error" and ("the wire is cut" in error or calls < at), said
                assert said[0] is not None and said[0][0] != "no error", (is_faulty, manner, at, said)
                print(f"{manner} at {at} of {count}: {said[0][0].splitlines()[0]}", flush=True)
    print("passed")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main()
