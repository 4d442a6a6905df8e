"""`treewide.scale.Parts`: any cuts, in any order, give the digest."""

import random
import threading
from itertools import pairwise

import pytest
from conftest import pattern
from treewide import digest
from treewide._treewide import subtrees
from treewide.scale import Clash, Parts

MODES = ({}, {"key": b"k" * 32}, {"derive_key_context": "ctx"})


def random_cuts(choice, length):
    """Ranges that make up an input, cut at multiples of 1 KiB or anywhere."""
    step = choice.choice((1, 1024))
    most = -(-length // step)
    cuts = sorted({0, *(choice.randrange(most + 1) for _ in range(choice.randrange(9))), most})
    return [(left * step, min(right * step, length)) for left, right in pairwise(cuts)]


def test_random_cuts_in_any_order_give_the_digest():
    choice = random.Random(1)
    cases = 0
    for case in range(600):
        length = choice.choice((choice.randrange(5000), choice.randrange(200_000), 1024 * choice.randrange(200)))
        data, mode = choice.randbytes(length), MODES[case % 3]
        whole = Parts(length, object=b"a", **mode)
        ranges = random_cuts(choice, length)
        choice.shuffle(ranges)
        for index, (start, stop) in enumerate(ranges):
            part = Parts(length, object=b"a", **mode)
            assert part.hash(data[start:stop], start) == (stop - start, 0)
            if choice.random() < 0.5:
                part.compact()
            sent = Parts.from_bytes(part.to_bytes(), **mode)
            assert sent.parts() == part.parts()
            assert whole.absorb(sent) == (stop - start, 0)
            assert whole.absorb(sent) == (0, stop - start), "twice is compared"
            if index + 1 < len(ranges):
                with pytest.raises(ValueError, match="not hashed yet"):
                    whole.finish()
        assert whole.missing() == []
        assert whole.finish() == digest(data, **mode)
        cases += 1
    print(f"cuts: {cases} cases")


def test_a_clash_names_both_ranges():
    data = pattern(64 * 1024)
    whole, other = Parts(len(data)), Parts(len(data))
    whole.hash(data[:16384], 0)
    other.hash(b"!" + data[1:8192], 0)
    with pytest.raises(Clash, match="two values for the same bytes") as caught:
        # Half of it can be compared only with its sibling.
        whole.absorb(other)
        whole.hash(data[8192:16384], 8192)
    assert caught.value.here == (0, 16384)
    assert caught.value.there == (8192, 16384)
    same = Parts(len(data))
    same.hash(b"!" + data[1:16384], 0)
    with pytest.raises(Clash) as caught:
        Parts.from_bytes(whole.to_bytes()).absorb(same)
    assert (caught.value.here, caught.value.there) == ((0, 16384), (0, 16384))
    assert isinstance(caught.value, ValueError)
    # Nothing was added.
    assert whole.parts()[0][:2] == (0, 16384)


def test_what_does_not_belong_is_refused():
    mine = Parts(2048, object=b"a")
    for other, words in (
        (Parts(2049, object=b"a"), "2049 bytes"),
        (Parts(2048, object=b"b"), "another object"),
        (Parts(2048, object=b"a", key=bytes(32)), "another mode"),
    ):
        with pytest.raises(ValueError, match=words):
            mine.absorb(other)
    with pytest.raises(ValueError, match="input of 2048 bytes"):
        mine.hash(bytes(1025), 1024)
    with pytest.raises(ValueError, match="not a node"):
        Parts(4096).push(1024, 3072, bytes(32))
    with pytest.raises(ValueError, match="at most 65536"):
        Parts(1, object=bytes(65537))
    with pytest.raises(OverflowError):
        Parts(-1)
    mine.hash(bytes(2048), 0)
    saved = bytearray(mine.to_bytes())
    for at in range(len(saved)):
        saved[at] ^= 1
        with pytest.raises(ValueError, match="parts"):
            Parts.from_bytes(saved)
        saved[at] ^= 1
    with pytest.raises(ValueError, match="another mode"):
        Parts.from_bytes(saved, key=bytes(32))
    assert Parts.from_bytes(saved).finish() == digest(bytes(2048))


def test_parts_say_what_they_are():
    parts = Parts(5000, object=bytearray(b"s3://a"))
    assert (parts.total, parts.object, parts.parts(), parts.unchecked()) == (5000, b"s3://a", [], [])
    assert repr(parts) == "<treewide.scale.Parts of 5000 bytes, 5000 of them missing>"
    assert parts.missing() == [(0, 5000)]
    ranges = subtrees(1024, 5000, 5000)
    assert ranges == [(1024, 2048), (2048, 4096), (4096, 5000)]
    data = pattern(5000)
    for start, stop in ranges:
        worker = Parts(5000)
        worker.hash(data[start:stop], start)
        ((left, right, value),) = worker.parts()
        assert parts.push(left, right, value) == (stop - start, 0)
    copy = Parts.from_bytes(parts.to_bytes())
    parts.hash(data[:1024], 0)
    assert parts.finish() == digest(data) and copy.missing() == [(0, 1024)]
    parts.compact()
    assert [it[:2] for it in parts.parts()] == [(0, 4096), (4096, 5000)]


def test_edges():
    for length in (0, 1, 1023, 1024, 1025, 2048, 2049):
        data = pattern(length)
        parts = Parts(length)
        if length:
            parts.hash(data, 0)
        assert parts.finish() == digest(data)


def test_threads_hash_side_by_side():
    data = random.Random(2).randbytes(8 << 20)
    parts = Parts(len(data))
    step = 64 << 10

    def work(first):
        for at in range(first * step, len(data), 4 * step):
            parts.hash(memoryview(data)[at : at + step], at)

    threads = [threading.Thread(target=work, args=(it,)) for it in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert parts.finish() == digest(data)
