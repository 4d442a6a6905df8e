"""`treewide.torch`: the digests of full tensors, however a model is sharded."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from driver_by_hand import standin_driver

torch = pytest.importorskip("torch", reason="torch is not installed", exc_type=ImportError)
pytest.importorskip("safetensors", reason="safetensors is not installed")


def run_ranks(*arguments):
    program = Path(__file__).with_name("weights_ranks.py")
    done = subprocess.run([sys.executable, program, *arguments], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
    assert f"passed with {arguments[0]} ranks" in done.stdout
    print(done.stdout)


@pytest.mark.parametrize("ranks", ["2", "4"])
def test_each_layout_gives_the_digests_of_the_file(ranks):
    run_ranks(ranks)


def test_each_layout_gives_the_same_on_a_device(tmp_path):
    """Shards are lent as those of a CUDA device, whose driver is the stand-in."""
    run_ranks("2", standin_driver(tmp_path))


def test_the_measurement_of_a_gpu_is_right_without_one(tmp_path):
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    program = Path(__file__).parents[3] / "scripts" / "gpu_weights.py"
    subprocess.run([sys.executable, "-P", program, tmp_path, "1"], check=True, capture_output=True, timeout=300)
    measured = json.loads((tmp_path / "weights.json").read_text())
    assert (measured["checked"], measured["wrong"], measured["device"]) == (90, [], "cpu")
    assert [it["layout"] for it in measured["times"]] == ["FSDP", "TP"]


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


def test_views_of_each_type_and_inference_tensors():
    from treewide import digest
    from treewide.tensors import merge
    from treewide.torch import digests, parts

    raw = torch.arange(64, dtype=torch.uint8).view(8, 8)
    for name in ("float4_e2m1fn_x2", "float8_e4m3fn", "bool"):
        column = raw.view(getattr(torch, name))[:, :3] if hasattr(torch, name) else raw[:, :3]
        assert digests({"w": column})["w"].digest == digest(raw[:, :3].contiguous())
    with torch.inference_mode():
        made = {"w": torch.arange(5000)}
        found = digests(made)
        assert found["w"].digest == digest(made["w"]) and merge([parts(made)]) == found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]), "w: a nested tensor has no shape"),
        (
            lambda: torch.quantize_per_tensor(torch.ones(3), 1.0, 0, torch.qint8),
            r"w: a quantized tensor .* has bytes and",
        ),
        (lambda: torch.ones(8, dtype=torch.uint8).view(torch.bits8), "w: the type bits8 has no name in safetensors"),
        (lambda: torch.nn.UninitializedParameter(), "w: UninitializedParameter is a tensor of a library"),
    ],
)
def test_tensors_without_bytes_are_refused_by_name(make, words):
    from treewide.torch import digests, parts

    for call in (digests, parts):
        with pytest.raises(ValueError, match=words):
            call({"w": make()})


def test_what_is_no_state_is_refused(tmp_path):
    from treewide.torch import digests, verify

    one = torch.ones(3)
    for state, words in (
        (None, "a model is a module or a mapping of tensors, and not NoneType"),
        ({1: one}, "the name of a tensor is a string: 1"),
        ({"model": {"w": one}}, "model is dict: pass its tensors by names of their own"),
        ({"model": [[one]]}, "model is list: "),
        ({"w": one.numpy()}, "w is ndarray: "),
    ):
        with pytest.raises(TypeError, match=words):
            digests(state)
    assert set(digests({"w": one, "step": 3, "config": {"a": [1]}, "none": None})) == {"w"}
    with pytest.raises(ValueError, match="replicas is one of"):
        digests({"w": one}, replicas="frist")
    with pytest.raises(FileNotFoundError, match=r"none\.tensors\.b3"):
        verify({"w": one}, tmp_path / "none.tensors.b3")
