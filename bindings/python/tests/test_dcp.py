"""`treewide.dcp`: checkpoints of PyTorch, hashed while they are written."""

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
    import treewide.dcp

    state = {"w": torch.arange(3000.0), "step": 5}
    path = tmp_path / "one"
    dcp.save(state, storage_writer=treewide.dcp.writer()(path), no_dist=True)
    treewide.dcp.verify(path)
    into = {"w": torch.zeros(3000), "step": 0}
    dcp.load(into, storage_reader=treewide.dcp.reader()(path), no_dist=True)
    assert into["step"] == 5 and torch.equal(into["w"], state["w"])
    with pytest.raises(FileNotFoundError, match=r"there is no checkpoint\.b3: save with"):
        treewide.dcp.verify(tmp_path)


def test_what_is_out_of_order_is_not_hashed(tmp_path):
    import treewide.dcp
    from treewide._tensors.checkpoint import _HashingStream

    kept = tmp_path / "kept"
    kept.write_bytes(b"kept")
    with pytest.raises(ValueError, match="kept: a file that is hashed is opened to be written"):
        treewide.dcp.writer()(tmp_path).fs.create_stream(kept, "ab").__enter__()
    assert kept.read_bytes() == b"kept"

    with (tmp_path / "file").open("wb") as file:
        stream = _HashingStream(file)
        assert stream.write(b"abc") == 3 and stream.tell() == 3 and not stream.seekable()
        with pytest.raises(OSError, match="seek"):
            stream.seek(0)
