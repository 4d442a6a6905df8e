"""`treewide.torch`: the digests of full tensors, however a model is sharded."""

import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("safetensors", reason="safetensors is not installed")


@pytest.mark.parametrize("ranks", [2, 4])
def test_each_layout_gives_the_digests_of_the_file(ranks):
    program = Path(__file__).with_name("weights_ranks.py")
    done = subprocess.run([sys.executable, program, str(ranks)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
    assert f"passed with {ranks} ranks" in done.stdout
    print(done.stdout)


def test_one_process_needs_no_group():
    from treewide import digest
    from treewide.tensors import merge
    from treewide.torch import digests, parts, verify

    state = {"w": torch.arange(5000, dtype=torch.int16).view(50, 100), "scale": torch.tensor(2.0), "step": 7}
    found = digests(state)
    assert found["w"].digest == digest(state["w"]) and found["w"][:2] == ("I16", (50, 100))
    assert set(found) == {"w", "scale"} and merge([parts(state)]) == found
    assert verify(state, found)
    with pytest.raises(ValueError, match="w: a tensor on the device meta"):
        digests({"w": torch.empty(3, device="meta")})
    layer = torch.nn.Linear(30, 40)
    assert set(digests(layer)) == {"weight", "bias"}
