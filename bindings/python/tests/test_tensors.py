"""Tensors through DLPack: those of `dlpack_by_hand`, and those of libraries, if they are installed."""

import numpy as np
import pytest
from conftest import pattern
from dlpack_by_hand import Lent
from treewide import blake3, digest, hash_many, hexdigest

VERSIONS = [None, (1, 0), (1, 1), (1, 9)]


class OnlyTensor:
    """An array of NumPy with its exports, without its buffer."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)


@pytest.mark.parametrize("version", VERSIONS)
def test_tensors_are_hashed_by_their_bytes(version):
    data = pattern(5000)
    for shape, bits, lanes, length in [
        ((5000,), 8, 1, 5000),
        ((2, 5), 32, 1, 40),
        ((), 64, 1, 8),
        ((7,), 16, 1, 14),  # bfloat16
        ((3,), 4, 2, 3),  # float4 in pairs
        ((3,), 4, 1, 2),
        ((9,), 1, 1, 2),
        ((4,), 6, 1, 3),
        ((5,), 128, 1, 80),
        ((2, 0, 3), 32, 1, 0),
        ((0,), 8, 1, 0),
    ]:
        for offset in (0, 3):
            if offset + length > len(data):
                continue
            lent = Lent(data, shape, bits, lanes, byte_offset=offset, version=version)
            expected = data[offset : offset + length]
            assert digest(lent) == digest(expected)
            assert hexdigest(lent, key=b"k" * 32, length=40) == hexdigest(expected, key=b"k" * 32, length=40)
            assert list(hash_many([b"a", lent, b"b"])) == [digest(b"a"), digest(expected), digest(b"b")]
            assert lent.deleted == 3
            assert lent.asked[0] == {"max_version": (1, 1)} and (lent.asked[-1] == {}) == (version is None)


def test_small_items_may_have_a_byte_each():
    data = pattern(100)
    assert digest(Lent(data, (9,), 4, flags=4)) == digest(data[:9])
    assert digest(Lent(data, (3,), 16, flags=4 | 1)) == digest(data[:6]), "what is read-only is fine"


def test_strides_of_contiguous_tensors_are_accepted():
    data = pattern(48)
    for shape, strides in [
        ((2, 3), (3, 1)),
        ((1, 6), (99, 1)),
        ((6, 1), (1, 77)),
        ((1, 1), (5, 5)),
        ((0, 3), (9, 9)),
        ((), ()),
    ]:
        assert digest(Lent(data, shape, 64, strides=strides)) == digest(data[: 8 * int(np.prod(shape))])
    for shape, strides in [
        ((2, 3), (1, 2)),
        ((3,), (2,)),
        ((3,), (-1,)),
        ((2, 3), (4, 1)),
        ((3,), (0,)),
        ((2, 2), (2**63 - 1, 1)),
    ]:
        lent = Lent(data, shape, 64, strides=strides)
        with pytest.raises(BufferError, match=r"x\.contiguous\(\)"):
            digest(lent)
        assert lent.deleted == 1


def test_rows_of_a_tensor_are_inputs():
    data = pattern(60)
    assert list(hash_many(Lent(data, (5, 3), 32))) == [digest(data[i : i + 12]) for i in range(0, 60, 12)]
    out = np.zeros((5, 32), "u1")
    assert hash_many(Lent(data, (5, 3, 1), 32), out=out) is out and out[1].tobytes() == digest(data[12:24])
    for shape in ((), (15,)):
        with pytest.raises(TypeError, match=r"treewide\.digest takes one input"):
            hash_many(Lent(data, shape, 32))
    assert hash_many({"w": Lent(data, (15,), 32), "b": b"x"}) == {"w": digest(data), "b": digest(b"x")}


def test_tensors_elsewhere_say_what_to_do():
    for device, name in [
        ((2, 1), "CUDA device 1"),
        ((13, 0), "CUDA"),
        ((10, 0), "ROCm"),
        ((8, 0), "Metal"),
        ((77, 0), "other"),
    ]:
        lent = Lent(None, (3,), 8, device=device)
        with pytest.raises(BufferError, match=rf"{name}.*x\.cpu\(\)"):
            digest(lent)
        assert lent.asked == [], "the producer is not asked to synchronise"
    for device in ((1, 0), (3, 0), (11, 2)):
        assert digest(Lent(b"abc", (3,), 8, device=device)) == digest(b"abc"), "pinned memory is the CPU's"
    lies = Lent(b"abc", (3,), 8, device=(2, 0))
    lies.device = (1, 0)
    with pytest.raises(BufferError, match="CUDA"):
        digest(lies)
    with pytest.raises(BufferError) as caught:
        hash_many([b"a", Lent(None, (3,), 8, device=(2, 1))])
    assert "item 1 " in caught.value.__notes__[0]


def test_broken_tensors_are_refused():
    for lent, error, match in [
        (Lent(b"abc", (3,), 8, version=(2, 0)), BufferError, r"DLPack 2\.0"),
        (Lent(b"abc", (3,), 64, code=3), TypeError, "addresses"),
        (Lent(b"abc", (-3,), 8), BufferError, "negative"),
        (Lent(b"abc", (2**40, 2**40), 8), BufferError, "more bytes"),
        (Lent(b"abc", (2**62,), 64), BufferError, "more bytes"),
        (Lent(None, (3,), 8), BufferError, "no memory"),
    ]:
        with pytest.raises(error, match=match):
            digest(lent)
        assert lent.deleted == 1
    lent = Lent(b"abc", (3,), 8)
    capsule = lent.__dlpack__()
    once = type("Once", (), {"__dlpack__": lambda self, **_: capsule, "__dlpack_device__": lambda self: (1, 0)})()
    assert digest(once) == digest(b"abc")
    with pytest.raises(ValueError, match="used before"):
        digest(once)
    assert lent.deleted == 1
    for returned in (None, 3, b"abc"):
        wrong = type(
            "Wrong", (), {"__dlpack__": lambda self, it=returned, **_: it, "__dlpack_device__": lambda self: (1, 0)}
        )()
        with pytest.raises(TypeError, match="capsule of DLPack"):
            digest(wrong)
    failing = type("Failing", (), {"__dlpack__": lambda self, **_: 1 / 0, "__dlpack_device__": lambda self: (1, 0)})()
    with pytest.raises(ZeroDivisionError):
        digest(failing)
    with pytest.raises(AttributeError, match="__dlpack_device__"):
        digest(type("Half", (), {"__dlpack__": lambda self: None})())
    with pytest.raises(TypeError, match="bytes-like"):
        blake3(Lent(b"abc", (3,), 8))


def test_arrays_of_numpy_come_through_dlpack_too():
    for dtype in ("u1", "f4", "f2", "?", "c16"):
        array = np.arange(24).astype(dtype).reshape(2, 3, 4)
        assert digest(OnlyTensor(array)) == digest(array)
        assert list(hash_many(OnlyTensor(array))) == list(hash_many(array))
        with pytest.raises(BufferError, match="contiguous"):
            digest(OnlyTensor(array.T))
    array.flags.writeable = False
    assert digest(OnlyTensor(array)) == digest(array)
    with pytest.raises(BufferError, match="ascontiguousarray"):
        digest(array.T)
    with pytest.raises(TypeError, match="addresses"):
        digest(np.array([b"a", None], object))
    out = np.zeros((2, 12), "u1")
    with pytest.raises(ValueError, match="same memory"):
        hash_many(OnlyTensor(out), out=out, length=12)


def test_tensors_of_pytorch():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    data = bytes(range(256)) * 12
    raw = torch.frombuffer(bytearray(data), dtype=torch.uint8)
    kinds = [
        "float32",
        "float64",
        "float16",
        "bfloat16",
        "int8",
        "int64",
        "bool",
        "complex64",
        "float8_e4m3fn",
        "float8_e5m2",
        "uint16",
        "float4_e2m1fn_x2",
    ]
    done = 0
    for kind in filter(lambda kind: hasattr(torch, kind), kinds):
        tensor = raw.view(getattr(torch, kind)) if kind != "bool" else raw > 7
        expected = digest(data) if kind != "bool" else digest((raw > 7).numpy())
        try:
            tensor.__dlpack__()
        except (BufferError, RuntimeError) as error:
            print(f"SKIPPED: torch {torch.__version__} does not export {kind}: {error}")
            with pytest.raises((BufferError, RuntimeError)):
                digest(tensor)
            continue
        assert digest(tensor) == hash_many([tensor])[0] == expected, kind
        done += 1
    assert done >= 8
    square = torch.arange(12.0).reshape(3, 4)
    assert list(hash_many(square)) == [digest(row) for row in square.numpy()]
    for strided in (square.T, square[:, :2]):
        with pytest.raises(BufferError, match=r"x\.contiguous\(\)"):
            digest(strided)
    assert digest(square[1:]) == digest(square.numpy()[1:])
    assert digest(torch.tensor(3.0)) == digest(np.float32(3)) and digest(torch.empty(0, 3)) == digest(b"")
    with pytest.raises(BufferError, match=r"x\.detach\(\)"):
        digest(torch.nn.Parameter(square))
    model = torch.nn.Sequential(torch.nn.Linear(20, 30), torch.nn.BatchNorm1d(30)).to(torch.bfloat16)
    digests = hash_many(model.state_dict())
    assert list(digests) == list(model.state_dict())
    assert digests["0.weight"] == digest(model[0].weight.detach().view(torch.uint8).numpy())
    with pytest.raises(BufferError, match="detach") as caught:
        hash_many(dict(model.named_parameters()))
    assert "'0.weight'" in caught.value.__notes__[0]
    with pytest.raises((BufferError, RuntimeError)):
        digest(torch.eye(3).to_sparse())
    with pytest.raises((BufferError, RuntimeError, ValueError)):
        digest(torch.empty(3, device="meta"))


def test_arrays_of_jax():
    jax = pytest.importorskip("jax", reason="jax is not installed")
    for kind in ("float32", "bfloat16", "int8", "bool"):
        array = jax.numpy.arange(24).reshape(4, 6).astype(kind)
        rows = np.asarray(array)
        assert digest(array) == digest(rows), kind
        assert list(hash_many(array)) == list(hash_many(rows))
        assert hash_many({"w": array}) == {"w": digest(rows)}
