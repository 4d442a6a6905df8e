"""Buckets with workers that die, results that come late and twice, and drivers that are killed.

`scripts/slow.sh scale` runs 600 seeds: TREEWIDE_TEST_SCALE=40.
"""

import os
import random
from collections import Counter
from functools import partial
from itertools import pairwise

import pytest
from buckets import ROOT, Bucket, Kept, contents, expected, job, run_with_faults, some_data, some_keys, written
from treewide import digest
from treewide._scale.buckets.bucket_list import read_bucket
from treewide._scale.buckets.keys import between, middle, successor
from treewide._scale.buckets.list_files import Fact, is_unchanged, read_list, write_list
from treewide._scale.buckets.listing import cuts, listed
from treewide._scale.found import Found
from treewide._scale.lists import ListError
from treewide._scale.reading import Refused, Retries

SCALE = float(os.environ.get("TREEWIDE_TEST_SCALE", "1"))


@pytest.fixture
def folder(monkeypatch):
    kept = Kept()
    monkeypatch.setattr("treewide._scale.buckets.shards.folder_of", lambda url, source: kept)
    # So that small lists are joined as well.
    monkeypatch.setattr("treewide._scale.buckets.bucket_driver._MANY", 5)
    for module in ("whole_objects", "shards"):
        monkeypatch.setattr(f"treewide._scale.buckets.{module}.Retries", partial(Retries, sleep=lambda seconds: None))
    return kept


def test_every_key_is_in_exactly_one_part(folder):
    seeds = int(15 * SCALE)
    lost = late = cut = killed = 0
    for seed in range(seeds):
        choice = random.Random(seed)
        folder.files.clear()
        keys = some_keys(choice, choice.choice((0, 1, 20, 40, 300)))
        source = Bucket({it: some_data(choice) for it in keys})
        run = partial(
            run_with_faults,
            choice,
            chance=choice.choice((0.0, 0.1, 0.3)),
            workers=choice.choice((1, 2, 5, 30)),
            kill=choice.choice((0.0, 0.5)),
        )
        driver, told = run(source, job())
        assert not told and driver.counts.get("hashed", 0) == len(keys), seed
        bucket = written(folder, driver, job())
        assert contents(folder, bucket) == expected(source), seed
        lost, late, killed = lost + driver.lost, late + driver.late, killed + (driver.resumed > 0)
        cut += len(bucket.ranges) > 1 + len(keys) // 20

        # Something changes. The next run reads only that.
        before = expected(source)
        for key in choice.sample(keys, len(keys) // 5):
            del source.objects[ROOT + key]
        there = source.names()
        for key in choice.sample(there, len(there) // 5):
            source.put(key, some_data(choice))
        for key in some_keys(choice, choice.choice((0, 5, 60))):
            source.put(key, some_data(choice))
        now = expected(source)
        wanted = Counter()
        for key in before.keys() | now.keys():
            old, new = before.get(key), now.get(key)
            wanted["added" if old is None else "removed" if new is None else "same" if old == new else "changed"] += 1
        for reads_all, output in ((True, None), (False, None), (False, "kept")):
            own = job(reads_all=reads_all, output=output, lists="kept")
            large = read_list(folder, bucket.large) if bucket.large else ()
            driver, told = run(source, own, old=bucket, old_large=large)
            assert driver.counts == {name: it for name, it in wanted.items() if it}, (seed, reads_all, output)
            assert Counter(it.verdict for it in told) + Counter(same=wanted["same"]) == wanted, seed
        bucket = written(folder, driver, own)
        assert contents(folder, bucket) == now, seed
        large = read_list(folder, bucket.large) if bucket.large else ()
        source.requests = 0
        driver, told = run_with_faults(choice, source, own, old=bucket, old_large=large, chance=0.0)
        assert not told and source.requests == driver.objects_read == 0, seed
        assert contents(folder, written(folder, driver, own)) == now, seed
    assert lost and late and cut and killed
    print(f"buckets: {seeds} cases; {lost} tasks lost, {late} late, {killed} drivers killed")


def test_an_update_writes_only_what_changed(folder):
    keys = [f"{it:04}" for it in range(400)]
    source = Bucket({it: it.encode() for it in keys})
    choice = random.Random(0)
    driver, _ = run_with_faults(choice, source, job(), chance=0.0, workers=1)
    bucket = written(folder, driver, job())
    writes = folder.writes
    source.put("0111", b"other")
    own = job(reads_all=False, lists="kept")
    driver, told = run_with_faults(choice, source, own, old=bucket, chance=0.0)
    assert [(it.verdict, it.key) for it in told] == [("changed", "0111")]
    # The part and its facts.
    assert folder.writes == writes + 2 and driver.objects_read == 1


def test_a_list_keeps_its_digest_if_nothing_changed(folder, monkeypatch):
    source = Bucket({f"{it:04}": b"x" for it in range(400)})
    choice = random.Random(0)
    driver, _ = run_with_faults(choice, source, job(), chance=0.0)
    bucket = written(folder, driver, job())
    small = len(bucket.ranges)
    own = job(reads_all=False, lists="kept")
    monkeypatch.setattr("treewide._scale.buckets.bucket_driver._MANY", 1000)
    driver, _ = run_with_faults(choice, source, own, old=bucket, chance=0.0)
    assert written(folder, driver, own) == bucket
    # Many that are small become fewer.
    monkeypatch.setattr("treewide._scale.buckets.bucket_driver._MANY", 5)
    few = job(reads_all=False, lists="kept", limit=100)
    driver, _ = run_with_faults(choice, source, few, old=bucket, chance=0.0)
    assert len(written(folder, driver, few).ranges) <= 8 < small


def test_rot_is_told_apart_from_a_change(folder, monkeypatch):
    source = Bucket({"a": b"1", "b": b"2", "c": b"3"})
    monkeypatch.setattr(Bucket, "head", lambda self, uri: Memory_head(self, uri))
    choice = random.Random(0)
    driver, _ = run_with_faults(choice, source, job(), chance=0.0)
    bucket = written(folder, driver, job())
    before = contents(folder, bucket)
    source.put("b", b"!")
    own = job(lists="kept")
    driver, told = run_with_faults(choice, source, own, old=bucket, chance=0.0)
    assert [(it.verdict, it.key) for it in told] == [("rot", "b")]
    assert contents(folder, written(folder, driver, own)) == before, "it keeps its digest"


def Memory_head(self, uri):
    from treewide._scale.objects import Object

    if uri not in self.objects:
        raise FileNotFoundError(uri)
    return Object(uri, len(self.objects[uri]), '"always"')


@pytest.mark.parametrize("count", [0, 1, 7, 8, 14, 700, 1000])
def test_pages_and_cuts_at_their_edges(count):
    keys = [f"k{it:05}" for it in range(count)]
    source = Bucket({it: b"" for it in keys})
    retries = Retries()
    assert [it.key for page in listed(source, ROOT, "", None, retries) for it in page] == keys
    places = cuts(source, ROOT, "", None, 9, Retries())
    assert len(places) <= 9 and (count <= 7) == (not places)
    ends = ["", *places, None]
    parts = [
        [it.key for page in listed(source, ROOT, after, until, retries) for it in page]
        for after, until in pairwise(ends)
    ]
    assert [key for part in parts for key in part] == keys and (not keys or all(parts))


def test_cuts_find_what_names_are_made_of():
    for prefix in ("", "long/" * 200):
        for names in (
            [f"{it:09}" for it in range(3000)],
            [f"{random.Random(it).getrandbits(128):032x}" for it in range(3000)],
            [f"\u65e5\u672c{chr(0x4E00 + it)}" for it in range(3000)],
        ):
            source = Bucket({prefix + it: b"" for it in names})
            source.lists = 0
            places = cuts(source, ROOT, "", None, 7, Retries())
            assert len(places) >= 3 and source.lists < 80, (prefix, names[0], source.lists)
            keys = source.names()
            sizes = [
                len([it for it in keys if it > left and it <= right])
                for left, right in zip(["", *places], [*places, "\U0010ffff"], strict=True)
            ]
            assert max(sizes) < 0.8 * len(keys), sizes


def test_places_are_between():
    choice = random.Random(5)
    for _ in range(5000):
        low, high = sorted(
            "".join(choice.choices("aé\U0001f600\uffee\x01~\ud7ff\U0010ffff/", k=choice.randrange(4))) for _ in range(2)
        )
        if low == high:
            continue
        assert all(low < it < high for it in between(low, high, 5))
        place = middle(low, high)
        assert place is None or low < place < high
        place.encode() if place else None
        after = successor(low)
        assert after is None or (after > low and after > low + "\U0010ffff" * 3 and after.encode())


def test_a_listing_that_fails_goes_on_where_it_was():
    source = Bucket({f"{it:03}": b"" for it in range(50)})

    def fail(number):
        if number % 2 == 0:
            raise ConnectionResetError("reset")

    source.before = fail
    retries = Retries(sleep=lambda seconds: None)
    assert [it.key for page in listed(source, ROOT, "", None, retries) for it in page] == source.names()
    source.before = lambda number: fail(2)
    with pytest.raises(OSError, match=r"mem://bucket/: the keys after '' cannot be listed, tried 6 times: reset"):
        list(listed(source, ROOT, "", None, Retries(sleep=lambda seconds: None)))


def test_a_listing_that_is_not_in_order_is_refused():
    source = Bucket({"a": b"", "b": b""})
    # In the order of UTF-16, as other programs sort.
    source.names = lambda: ["\U0001f600", "\uffee"]
    source.facts = lambda key: (0, '"1"', None, 0.0)
    with pytest.raises(Refused, match="not listed in the order of their bytes"):
        list(listed(source, ROOT, "", None, Retries()))


def test_a_listing_that_changes_while_it_is_listed(folder):
    choice = random.Random(1)
    source = Bucket({f"{it:03}": b"x" for it in range(200)})
    stays = {f"{it:03}" for it in range(0, 200, 2)}

    def change(number):
        key = f"{choice.randrange(100) * 2 + 1:03}"
        if choice.random() < 0.5:
            source.objects.pop(ROOT + key, None)
        else:
            source.put(key, b"y" * number)

    source.before = change
    driver, _ = run_with_faults(choice, source, job(), chance=0.1)
    found = contents(folder, written(folder, driver, job()))
    assert stays <= found.keys()


def test_a_range_that_cannot_be_done_is_said_and_nothing_is_written(folder):
    source = Bucket({f"{it:03}": b"x" for it in range(100)})

    def pages(root, after, most=None):
        if after >= "050":
            raise ConnectionResetError("reset")
        yield from Bucket.pages(source, root, after, most)

    source.pages = pages
    driver, _ = run_with_faults(random.Random(0), source, job(), chance=0.0)
    assert driver.failures and "the keys after" in driver.failures[0] and "reset" in driver.failures[0]


def found_of(key, **fields):
    return Found(key, **{"size": 3, "etag": None, "version": None, "modified": 1000.0, **fields})


def test_the_same_object_is_one_of_the_same_version_or_etag_or_settled_time():
    def same(was, found, settled=True):
        return is_unchanged(Fact(found_of("k", **was), bytes(32), settled), found_of("k", **found))

    assert same({"etag": '"1"'}, {"etag": '"1"', "modified": 2000.0})
    assert not same({"etag": '"1"'}, {"etag": '"2"'}) and not same({"etag": '"1"'}, {"etag": '"1"', "size": 4})
    # A version says more than an ETag.
    assert not same({"etag": '"1"', "version": "a"}, {"etag": '"1"', "version": "b"})
    assert same({"etag": '"1"', "version": "a"}, {"etag": '"1"'}), "LIST says no version"
    # A time says something only if others are newer by more than two seconds, by the clock of the store itself.
    assert same({}, {}) and not same({}, {}, settled=False) and not same({}, {"modified": 1000.5})
    assert not same({}, {"modified": None}) and not same({"modified": None}, {"modified": None})
    timed = {"etag": "time 1000.0"}
    assert same(timed, timed) and not same(timed, timed, settled=False) and not same(timed, {"etag": "time 1001.0"})


def test_facts_are_kept_and_what_is_damaged_is_not_believed():
    folder = Kept()
    keys = ["\x01", " ", "a\nb", "b\\", "é", "\udcff", "\uffee", "\U0001f600"]
    times = [1000.0, None, 999.0, 1000.5, 1002.1, 1003.0, 1002.0, 990.25]
    facts = [
        Fact(found_of(key, etag=f'"{key}"', modified=time), bytes([number]) * 32)
        for number, (key, time) in enumerate(zip(keys, times, strict=True))
    ]
    part = write_list(folder, facts)
    read = read_list(folder, part)
    assert [it[:2] for it in read] == [it[:2] for it in facts]
    # The newest is of second 1003.
    assert [it.is_settled for it in read] == [True, False, True, True, False, False, False, True]
    assert write_list(folder, facts) == part and write_list(Kept(), facts, known=[part.name]) == part
    assert part.name != write_list(folder, [facts[0]]).name and write_list(folder, []) is None

    name, files = f"{part.name}.objects.gz", dict(folder.files)
    for damage in (b"", b"junk", files[name][:-9], files[f"{part.name}.b3"], None):
        folder.files = {it: data for it, data in files.items() if it != name}
        if damage is not None:
            folder.files[name] = damage
        read = read_list(folder, part)
        # Digests are those of the list; nothing else is known.
        assert [it.digest for it in read] == [it.digest for it in facts] and read[0].found.size == -1
        assert not is_unchanged(read[0], facts[0].found)
    for key, after, until in (("\x01", "\x01", None), ("\U0001f600", "", "\uffee")):
        with pytest.raises(ListError, match="out of order or not of its range"):
            read_list(folder, part, after, until)
        assert key in keys
    folder.files[f"{part.name}.b3"] += b"\n"
    with pytest.raises(ListError, match="was changed or is damaged"):
        read_list(folder, part)


def test_a_list_of_lists_has_no_gaps(folder):
    choice = random.Random(0)
    source = Bucket({f"{it:03}": b"x" for it in range(100)})
    driver, _ = run_with_faults(choice, source, job(), chance=0.0)
    bucket = written(folder, driver, job())
    index = next(it for it in folder.files if it.startswith("index-"))
    good, top = folder.files[index], folder.files["bucket.b3"]
    lines = good.split(b"\n")
    for bad, words in (
        ([lines[0], *lines[2:]], "is not the index of its list"),
        ([*lines[:-2], b""], "is not the index of its list"),
        ([lines[0].replace(b'"version": 1', b'"version": 2'), *lines[1:]], "of version 2"),
        ([b"junk", *lines[1:]], "is damaged"),
        ([*lines[:-2], lines[-2].replace(b'"until": null', b'"until": "zz"'), b""], "does not reach the last key"),
        ([*lines[:2], lines[2].replace(b'"after": "', b'"after": "0'), *lines[3:]], "has a gap after"),
        ([lines[0], lines[1].replace(b"part-", b"../part-"), *lines[2:]], "is damaged"),
    ):
        folder.files[index] = b"\n".join(bad)
        with pytest.raises(ListError, match="is damaged, or was changed"):
            read_bucket(folder)
        # Not even if the list of lists names it.
        own = digest(folder.files[index]).hex()
        folder.files[f"index-{own[:32]}.objects"] = folder.files[index]
        folder.files["bucket.b3"] = top.replace(digest(good).hex().encode(), own.encode()).replace(
            index.encode(), f"index-{own[:32]}.objects".encode()
        )
        with pytest.raises(ListError, match=words):
            read_bucket(folder)
        folder.files["bucket.b3"] = top
    folder.files[index] = good
    assert read_bucket(folder) == bucket and bucket.objects == 100
    del folder.files[index]
    with pytest.raises(ListError, match=r"its index index-.* is missing"):
        read_bucket(folder)
    folder.files["bucket.b3"] = b"00" * 32 + b"  some file\n"
    assert read_bucket(folder) is None
