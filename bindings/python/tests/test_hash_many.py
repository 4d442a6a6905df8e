"""`hash_many` and what it returns."""

import contextlib
import copy
import pickle
import random
import resource
from collections import ChainMap, OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from unittest import mock

import numpy as np
import pytest
import treewide
from conftest import EDGES, pattern
from treewide import Digests, digest, hash_many


def expected(items, **mode):
    return [digest(item, **mode) for item in items]


@pytest.mark.parametrize("threads", [1, 2, 7, -1])
def test_hash_many_is_the_same_as_a_loop(threads):
    dice = random.Random(1)
    modes = [{}, {"key": b"k" * 32}, {"derive_key_context": "ctx"}, {"length": 1}, {"length": 100}]
    cases = 0
    for count in (0, 1, 2, 15, 16, 17, 200):
        items = [pattern(dice.choice([*EDGES, 0, 5, 200])) for _ in range(count)]
        for mode in modes:
            digests = hash_many(items, threads=threads, **mode)
            assert list(digests) == expected(items, **mode)
            cases += 1
    for length in EDGES:
        assert list(hash_many([pattern(length)] * 17, threads=threads)) == [digest(pattern(length))] * 17
        cases += 1
    print(f"hash_many: {cases} cases")


def test_hash_many_takes_any_iterable():
    items = [b"a", bytearray(b"bc"), memoryview(b"def"), np.arange(3.0), b"", np.zeros((2, 2), "?")]
    for many in (items, tuple(items), iter(items), (item for item in items)):
        assert list(hash_many(many)) == expected(items)
    assert list(hash_many(pattern(i % 90) for i in range(40_000))) == expected(pattern(i % 90) for i in range(40_000))
    assert list(hash_many({b"x": 1, b"y": 2}.keys())) == expected([b"x", b"y"])
    assert len(hash_many([])) == len(hash_many(())) == len(hash_many(iter(()))) == 0


def test_hash_many_of_a_mapping_is_a_mapping(tmp_path):
    weights = {"b": b"1", "a": np.arange(3.0), 7: bytearray(5000)}
    for mapping in (weights, OrderedDict(weights), MappingProxyType(weights), ChainMap(weights)):
        digests = hash_many(mapping)
        assert type(digests) is dict and list(digests) == list(mapping)
        assert digests == {name: digest(it) for name, it in weights.items()}
    assert hash_many(weights, key=b"k" * 32, length=5) == {
        n: digest(i, key=b"k" * 32, length=5) for n, i in weights.items()
    }
    out = bytearray(96)
    assert hash_many(weights, out=out) is out
    assert bytes(out) == b"".join(expected(weights.values()))
    assert hash_many({}) == {}
    np.savez(tmp_path / "weights.npz", **{"w": np.ones(9), "b": np.zeros(2)})
    with np.load(tmp_path / "weights.npz") as saved:
        assert hash_many(saved) == {"w": digest(np.ones(9)), "b": digest(np.zeros(2))}
    with pytest.raises(TypeError) as caught:
        hash_many({"good": b"", "bad": "text"})
    assert "the value of 'bad'" in caught.value.__notes__[0]


def test_hash_many_hashes_the_rows_of_arrays():
    for shape in ((5, 64), (300, 200), (4, 3, 7), (0, 5), (5, 0), (1, 5000)):
        for dtype in ("u1", "f4", "S3"):
            rows = np.arange(np.prod(shape)).astype(dtype).reshape(shape)
            assert list(hash_many(rows)) == expected(row.tobytes() for row in rows)
            assert list(hash_many(memoryview(rows))) == list(hash_many(rows))
    with pytest.raises(MemoryError, match="list of"):
        hash_many(np.empty((2**55, 0), "u1"))
    square = np.arange(64, dtype="u1").reshape(8, 8)
    for rows in (square[:, :3], square[::2], square[::-1], square[1:, 2:5], square.astype("f4")[::-2, :3]):
        assert list(hash_many(rows)) == expected(row.tobytes() for row in rows)
    cube = np.arange(120, dtype="u2").reshape(4, 5, 6)
    assert list(hash_many(cube[::-1, 1:3])) == expected(row.tobytes() for row in cube[::-1, 1:3])
    for odd in (square.T, square[:, ::2], cube[:, :, :3]):
        with pytest.raises(BufferError, match="ascontiguousarray"):
            hash_many(odd)


def test_hash_many_takes_data_with_offsets():
    data = pattern(5000)
    for dtype in ("i4", "u4", "i8", "u8", "=i8", "<i4"):
        offsets = np.array([3, 3, 10, 2000, 5000], dtype)
        assert list(hash_many(data, offsets=offsets)) == expected([b"", data[3:10], data[10:2000], data[2000:]])
        assert len(hash_many(data, offsets=offsets[:1])) == 0
    assert len(hash_many(data, offsets=np.zeros(0, "i8"))) == 0
    unaligned = np.frombuffer(b"x" + np.array([0, 5000], "i8").tobytes(), "u1")[1:].view("i8")
    assert list(hash_many(data, offsets=unaligned)) == [digest(data)]
    floats = np.arange(10.0)
    assert list(hash_many(floats, offsets=np.array([0, 8, 80]))) == expected([floats[:1], floats[1:]])
    for wrong in ([0, 5001], [5, 3], [-1, 3], [0, 2**40]):
        with pytest.raises(ValueError, match="offset"):
            hash_many(data, offsets=np.array(wrong, "i8"))
    for wrong in (b"12345678", np.zeros(2), np.zeros((2, 2), "i8"), np.zeros(2, ">i8"), np.zeros(2, "i2"), np.int64(3)):
        with pytest.raises(TypeError, match="offsets is an array"):
            hash_many(data, offsets=wrong)
    with pytest.raises(TypeError):
        hash_many([b"a"], offsets=np.zeros(2, "i8"))


def test_hash_many_names_what_it_cannot_take():
    for wrong, error in [("text", TypeError), (None, TypeError), (3, TypeError), (np.zeros((3, 3)).T, BufferError)]:
        for items in ([b"fine"] * 3 + [wrong], iter([b"fine"] * 3 + [wrong])):
            with pytest.raises(error) as caught:
                hash_many(items)
            assert "item 3 " in caught.value.__notes__[0]
    with pytest.raises(TypeError):
        hash_many("text")
    with pytest.raises(TypeError):
        hash_many(3)
    for one in (b"bytes", bytearray(b"x"), np.zeros(3), np.float64(1)):
        with pytest.raises(TypeError, match=r"treewide\.digest takes one input"):
            hash_many(one)
    with pytest.raises(ValueError, match="length"):
        hash_many([b""], length=0)
    with pytest.raises((MemoryError, OverflowError)):
        hash_many([b""] * 3, length=2**62)
    with pytest.raises(MemoryError):
        hash_many([b""] * 3, length=2**60)
    with pytest.raises(ValueError, match="threads"):
        hash_many([], threads=0)

    def fails():
        yield b"a"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        hash_many(fails())


def test_arrays_without_bytes_of_their_own_are_refused():
    objects = np.array([b"a", None], object)
    fields = np.zeros(2, [("Open", "i4"), ("x", "O")])
    for wrong in (objects, fields):
        with pytest.raises(TypeError, match="addresses"):
            digest(wrong)
    assert digest(np.zeros(2, [("Open", "i4")])) == digest(bytes(8))
    with pytest.raises(TypeError, match="addresses"):
        digest(np.zeros(2, [("date", "M8[s]"), ("x", "O")]))
    dates = np.arange(3).astype("M8[s]")
    assert digest(dates) == digest(dates.tobytes()), "types without a name in the module struct"
    with pytest.raises(BufferError, match=r"treewide\.digest"):
        treewide.blake3(dates)
    with pytest.raises(BufferError, match="ascontiguousarray"):
        digest(dates[::2])


def test_out_is_written_and_returned():
    items = [b"a", b"bc", pattern(5000)]
    rows = np.zeros((3, 32), "u1")
    assert hash_many(items, out=rows) is rows
    assert rows.tobytes() == hash_many(items).tobytes()
    for out in (bytearray(30), np.zeros(15, "u2")):
        assert bytes(hash_many(iter(items), out=out, length=10)) == hash_many(items, length=10).tobytes()
    for wrong in (bytearray(95), bytearray(97), bytearray()):
        with pytest.raises(ValueError, match="96"):
            hash_many(items, out=wrong)
    with pytest.raises(BufferError, match="read-only"):
        hash_many(items, out=bytes(96))
    with pytest.raises(BufferError):
        hash_many(items, out=np.zeros((32, 3), "u1").T)
    with pytest.raises(ValueError, match="same memory"):
        hash_many([b"a", rows, b"c"], out=rows)
    with pytest.raises(ValueError, match="same memory"):
        hash_many(rows, out=rows)
    both = bytearray(200)
    with pytest.raises(ValueError, match="same memory"):
        hash_many(memoryview(both)[:90], offsets=np.array([0, 90]), out=memoryview(both)[80:112])
    with pytest.raises(TypeError):
        hash_many([b"a", "text"], out=bytearray(64))


def test_digests_are_a_sequence():
    items = [pattern(i) for i in range(10)]
    digests, all_of_them = hash_many(items), expected(items)
    assert isinstance(digests, Sequence)
    assert (len(digests), digests.digest_size) == (10, 32)
    assert digests[3] == digests[-7] == all_of_them[3]
    for at in (10, -11, 2**62, -(2**62)):
        with pytest.raises(IndexError):
            digests[at]
    with pytest.raises((IndexError, OverflowError)):
        digests[2**70]
    for cut in (slice(2, 5), slice(None, None, -1), slice(8, 2, -3), slice(5, 5), slice(-3, None), slice(0, 10**9, 7)):
        part = digests[cut]
        assert isinstance(part, Digests) and list(part) == all_of_them[cut]
    assert all_of_them[4] in digests and bytearray(all_of_them[4]) in digests
    assert b"x" not in digests and "text" not in digests and None not in digests
    assert digests.index(all_of_them[4]) == digests.index(all_of_them[4], -6, 9) == 4
    for start, stop in ((5, 9), (0, 4), (9, 2)):
        with pytest.raises(ValueError):
            digests.index(all_of_them[4], start, stop)
    assert (digests.count(all_of_them[4]), digests.count(b""), digests.count(3)) == (1, 0, 0)
    assert list(reversed(digests)) == all_of_them[::-1]
    assert digests.hex() == [it.hex() for it in all_of_them]
    assert digests.tolist() == all_of_them
    assert digests == hash_many(items) and digests != hash_many(items[1:]) and digests == all_of_them
    assert all_of_them == digests and digests != all_of_them[1:] and digests != all_of_them[::-1] and digests != (1,)
    match digests:
        case [first, *rest]:
            assert first == all_of_them[0] and rest == all_of_them[1:]
        case _:
            raise AssertionError("digests match no sequence")
    assert Digests(b"a" * 6, 2) != Digests(b"a" * 6, 3)
    assert digests == mock.ANY and (digests == np.asarray(digests)).all(), "others are asked"
    # By this pandas knows what has one value for each row.
    assert hasattr(type(digests), "__iter__") and list(iter(digests)) == digests.tolist()
    assert repr(digests) == "<treewide.Digests: 10 of 32 bytes>"
    for other in (pickle.loads(pickle.dumps(digests)), copy.deepcopy(digests), Digests(digests.tobytes())):
        assert other == digests
    with pytest.raises(ValueError, match="33 bytes"):
        Digests(bytes(33))
    with pytest.raises(ValueError):
        Digests(b"", 0)
    with pytest.raises(TypeError):
        digests[0] = b""
    with pytest.raises(TypeError):
        hash(digests)


def test_digests_lend_their_memory():
    digests = hash_many([b"a", b"b", b"c"])
    array = np.asarray(digests)
    assert (array.shape, array.dtype, array.flags.writeable) == ((3, 32), np.uint8, False)
    assert array.tobytes() == bytes(digests) == digests.tobytes()
    assert array.ctypes.data == np.asarray(digests).ctypes.data, "nothing is copied"
    view = memoryview(digests)
    assert (view.shape, view.strides, view.format, view.c_contiguous) == ((3, 32), (32, 1), "B", True)
    assert digest(digests) == digest(bytes(digests))
    assert list(hash_many(digests)) == expected(digests.tolist()), "digests of digests"
    del digests
    assert array.tobytes() == view.tobytes(), "the memory stays"
    with pytest.raises(BufferError, match="read-only"):
        treewide.blake3().digest_into(hash_many([b""]))


def test_a_list_may_change_while_it_is_hashed():
    items = [pattern(2000) for _ in range(20_000)]
    whole = hash_many(items)
    with ThreadPoolExecutor(1) as pool:
        for _ in range(5):
            work = pool.submit(hash_many, items)
            changed = items[:]
            while not work.done():
                items.clear()
                items.extend(changed)
            assert work.result()[:0] == whole[:0] and (len(work.result()) in (0, 20_000))


def test_hash_many_leaks_nothing():
    def calls(count):
        for _ in range(count):
            hash_many([b"x", bytearray(b"y"), memoryview(b"z")])
            hash_many(iter([b"x"] * 20), length=40)
            with contextlib.suppress(TypeError):
                hash_many([bytearray(5), "text"])
            memoryview(hash_many(np.zeros((20, 20)))).tolist()

    calls(5000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    calls(20_000)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 2000, f"{grown} KiB more"


class Lazy(Mapping):
    """A mapping that makes each value in the memory of the one before."""

    def __init__(self, count):
        self.count, self.memory = count, bytearray(1000)

    def __len__(self):
        return self.count

    def __iter__(self):
        return iter(range(self.count))

    def __getitem__(self, key):
        self.memory[:] = bytes([key % 256]) * 1000
        return self.memory


def test_hash_many_takes_inputs_of_an_iterator_before_it_changes_them():
    def reused(length, count):
        memory = bytearray(length)
        for at in range(count):
            memory[:] = bytes([at % 256]) * length
            yield memory

    for length, count in ((1, 5), (1000, 300), (70_000, 3000), (3_000_000, 3)):
        known = expected(bytes([at % 256]) * length for at in range(min(count, 256)))
        wanted = [known[at % 256] for at in range(count)]
        assert list(hash_many(reused(length, count))) == wanted
        out = bytearray(32 * count)
        assert hash_many(reused(length, count), out=out) is out and out == b"".join(wanted)
    wanted = dict(enumerate(expected(bytes([at]) * 1000 for at in range(200))))
    assert hash_many(Lazy(200)) == wanted
    with pytest.raises(ValueError, match=r"out has 31 bytes, and 2 digests of 32 bytes have 64"):
        hash_many(reused(1, 2), out=bytearray(31))
    with pytest.raises(TypeError) as caught:
        hash_many(it for it in (b"a", bytearray(b"b"), 3))
    assert caught.value.__notes__ == ["this is about item 2 in the argument of hash_many"]


def test_hash_many_refuses_what_has_no_order_or_no_bytes():
    for unordered in ({b"a", b"b"}, frozenset([b"a"])):
        with pytest.raises(TypeError, match="no order"):
            hash_many(unordered)
        with pytest.raises(TypeError, match="no order"):
            treewide.hash_files(unordered)
    with pytest.raises(TypeError, match="leave it out"):
        hash_many([b"a", None])
    with pytest.raises(TypeError, match=r"text\.encode"):
        hash_many(["a"])
    for offsets in ([0, 1], (0, 1)):
        with pytest.raises(TypeError, match="offsets is an array"):
            hash_many(b"a", offsets=offsets)

    class Query:
        def collect(self):
            return [b"a"]

        def __iter__(self):
            return iter([b"a"])

    with pytest.raises(TypeError, match="collect"):
        hash_many(Query())
