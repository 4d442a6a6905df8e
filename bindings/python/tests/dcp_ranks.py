"""Ranks of gloo: checkpoints that are hashed while they are written, and what becomes of damage.

`python dcp_ranks.py FOLDER` starts two processes. It prints `passed` at the end.
"""

import contextlib
import os
import pickle
import shutil
import subprocess
import sys
import time
import warnings
from datetime import timedelta
from pathlib import Path
from unittest import mock

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as mp
import treewide
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.filesystem import FileSystem
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from treewide.weights import dcp as hashed, digests
from treewide.weights.dcp import DamageError

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
RANKS = 2
VERSION = tuple(map(int, torch.__version__.split(".")[:2]))


#: One process without a group.
CHECK = "import sys; from treewide.weights.dcp import verify; verify(sys.argv[1])"


class Hostile:
    """A pickle that makes a file when it is loaded."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


class Checkpoints:
    def __init__(self, rank, folder):
        self.rank, self.folder, self.mesh, self.cases = rank, folder, init_device_mesh("cpu", (RANKS,)), 0
        torch.manual_seed(3)
        full = {f"layers.{i}": torch.randn(200, 100 + i) for i in range(5)}
        self.state = {name: distribute_tensor(it, self.mesh, [Shard(0)]) for name, it in full.items()}
        self.state["norm"] = distribute_tensor(torch.randn(7), self.mesh, [Replicate()])
        self.state["step"] = 7
        self.found = digests(self.state)

    def save(self, name, state=None, writer=None, **options):
        dcp.save(self.state if state is None else state, storage_writer=writer or self.writer(name), **options)
        dist.barrier()
        self.cases += 1
        return self.folder / name

    def writer(self, name, **options):
        return hashed.FileSystemWriter(self.folder / name, sync_files=False, **options)

    def load(self, path, **options):
        into = {name: torch.zeros_like(it) if name != "step" else 0 for name, it in self.state.items()}
        dcp.load(into, storage_reader=hashed.FileSystemReader(path), **options)
        return into

    def check(self, path, lists=("checkpoint.b3",)):
        """The list has all files, with their digests; and the checkpoint is taken."""
        listed = dict(reversed(line.split("  ")) for it in lists for line in (path / it).read_text().splitlines())
        files = sorted(it.name for it in path.iterdir() if it.name not in lists)
        assert sorted(listed) == files, (listed, files)
        assert all(treewide.hash_file(path / name).hex() == value for name, value in listed.items())
        assert all((path / it).read_text().splitlines() for it in lists)
        hashed.verify(path)

    def once(self, change):
        """Change files on one rank."""
        dist.barrier()
        if self.rank == 0:
            change()
        dist.barrier()

    def refuse(self, call, *words, error=DamageError):
        """All ranks raise the same."""
        try:
            call()
        except error as raised:
            text = str(raised)
        else:
            raise AssertionError(f"no error that says {words}")
        assert all(it in text for it in words), (words, text)
        texts = [None] * RANKS
        dist.all_gather_object(texts, text)
        assert len({text.partition(": ")[2] for text in texts}) == 1, texts
        self.cases += 1


def of_saves(it):
    path = it.save("plain")
    it.check(path)
    loaded = it.load(path)
    assert digests(loaded) == it.found and loaded["step"] == 7
    # Over an older one.
    it.check(it.save("plain", {**it.state, "step": 8}))
    for options in ({"thread_count": 2}, {"single_file_per_rank": False}):
        path = it.save(f"with {options}", writer=it.writer(f"with {options}", **options))
        it.check(path)
        assert digests(it.load(path)) == it.found
    # A rank that has nothing to write.
    it.check(it.save("replicas", {"norm": it.state["norm"]}))
    it.check(it.save("nothing", {}))
    if VERSION >= (2, 9):
        # Each rank with its own metadata.
        path = it.save("alone", use_collectives=False)
        it.check(path, [f"__{rank}_checkpoint.b3" for rank in range(RANKS)])
    # in a thread, during the training.
    dcp.async_save(it.state, storage_writer=it.writer("later")).result()
    dist.barrier()
    it.check(it.folder / "later")
    # The list is complete before the checkpoint is one.
    rename = FileSystem.rename

    def killed(self, path, new_path):
        if str(new_path).endswith(".metadata"):
            raise OSError("killed")
        rename(self, path, new_path)

    with mock.patch.object(FileSystem, "rename", killed):
        it.refuse(lambda: it.save("killed"), "killed", error=CheckpointException)
    dist.barrier()
    assert (it.folder / "killed" / "checkpoint.b3").exists() and not (it.folder / "killed" / ".metadata").exists()


def of_safetensors(it):
    """Files of safetensors, which have an index and no metadata, or nothing at all."""
    from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageWriter

    class hugging_face(hashed.HashingWriter, HuggingFaceStorageWriter):
        pass

    tensors = {name: tensor for name, tensor in it.state.items() if name != "step"}
    it.check(it.save("shards", tensors, hugging_face(str(it.folder / "shards"), save_distributed=True)))
    whole = {name: tensor.full_tensor() for name, tensor in tensors.items()}
    path = it.save(f"whole {it.rank}", whole, hugging_face(str(it.folder / f"whole {it.rank}")), no_dist=True)
    assert len((path / "checkpoint.b3").read_text().splitlines()) == 2
    assert not path.joinpath(".metadata").exists()
    subprocess.run([sys.executable, "-c", CHECK, path], check=True)


def of_damage(it):
    right = it.save("right")

    def damaged(name, change):
        path = it.folder / name
        it.once(lambda: (shutil.copytree(right, path), change(path)))
        return path

    def flip(path):
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 4
        path.write_bytes(data)

    path = damaged("a bit", lambda path: flip(path / "__1_0.distcp"))
    it.refuse(lambda: hashed.verify(path), "a bit: __1_0.distcp: is not as it was written")
    it.refuse(lambda: it.load(path), "__1_0.distcp: is not as it was written", error=CheckpointException)
    mark = it.folder / "loaded"
    path = damaged("a pickle", lambda path: (path / ".metadata").write_bytes(pickle.dumps(Hostile(mark))))
    it.refuse(lambda: hashed.verify(path), ".metadata: is not as it was written")
    it.refuse(lambda: it.load(path), ".metadata: is not as it was written", error=CheckpointException)
    assert not mark.exists()
    path = damaged("less", lambda path: (path / "__0_0.distcp").unlink())
    it.refuse(lambda: hashed.verify(path), "__0_0.distcp: No such file")
    path = damaged("more", lambda path: (path / "__7_0.distcp").write_bytes(b"old"))
    it.refuse(lambda: hashed.verify(path), "__7_0.distcp: is not in the list")
    path = damaged("no list", lambda path: (path / "checkpoint.b3").unlink())
    it.refuse(lambda: hashed.verify(path), "there is no checkpoint.b3", f"rank {RANKS - 1}")
    it.refuse(lambda: it.load(path), "is not in checkpoint.b3 next to it", error=CheckpointException)
    for number, line in enumerate(("nonsense", "0" * 64 + "  ../x", "0" * 64 + "  .metadata", "g" * 64 + "  x")):
        path = damaged(f"line {number}", lambda path, line=line: (path / "checkpoint.b3").open("a").write(line + "\n"))
        it.refuse(lambda path=path: hashed.verify(path), "checkpoint.b3, line 4: not a digest")
    other = it.folder / f"of rank {it.rank}"
    shutil.copytree(right, other)
    if it.rank:
        shutil.copy(other / "__0_0.distcp", other / "__9_0.distcp")
        with (other / "checkpoint.b3").open("a") as file:
            file.write(f"{treewide.hash_file(other / '__9_0.distcp').hex()}  __9_0.distcp\n")
    it.refuse(lambda: hashed.verify(other), "other files named checkpoint.b3")
    hashed.verify(right)
    it.refuse(lambda: hashed.verify(right if it.rank else 5), "rank 0: expected str, bytes or os.PathLike")
    group = dist.new_group([0])
    if it.rank:
        with contextlib.suppress(ValueError):
            hashed.verify(right, group=group)
            raise AssertionError("a rank outside of the group took part")
    else:
        hashed.verify(right, group=group)


def main(rank, folder, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    dist.init_process_group("gloo", rank=rank, world_size=RANKS, timeout=timedelta(seconds=60))
    began = time.monotonic()
    checkpoints = Checkpoints(rank, Path(folder))
    of_saves(checkpoints)
    if VERSION >= (2, 9):
        of_safetensors(checkpoints)
    of_damage(checkpoints)
    dist.barrier()
    if rank == 0:
        print(f"checkpoints: {checkpoints.cases} cases in {time.monotonic() - began:.0f} s, passed", flush=True)
    # Threads of gloo may outlive the group.
    os._exit(0)


if __name__ == "__main__":
    mp.spawn(main, (sys.argv[1], 31500 + os.getpid() % 2000), RANKS)
