"""`treewide.safetensors.tensors`, `treewide.gguf.tensors` and the lists of `treewide.tensors`."""

import json
import subprocess
import sys

import numpy as np
import pytest
import treewide
from treewide import gguf, safetensors
from treewide.tensors import TensorDigest, compare, fingerprint, read_list, write_list


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
    digests = treewide.hash_many(MODEL)
    for threads in (1, treewide.AUTO):
        found = safetensors.tensors(path, threads=threads)
        assert found == {name: TensorDigest("F32", it.shape, digests[name]) for name, it in MODEL.items()}
        assert list(found) == list(MODEL), "the order of the header"
    assert safetensors.tensors(tmp_path) == found, "a directory"
    assert safetensors.digests(tmp_path) == digests
    seen = []
    safetensors.tensors(path, progress=seen.append)
    assert seen[-1] == sum(it.nbytes for it in MODEL.values())


def test_lists_come_back_and_are_those_of_the_command(tmp_path):
    path = save(tmp_path / "model.safetensors", MODEL)
    found = safetensors.tensors(path)
    write_list(tmp_path / "model.tensors.b3", found)
    assert read_list(tmp_path / "model.tensors.b3") == found
    text = (tmp_path / "model.tensors.b3").read_bytes()
    assert fingerprint(found) == treewide.digest(text)
    command = [sys.executable, "-m", "treewide", "tensors", str(path)]
    assert subprocess.run(command, capture_output=True, check=True).stdout == text
    (tmp_path / "wrong.tensors.b3").write_bytes(text.replace(b"\n", b"\r\n"))
    with pytest.raises(ValueError, match=r"wrong\.tensors\.b3:1: ends in CR LF"):
        read_list(tmp_path / "wrong.tensors.b3")
    with pytest.raises(FileNotFoundError):
        read_list(tmp_path / "missing.tensors.b3")
    for wrong, match in [
        (TensorDigest("F 32", (), b"0" * 32), "x: the type"),
        (TensorDigest("F32", (), b"0" * 31), "x: a digest has 32 bytes, and this one has 31"),
    ]:
        for function in (fingerprint, lambda it: write_list(tmp_path / "x", it), lambda it: compare({}, it)):
            with pytest.raises(ValueError, match=match):
                function({"x": wrong})
    with pytest.raises((OverflowError, TypeError)):
        fingerprint({"x": TensorDigest("F32", (-1,), b"0" * 32)})


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
    assert {word for word, number in report.counts.items() if number == 0} == {"retyped", "reshaped"}
    assert str(report).splitlines()[-2:] == ["MOVED     was  -> is", "1 same, 1 changed, 1 moved, 1 added, 1 removed"]
    assert compare(old, {f"module.{name}": it for name, it in new.items()}).prefix == "module."


def test_gguf_files_that_are_not_valid_are_refused(tmp_path):
    path = tmp_path / "a.gguf"
    path.write_bytes(b"GGUF" + (1).to_bytes(4, "little") + bytes(16))
    with pytest.raises(ValueError, match=r"a\.gguf: this is GGUF version 1;"):
        gguf.tensors(path)


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
    found = gguf.tensors(path)
    assert found == {name: TensorDigest(name, (8, 256), treewide.digest(it)) for name, it in tensors.items()}
