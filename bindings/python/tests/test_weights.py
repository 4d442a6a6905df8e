"""`treewide.weights.parts` and `merge`: full tensors from pieces in several processes. Nothing here needs PyTorch."""

import itertools
import json
import os
import random
import struct

import pytest
from conftest import pattern
from treewide import digest
from treewide._tensors.layouts import Placement, indices_of
from treewide._treewide import Parts
from treewide.weights import Different, Missing, Piece, TensorDigest, merge, parts

np = pytest.importorskip("numpy", reason="numpy is not installed")

#: `scripts/slow.sh shardings` makes 10,000 cases of 700.
SCALE = float(os.environ.get("TREEWIDE_TEST_SCALE", "1"))


def cut(array, placement, ranks, rank):
    """The part that PyTorch gives to a rank, by its own rule: `torch.chunk`, in pieces for a split factor."""

    def chunk(array, ranks, rank):
        size = -(-array.shape[placement.dim] // ranks)
        index = [slice(None)] * array.ndim
        index[placement.dim] = slice(size * rank, size * (rank + 1))
        return array[tuple(index)]

    if placement.dim < 0:
        return array
    pieces = [chunk(array, placement.split_factor, piece) for piece in range(placement.split_factor)]
    return np.concatenate([chunk(it, ranks, rank) for it in pieces], axis=placement.dim)


def test_random_shardings_give_the_digest_of_the_full_tensor():
    choice = random.Random(1)
    shards = 0
    cases = round(700 * SCALE)
    for case in range(cases):
        shape = [
            choice.choice((0, 1, 2, 3, 5, 8, 16, 33, 64, 100)) for _ in range(choice.choice((0, 1, 1, 2, 2, 2, 3, 4)))
        ]
        while int(np.prod(shape)) > 100_000:
            shape[choice.randrange(len(shape))] = 3
        item = choice.choice((1, 2, 4, 8))
        mesh = [choice.choice((1, 2, 3, 4)) for _ in range(choice.choice((1, 1, 2, 2, 3)))]
        placements = [
            Placement(choice.randrange(-1, len(shape)), choice.choice((1, 1, 2, 3))) if shape else Placement(-1)
            for _ in mesh
        ]
        full = np.frombuffer(choice.randbytes(int(np.prod(shape)) * item), dtype=f"V{item}").reshape(shape)
        whole = Parts(full.nbytes)
        whole._keep_cut_chunks()
        bodies = []
        for coordinate in itertools.product(*map(range, mesh)):
            local = full
            for placement, ranks, rank in zip(placements, mesh, coordinate, strict=True):
                local = cut(local, placement, ranks, rank)
            known = Parts(full.nbytes)
            indices = indices_of(shape, placements, mesh, coordinate)
            known._hash_block(np.ascontiguousarray(local).tobytes(), item, shape, indices)
            bodies.append(known.to_bytes())
            shards += 1
        choice.shuffle(bodies)
        for body in bodies:
            whole.absorb(Parts.from_bytes(body))
        assert (whole.missing(), whole.unchecked()) == ([], []), (case, shape, mesh, placements)
        assert whole.finish() == digest(full.tobytes()), (case, shape, mesh, placements)
    print(f"shardings: {cases} cases, {shards} shards")


def test_pieces_of_an_engine_without_a_group():
    """Fused rows, columns, and a padded vocabulary on two ranks, as an engine has them."""
    make = np.random.default_rng(2)
    full = {
        name: make.standard_normal(shape).astype("f2")
        for name, shape in (
            ("q", (96, 130)),
            ("k", (32, 130)),
            ("down", (130, 96)),
            ("embed", (77, 130)),
            ("norm", (130,)),
        )
    }

    def answer(rank):
        fused = np.concatenate([full["q"][rank * 48 : rank * 48 + 48], full["k"][rank * 16 : rank * 16 + 16]])
        padded = np.zeros((80, 130), "f2")
        padded[:77] = full["embed"]
        vocabulary = padded[rank * 40 : rank * 40 + 40][: 77 - rank * 40]
        return parts(
            {
                "q": Piece(fused[:48], (96, 130), (rank * 48, 0)),
                "k": [Piece(fused[48:], (32, 130), (rank * 16, 0))],
                "down": Piece(
                    np.ascontiguousarray(full["down"][:, rank * 48 : rank * 48 + 48]), (130, 96), (0, rank * 48)
                ),
                "embed": Piece(vocabulary, (77, 130), (rank * 40, 0)),
                "norm": Piece(full["norm"], (130,), (0,)),
            }
        )

    answers = [answer(rank) for rank in range(2)]
    expected = {name: TensorDigest("F16", it.shape, digest(it.tobytes())) for name, it in full.items()}
    assert merge(answers) == merge(reversed(answers)) == expected
    with pytest.raises(Missing, match=r"q: no process has bytes 12480\.\.24960 of 24960") as caught:
        merge(answers[:1])
    assert (caught.value.name, caught.value.start, caught.value.stop) == ("q", 12480, 24960)
    full["norm"][7] += 1
    with pytest.raises(Different, match=r"norm: bytes .* of rank 0 are not those of rank 1") as caught:
        merge([("rank 0", answers[0]), ("rank 1", answer(1))])
    assert caught.value.senders == ("rank 0", "rank 1")
    assert caught.value.start <= 14 < caught.value.stop


def test_kinds_of_pieces():
    for data, dtype in (
        (b"bytes", "U8"),
        (memoryview(b"bytes"), "U8"),
        (np.zeros(5, "?"), "BOOL"),
        (np.zeros(5, "f4"), "F32"),
        (np.zeros(5, "c16"), "C128"),
    ):
        (found,) = merge([parts({"x": Piece(data, (5,), (0,))})]).values()
        assert found == TensorDigest(
            dtype, (5,), digest(bytes(memoryview(data).cast("B") if hasattr(data, "dtype") else data))
        )
    # Of four bits: the shape counts values.
    packed = parts({"x": Piece(np.zeros((2, 3), "u1"), (2, 3), (0, 0), "F4")})
    assert merge([packed])["x"].shape == (2, 6)
    scalar = parts({"x": Piece(np.float64(3.5), (), ())})
    assert merge([scalar]) == {"x": TensorDigest("F64", (), digest(np.float64(3.5).tobytes()))}
    empty = parts({"x": Piece(np.zeros((0, 3), "i8"), (0, 3), (0, 0))})
    other = parts({"y": Piece(b"1", (1,), (0,))})
    assert merge([empty, other, empty])["x"] == TensorDigest("I64", (0, 3), digest(b""))


@pytest.mark.parametrize(
    ("piece", "words"),
    [
        (Piece(np.zeros((2, 2), "u1"), (4,), (0,)), "x: a piece of"),
        (Piece(np.zeros((2, 2), "u1"), (3, 2), (2, 0)), "x: 2 indices from 2 on are outside of dimension 0"),
        (Piece(np.zeros((2, 2), "u1"), (3, 1 << 63), (0, 0)), "x: a tensor of"),
        (Piece(np.zeros((4, 4), "u1"), (8, 8), (-1, 0)), r"x: a piece of \(4, 4\) at \(-1, 0\) does not fit"),
        (Piece(np.zeros((4, 4), "u1"), (8, 8), (1 << 70, 0)), "x: a piece of .* does not fit"),
        (Piece(np.zeros((4, 4), "u1"), (-4, -4), (0, 0)), "x: a tensor has no dimension of -4 items"),
        (Piece(np.zeros((4, 4), "u1"), (4, 4), (0.5, 0)), "x: 'float' object cannot be interpreted as an integer"),
        (
            Piece(np.zeros((4, 4), "u1"), (4, 4), (0, 0), "a\tb\n"),
            r"x: a type is made of letters, digits and _: 'a\\tb",
        ),
        (Piece(np.zeros((4, 4), "u1"), (4, 4), (0, 0), ""), "x: a type is made of letters, digits and _: ''"),
        (Piece(np.zeros((4, 4), "u1"), (4, 4), (0, 0), "F64"), "x: an item of F64 has not 1 bytes"),
        (Piece(np.zeros(2, "M8[s]"), (2,), (0,)), "x: the type datetime64"),
        (Piece(np.zeros((4, 4), "u1")[:, :2], (4, 2), (0, 0)), "x: "),
        (Piece("text", (4,), (0,)), "x: "),
        (Piece(memoryview(bytes(16)).cast("f"), (4,), (0,)), "x: the type of 4 bytes has no name"),
        ([], "x: a list of pieces is empty"),
        ((b"a", (1,), (0,)), "x: give a Piece"),
        (
            [Piece(bytes(3000), (5000,), (0,)), Piece(bytes(3000), (5000,), (2000,))],
            r"x: bytes 2000\.\.2048 are in two of its pieces: make an answer for each copy",
        ),
        (
            [Piece(bytes(3000), (5000,), (0,)), Piece(b"a" * 3000, (5000,), (2000,))],
            r"x: two of its pieces have other bytes in 2048\.\.3000",
        ),
        ([Piece(b"a", (2,), (0,)), Piece(b"b", (3,), (1,))], "x: its pieces have several"),
    ],
)
def test_pieces_that_do_not_fit_are_named(piece, words):
    with pytest.raises((ValueError, TypeError, BufferError), match=words):
        parts({"x": piece})


def test_whole_copies_are_compared_in_any_order():
    data = pattern(8192)
    for cut in (1024, 1500, 2048, 5120):
        whole = parts({"x": Piece(data, (8192,), (0,))})
        shards = [parts({"x": Piece(data[i:j], (8192,), (i,))}) for i, j in ((0, cut), (cut, 8192))]
        orders = set(itertools.permutations([0, 1, 2, 1, 2]))
        answers = [whole, *shards]
        for order in orders:
            assert merge(answers[i] for i in order)["x"].digest == digest(data), (cut, order)


def altered(head, packed):
    """An answer that someone changed, and whose checks fit."""
    head = head if isinstance(head, bytes) else json.dumps(head).encode()
    message = b"tw-pieces\x01" + struct.pack("<Q", len(head)) + head + packed
    return message + digest(message)


def test_altered_answers_are_refused():
    known = Parts(4, object=digest(json.dumps(["x", "U8", [4]]).encode()))
    known.hash(b"abcd", 0)
    packed = Parts._pack([known])
    assert merge([altered([["x", "U8", [4], [4], 1, None]], packed)]) == {
        "x": TensorDigest("U8", (4,), digest(b"abcd"))
    }
    entries = [
        5,
        ["x"],
        *([name, "U8", [4], [4], 1] for name in (["x"], {}, None, 5, "\ud800")),
        *(["x", dtype, [4], [4], 1] for dtype in (["U8"], None, "", "U8\t\n")),
        *(["x", "U8", shape, [4], 1] for shape in (4, "4", ["a"], [[4]], [10**30], [5], [4, 1], [])),
        *(["x", "U8", [4], stored, 1] for stored in (4, "4", [4.0], [-4], [10**30], [10**12], [None], [True])),
        *(["x", "U8", [4], [4], item] for item in ("ab", 1.5, None, [1], 0, -1, 2, 10**30)),
        ["x", "U8", [-2, -2], [-2, -2], 1],
        ["x", "F64", [7, 3], [4], 1],
        ["x", "U8", [4], [10**4000] * 400, 1],
        ["x", "U8", [1] * 99, [1] * 99, 4],
    ]
    entries = [[*it, None] if isinstance(it, list) and len(it) == 5 else it for it in entries]
    entries += [["x", "U8", [4], [4], 1], *(["x", "U8", [4], [4], 1, tied] for tied in (5, [], {}, True))]
    heads = [*([it] for it in entries), 5, None, "abcde", {"a": 1}, b"{", b"[" * 200_000, b"\xff", [], entries[1:2] * 2]
    heads += [b'[["x","U8",[4],[NaN],1]]', b'[["x","U8",[4],[' + b"9" * 5000 + b"],1]]"]
    for head in heads:
        with pytest.raises(ValueError, match=r"."):
            merge([altered(head, packed)])


def test_an_answer_is_any_buffer():
    answer = parts({"x": Piece(b"abc", (3,), (0,))})
    for it in (bytearray(answer), memoryview(answer), ("rank 0", bytearray(answer))):
        assert merge([it]) == merge([answer])
    for wrong in ("text", None, 5, ("a",), ("a", answer, 1), [1]):
        with pytest.raises(TypeError, match="an answer is what `parts` returned"):
            merge([wrong])
    shape = (np.int64(4), np.int64(4))
    assert merge([parts({"x": Piece(np.zeros((4, 4), "u1"), shape, (np.int64(0), 0))})])["x"].shape == (4, 4)


def test_answers_that_do_not_belong_together_are_refused():
    one = parts({"x": Piece(pattern(3000), (3000,), (0,))})
    for other, words in (
        (parts({"x": Piece(pattern(3000), (3001,), (0,))}), r"x is U8\[3000\] of answer 0, and U8\[3001\] of answer 1"),
        (parts({"x": Piece(pattern(3000), (3000,), (0,), "I8")}), "of answer 1"),
        (one[:-1], "damaged"),
        (b"", "damaged"),
        (b"tw-pieces\x01" + bytes(60), "damaged"),
    ):
        with pytest.raises(ValueError, match=words):
            merge([one, other])
    for at in range(len(one)):
        changed = bytearray(one)
        changed[at] ^= 1
        with pytest.raises(ValueError, match="damaged"):
            merge([bytes(changed)])
    for nothing in ([], [parts({})], [parts({"x": Piece(b"", (0,), (0,))})]):
        with pytest.raises(ValueError, match="there are no weights"):
            merge(nothing)


def test_a_part_of_a_whole_cannot_be_compared():
    data = pattern(10_000)
    whole, half = (parts({"x": Piece(data[:stop], (10_000,), (0,))}) for stop in (10_000, 5000))
    with pytest.raises(ValueError, match=r"x: bytes 0\.\.4096 are there twice, in pieces that cannot be compared"):
        merge([whole, half])
