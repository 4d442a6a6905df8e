"""`treewide.weights.dcp`: checkpoints of PyTorch, hashed while they are written."""

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed", exc_type=ImportError)
pytest.importorskip("safetensors", reason="safetensors is not installed")


def test_checkpoints_of_two_ranks_and_damage(tmp_path):
    program = Path(__file__).with_name("dcp_ranks.py")
    done = subprocess.run([sys.executable, program, tmp_path], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
    assert "passed" in done.stdout
    print(done.stdout)


@pytest.mark.filterwarnings("ignore")
def test_one_process_needs_no_group(tmp_path):
    import torch.distributed.checkpoint as dcp
    from treewide.weights import dcp as hashed

    state = {"w": torch.arange(3000.0), "step": 5}
    path = tmp_path / "one"
    dcp.save(state, storage_writer=hashed.FileSystemWriter(path), no_dist=True)
    hashed.verify(path)
    into = {"w": torch.zeros(3000), "step": 0}
    dcp.load(into, storage_reader=hashed.FileSystemReader(path), no_dist=True)
    assert into["step"] == 5 and torch.equal(into["w"], state["w"])
    with pytest.raises(FileNotFoundError, match=r"there is no checkpoint\.b3: save with"):
        hashed.verify(tmp_path)


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)


@pytest.mark.filterwarnings("ignore")
def test_a_reader_checks_each_time_and_only_by_the_list_of_all(tmp_path):
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.api import CheckpointException
    from treewide.weights import dcp as hashed

    state, path = {"w": torch.arange(3000.0)}, tmp_path / "one"
    # An older save without collectives, whose metadata and list stay.
    dcp.save({"w": torch.zeros(3000)}, storage_writer=hashed.FileSystemWriter(path), no_dist=True)
    for name in (".metadata", "checkpoint.b3"):
        own = path / f"__0{'_' if name[0] != '.' else ''}{name}"
        (path / name).rename(own)
    own.write_text(own.read_text().replace("  .metadata", "  __0.metadata"))
    dcp.save(state, storage_writer=hashed.FileSystemWriter(path), no_dist=True)
    reader = hashed.FileSystemReader(path)
    into = {"w": torch.zeros(3000)}
    dcp.load(into, storage_reader=reader, no_dist=True)
    assert torch.equal(into["w"], state["w"])
    with pytest.raises(hashed.DamageError, match=r"__0\.metadata: is not in the list"):
        hashed.verify(path)
    flip(path / ".metadata")
    with pytest.raises(CheckpointException):
        dcp.load(into, storage_reader=hashed.FileSystemReader(path), no_dist=True)
    flip(path / ".metadata")
    flip(path / "__0_0.distcp")
    with pytest.raises(CheckpointException, match=r"__0_0\.distcp: is not as it was written"):
        dcp.load(into, storage_reader=reader, no_dist=True)


def test_lists_and_files_of_no_checkpoint_are_refused(tmp_path):
    from treewide.weights import dcp as hashed

    (tmp_path / "checkpoint.b3").write_bytes(b"")
    with pytest.raises(hashed.DamageError, match=r"names no \.metadata"):
        hashed.verify(tmp_path)
    (tmp_path / "checkpoint.b3").write_text(f"{'0' * 64}  .metadata\n")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / ".metadata")
        with pytest.raises(hashed.DamageError, match=r"\.metadata: is not a regular file"):
            hashed.verify(tmp_path)


def test_files_of_others_are_reported(tmp_path):
    import torch.distributed.checkpoint as dcp
    from treewide.weights import dcp as hashed

    dcp.save({"w": torch.ones(3)}, storage_writer=hashed.FileSystemWriter(tmp_path), no_dist=True)
    (tmp_path / "train_state.json").write_text("{}")
    assert hashed.verify(tmp_path) == ["train_state.json"]
    (tmp_path / "__9_0.distcp").write_text("old")
    with pytest.raises(hashed.DamageError, match=r"__9_0\.distcp: is not in the list"):
        hashed.verify(tmp_path)


def test_classes_travel_into_other_processes(tmp_path):
    from treewide.weights import dcp as hashed

    for made in (hashed.FileSystemWriter(tmp_path), hashed.FileSystemReader(tmp_path)):
        for again in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
            assert type(again) is type(made) and again.path == made.path and type(again.fs) is type(made.fs)
    hugging_face = pytest.importorskip("torch.distributed.checkpoint.hf_storage", reason="PyTorch has no HF storage")
    with pytest.raises(TypeError, match="HuggingFaceStorageReader opens files by itself"):
        type("Reader", (hashed.CheckingReader, hugging_face.HuggingFaceStorageReader), {})


def test_what_is_out_of_order_is_not_hashed(tmp_path):
    from treewide._tensors.checkpoint import _HashingStream
    from treewide.weights import dcp as hashed

    kept = tmp_path / "kept"
    kept.write_bytes(b"kept")
    with pytest.raises(ValueError, match="kept: a file that is hashed is opened to be written"):
        hashed.FileSystemWriter(tmp_path).fs.create_stream(kept, "ab").__enter__()
    assert kept.read_bytes() == b"kept"

    with (tmp_path / "file").open("wb") as file:
        stream = _HashingStream(file)
        assert stream.write(b"abc") == 3 and stream.tell() == 3 and not stream.seekable()
        with pytest.raises(OSError, match="seek"):
            stream.seek(0)
