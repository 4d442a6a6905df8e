"""Columns of Apache Arrow: those of libraries, if they are installed, and those of `arrow_by_hand`."""

import gc
import pickle
import random
import resource
import struct

import numpy as np
import pytest
from arrow_by_hand import Maker, OfArray, OfStream, buffers, capsule, column
from conftest import EDGES, pattern
from treewide import Digests, digest, hash_many

FORMATS = [b"z", b"Z", b"u", b"U", b"vz", b"vu", b"w:20"]


def expected(items, **mode):
    return [None if item is None else digest(item, **mode) for item in items]


def some(dice, count, form, nulls):
    lengths = [20] if form[:1] == b"w" else [0, 1, 11, 12, 13, 20, 200, *dice.sample(EDGES, 5)]
    # Not a part of the pattern at the same place, so that no value is another's.
    values = [
        bytes([i % 256]) * (length > 0) + pattern(max(length - 1, 0))
        for i, length in enumerate(dice.choice(lengths) for _ in range(count))
    ]
    return [None if nulls and dice.random() < 0.3 else value for value in values]


@pytest.mark.parametrize("form", FORMATS)
def test_columns_are_hashed_as_lists_are(form):
    dice, maker, cases = random.Random(2), Maker(), 0
    for count in (0, 1, 2, 15, 16, 17, 200):
        for nulls in (False, True):
            values = some(dice, count, form, nulls)
            for offset, length in ((0, count), (count // 3, count // 2), (count, 0)):
                part = values[offset : offset + length]
                parts = [column(maker, form, values, offset, length) for _ in range(4)]
                sources = [
                    OfArray(maker.schema(form), parts[0]),
                    OfStream(maker.stream(maker.schema(form), parts[1:3])),
                    OfArray(
                        maker.schema(b"+s", [maker.schema(form)]),
                        maker.array([None], length, 0, 0, [column(maker, form, values, offset, length)]),
                    ),
                ]
                for source, times in zip(sources, (1, 2, 1), strict=True):
                    mode = dice.choice([{}, {"key": b"k" * 32}, {"length": 40}, {"length": 5, "threads": 1}])
                    digests = hash_many(source, nulls="keep", **mode)
                    shown = {key: value for key, value in mode.items() if key != "threads"}
                    assert list(digests) == expected(part * times, **shown)
                    assert digests.null_count == times * part.count(None)
                    cases += 1
    print(f"arrow: {cases} cases")


def test_a_table_may_begin_later_than_its_column():
    maker = Maker()
    values = [b"a", b"b", None, b"d", b"e"]
    child = column(maker, b"z", values, 1)
    table = maker.array([None], 2, 1, 0, [child])
    assert hash_many(OfArray(maker.schema(b"+s", [maker.schema(b"z")]), table), nulls="keep").tolist() == expected(
        values[2:4]
    )


def test_many_small_parts_are_hashed_together():
    maker = Maker()
    values = [b"%d" % i for i in range(300)]
    parts = [column(maker, b"z", values, at, 1) for at in range(300)]
    assert list(hash_many(OfStream(maker.stream(maker.schema(b"z"), parts)))) == expected(values)
    large = [column(maker, b"Z", [b"x" * 3] * 10_000) for _ in range(5)]
    assert list(hash_many(OfStream(maker.stream(maker.schema(b"Z"), large)))) == [digest(b"xxx")] * 50_000


def test_nulls_are_errors_unless_they_are_kept():
    maker = Maker()

    def make():
        parts = [column(maker, b"z", [b"a"] * 9), column(maker, b"z", [b"b", None, b"c"])]
        return OfStream(maker.stream(maker.schema(b"z"), parts))

    with pytest.raises(ValueError, match=r"value 10 of this Arrow column is null.*nulls=\"keep\""):
        hash_many(make())
    out = np.full((12, 32), 7, "u1")
    with pytest.raises(ValueError, match="null"):
        hash_many(make(), out=out)
    assert (out == 7).all()
    assert hash_many(make(), nulls="keep", out=out) is out
    assert not out[10].any() and out[11].tobytes() == digest(b"c")
    with pytest.raises(ValueError, match='nulls is "error" or "keep"'):
        hash_many([], nulls="drop")
    with pytest.raises(TypeError):
        hash_many([None], nulls="keep")
    counted = maker.array(buffers(b"z", [b"a", None]), 2, 0, 0)
    assert len(hash_many(OfArray(maker.schema(b"z"), counted))) == 2, "the producer says that there are no nulls"


def test_out_takes_a_stream():
    maker = Maker()

    def make(parts):
        return OfStream(maker.stream(maker.schema(b"z"), [column(maker, b"z", [b"a", b"b"]) for _ in range(parts)]))

    out = bytearray(4 * 32)
    assert hash_many(make(2), out=out) is out
    assert bytes(out) == b"".join(expected([b"a", b"b"] * 2))
    assert hash_many(make(0), out=(empty := bytearray())) is empty
    for parts in (0, 1, 3):
        with pytest.raises(ValueError, match="128"):
            hash_many(make(parts), out=out)


def test_other_types_say_what_to_do():
    maker = Maker()

    def take(schema):
        return hash_many(OfArray(schema, maker.array([None, b"12345678"], 1)))

    for form in (b"l", b"n", b"+l", b"tdD", b""):
        with pytest.raises(TypeError, match="cast it to binary or string"):
            take(maker.schema(form))
    with pytest.raises(TypeError, match="dictionary-encoded"):
        take(maker.schema(b"i", dictionary=maker.schema(b"u")))
    for count in (0, 2):
        with pytest.raises(TypeError, match=f"table has {count} columns.*pass a column"):
            take(maker.schema(b"+s", [maker.schema(b"z") for _ in range(count)]))
    with pytest.raises(TypeError, match="two capsules"):
        hash_many(type("Wrong", (), {"__arrow_c_array__": lambda self: 3})())
    with pytest.raises(ValueError, match="PyCapsule_GetPointer"):
        hash_many(type("Wrong", (), {"__arrow_c_stream__": lambda self: 3})())
    with pytest.raises(ZeroDivisionError):
        hash_many(type("Wrong", (), {"__arrow_c_stream__": lambda self: 1 / 0})())


def test_arrays_that_are_not_valid_are_refused():
    maker = Maker()
    two = struct.pack("=3i", 0, 1, 2)

    def refused(form, data, match, length=2, **more):
        with pytest.raises(ValueError, match=match):
            hash_many(OfArray(maker.schema(form), maker.array(data, length, **more)))

    refused(b"z", [None, two, b"ab"], "negative", length=-1)
    refused(b"z", [None, two, b"ab"], "negative", offset=-1)
    refused(b"z", [None, two, b"ab"], "fit into memory", length=2**63 - 1, offset=2**63 - 1)
    refused(b"z", [None, None, b"ab"], "no offsets")
    refused(b"z", [None, two, None], "buffer is missing")
    refused(b"z", [], "no offsets")
    refused(b"z", [None, struct.pack("=3i", 0, 2, 1), b"ab"], "offset number")
    refused(b"z", [None, struct.pack("=3i", 0, 3, 0), b"ab"], "offset number")
    refused(b"z", [None, struct.pack("=3i", -2, 0, 1), b"ab"], "first or last offset")
    refused(b"z", [None, struct.pack("=3i", 2, 1, 0), b"ab"], "first or last offset")
    refused(b"Z", [None, struct.pack("=3q", 0, -1, 2), b"ab"], "offset number 1")
    refused(b"w:x", [None, b"ab"], "width")
    refused(b"w:-1", [None, b"ab"], "width")
    refused(b"w:4294967295", [None, b"ab"], "fit into memory", length=2**40)
    refused(b"w:1", [None, None], "buffer is missing")
    far = struct.pack("=i4sii", 20, b"abcd", 0, 1)
    refused(b"vz", [None, far, b"x" * 20, struct.pack("=q", 20)], "outside of its data", length=1)
    for wrong in ((20, 1, 0), (20, -1, 0), (20, 0, -1), (-1, 0, 0), (2**31 - 1, 0, 0)):
        view = struct.pack("=i4sii", wrong[0], b"abcd", *wrong[1:])
        refused(b"vz", [None, view, b"x" * 20, struct.pack("=q", 20)], "outside of its data", length=1)
    refused(b"vz", [None, far, b"x" * 20, struct.pack("=q", -1)], "length of a data buffer", length=1)
    refused(b"vz", [None, far, b"x" * 20, None], "buffer is missing", length=1)
    refused(b"vz", [None, far], "at least 3 buffers", length=1)

    def table(length, nulls, children):
        array = maker.array([b"\0"], length, 0, nulls, children)
        return OfArray(maker.schema(b"+s", [maker.schema(b"z")]), array)

    with pytest.raises(ValueError, match="shorter than the table"):
        hash_many(table(3, 0, [maker.array([None, two, b"ab"], 2)]))
    with pytest.raises(ValueError, match="rows of the table are null"):
        hash_many(table(2, 1, [maker.array([None, two, b"ab"], 2)]))
    with pytest.raises(ValueError, match="no column"):
        hash_many(table(2, 0, []))
    ones = maker.array([None, struct.pack("=3i", 9, 9, 9), None], 2)
    assert list(hash_many(OfArray(maker.schema(b"z"), ones))) == expected([b"", b""]), "no data is fine"
    assert len(hash_many(OfArray(maker.schema(b"z"), maker.array([], 0)))) == 0, "no buffers are fine"


def test_streams_pass_on_errors():
    maker = Maker()

    def make(error):
        return OfStream(maker.stream(maker.schema(b"z"), [column(maker, b"z", [b"a"])], error))

    with pytest.raises(ValueError, match="cannot be read: the disk is gone"):
        hash_many(make(b"the disk is gone"))
    with pytest.raises(ValueError, match="cannot be read: error 5"):
        hash_many(make(b""))
    source = OfArray(maker.schema(b"z"), column(maker, b"z", [b"a"]))
    assert len(hash_many(source)) == 1
    with pytest.raises(ValueError, match="used before"):
        hash_many(source)
    wrong = capsule(maker.schema(b"z"), b"dltensor"), capsule(column(maker, b"z", []), b"dltensor")
    with pytest.raises(ValueError, match="name"):
        hash_many(type("Wrong", (), {"__arrow_c_array__": lambda self: wrong})())


def test_every_structure_is_released():
    maker = Maker()
    for form in FORMATS:
        values = [b"v" * 20] * 20
        hash_many(OfArray(maker.schema(form), column(maker, form, values)))
        hash_many(OfStream(maker.stream(maker.schema(form), [column(maker, form, values) for _ in range(3)])))
    with pytest.raises(TypeError):
        hash_many(OfStream(maker.stream(maker.schema(b"l"), [])))
    with pytest.raises(ValueError):
        hash_many(OfStream(maker.stream(maker.schema(b"z"), [column(maker, b"z", [None])])))
    assert maker.alive == 0


def test_digests_with_nulls_are_a_sequence():
    values = [b"a", None, b"c", None, *[b"x"] * 20, None]
    maker = Maker()
    digests = hash_many(OfArray(maker.schema(b"z"), column(maker, b"z", values)), nulls="keep")
    all_of_them = expected(values)
    assert list(digests) == digests.tolist() == all_of_them and digests.null_count == 3
    assert digests.hex() == [it and it.hex() for it in all_of_them]
    for cut in (slice(1, 4), slice(None, None, -1), slice(4, 20), slice(3, None, 7)):
        assert digests[cut].tolist() == all_of_them[cut]
        assert digests[cut].null_count == all_of_them[cut].count(None)
    assert None in digests and digests.index(None) == 1 and digests.index(None, 2) == 3 and digests.count(None) == 3
    assert bytes(32) not in digests and digests.count(bytes(32)) == 0
    assert not np.asarray(digests)[1].any() and np.asarray(digests)[2].any()
    assert pickle.loads(pickle.dumps(digests)) == digests
    assert digests != Digests(digests.tobytes()) and Digests(digests.tobytes())[1] == bytes(32)
    assert repr(digests) == "<treewide.Digests: 25 of 32 bytes, 3 null>"
    assert hash_many(digests, nulls="keep").tolist() == expected(all_of_them)
    assert Digests(b"abc", 1, b"\xfd") == Digests(b"axc", 1, b"\x05"), "what is null has no value"
    for wrong in (b"", b"12"):
        with pytest.raises(ValueError, match="validity"):
            Digests(b"abc", 1, wrong)
    assert hash_many([b""]).null_count == 0 and None not in hash_many([b""])
    assert str(Digests[bytes | None]).endswith("Digests[bytes | None]")


def test_capsules_that_nobody_takes_leak_nothing():
    digests = hash_many([b"a", b"b"] * 5000)

    def calls(count):
        for _ in range(count):
            digests.__arrow_c_array__()
            hash_many(digests)

    calls(200)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    calls(2000)
    gc.collect()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 4000, f"{grown} KiB more"


# ---- Libraries ------------------------------------------------------------------------------------

VALUES = [b"ash", b"", b"a hornbeam in the hedge", b"x" * 3000, b"elm"]
TEXT = [value.decode() for value in VALUES]


def test_columns_of_pyarrow():
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    for kind in ("binary", "large_binary", "binary_view", "string", "large_string", "string_view"):
        values = VALUES if "binary" in kind else TEXT
        array = pa.array(values, getattr(pa, kind)())
        assert list(hash_many(array)) == expected(VALUES)
        assert list(hash_many(array[1:4])) == expected(VALUES[1:4])
        assert list(hash_many(pa.chunked_array([array, array[2:], array[:0]]))) == expected(VALUES + VALUES[2:])
        with_null = pa.array([*values, None], getattr(pa, kind)())
        assert list(hash_many(with_null[1:], nulls="keep")) == expected([*VALUES[1:], None])
        with pytest.raises(ValueError, match="value 5 "):
            hash_many(with_null)
    assert list(hash_many(pa.array([b"abc", b"def"], pa.binary(3))[1:])) == expected([b"def"])
    table = pa.table({"name": TEXT, "number": range(5)})
    assert list(hash_many(table["name"])) == list(hash_many(table.select(["name"]))) == expected(VALUES)
    with pytest.raises(TypeError, match="2 columns"):
        hash_many(table)
    reader = pa.RecordBatchReader.from_batches(
        pa.schema([("name", pa.string())]), iter(pa.record_batch({"name": TEXT}) for _ in range(3))
    )
    assert list(hash_many(reader)) == expected(VALUES * 3)


def test_a_reader_of_pyarrow_that_fails():
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

    def fails():
        yield pa.record_batch({"name": TEXT})
        raise RuntimeError("the database is gone")

    with pytest.raises((RuntimeError, ValueError), match="the database is gone"):
        hash_many(pa.RecordBatchReader.from_batches(pa.schema([("name", pa.string())]), fails()))


def test_digests_become_arrays_of_pyarrow_in_place():
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    digests = hash_many(VALUES)
    array = pa.array(digests)
    array.validate(full=True)
    assert (array.type, array.to_pylist()) == (pa.binary(32), digests.tolist())
    assert array.buffers()[1].address == np.asarray(digests).ctypes.data, "nothing is copied"
    address = array.buffers()[1].address
    del digests
    gc.collect()
    assert array.to_pylist() == expected(VALUES) and array.buffers()[1].address == address
    kept = hash_many(pa.array([b"a", None, b"c"]), nulls="keep", length=8)
    again = pa.array(kept)
    again.validate(full=True)
    assert (again.type, again.null_count, again.to_pylist()) == (pa.binary(8), 1, kept.tolist())
    assert again.cast(pa.binary()).to_pylist() == kept.tolist()
    assert pa.array(hash_many([])).to_pylist() == []


def test_columns_of_polars():
    pl = pytest.importorskip("polars", reason="polars is not installed")
    for values in (VALUES, TEXT):
        series = pl.Series("name", values)
        assert list(hash_many(series)) == expected(VALUES)
        assert list(hash_many(series[1:4])) == expected(VALUES[1:4])
        assert list(hash_many(pl.concat([series, series[2:]], rechunk=False))) == expected(VALUES + VALUES[2:])
        assert list(hash_many(pl.DataFrame({"name": series}))) == expected(VALUES)
        kept = hash_many(pl.Series([*values, None]), nulls="keep")
        assert list(kept) == expected([*VALUES, None]) == pl.Series(kept).to_list()
    with pytest.raises(TypeError, match="cast it"):
        hash_many(pl.Series([1, 2]))
    with pytest.raises(TypeError, match="categorical"):
        hash_many(pl.Series(TEXT, dtype=pl.Categorical))


def test_columns_of_pandas():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    if not hasattr(pd.Series, "__arrow_c_stream__"):
        pytest.skip(f"pandas {pd.__version__} has no Arrow interface of columns")
    for kind, values in (("str", TEXT), (pd.ArrowDtype(pa.binary()), VALUES), (object, VALUES)):
        series = pd.Series(values, dtype=kind)
        assert list(hash_many(series)) == expected(VALUES)
        assert list(hash_many(series[series != values[4]])) == expected(VALUES[:4])
    assert list(hash_many(pd.Series([b"a", None]), nulls="keep")) == expected([b"a", None])
    # A column of digests, and not one value for all rows.
    frame = pd.DataFrame({"name": ["x", "y", "x", None]})
    frame["digest"] = hash_many(frame["name"], nulls="keep")
    assert frame["digest"].tolist() == pd.Series(hash_many(frame["name"], nulls="keep")).tolist()
    assert frame["digest"].tolist() == expected([b"x", b"y", b"x", None])
    assert frame.drop_duplicates("digest").index.tolist() == [0, 1, 3]


def test_results_of_duckdb():
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    relation = duckdb.sql("SELECT 'row ' || range AS name FROM range(5000)")
    assert list(hash_many(relation)) == expected(b"row %d" % i for i in range(5000))
    assert list(hash_many(duckdb.sql("SELECT unhex('00ff') AS b"))) == expected([b"\0\xff"])
    with pytest.raises(ValueError, match="value 1 "):
        hash_many(duckdb.sql("SELECT unnest(['a', NULL])"))
