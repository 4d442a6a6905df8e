"""`digest` and `hexdigest`."""

import array
import ctypes
import mmap
import sys

import numpy as np
import pytest
import treewide
from conftest import EDGES, pattern
from treewide import digest, hexdigest


def test_digest_has_the_known_answers(vectors):
    key, context = vectors["key"].encode(), vectors["context"]
    for case in vectors["cases"]:
        data = pattern(case["len"])
        for mode, name in [({}, "hash"), ({"key": key}, "keyed_hash"), ({"derive_key_context": context}, "derive_key")]:
            expected = bytes.fromhex(case[name])
            assert digest(data, **mode) == expected[:32]
            assert digest(bytearray(data), **mode) == expected[:32]
            assert digest(data, length=len(expected), **mode) == expected
            assert digest(data, length=7, **mode) == expected[:7]
            assert digest(data, threads=-1, **mode) == expected[:32]
            assert hexdigest(data, **mode) == expected.hex()[:64]
            assert hexdigest(data, length=len(expected), **mode) == expected.hex()
            assert treewide.blake3(data, **mode).digest(len(expected)) == expected


def test_digest_is_the_same_as_the_class_at_edges():
    for length in EDGES:
        data = pattern(length)
        assert digest(data) == treewide.blake3(data).digest()


@pytest.mark.parametrize("threads", [1, 2, 3, 1000, -1])
def test_digest_is_the_same_with_any_number_of_threads(threads):
    data = pattern(5_000_003)
    for mode in ({}, {"key": bytes(32)}, {"length": 100}):
        assert digest(data, threads=threads, **mode) == digest(data, **mode)


def test_digest_takes_the_bytes_of_any_items():
    for dtype in ("u1", "i1", "?", "u2", "f2", "f4", "f8", "c16", "S5", "V3", ">i4"):
        values = np.zeros((3, 5), dtype)
        assert digest(values) == digest(values.tobytes())
    assert digest(np.float64(1.5)) == digest(np.float64(1.5).tobytes())
    assert digest(array.array("d", [1.5])) == digest(array.array("d", [1.5]).tobytes())
    assert digest((ctypes.c_int * 3)(1, 2, 3)) == digest(bytes((ctypes.c_int * 3)(1, 2, 3)))
    assert digest(memoryview(bytes(8)).cast("H")) == digest(bytes(8))
    empty = np.zeros((0, 7))
    assert digest(empty) == digest(b"")
    with mmap.mmap(-1, 100) as mapping:
        assert digest(mapping) == digest(bytes(100))
    read_only = np.arange(10)
    read_only.flags.writeable = False
    assert digest(read_only) == digest(read_only.tobytes())


def test_digest_refuses_what_is_not_contiguous():
    square = np.arange(16).reshape(4, 4)
    for odd in (square.T, square[:, 1], square[::2], np.asfortranarray(square), memoryview(bytes(9))[::2]):
        with pytest.raises(BufferError, match="ascontiguousarray"):
            digest(odd)
        with pytest.raises(BufferError, match="ascontiguousarray"):
            hexdigest(odd)


def test_digest_names_what_it_cannot_take():
    with pytest.raises(TypeError, match=r"text\.encode"):
        digest("text")
    for wrong in (None, 1, 1.5, [1], {}, object(), iter(b"")):
        with pytest.raises(TypeError, match=type(wrong).__name__):
            digest(wrong)
    for wrong, advice in (([b"a"], "hash_many"), ((b"a",), "hash_many"), (3, "buffer protocol")):
        with pytest.raises(TypeError, match=advice):
            digest(wrong)
    with open(__file__, "rb") as file, pytest.raises(TypeError, match="update_reader"):
        digest(file)
    with pytest.raises(TypeError, match=r"numpy\.asarray"):
        digest(HasArray())
    released = memoryview(b"abc")
    released.release()
    with pytest.raises(ValueError, match="released"):
        digest(released)
    with pytest.raises(TypeError):
        digest()
    with pytest.raises(TypeError):
        digest(b"", b"")
    with pytest.raises(TypeError):
        digest(data=b"")


def test_digest_checks_its_parameters():
    for wrong in (b"", bytes(31), bytes(33)):
        with pytest.raises(ValueError, match=f"this one has {len(wrong)}"):
            digest(b"", key=wrong)
    with pytest.raises(ValueError, match="exclude each other"):
        digest(b"", key=bytes(32), derive_key_context="")
    with pytest.raises(TypeError):
        digest(b"", derive_key_context=b"bytes")
    with pytest.raises(UnicodeEncodeError):
        digest(b"", derive_key_context="\ud800")
    with pytest.raises(TypeError):
        digest(b"", key="x" * 32)
    for wrong in (0, -2, -(2**63)):
        with pytest.raises(ValueError, match="threads"):
            digest(b"", threads=wrong)
    with pytest.raises(OverflowError):
        digest(b"", threads=2**64)
    for function in (digest, hexdigest):
        assert len(function(b"", length=0)) == 0
        with pytest.raises(OverflowError):
            function(b"", length=-1)
        with pytest.raises(OverflowError):
            function(b"", length=2**64)
        with pytest.raises((OverflowError, MemoryError)):
            function(b"", length=sys.maxsize)
        with pytest.raises((OverflowError, MemoryError)):
            function(b"", length=2**63)


class HasArray:
    """Digests in a column, as pandas has them."""

    def __array__(self):
        return np.zeros(3)


class Exporter:
    """Raises an error of its own when it is asked for a buffer."""

    def __buffer__(self, flags):
        raise ZeroDivisionError("mine")


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python code exports buffers from 3.12 on")
def test_digest_hands_on_the_error_of_an_exporter():
    with pytest.raises(ZeroDivisionError, match="mine"):
        digest(Exporter())


class Both(bytes):
    """Bytes with a buffer of their own."""

    def __buffer__(self, flags):
        return memoryview(b"buffer")


def test_subclasses_of_bytes_are_taken_by_their_buffers():
    expected = b"buffer" if sys.version_info >= (3, 12) else b"bytes"
    assert digest(Both(b"bytes")) == digest(expected) == treewide.blake3(Both(b"bytes")).digest()
    assert treewide.hash_many([b"a", Both(b"bytes"), b"c"]).tolist() == [digest(b"a"), digest(expected), digest(b"c")]


def test_digest_releases_its_buffers():
    data, key = bytearray(100), bytearray(32)
    digest(data, key=key)
    with pytest.raises(ValueError):
        digest(data, key=bytearray(3))
    with pytest.raises(BufferError):
        treewide.blake3(np.frombuffer(data, "u2"))
    data.append(1)
    key.append(1)
