"""Outboards of objects, and ranges that are verified by them."""

import random

import pytest
import treewide.outboard
from fake import Memory, hash_objects, pattern
from treewide import digest
from treewide._scale.bytes_cover import BytesCover
from treewide._scale.console import UsageError
from treewide._scale.objects import Object
from treewide._scale.outboards import Outboards, group_of, named_group, place_of
from treewide._scale.ranges import range_of
from treewide._scale.reading import Changed, cut
from treewide._scale.sources import source_of
from treewide._scale.verified import NoOutboard, Verified
from treewide._treewide import Parts
from treewide.outboard import Damage, DamageError

K = 1024
MIB = 1 << 20
URI = "mem://a"


def made(tmp_path, data, group):
    """The outboard that the library in Rust makes of the data."""
    path, pairs = tmp_path / "data", tmp_path / "pairs"
    path.write_bytes(data)
    treewide.outboard.create(path, pairs, group=group)
    return pairs.read_bytes()


def stored(data, group=4 * K):
    """A store with an object and its outboard, which `hash_objects` wrote."""
    source = Memory({URI: data})
    outboards = Outboards(source, group=group)
    object = source.head(URI)
    outcome = hash_objects([object], source, workers=2, keeper=outboards)[object]
    places, failures = outboards.end()
    assert outcome.digest == digest(data) and not failures
    source.asked.clear()
    return source, object, places.get(object)


@pytest.mark.parametrize("length", [0, 1, 1024, 4096, 4097, 8192, 99_999, 300_000])
def test_an_outboard_is_that_of_the_data(tmp_path, length):
    data = pattern(length)
    for group in (K, 4 * K, 16 * K, 64 * K):
        source, object, place = stored(data, group)
        if length <= group:
            assert place is None, "it would be empty"
        else:
            assert place == f"mem://a.obao{(group // K).bit_length() - 1}"
            assert source.objects[place] == made(tmp_path, data, group), group
        verified = Verified(source, object, digest(data), place_of(URI, length, b"", group=group))
        assert list(verified.damage()) == [] and verified.read(0, length + 5) == data


def test_sizes_for_objects_of_every_length():
    # 64 bytes for each group; a result has 48 bytes for each.
    assert [group_of(it) for it in (0, MIB, (1 << 40) - 1, 1 << 40, 10**13)] == [MIB] * 3 + [16 * MIB] * 2
    assert place_of("s3://b/k", 10**13, b"") == "s3://b/k.obao14"
    assert place_of("s3://b/k", 5, bytes(32), "s3://x/f/") == f"s3://x/f/{'00' * 32}.obao10"
    assert named_group("a.obao14") == 16 * MIB
    for name in ("a", "a.obao", "a.obao17", "a.obao4x", "a.obao4-post"):
        with pytest.raises(ValueError, match=f"^{name}: the name of an outboard ends with"):
            named_group(name)
    for group in (1000, 512, 1 << 27):
        with pytest.raises(ValueError, match=f"and not {group}"):
            Outboards(Memory({}), group=group)
    # Results stay below 64 KiB: tasks are shorter, and fewer bytes are one part.
    size = 1 << 44
    for group, longest in ((None, 16 << 30), (MIB, 1 << 30)):
        object = Object("mem://large", size, '"1"')
        (task,) = BytesCover([object], outboards=Outboards(Memory({}), group=group)).missing(1)[0]["pieces"]
        assert (task.stop - task.start, task.group) == (longest, group or 16 * MIB)
    parts = Parts(size, object=object.identity)
    for at in range(0, 1 << 30, MIB):
        parts.push(at, at + MIB, bytes(32))
    assert len(parts.to_bytes()) < 65536


def test_an_outboard_that_cannot_be_written_is_a_failure():
    source = Memory({URI: pattern(100_000)})
    object = source.head(URI)
    tried = []

    def put(uri, data, notes):
        tried.append((uri, notes))
        if len(tried) < 3:
            raise OSError("no room")
        raise TimeoutError("denied")

    source.put = put
    outboards = Outboards(source, group=4 * K)
    assert hash_objects([object], source, keeper=outboards)[object].digest
    places, failures = outboards.end()
    assert places == {} and len(tried) == 6
    assert str(failures[object]) == "mem://a.obao2: it cannot be written, tried 6 times: denied"
    assert tried[0][1] == {"blake3": digest(pattern(100_000)).hex(), "length": "100000"}


def test_file_systems_of_fsspec_have_outboards(tmp_path, monkeypatch):
    store = pytest.importorskip("fsspec", reason="fsspec is not installed").filesystem("memory")
    data = pattern(100_000)
    store.pipe("/outboards/a", data)
    source = source_of("memory://outboards/a")
    object = source.head("memory://outboards/a")
    for _ in range(2):
        outboards = Outboards(source, group=4 * K)
        hash_objects([object], source, keeper=outboards)
        places, failures = outboards.end()
        assert failures == {} and sorted(store.ls("/outboards", detail=False)) == ["/outboards/a", "/outboards/a.obao2"]
    assert store.cat(places[object]) == made(tmp_path, data, 4 * K)
    assert Verified(source, object, digest(data), places[object]).read(5000, 6000) == data[5000:6000]
    # Nothing half written stays.
    monkeypatch.setattr(type(store), "mv", lambda *names: 1 / 0)
    outboards = Outboards(source, group=2 * K)
    hash_objects([object], source, keeper=outboards)
    assert "division by zero" in str(outboards.end()[1]) and len(store.ls("/outboards")) == 2


# ---- Ranges ---------------------------------------------------------------------------------------


def test_a_range_reads_its_groups_and_few_pairs():
    # 4,096 groups: 12 levels.
    data = pattern(4096 * K - 5)
    source, object, place = stored(data, K)
    assert len(source.objects[place]) == 64 * 4095
    choice = random.Random(7)
    for _ in range(30):
        start = choice.randrange(len(data))
        stop = min(start + choice.choice((1, 1000, 5000)), len(data))
        source.asked.clear()
        assert Verified(source, object, digest(data), place).read(start, stop) == data[start:stop]
        of_data = [(low, high) for uri, low, high in source.asked if uri == URI]
        groups = list(cut(start // K * K, stop, K))
        # Whole groups, and no byte twice.
        assert sum(high - low for low, high in of_data) == min(-(-stop // K) * K, len(data)) - start // K * K
        assert min(it[0] for it in of_data) == start // K * K and groups
        of_pairs = [high - low for uri, low, high in source.asked if uri == place]
        # 12 pairs for each side, and gaps of 4 KiB between them that are not worth a request.
        assert sum(of_pairs) <= 24 * (64 + 4096) and len(of_pairs) <= 24
    verified = Verified(source, object, digest(data), place)
    verified.read(2000 * K, 2000 * K + 1)
    assert verified.bytes_read == K and verified.bytes_of_outboard <= 12 * (64 + 4096)
    assert sum(high - low for low, high in treewide._treewide._outboard_places(10**13, MIB, 5, 6)[1]) <= 24 * 4160


def test_groups_may_be_larger_than_a_request():
    data = pattern(100_000)
    source, _, place = stored(data, 16 * K)
    source.objects[URI] = data[:30_000] + b"!" + data[30_001:]
    verified = Verified(source, source.head(URI), digest(data), place)
    assert list(verified.damage()) == [Damage(16 * K, 32 * K, "bad")]


def test_a_bit_that_flipped_is_found_where_it_is():
    data = pattern(100_000)
    source, _, place = stored(data)
    for at, start, stop in ((0, 0, 4096), (50_000, 49_152, 53_248), (99_999, 98_304, 100_000)):
        changed = bytearray(data)
        changed[at] ^= 1
        source.objects[URI] = bytes(changed)
        object = source.head(URI)
        verified = Verified(source, object, digest(data), place)
        assert list(verified.damage()) == [Damage(start, stop, "bad")]
        with pytest.raises(
            DamageError, match=rf"^mem://a: the bytes {start}\.\.{stop} are not those of the digest; restore"
        ):
            Verified(source, object, digest(data), place).read(at, at + 1)
        # What is not in this group is right.
        low, high = (stop, 100_000) if start < 50_000 else (0, start)
        assert Verified(source, object, digest(data), place).read(low, high) == data[low:high]
    # Neighbours are one, and others are not.
    for at in (4096, 8192, 50_000):
        changed[at] ^= 1
    source.objects[URI] = bytes(changed)
    damage = list(Verified(source, source.head(URI), digest(data), place).damage())
    assert damage == [Damage(4096, 12_288, "bad"), Damage(49_152, 53_248, "bad"), Damage(98_304, 100_000, "bad")]


def test_a_bit_that_flips_on_the_way_is_read_again():
    data = pattern(100_000)
    source, object, place = stored(data)
    flipped = []

    def flip(number, reply):
        if reply.start == 8192 and reply.total == 100_000 and not flipped:
            flipped.append(number)
            return reply._replace(data=b"!" + bytes(reply.data[1:]))
        return reply

    source.fault = flip
    assert Verified(source, object, digest(data), place).read(0, 100_000) == data and flipped


def test_wrong_outboards_are_named_and_prove_nothing():
    data, other = pattern(100_000), pattern(100_000)[::-1]
    source, object, place = stored(data)
    right = source.objects[place]
    source.objects["mem://other"] = other
    outboards = Outboards(source, group=4 * K)
    hash_objects([source.head("mem://other")], source, keeper=outboards)
    outboards.end()
    # Of another object of the same length: nothing is known, and nothing of the object is read.
    verified = Verified(source, object, digest(data), "mem://other.obao2")
    source.asked.clear()
    (damage,) = verified.damage(5000, 9000)
    assert damage == Damage(4096, 12_288, "unknown") and [it for it in source.asked if it[0] == URI] == []
    text = "^mem://other.obao2: the outboard is broken above the bytes 4096..12288, or does not belong to the digest"
    with pytest.raises(DamageError, match=text):
        verified.read(5000, 9000)
    # Object and outboard of another digest: they agree, and are not believed.
    verified = Verified(source, source.head("mem://other"), digest(data), "mem://other.obao2")
    assert [it.state for it in verified.damage()] == ["unknown"]
    # Cut off, too long, or of another length.
    for wrong in (right[:-64], right[:100], b"", right + bytes(64)):
        source.objects[place] = wrong
        with pytest.raises(NoOutboard, match=rf"^mem://a.obao2: has {len(wrong)} bytes, and the outboard of 100000"):
            Verified(source, object, digest(data), place)
    # A broken pair: what is below it is unknown, and the rest is verified.
    for at in range(0, len(right), 64):
        source.objects[place] = right[:at] + bytes([right[at] ^ 1]) + right[at + 1 :]
        verified = Verified(source, object, digest(data), place)
        (damage,) = verified.damage()
        assert damage.state == "unknown" and (damage.stop - damage.start >= 8192 or damage.stop == 100_000)
        if damage.start:
            assert verified.read(0, damage.start) == data[: damage.start]
    del source.objects[place]
    with pytest.raises(FileNotFoundError):
        Verified(source, object, digest(data), place)


def test_what_changes_while_a_range_is_read():
    data = pattern(100_000)
    source, object, place = stored(data)
    source.objects[URI] = data[::-1]
    with pytest.raises(Changed, match="ETag"):
        Verified(source, object, digest(data), place).read(0, 10)
    source.objects[URI] = data
    verified = Verified(source, object, digest(data), place)
    source.objects[place] = source.objects[place][::-1]
    with pytest.raises(OSError, match=r"^mem://a.obao2: the outboard changed while it was read"):
        verified.read(0, 10)
    source.objects[place] = source.objects[place][::-1]

    def reset(number, reply):
        raise ConnectionResetError("connection reset")

    source.fault = reset
    with pytest.raises(OSError, match=r"bytes .* cannot be read, tried 6 times: connection reset"):
        Verified(source, object, digest(data), place).read(0, 10)


def test_an_object_of_one_group_is_its_own_outboard():
    for length in (0, 1, 4096):
        data = pattern(length)
        source = Memory({URI: data})
        object = source.head(URI)
        assert Verified(source, object, digest(data), None).read(0, length) == data
        wrong = Verified(source, object, digest(b"x"))
        assert list(wrong.damage()) == [Damage(0, length, "bad")]
    with pytest.raises(ValueError, match="32 bytes"):
        Verified(source, object, b"short")
    with pytest.raises(ValueError, match="not at -1"):
        Verified(source, object, digest(data), None).read(-1, 5)


def test_ranges_are_read_as_people_write_them():
    for text, expected in (
        ("0..5", (0, 5)),
        ("1K..+1k", (K, 2 * K)),
        ("1G+64K..1G+65K", ((1 << 30) + 65536, (1 << 30) + 66560)),
        ("..10", (0, 10)),
        ("7..", (7, None)),
        ("..", (0, None)),
    ):
        assert range_of(text) == expected
    for text in ("", "5", "5..5", "6..5", "x..5", "5..+0", "5..+", "1..-2", "1..2P", "\u0661..\u0662"):
        with pytest.raises(UsageError, match=r"A\.\.B"):
            range_of(text)
