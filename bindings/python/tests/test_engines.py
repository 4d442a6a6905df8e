"""The adapters of docs/tensors.md on stand-ins: weights that are cut and fused as the programs do it."""

import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from treewide import digest
from treewide.weights import Different, TensorDigest, digests, merge

np = pytest.importorskip("numpy", reason="numpy is not installed")

TEXT = (Path(__file__).parents[3] / "docs/tensors.md").read_text(encoding="utf-8")
TEXT = TEXT.partition("\n## Engines and trainers\n")[2].partition("\n## ")[0]
DOCUMENT: dict = {}
for block in re.findall(r"^```python\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE):
    exec(compile(block, "docs/tensors.md", "exec"), DOCUMENT)

HEAD, HIDDEN, INNER, LAYERS, WORDS = 10, 130, 96, 2, 77


def checkpoint(heads, groups):
    """A small Llama, as the files have it."""
    make = np.random.default_rng(heads)
    shapes = {"model.embed_tokens": (WORDS, HIDDEN), "lm_head": (WORDS, HIDDEN), "model.norm": (HIDDEN,)}
    for number in range(LAYERS):
        layer = f"model.layers.{number}."
        shapes |= {
            f"{layer}self_attn.q_proj": (heads * HEAD, HIDDEN),
            f"{layer}self_attn.k_proj": (groups * HEAD, HIDDEN),
            f"{layer}self_attn.v_proj": (groups * HEAD, HIDDEN),
            f"{layer}self_attn.o_proj": (HIDDEN, heads * HEAD),
            f"{layer}mlp.gate_proj": (INNER, HIDDEN),
            f"{layer}mlp.up_proj": (INNER, HIDDEN),
            f"{layer}mlp.down_proj": (HIDDEN, INNER),
            f"{layer}input_layernorm": (HIDDEN,),
            f"{layer}post_attention_layernorm": (HIDDEN,),
        }
    return {f"{name}.weight": make.standard_normal(shape).astype("f2") for name, shape in shapes.items()}


def expected(full):
    return {name: TensorDigest("F16", it.shape, digest(it.tobytes())) for name, it in full.items()}


def config(heads, groups):
    return SimpleNamespace(
        hidden_size=HIDDEN, head_dim=HEAD, num_attention_heads=heads, num_key_value_heads=groups, vocab_size=WORDS
    )


def rows(tensor, rank, ranks):
    return np.split(tensor, ranks)[rank]


def columns(tensor, rank, ranks):
    return np.ascontiguousarray(np.split(tensor, ranks, axis=1)[rank])


def padded(tensor, rank, ranks, to):
    """Rows of a vocabulary that is padded to a multiple of `to` rows."""
    whole = np.zeros((-(-len(tensor) // to) * to, tensor.shape[1]), tensor.dtype)
    whole[: len(tensor)] = tensor
    return rows(whole, rank, ranks)


def serve(full, rank, ranks, groups):
    """The parameters of a rank of vLLM."""
    own = {
        name: padded(full[name], rank, ranks, 64 * ranks) for name in ("model.embed_tokens.weight", "lm_head.weight")
    }
    own["model.norm.weight"] = full["model.norm.weight"]
    for number in range(LAYERS):
        layer = f"model.layers.{number}."

        def part(name, layer=layer):
            return full[f"{layer}{name}.weight"]

        def keys(name, part=part):
            return rows(part(name), rank * groups // ranks, groups) if groups < ranks else rows(part(name), rank, ranks)

        own |= {
            f"{layer}self_attn.qkv_proj.weight": np.concatenate(
                [rows(part("self_attn.q_proj"), rank, ranks), keys("self_attn.k_proj"), keys("self_attn.v_proj")]
            ),
            f"{layer}mlp.gate_up_proj.weight": np.concatenate(
                [rows(part("mlp.gate_proj"), rank, ranks), rows(part("mlp.up_proj"), rank, ranks)]
            ),
            f"{layer}self_attn.o_proj.weight": columns(part("self_attn.o_proj"), rank, ranks),
            f"{layer}mlp.down_proj.weight": columns(part("mlp.down_proj"), rank, ranks),
        }
        own |= {f"{layer}{it}.weight": part(it) for it in ("input_layernorm", "post_attention_layernorm")}
    return own


@pytest.mark.parametrize(("ranks", "heads", "groups"), [(1, 8, 2), (2, 8, 2), (4, 8, 2), (8, 8, 2), (2, 8, 8)])
def test_serving_gives_the_digests_of_the_checkpoint(ranks, heads, groups):
    # The columns of each rank.
    full = checkpoint(heads, groups)
    engines = [serve(full, rank, ranks, groups) for rank in range(ranks)]

    def answers():
        about = config(heads, groups)
        return [
            DOCUMENT["answer"](own.items(), DOCUMENT["serving"], rank, ranks, about) for rank, own in enumerate(engines)
        ]

    assert merge(answers()) == expected(full)
    # A bit in the keys of the last rank: another rank that has these keys too says so.
    engines[-1]["model.layers.1.self_attn.qkv_proj.weight"].view("u2")[heads // ranks * HEAD + 3, 5] ^= 1
    if groups < ranks:
        with pytest.raises(Different, match=r"layers\.1\.self_attn\.k_proj"):
            merge(answers())
    else:
        found = merge(answers())
        changed = [name for name, it in expected(full).items() if found[name] != it]
        assert changed == ["model.layers.1.self_attn.k_proj.weight"]


def test_digests_of_vllm_are_merged_from_its_workers(monkeypatch):
    full, ranks = checkpoint(8, 2), 2
    at = SimpleNamespace(rank=0)
    distributed = ModuleType("vllm.distributed")
    distributed.get_tensor_model_parallel_rank = lambda: at.rank
    distributed.get_tensor_model_parallel_world_size = lambda: ranks
    monkeypatch.setitem(sys.modules, "vllm", ModuleType("vllm"))
    monkeypatch.setitem(sys.modules, "vllm.distributed", distributed)

    def apply_model(function):
        answers = []
        for rank in range(ranks):
            at.rank, own = rank, serve(full, rank, ranks, 2)
            answers.append(function(SimpleNamespace(named_parameters=own.items, config=config(8, 2))))
        return answers

    assert DOCUMENT["digests_of_vllm"](SimpleNamespace(apply_model=apply_model)) == expected(full)


def train(full, stage, rank, ranks, heads, groups):
    """The parameters of a rank of Megatron-LM, with one layer in each stage of the pipeline."""
    layer, own = f"model.layers.{stage}.", {}

    def part(name):
        return full[f"{layer}{name}.weight"]

    if stage == 0:
        own["embedding.word_embeddings.weight"] = padded(full["model.embed_tokens.weight"], rank, ranks, 128 * ranks)
    else:
        own["output_layer.weight"] = padded(full["lm_head.weight"], rank, ranks, 128 * ranks)
        own["decoder.final_layernorm.weight"] = full["model.norm.weight"]
    by_group = [np.split(part(f"self_attn.{it}_proj"), groups) for it in "qkv"]
    fused = np.concatenate([rows_of for group in zip(*by_group, strict=True) for rows_of in group])
    gate_up = [rows(part(f"mlp.{it}_proj"), rank, ranks) for it in ("gate", "up")]
    names = {
        "self_attention.linear_qkv.weight": rows(fused, rank, ranks),
        "self_attention.linear_qkv.layer_norm_weight": part("input_layernorm"),
        "self_attention.linear_proj.weight": columns(part("self_attn.o_proj"), rank, ranks),
        "mlp.linear_fc1.weight": np.concatenate(gate_up),
        "mlp.linear_fc1.layer_norm_weight": part("post_attention_layernorm"),
        "mlp.linear_fc2.weight": columns(part("mlp.down_proj"), rank, ranks),
    }
    return own | {f"decoder.layers.0.{name}": it for name, it in names.items()}


# With four ranks and two groups, ranks have parts of a group.
@pytest.mark.parametrize(("ranks", "heads", "groups"), [(1, 8, 2), (2, 8, 2), (4, 8, 2), (2, 8, 8)])
def test_megatron_gives_the_digests_of_the_checkpoint(ranks, heads, groups):
    full = checkpoint(heads, groups)
    answers = [
        DOCUMENT["answer"](
            train(full, stage, rank, ranks, heads, groups).items(),
            DOCUMENT["megatron"],
            rank,
            ranks,
            config(heads, groups),
            stage,
        )
        for stage in range(LAYERS)
        for rank in range(ranks)
    ]
    assert merge(answers) == expected(full)


@pytest.mark.parametrize(
    ("adapter", "name"),
    [("megatron", "decoder.layers.0.mlp.router.weight"), ("serving", "model.layers.0.mlp.experts.w13_weight")],
)
def test_adapters_refuse_parameters_that_they_do_not_know(adapter, name):
    with pytest.raises(ValueError, match=r"weight: the adapter does not know"):
        DOCUMENT["answer"]([(name, np.zeros((4, HIDDEN), "f2"))], DOCUMENT[adapter], 0, 1, config(8, 2))


def test_parameters_in_training_are_hashed():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    full = checkpoint(8, 2)
    for adapter, own in (("serving", serve(full, 0, 1, 2)), ("megatron", train(full, 0, 0, 1, 8, 2))):
        parameters = {name: torch.nn.Parameter(torch.from_numpy(it)) for name, it in own.items()}
        found = merge([DOCUMENT["answer"](parameters.items(), DOCUMENT[adapter], 0, 1, config(8, 2))])
        assert found.items() <= expected(full).items()


def test_parts_of_a_pipeline_have_one_state():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    stages = [torch.nn.Sequential(torch.nn.Linear(7, 5)), torch.nn.Linear(5, 3)]
    found = DOCUMENT["digests_of_titan"](stages)
    assert set(found) == {"0.weight", "0.bias", "weight", "bias"}
    assert found["weight"].digest == digest(stages[1].weight.detach().numpy().tobytes())


def test_fingerprints_are_written_with_each_checkpoint(monkeypatch, tmp_path):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    transformers = ModuleType("transformers")
    transformers.TrainerCallback = object
    monkeypatch.setitem(sys.modules, "transformers", transformers)
    model, folder = torch.nn.Linear(7, 5), tmp_path / "checkpoint-3"
    folder.mkdir()
    state = SimpleNamespace(global_step=3, is_world_process_zero=True)
    callback = DOCUMENT["fingerprints"]()
    callback.on_save(SimpleNamespace(output_dir=str(tmp_path)), state, None, model=model, optimizer=None)
    assert digests(folder / "model.tensors.b3")["bias"].digest == digest(model.bias.detach().numpy().tobytes())
