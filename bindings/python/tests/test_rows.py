"""Digests of rows: every type of Arrow, in every way that it is stored, against the encoding of docs/formats.md."""

import datetime as dt
import random
import struct
from decimal import Decimal
from pathlib import Path

import pytest
from arrow_by_hand import Maker, OfArray, OfStream, bits, buffers
from treewide import digest, hash_rows

EPOCH = dt.datetime(1970, 1, 1)
NANO = 1_000_000_000


def moment(tag, nanoseconds):
    return struct.pack("<BqI", tag, *divmod(nanoseconds, NANO))


def encoded(value, of):
    """The bytes of a value of a type, which is a name or a tuple; `value` is as plain as can be."""
    if value is None:
        return b"\0"
    match of:
        case "bool":
            return b"\2" if value else b"\1"
        case "int":
            return struct.pack("<BQ", 4, value) if value >= 1 << 63 else struct.pack("<Bq", 3, value)
        case "float":
            return b"\5" + (struct.pack("<d", value) if value == value else struct.pack("<Q", 0x7FF8 << 48))
        case "decimal":
            sign, digits, exponent = value.normalize().as_tuple()
            number = int("".join(map(str, digits))) * (-1) ** sign
            return struct.pack("<Bi", 6, -exponent if number else 0) + number.to_bytes(32, "little", signed=True)
        case "text":
            return struct.pack("<BQ", 7, len(value)) + value
        case "bytes":
            return struct.pack("<BQ", 8, len(value)) + value
        case "date":
            return struct.pack("<Bq", 9, value)
        case "time":
            return struct.pack("<Bq", 10, value)
        case "timestamp":
            return moment(11, value)
        case "instant":
            return moment(12, value)
        case "duration":
            return moment(13, value)
        case "interval":
            return struct.pack("<Biiq", 14, *value)
        case ("list", each):
            return struct.pack("<BQ", 15, len(value)) + b"".join(encoded(it, each) for it in value)
        case ("struct", *fields):
            return struct.pack("<BQ", 16, len(fields)) + b"".join(map(encoded, value, fields))
        case ("map", key, each):
            pairs = b"".join(encoded(a, key) + encoded(b, each) for a, b in value)
            return struct.pack("<BQ", 17, len(value)) + pairs
    raise AssertionError(of)


def rows(columns, types):
    return [digest(b"".join(map(encoded, row, types))) for row in zip(*columns, strict=True)]


# Of a format: the type, the letter of `struct`, and how a value is stored.
UNITS = {b"s": NANO, b"m": 1_000_000, b"u": 1000, b"n": 1}
FIXED = {
    **{form: ("int", code, lambda it: [it]) for form, code in zip(b"cCsSiIlL".decode(), "bBhHiIqQ", strict=True)},
    **{form: ("float", code, lambda it: [it]) for form, code in zip("efg", "efd", strict=True)},
    "tdD": ("date", "i", lambda it: [it]),
    "tdm": ("date", "q", lambda it: [it * 86_400_000]),
    **{
        f"tt{unit.decode()}": ("time", "iiqq"[at], lambda it, n=each: [it // n])
        for at, (unit, each) in enumerate(UNITS.items())
    },
    **{f"ts{unit.decode()}:": ("timestamp", "q", lambda it, n=each: [it // n]) for unit, each in UNITS.items()},
    **{f"ts{unit.decode()}:UTC": ("instant", "q", lambda it, n=each: [it // n]) for unit, each in UNITS.items()},
    **{f"tD{unit.decode()}": ("duration", "q", lambda it, n=each: [it // n]) for unit, each in UNITS.items()},
    "tiM": ("interval", "i", lambda it: [it[0]]),
    "tiD": ("interval", "ii", lambda it: [it[1], it[2] // 1_000_000]),
    "tin": ("interval", "iiq", lambda it: it),
}
INTEGERS = {"c": (-128, 127), "C": (0, 255), "s": (-32768, 32767), "S": (0, 65535), "i": (-(1 << 31), (1 << 31) - 1)}
INTEGERS |= {"I": (0, (1 << 32) - 1), "l": (-(1 << 63), (1 << 63) - 1), "L": (0, (1 << 64) - 1)}


def some(dice, form):
    """A value that a column of the format can have."""
    if form in INTEGERS:
        low, high = INTEGERS[form]
        return dice.choice([low, high, 0, dice.randint(low, high)])
    if form in "efg":
        return dice.choice(
            [0.0, -0.0, 1.5, -(2.0**-14), 2.0**-24, float("inf"), float("nan"), dice.randint(-2048, 2048)]
        )
    if form[:2] == "td":
        return dice.randint(-50_000, 50_000)
    if form[:2] == "ti":
        month, day, nano = (dice.randint(-1000, 1000) for _ in range(3))
        return {"tiM": (month, 0, 0), "tiD": (0, day, nano * 1_000_000), "tin": (month, day, nano)}[form]
    unit = UNITS[form[2:3].encode()]
    most = 86_400 * NANO // unit - 1 if form[:2] == "tt" else 9_000_000_000 * NANO // unit
    return dice.randint(0 if form[:2] == "tt" else -most, most) * unit


def stored(maker, form, values, offset=0):
    """An array of a fixed width."""
    _, code, parts = FIXED[form]
    size = struct.calcsize("=" + code)
    data = b"".join(bytes(size) if it is None else struct.pack("=" + code, *parts(it)) for it in values)
    # A half of `struct` rounds, and takes all that we choose as it is.
    return maker.array([bits(values), data], len(values) - offset, offset)


def of_table(maker, columns, count, offset=0):
    """A table of columns with their schemas."""
    schema = maker.schema(b"+s", [it for it, _ in columns])
    return OfArray(schema, maker.array([None], count, offset, 0, [it for _, it in columns]))


@pytest.mark.parametrize("form", FIXED)
def test_values_of_a_fixed_width(form):
    dice, maker, cases = random.Random(form), Maker(), 0
    for count in (0, 1, 2000 if form in ("i", "g") else 40):
        values = [None if dice.random() < 0.2 else some(dice, form) for _ in range(count)]
        of, schema = FIXED[form][0], form.encode()
        plain = of_table(maker, [(maker.schema(schema), stored(maker, form, values))], count)
        later = OfArray(maker.schema(schema), stored(maker, form, values, count // 3))
        # Indices in reverse, and runs of one or two.
        indices = maker.array([None, bytes(reversed(range(min(count, 40))))], min(count, 40))
        indices.dictionary = maker._children(type(indices), [stored(maker, form, values)])[0]
        dictionary = OfArray(maker.schema(b"C", dictionary=maker.schema(schema)), indices)
        ends = maker.array([None, struct.pack(f"={count}i", *range(2, 2 * count + 1, 2))], count)
        runs = maker.array([], max(2 * count - 1, 0), min(count, 1), 0, [ends, stored(maker, form, values)])
        runs = OfArray(maker.schema(b"+r", [maker.schema(b"i"), maker.schema(schema)]), runs)
        twice = [it for it in values for _ in range(2)][1:]
        for table, expected in (
            (plain, values),
            (later, values[count // 3 :]),
            (dictionary, values[:40][::-1]),
            (runs, twice),
        ):
            assert list(hash_rows(table, threads=dice.choice([1, 2, -1]))) == rows([expected], [of])
            cases += 1
    print(f"rows: {cases} cases")


@pytest.mark.parametrize("bits_of", [32, 64, 128, 256])
def test_decimals_are_equal_whatever_their_scale(bits_of):
    maker, size = Maker(), bits_of // 8
    for scale in (0, 3, -2):
        numbers = [0, 1, -1, 10, -10, 1000, -12_345_000, 999_999_999, *([10**18, -(10**18) - 1] if size > 4 else [])]
        data = b"".join(it.to_bytes(size, "little", signed=True) for it in numbers)
        width = "" if size == 16 else f",{bits_of}"
        table = OfArray(maker.schema(f"d:9,{scale}{width}".encode()), maker.array([None, data], len(numbers)))
        assert list(hash_rows(table)) == rows([[Decimal(it).scaleb(-scale) for it in numbers]], ["decimal"])


def test_text_bytes_and_nested_types():
    dice, maker = random.Random(4), Maker()
    values = [
        None if dice.random() < 0.2 else bytes(dice.choices(b"abc", k=dice.choice([0, 1, 12, 13, 30])))
        for _ in range(30)
    ]
    array = {
        it: lambda it=it: (maker.schema(it), maker.array(buffers(it, values), 30))
        for it in (b"u", b"U", b"vu", b"z", b"Z", b"vz")
    }
    text, raw = rows([values], ["text"]), rows([values], ["bytes"])
    for form, make in array.items():
        table = of_table(maker, [make()], 30)
        assert list(hash_rows(table)) == (text if form[-1:] in (b"u", b"U") else raw), form
        schema, column = make()
        assert list(hash_rows(OfStream(maker.stream(schema, [column, make()[1]])))) == 2 * list(
            hash_rows(of_table(maker, [make()], 30))
        )
    fixed = [b"12345", None, b"abcde"]
    assert list(hash_rows(OfArray(maker.schema(b"w:5"), maker.array(buffers(b"w:5", fixed), 3)))) == rows(
        [fixed], ["bytes"]
    )
    # Three lists over the thirty values: 0 to 4, a null, and 7 to 30.
    lists = [values[:4], None, values[7:]]
    for form, code in ((b"+l", "i"), (b"+L", "q")):
        offsets = struct.pack(f"=4{code}", 0, 4, 7, 30)
        schema, column = array[b"u"]()
        got = hash_rows(
            OfArray(maker.schema(form, [schema]), maker.array([bits(lists), offsets], 3, children=[column]))
        )
        assert list(got) == rows([lists], [("list", "text")])
        sizes = struct.pack(f"=3{code}", 4, 3, 23)
        schema, column = array[b"vu"]()
        view = maker.array([bits(lists), offsets[: len(sizes)], sizes], 3, children=[column])
        got = hash_rows(OfArray(maker.schema(b"+v" + form[1:], [schema]), view))
        assert list(got) == rows([lists], [("list", "text")])
    schema, column = array[b"z"]()
    got = hash_rows(OfArray(maker.schema(b"+w:10", [schema]), maker.array([None], 2, 1, children=[column])))
    assert list(got) == rows([[values[10:20], values[20:]]], [("list", "bytes")])
    # A struct of a text and a number, whose first row is left out; and a map of them.
    numbers = list(range(30))
    pair = lambda: [(maker.schema(b"i"), stored(maker, "i", numbers)), array[b"u"]()]
    inner = maker.array([None], 29, 1, 0, [it for _, it in pair()])
    got = hash_rows(of_table(maker, [(maker.schema(b"+s", [it for it, _ in pair()]), inner)], 29))
    assert list(got) == rows([list(zip(numbers, values, strict=True))[1:]], [("struct", "int", "text")])
    entries = maker.array([None], 30, 0, 0, [it for _, it in pair()])
    of_map = maker.schema(b"+m", [maker.schema(b"+s", [it for it, _ in pair()])])
    got = hash_rows(OfArray(of_map, maker.array([None, struct.pack("=3i", 0, 3, 30)], 2, children=[entries])))
    maps = list(zip(numbers, values, strict=True))
    assert list(got) == rows([[maps[:3], maps[3:]]], [("map", "int", "text")])
    # Unions: a value is that of the column that it names.
    kinds = bytes(5 if at % 3 else 2 for at in range(30))
    schemas = lambda: [it for it, _ in pair()]
    columns = lambda: [it for _, it in pair()]
    expected = [digest(encoded(values[at], "text") if at % 3 else encoded(at, "int")) for at in range(30)]
    sparse = OfArray(maker.schema(b"+us:2,5", schemas()), maker.array([kinds], 30, 0, 0, columns()))
    places = struct.pack("=30i", *range(30))
    dense = OfArray(maker.schema(b"+ud:2,5", schemas()), maker.array([kinds, places], 30, 0, 0, columns()))
    assert list(hash_rows(sparse)) == list(hash_rows(dense)) == expected
    flags = [bool(dice.getrandbits(1)) for _ in range(30)]
    booleans = maker.array([None, bits([it or None for it in flags])], 30)
    assert list(hash_rows(OfArray(maker.schema(b"b"), booleans))) == rows([flags], ["bool"])
    assert list(hash_rows(OfArray(maker.schema(b"n"), maker.array([], 3, 0, 3)))) == [digest(b"\0")] * 3


def named(maker, names, columns, count):
    table = maker.schema(b"+s", [it for it, _ in columns])
    for name, (schema, _) in zip(names, columns, strict=True):
        schema.name = name
    return OfArray(table, maker.array([None], count, 0, 0, [it for _, it in columns]))


def test_columns_are_chosen_by_name_and_in_this_order():
    maker = Maker()
    make = lambda names=(b"a", b"b"): named(
        maker, names, [(maker.schema(b"i"), stored(maker, "i", [it, it])) for it in range(len(names))], 2
    )
    for columns, expected in ((None, [0, 1]), (["b", "a"], [1, 0]), (["b"], [1]), ([], []), (["a", "a"], [0, 0])):
        assert list(hash_rows(make(), columns)) == 2 * [digest(b"".join(encoded(it, "int") for it in expected))]
    with pytest.raises(ValueError, match='the table has no column "c"; it has a, b'):
        hash_rows(make(), ["c"])
    with pytest.raises(ValueError, match='several columns "a"'):
        hash_rows(make((b"a", b"a")), ["a"])
    with pytest.raises(TypeError, match="a list of names"):
        hash_rows(make(), "ab")
    for wrong in ([1], b"x", {"a": [1]}, None):
        with pytest.raises(TypeError, match="hash_rows takes a table with Arrow's interface"):
            hash_rows(wrong)


def test_what_is_not_valid_is_an_error():
    maker = Maker()
    text = lambda: maker.array([None, struct.pack("=3i", 0, 3, 9), b"abc"], 2)
    lists = lambda *offsets: maker.array([None, struct.pack("=2i", *offsets)], 1, children=[text()])
    of_list = lambda: maker.schema(b"+l", [maker.schema(b"u")])
    indices = maker.array([None, b"\xff"], 1)
    indices.dictionary = maker._children(type(indices), [stored(maker, "i", list(range(300)))])[0]
    union = maker.array([b"\7"], 1, 0, 0, [stored(maker, "i", [1])])
    for schema, array, problem in (
        (of_list(), lists(0, 3), "a list is longer than its values"),
        (of_list(), lists(2, 1), "an offset lies outside of its data"),
        (of_list(), lists(-1, 1), "an offset lies outside of its data"),
        (maker.schema(b"c", dictionary=maker.schema(b"i")), indices, "an offset lies outside of its data"),
        (maker.schema(b"+us:0", [maker.schema(b"i")]), union, "a union names a column that it does not have"),
        (maker.schema(b"tdm"), maker.array([None, bytes([1] + [0] * 7)], 1), "not a whole number of days"),
        (maker.schema(b"i"), maker.array([None], 1), "a buffer is missing"),
        (maker.schema(b"i"), maker.array([None, bytes(8)], -1), "its length or offset is negative"),
        (
            maker.schema(b"+s", [maker.schema(b"i")]),
            maker.array([bits([None]), None], 1, 0, 1, [stored(maker, "i", [1])]),
            "is null",
        ),
    ):
        with pytest.raises(ValueError, match=problem):
            hash_rows(OfArray(schema, array))
    with pytest.raises(TypeError, match="which hash_rows does not know"):
        hash_rows(OfArray(maker.schema(b"xyz"), maker.array([], 1)))


def test_the_document_has_the_digests_of_rows():
    maker = Maker()
    document = Path(__file__).parents[3] / "docs/formats.md"
    if not document.exists():
        pytest.skip("docs/formats.md is in the repository")
    columns = [
        (maker.schema(b"l"), stored(maker, "l", [1, 2, None])),
        (maker.schema(b"u"), maker.array(buffers(b"u", [b"a", None, b""]), 3)),
        (maker.schema(b"g"), stored(maker, "g", [0.5, float("nan"), -0.0])),
    ]
    text = document.read_text()
    for it in hash_rows(of_table(maker, columns, 3)):
        assert it.hex() in text


def test_tables_of_libraries():
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    table = pa.table({"n": pa.array([1, None, 3], pa.int16()), "s": pa.array(["a", "b", "a"]).dictionary_encode()})
    expected = rows([[1, None, 3], [b"a", b"b", b"a"]], ["int", "text"])
    whole = list(hash_rows(table))
    assert (
        whole
        == expected
        == list(hash_rows(table.to_batches()[0]))
        == list(hash_rows(pa.concat_tables([table[:1], table[1:]])))
    )
    digests = hash_rows(table, ["s"])
    assert pa.array(digests).to_pylist() == rows([[b"a", b"b", b"a"]], ["text"])
    days = [dt.date(1969, 12, 31), None, dt.date(2026, 11, 28)]
    times = [EPOCH, EPOCH - dt.timedelta(microseconds=1), None]
    nested = pa.table({"d": days, "t": times, "l": [[1.5], [], None]})
    micro = [0, -1000, None]
    assert list(hash_rows(nested)) == rows(
        [[-1, None, 20_785], micro, [[1.5], [], None]], ["date", "timestamp", ("list", "float")]
    )
    pl = pytest.importorskip("polars", reason="polars is not installed")
    assert list(hash_rows(pl.from_arrow(table))) == expected
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    assert list(hash_rows(pd.DataFrame({"n": [1, 2], "s": ["x", "y"]}))) == rows(
        [[1, 2], [b"x", b"y"]], ["int", "text"]
    )
