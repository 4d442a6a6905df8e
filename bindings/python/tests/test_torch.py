"""`treewide.weights` with PyTorch: the digests of full tensors, however a model is sharded."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from driver_by_hand import standin_driver

torch = pytest.importorskip("torch", reason="torch is not installed", exc_type=ImportError)
pytest.importorskip("safetensors", reason="safetensors is not installed")


def run_ranks(*arguments):
    program = Path(__file__).with_name("weights_ranks.py")
    done = subprocess.run([sys.executable, program, *arguments], capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
    assert f"passed with {arguments[0]} ranks" in done.stdout
    print(done.stdout)


@pytest.mark.parametrize("ranks", ["2", "4"])
def test_each_layout_gives_the_digests_of_the_file(ranks):
    run_ranks(ranks)


def test_a_rank_that_dies_or_raises_at_a_collective_ends_all_ranks():
    program = Path(__file__).with_name("dying_ranks.py")
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0 and done.stdout.endswith("passed\n"), done.stdout[-2000:] + done.stderr[-6000:]
    print(done.stdout)


def test_each_layout_gives_the_same_on_a_device(tmp_path):
    """Shards are lent as those of a CUDA device, whose driver is the stand-in."""
    run_ranks("2", standin_driver(tmp_path))


def test_the_measurement_of_a_gpu_is_right_without_one(tmp_path):
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    program = Path(__file__).parents[3] / "scripts" / "gpu_weights.py"
    subprocess.run([sys.executable, "-P", program, tmp_path, "1"], check=True, capture_output=True, timeout=1200)
    measured = json.loads((tmp_path / "weights.json").read_text())
    assert (measured["checked"], measured["wrong"], measured["device"]) == (90, [], "cpu")
    assert [it["layout"] for it in measured["times"]] == ["FSDP", "TP"]


def test_one_process_needs_no_group():
    from treewide import digest
    from treewide.weights import VerifyError, digests, merge, parts, verify

    state = {"w": torch.arange(5000, dtype=torch.int16).view(50, 100), "scale": torch.tensor(2.0), "step": 7}
    found = digests(state)
    assert found["w"].digest == digest(state["w"]) and found["w"][:2] == ("I16", (50, 100))
    assert set(found) == {"w", "scale"} and merge([parts(state)]) == found
    assert verify(state, found) and verify(state, found.fingerprint) and verify(found, state, stable=True)
    with pytest.raises(VerifyError, match="CHANGED   w  I16") as raised:
        verify({**state, "w": state["w"] + 1}, found)
    assert raised.value.report.counts["changed"] == 1
    with pytest.raises(ValueError, match="w: a tensor on the device meta"):
        digests({"w": torch.empty(3, device="meta")})
    layer = torch.nn.Linear(30, 40)
    assert set(digests(layer)) == {"weight", "bias"}


def test_views_of_each_type_and_inference_tensors():
    from treewide import digest
    from treewide.weights import digests, merge, parts

    raw = torch.arange(64, dtype=torch.uint8).view(8, 8)
    for name in ("float4_e2m1fn_x2", "float8_e4m3fn", "bool"):
        column = raw.view(getattr(torch, name))[:, :3] if hasattr(torch, name) else raw[:, :3]
        assert digests({"w": column})["w"].digest == digest(raw[:, :3].contiguous())
    with torch.inference_mode():
        made = {"w": torch.arange(5000)}
        found = digests(made)
        assert found["w"].digest == digest(made["w"]) and merge([parts(made)]) == found


def freed(tensor):
    tensor.untyped_storage().resize_(0)
    return tensor


def test_weights_that_are_not_here_are_refused():
    from treewide.weights import digests, verify

    def emptied(status=None, there=()):
        made = torch.nn.Linear(8, 8)
        for number, (name, it) in enumerate(made.named_parameters()):
            it.ds_id, it.ds_shape = number, it.shape
            if status:
                it.ds_status = SimpleNamespace(name=status)
            if name not in there:
                it.data = torch.empty(0)
        return made

    for model in (emptied(), emptied(there=["weight"]), emptied("INFLIGHT", there=["weight", "bias"])):
        for x in (model, dict(model.named_parameters()), {"model": dict(model.named_parameters())}):
            with pytest.raises(ValueError, match="ZeRO-3 of DeepSpeed has emptied this parameter"):
                digests(x)
    with pytest.raises(ValueError, match="there are no weights"):
        verify(emptied().state_dict(), emptied().state_dict())
    assert digests(emptied("AVAILABLE", there=["weight", "bias"]))
    # Where nothing says that it was emptied, it counts for nothing.
    part = emptied(there=["weight"]).state_dict()
    assert verify(part, part).counts["same"] == verify(part, part).counts["empty"] == 1


def test_tied_weights_are_aliases(tmp_path):
    from safetensors.torch import save_file, save_model
    from treewide.weights import VerifyError, digests, merge, parts, verify

    model = torch.nn.ModuleDict(
        {"embed": torch.nn.Linear(8, 20, bias=False), "head": torch.nn.Linear(8, 20, bias=False)}
    )
    model["head"].weight = model["embed"].weight
    save_model(model, tmp_path / "tied")
    save_file({"embed.weight": model["embed"].weight.detach().clone()}, tmp_path / "one")
    found = digests(model)
    assert set(found) == {"embed.weight", "head.weight"} and found.aliases == {"head.weight": "embed.weight"}
    assert found.fingerprint == merge([parts(model)]).fingerprint == digests(tmp_path / "tied").fingerprint
    for file in ("tied", "one"):
        assert verify(model, tmp_path / file) and verify(tmp_path / file, model)
    assert digests({"a": model["embed"].weight, "b": model["embed"].weight.detach().clone()}).aliases == {}
    # The first name in the order of the model, as the Hub has it.
    of_hub = {"model.embed.weight": model["embed"].weight, "lm_head.weight": model["embed"].weight}
    assert digests(of_hub).aliases == {"lm_head.weight": "model.embed.weight"}
    first = digests({"model.embed.weight": model["embed"].weight}).fingerprint
    assert verify(of_hub, first) and merge([parts(of_hub)]).fingerprint == first
    model["head"].weight = torch.nn.Parameter(torch.ones(20, 8))
    for file in ("tied", "one"):
        with pytest.raises(VerifyError):
            verify(model, tmp_path / file)


def test_parameters_of_libraries_that_are_bytes_are_hashed():
    from treewide.weights import digests

    class Own(torch.nn.Parameter):
        pass

    class Like(torch.Tensor):
        pass

    class Inside(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
            return function(*args, **(kwargs or {}))

    one = torch.arange(9.0)
    made = {"own": Own(one), "like": one.as_subclass(Like)}
    assert {it.digest for it in digests(made).values()} == {digests({"w": one})["w"].digest}
    with pytest.raises(ValueError, match="w: Inside is a tensor of a library"):
        digests({"w": one.as_subclass(Inside)})


def test_stable_notices_what_pytorch_does_not_count(monkeypatch):
    from treewide._tensors import hashing
    from treewide.weights import digests

    one, hashed = torch.ones(5000), hashing._hash_memory

    def changing(*given):
        one.data[17] += 1
        return hashed(*given)

    monkeypatch.setattr(hashing, "_hash_memory", changing)
    digests({"w": one})
    with pytest.raises(ValueError, match="w: the tensor changed between two passes"):
        digests({"w": one}, stable=True)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]), "w: a nested tensor has no shape"),
        (lambda: torch.quantize_per_tensor(torch.ones(3), 1.0, 0, torch.qint8), "w: the type qint8 has no name in"),
        (lambda: torch.ones(8, dtype=torch.uint8).view(torch.bits8), "w: the type bits8 has no name in safetensors"),
        (lambda: torch.nn.UninitializedParameter(), "w: .*uninitialized parameter"),
        (lambda: freed(torch.ones(3)), "w: its memory was freed"),
    ],
)
def test_tensors_without_bytes_are_refused_by_name(make, words):
    from treewide.weights import digests, parts

    for call in (digests, parts):
        with pytest.raises(ValueError, match=words):
            call({"w": make()})


def test_what_is_no_state_is_refused(tmp_path):
    from treewide.weights import digests, verify

    one = torch.ones(3)
    for state, words in (
        (None, "a model is a module or a mapping of tensors, and not NoneType"),
        ({"model": [{"w": one.numpy()}]}, r"model\.0\.w is ndarray: pass torch\.from_numpy of it"),
        ({"\ud800": one}, "the name of a tensor is not text"),
        ({"a": {"b": one}, "a.b": one}, r"two tensors have the name a\.b"),
        ({"w": torch.empty(0), "v": torch.empty(3, 0)}, "there are no weights"),
        ({"step": 3}, "there are no weights"),
        ({}, "there are no weights"),
    ):
        with pytest.raises((TypeError, ValueError), match=words):
            digests(state)
    state = {"model": {"w": one, "list": [3, [one]]}, "optim": {0: {"avg": one + 1}}, "step": 3, "none": None}
    assert set(digests(state)) == {"model.w", "model.list.1.0", "optim.0.avg"}
    with pytest.raises(ValueError, match="replicas is one of"):
        digests({"w": one}, replicas="frist")
    with pytest.raises(FileNotFoundError, match=r"none\.tensors\.b3"):
        verify({"w": one}, tmp_path / "none.tensors.b3")
