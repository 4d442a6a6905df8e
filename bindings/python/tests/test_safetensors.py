"""`treewide.weights.digests` of safetensors files: those of the tests, and of the package if it is installed."""

import json
import os
import random
import threading
import time

import numpy as np
import pytest
from conftest import pattern
from treewide import digest, hash_many, weights


def digests(path, **options):
    return {name: it.digest for name, it in weights.digests(path, **options).items()}


TYPES = {"F32": "f4", "F64": "f8", "U8": "u1", "I16": "i2", "BOOL": "?"}


def write(path, header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes((len(text) if length is None else length).to_bytes(8, "little") + text + data)
    return path


def save(path, tensors, metadata=None):
    """Writes arrays one after the other, with a header in another order."""
    header, data = {}, b""
    for name, tensor in tensors.items():
        dtype = next(name for name, dtype in TYPES.items() if tensor.dtype == dtype)
        offsets = [len(data), len(data) + tensor.nbytes]
        header[name] = {"dtype": dtype, "shape": list(tensor.shape), "data_offsets": offsets}
        data += tensor.tobytes()
    names = sorted(header, key=lambda name: name[::-1])
    whole = {"__metadata__": metadata} if metadata else {}
    return write(path, {**whole, **{name: header[name] for name in names}}, data)


def one(first, last, dtype="U8", shape=None):
    return {"dtype": dtype, "shape": [last - first] if shape is None else shape, "data_offsets": [first, last]}


def test_tensors_are_hashed_as_hash_many_does(tmp_path):
    dice, cases = random.Random(3), 0
    tile, part = 512 * 1024, 4 << 20
    edges = [0, 1, 1024, 1025, tile - 1, tile, tile + 1, part - 1, part, part + 1, part + 1024, 2 * part + 5000]
    data = np.random.default_rng(1).integers(0, 256, 2 * part + 9999, "u1")
    tensors = {f"edge {length}": data[length % 7 :][:length] for length in edges}
    tensors |= {f"small {i}": data[i:][: dice.choice([0, 4, 300, 9000, 100_000])] for i in range(100)}
    names = list(tensors)
    dice.shuffle(names)
    tensors = {name: tensors[name] for name in names}
    path = save(tmp_path / "model.safetensors", tensors, {"format": "pt"})
    expected = hash_many(tensors)
    for threads in (None, 1, 2, 3, -1):
        found = digests(path, threads=threads, stable=threads == 2)
        assert found == expected
        assert list(found) == sorted(names)
        cases += len(found)
    print(f"safetensors: {cases} cases")


def test_types_and_shapes_are_checked(tmp_path):
    tensors = {name: np.zeros((3, 2, 2), dtype) for name, dtype in TYPES.items()}
    tensors |= {"scalar": np.ones((), "f8"), "empty": np.zeros((0, 5), "f4")}
    assert digests(str(save(tmp_path / "a.safetensors", tensors))) == hash_many(tensors)
    for dtype, shape, length in [
        ("BF16", [3], 6),
        ("F4", [2, 3], 3),
        ("F6_E2M3", [4], 3),
        ("F8_E4M3", [7], 7),
        ("C64", [2], 16),
        ("LATER", [9], 4),
    ]:
        path = write(tmp_path / "b.safetensors", {"x": one(0, length, dtype, shape)}, pattern(length))
        assert digests(path) == {"x": digest(pattern(length))}


def test_empty_files_and_blanks(tmp_path):
    for header in (b"{}", b'{"__metadata__":{"a":"b"}}     ', json.dumps({"x": one(0, 0)}).encode()):
        with pytest.raises(ValueError, match="a: has no weights: there is no tensor, or none has bytes"):
            digests(write(tmp_path / "a", header))
    assert digests(write(tmp_path / "a", json.dumps({"x": one(0, 2)}).encode() + b"   ", b"ab")) == {"x": digest(b"ab")}


def test_headers_that_are_not_valid_are_refused(tmp_path):
    path = tmp_path / "wrong.safetensors"
    for header, data, length, match in (
        ({"a": one(0, 4), "b": one(3, 6)}, b"123456", None, "tensors 'a' and 'b' overlap, at byte 3"),
        ({"a": one(0, 4, "BF16", [3])}, b"1234", None, r"tensor 'a': shape .* does not have 4 bytes"),
        (b"{}", b"", 100_000_001, "at most 100000000"),
    ):
        with pytest.raises(ValueError, match=match) as caught:
            digests(write(path, header, data, length))
        assert str(caught.value).startswith(f"{path}: ")
    with open(path, "wb") as file:
        file.write((100_000_000).to_bytes(8, "little") + b"{")
        file.truncate(100_000_008)
    with pytest.raises(ValueError, match="does not end with"):
        digests(path)


def test_models_in_several_files(tmp_path):
    parts = {
        f"model-0000{i}.safetensors": {f"layer.{i}.{j}": np.full(1000 * j, i, "f4") for j in range(4)} for i in range(3)
    }
    for name, tensors in parts.items():
        save(tmp_path / name, tensors)
    weights = {tensor: name for name, tensors in parts.items() for tensor in tensors}
    index = tmp_path / "model.safetensors.index.json"

    def with_weights(weights):
        index.write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": weights}))
        return index

    expected = {name: digest for tensors in parts.values() for name, digest in hash_many(tensors).items()}
    seen = []
    assert digests(with_weights(weights), progress=seen.append) == expected
    assert seen == sorted(seen) and seen[-1] == sum(t.nbytes for tensors in parts.values() for t in tensors.values())
    with pytest.raises(ValueError, match=r"model-00001\.safetensors: the index says that tensor 'new' is in this file"):
        digests(with_weights({**weights, "new": "model-00001.safetensors"}))
    with pytest.raises(
        ValueError, match=r"model-00002\.safetensors: tensor 'layer\.2\.3' is in this file, and the index"
    ):
        digests(with_weights({name: shard for name, shard in weights.items() if name != "layer.2.3"}))
    with pytest.raises(FileNotFoundError, match="missing"):
        digests(with_weights({"a": "missing.safetensors"}))


def test_files_that_cannot_be_read_name_themselves(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"missing\.safetensors"):
        digests(tmp_path / "missing.safetensors")
    with pytest.raises(OSError):
        digests(tmp_path)
    with pytest.raises(TypeError):
        digests(3)
    path = save(tmp_path / "a.safetensors", {"x": np.zeros(3, "f4")})
    with pytest.raises(ValueError):
        digests(path, threads=0)


def test_a_file_that_becomes_shorter_is_an_error(tmp_path):
    path = write(tmp_path / "large.safetensors", {"x": one(0, 1 << 30)})
    start = path.stat().st_size

    def cut(*_):
        os.truncate(path, 1 << 20)

    # No disk has to store zeros.
    os.truncate(path, start + (1 << 30))
    with pytest.raises(OSError, match=r"large\.safetensors: .*shrank.*1048576 of"):
        digests(path, progress=cut, threads=1)


def test_progress_may_stop_it(tmp_path):
    path = save(tmp_path / "large.safetensors", {"x": np.zeros(40 << 20, "u1")})

    def stop(done):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        digests(path, progress=stop)
    seen = []
    digests(path, progress=seen.append)
    assert seen[-1] == 40 << 20


def test_other_threads_run_while_it_hashes(tmp_path):
    path = save(tmp_path / "large.safetensors", {"x": np.zeros(60 << 20, "u1")})
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            # What it appends shows that it runs: it waits for nothing.
            time.sleep(0.0005)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.monotonic()
    digests(path, threads=1)
    end = time.monotonic()
    done.set()
    thread.join()
    assert any(start < at < end for at in ticks)


def test_files_of_the_package_safetensors(tmp_path):
    library = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
    tensors = {"b": np.arange(10.0), "a": np.zeros((3, 0)), "c": np.ones((100, 100), "f2"), "d": np.array(3)}
    library.save_file(tensors, tmp_path / "a.safetensors", {"made by": "a test"})
    assert (
        digests(tmp_path / "a.safetensors")
        == hash_many(library.load_file(tmp_path / "a.safetensors"))
        == hash_many(tensors)
    )


def test_a_model_of_pytorch_on_disk_and_in_memory(tmp_path):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    library = pytest.importorskip("safetensors.torch", reason="safetensors is not installed")
    model = torch.nn.Sequential(torch.nn.Linear(500, 3000), torch.nn.LayerNorm(3000)).to(torch.bfloat16)
    library.save_file(model.state_dict(), tmp_path / "a.safetensors")
    assert digests(tmp_path / "a.safetensors") == hash_many(model.state_dict())
