"""`treewide.weights` with files and lists. Nothing here needs PyTorch."""

import json
import subprocess
import sys

import numpy as np
import pytest
import treewide
from treewide.weights import TensorDigest, TensorDigests, Values, VerifyError, compare, digests, verify


def save(path, tensors):
    """Writes 32-bit arrays one after the other."""
    header, data = {}, b""
    for name, tensor in tensors.items():
        offsets = [len(data), len(data) + tensor.nbytes]
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": offsets}
        data += tensor.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


MODEL = {
    "b": np.arange(6, dtype="f4").reshape(2, 3),
    "a\t\\ü\n": np.float32(2).reshape(()),
    "empty": np.zeros((0, 5), "f4"),
}


def test_tensors_have_type_shape_and_the_digest_of_hash_many(tmp_path):
    path = save(tmp_path / "model.safetensors", MODEL)
    hashed = treewide.hash_many(MODEL)
    for threads in (1, treewide.AUTO):
        found = digests(path, threads=threads)
        assert found == {name: TensorDigest("F32", it.shape, hashed[name]) for name, it in MODEL.items()}
    assert digests(tmp_path) == found, "a directory"
    seen = []
    digests(path, progress=seen.append)
    assert seen[-1] == sum(it.nbytes for it in MODEL.values())


def test_lists_come_back_and_are_those_of_the_command(tmp_path):
    path = save(tmp_path / "model.safetensors", MODEL)
    found = digests(path)
    found.save(tmp_path / "model.tensors.b3")
    assert digests(tmp_path / "model.tensors.b3") == found
    text = (tmp_path / "model.tensors.b3").read_bytes()
    assert found.fingerprint == treewide.digest(text)
    command = [sys.executable, "-m", "treewide", "tensors", str(path)]
    assert subprocess.run(command, capture_output=True, check=True).stdout == text
    (tmp_path / "wrong.tensors.b3").write_bytes(text.replace(b"\n", b"\r\n"))
    with pytest.raises(ValueError, match=r"wrong\.tensors\.b3:1: ends in CR LF"):
        digests(tmp_path / "wrong.tensors.b3")
    with pytest.raises(FileNotFoundError):
        digests(tmp_path / "missing.tensors.b3")
    for wrong, match in [
        (TensorDigest("F 32", (), b"0" * 32), "x: the type"),
        (TensorDigest("F32", (), b"0" * 31), "x: a digest has 32 bytes, and this one has 31"),
    ]:
        made = TensorDigests({"x": wrong})
        for call in (lambda it: it.fingerprint, lambda it: it.save(tmp_path / "x"), lambda it: compare(found, it)):
            with pytest.raises(ValueError, match=match):
                call(made)
    assert not (tmp_path / "x").exists()
    with pytest.raises((OverflowError, TypeError)):
        print(TensorDigests({"x": TensorDigest("F32", (-1,), b"0" * 32)}).fingerprint)


def test_every_place_takes_every_kind(tmp_path):
    path = save(tmp_path / "model.safetensors", MODEL)
    save(tmp_path / "other.safetensors", {**MODEL, "b": MODEL["b"] + 1})
    found = digests(path)
    found.save(tmp_path / "a.tensors.b3")
    one = TensorDigests(found)
    kinds = [path, str(path), tmp_path, tmp_path / "a.tensors.b3", found, one, dict(found)]
    for x in kinds:
        for expected in (*kinds, found.fingerprint, found.fingerprint.hex()):
            assert verify(x, expected) and verify(x, expected, stable=True)
            if expected in kinds:
                assert compare(x, expected)
    for expected in (tmp_path / "other.safetensors", digests(tmp_path / "other.safetensors").fingerprint, "0" * 64):
        with pytest.raises(VerifyError, match=r"these are not the weights|is expected") as raised:
            verify(tmp_path, expected)
    assert raised.value.report is None
    with pytest.raises(VerifyError, match="CHANGED   b  F32") as raised:
        verify(path, tmp_path / "other.safetensors")
    assert [it.name for it in raised.value.report.findings] == ["b"] and not raised.value.report
    with pytest.raises(TypeError, match="a fingerprint does not say"):
        compare(found.fingerprint, found)
    short = {name.removeprefix("b"): it for name, it in found.items()}
    assert verify(found, short, rename=lambda name: name.removeprefix("b"))
    with pytest.raises(ValueError, match="two tensors have the name x"):
        digests(path, rename=lambda name: "x")
    assert digests(tmp_path).not_read == (tmp_path / "other.safetensors",)
    assert str(compare(tmp_path, found)) == f"2 same, 1 empty; not read: {tmp_path / 'other.safetensors'}"


def test_values_say_by_how_much_models_differ(tmp_path):
    old, new = (save(tmp_path / it, MODEL) for it in ("old", "new.safetensors"))
    other = MODEL["b"].copy()
    other[1, 2] = 7
    save(new, {**MODEL, "b": other})
    report = compare(old, new, values=True, rename=lambda name: f"x.{name}")
    (found,) = report.findings
    assert found.name == "x.b" and found.values == Values(6, 5, 2.0, pytest.approx(2 / 55**0.5))
    text = "F32[2,3], 1 of 2 rows: 1; 5 of 6 values equal, largest difference 2.0e0, relative norm 2.7e-1"
    assert found.detail == text and text in str(report)
    assert compare(old, new).findings[0].values is None
    digests(old).save(tmp_path / "old.tensors.b3")
    with pytest.raises(ValueError, match=r"old\.tensors\.b3: is a list, which has no values"):
        compare(tmp_path / "old.tensors.b3", new, values=True)
    with pytest.raises(TypeError, match="save the one in memory"):
        compare(digests(old), new, values=True)


def test_nothing_is_never_the_same(tmp_path):
    found = digests(save(tmp_path / "model.safetensors", MODEL))
    (tmp_path / "empty.tensors.b3").write_bytes(b"")
    empty = TensorDigest("F32", (0,), treewide.digest(b""))
    for nothing in ({}, {"x": empty}, tmp_path / "empty.tensors.b3"):
        for call in (digests, lambda it: verify(it, it), lambda it: verify(it, found), lambda it: compare(found, it)):
            with pytest.raises(ValueError, match="no weights: there is no tensor, or none has bytes"):
                call(nothing)
    for wrong in (None, 5, {"x": b"bytes"}, [found]):
        with pytest.raises((TypeError, ValueError), match=r"a model is a|there are no weights"):
            digests(wrong)
    with pytest.raises(TypeError, match="there is no option thread: threads, "):
        digests(found, thread=3)


def test_compare_reports_what_differs():
    names = ("same", "was", "changed", "gone")
    old = {name: TensorDigest("F32", (2,), bytes([at]) * 32) for at, name in enumerate(names)}
    new = {"same": old["same"], "is": old["was"], "changed": old["same"], "new": TensorDigest("F16", (), b"n" * 32)}
    report = compare(old, new)
    assert not report and compare(old, old)
    assert [(it.verdict, it.name, it.other) for it in report.findings] == [
        ("changed", "changed", None),
        ("removed", "gone", None),
        ("added", "new", None),
        ("moved", "was", "is"),
    ]
    assert {word for word, number in report.counts.items() if number == 0} == {"empty", "retyped", "reshaped", "alias"}
    assert str(report).splitlines()[-2:] == ["MOVED     was  -> is", "1 same, 1 changed, 1 moved, 1 added, 1 removed"]
    report = compare(old, {f"module.{name}": it for name, it in old.items()})
    assert report.prefixes == ("module.",) and "behind module." in str(report)


def test_tied_weights_are_aliases(tmp_path):
    header = {"embed": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}, "__metadata__": {"head": "embed"}}
    text = json.dumps(header).encode()
    path = tmp_path / "tied.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"1")
    tied = digests(path)
    assert set(tied) == {"embed"} and tied.aliases == {"head": "embed"}
    other = TensorDigest("U8", (1,), treewide.digest(b"2"))
    both = {"embed": tied["embed"], "head": tied["embed"]}
    named = TensorDigests(both, {"head": "embed"})
    assert named.fingerprint == tied.fingerprint != TensorDigests(both).fingerprint
    for it in (dict(tied), tied, both, named):
        assert verify(it, tied) and verify(tied, it) and compare(it, path)
    assert [it.verdict for it in compare(tied, dict(tied)).findings] == ["alias"]
    for it in ({**both, "head": other}, {"head": other}, {"embed": other}):
        with pytest.raises(VerifyError):
            verify(it, tied)
    with pytest.raises(VerifyError):
        verify(both, dict(tied))
    renamed = digests(tied, rename=lambda name: f"model.{name}")
    assert renamed.aliases == {"model.head": "model.embed"} and set(renamed) == {"model.embed"}


def test_gguf_files_that_are_not_valid_are_refused(tmp_path):
    path = tmp_path / "a.gguf"
    path.write_bytes(b"GGUF" + (1).to_bytes(4, "little") + bytes(16))
    with pytest.raises(ValueError, match=r"a\.gguf: this is GGUF version 1;"):
        digests(path)


def test_files_of_the_package_gguf(tmp_path):
    library = pytest.importorskip("gguf", reason="gguf is not installed")
    path = tmp_path / "model.gguf"
    writer = library.GGUFWriter(path, "llama")
    writer.add_uint32("x.y", 3)
    writer.add_array("tokens", ["a", "bc"])
    rows = np.random.default_rng(0).standard_normal((8, 256), dtype="f4")
    tensors = {"F32": rows, "F16": rows.astype("f2")}
    for name, tensor in tensors.items():
        writer.add_tensor(name, tensor)
    types = library.GGMLQuantizationType
    for name in ("Q8_0", "Q4_0", "Q6_K", "BF16", "IQ4_NL", "MXFP4", "TQ1_0"):
        kind = types[name]
        items, length = library.GGML_QUANT_SIZES[kind]
        tensors[name] = np.random.default_rng(1).integers(0, 256, (8, 256 // items * length), "u1")
        writer.add_tensor(name, tensors[name], raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    found = digests(path)
    assert found == {name: TensorDigest(name, (8, 256), treewide.digest(it)) for name, it in tensors.items()}
