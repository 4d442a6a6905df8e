"""Buckets with tasks that are lost, results that come twice and end early, and drivers that are killed.

`scripts/slow.sh scale` runs 600 seeds: TREEWIDE_TEST_SCALE=40.
"""

import os
import random
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from buckets import ROOT, Bucket, Kept, contents, expected, hashed, some_data, some_keys, unreliable
from treewide import digest
from treewide._scale.buckets import shards
from treewide._scale.buckets.bucket_list import read_bucket
from treewide._scale.buckets.keys import between, middle, successor
from treewide._scale.buckets.list_files import read_list, write_list
from treewide._scale.buckets.listing import cuts, listed
from treewide._scale.cover import hash_all
from treewide._scale.found import Fact, Found, is_unchanged
from treewide._scale.job import Job
from treewide._scale.lists import ListError
from treewide._scale.reading import Refused, Retries
from treewide._scale.results import seal, unseal

pytest_plugins = ["buckets"]

SCALE = float(os.environ.get("TREEWIDE_TEST_SCALE", "1"))


SUM = Job("sum", urls=(ROOT,), recursive=True, output="kept", allow_empty=True, max_removed="100%")
VERIFY = Job("verify", list="kept/bucket.b3")
UPDATE = Job("update", list="kept/bucket.b3", allow_empty=True, max_removed="100%")


def test_one_bucket_has_one_list_and_every_key_is_in_it_once(kept, tmp_path, monkeypatch):
    seeds, deaths = int(25 * SCALE), 0
    for seed in range(seeds):
        choice = random.Random(seed)
        source = kept.source = Bucket(
            {it: some_data(choice) for it in some_keys(choice, choice.choice((0, 1, 20, 300)))}
        )
        early = choice.choice((0.0, 0.3))
        monkeypatch.setattr(shards._Work, "_is_over", lambda self, early=early, choice=choice: choice.random() < early)

        def run(job, chance=0.2, kill=0.15, choice=choice):
            some = unreliable(choice, choice.choice((0.0, chance)), choice.choice((0.0, kill)))
            return hashed(job, tmp_path / "work", some, choice.choice((1, 2, 5, 30)))

        tops = set()
        for _ in range(3):
            kept.files.clear()
            outcome, rows, died = run(SUM)
            deaths += died
            assert not rows and outcome.counts.get("hashed", 0) == len(source.names()), seed
            assert contents(kept) == expected(source), seed
            tops.add(kept.files["bucket.b3"])
            assert not (tmp_path / "work").exists()
        assert len(tops) == 1, seed

        # Something changes. The next run reads only that.
        before = expected(source)
        for key in choice.sample(sorted(before), len(before) // 5):
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
        for job in (VERIFY, replace(VERIFY, quick=True), UPDATE):
            outcome, rows, _ = run(job)
            assert outcome.counts == {name: it for name, it in wanted.items() if it}, (seed, job)
            assert Counter(it["verdict"] for it in rows) + Counter(same=wanted["same"]) == wanted, seed
        assert contents(kept) == now, seed
        source.requests = 0
        outcome, rows, _ = run(UPDATE, 0.0, 0.0)
        assert not rows and source.requests == outcome.objects_read == 0, seed
        # What was updated is what a new run finds.
        updated = kept.files["bucket.b3"]
        kept.files.clear()
        run(SUM)
        assert kept.files["bucket.b3"] == updated and contents(kept) == now, seed
    assert deaths
    print(f"buckets: {seeds} cases; {deaths} drivers killed")


def test_an_update_writes_only_what_changed_and_reads_no_list_back(kept, tmp_path):
    source = kept.source = Bucket({f"{it:04}": str(it).encode() for it in range(400)})
    choice = random.Random(0)
    hashed(SUM, tmp_path / "work", unreliable(choice))
    top, writes = kept.files["bucket.b3"], kept.writes
    hashed(UPDATE, tmp_path / "work", unreliable(choice))
    assert kept.files["bucket.b3"] == top
    source.put("0111", b"other")
    writes = kept.writes
    read = []
    get = kept.get
    kept.get = lambda name: read.append(name) or get(name)

    def tracked(f, tasks):
        yield from map(f, tasks)
        read.clear()

    outcome, rows, _ = hashed(UPDATE, tmp_path / "work", tracked)
    assert [(it["verdict"], it["uri"]) for it in rows] == [("changed", f"{ROOT}0111")] and outcome.objects_read == 1
    # README, the list and its facts, the index, and the list of lists.
    assert kept.writes == writes + 5
    # After the last task, no list.
    assert not [it for it in read if it.startswith("part-")]


def test_a_new_object_changes_one_list(kept, tmp_path):
    source = kept.source = Bucket({f"{it:04}": b"x" for it in range(400)})
    hashed(SUM, tmp_path / "work", unreliable(random.Random(0)))
    before = set(kept.files["bucket.b3"].splitlines())
    source.put("0123a", b"y")
    kept.files.clear()
    hashed(SUM, tmp_path / "work", unreliable(random.Random(1)), 9)
    after = set(kept.files["bucket.b3"].splitlines())
    # One more if the new key begins a group; and the index.
    assert len(before) > 10 and len(before - after) == 2 and len(after - before) <= 3


def test_a_prefix_that_was_removed_is_no_large_result(kept, tmp_path, monkeypatch):
    monkeypatch.setattr(shards, "_DIFFERENCES", 10)
    names = [f"{it:04}" for it in range(500)]
    source = kept.source = Bucket({it: b"x" for it in names})
    hashed(SUM, tmp_path / "work", unreliable(random.Random(0)))
    for it in names[20:470]:
        del source.objects[ROOT + it]
    sizes = []

    def measured(f, tasks):
        for task in tasks:
            sizes.append(len(result := f(task)))
            yield result

    for workers in (1, 9):
        outcome, rows, _ = hashed(VERIFY, tmp_path / "work", measured, workers)
        assert sorted(it["uri"] for it in rows) == [ROOT + it for it in names[20:470]] and max(sizes) < 6000
        assert outcome.counts == {"same": 50, "removed": 450} and {it["verdict"] for it in rows} == {"removed"}


def test_long_stretches_without_a_boundary_are_cut(kept, tmp_path, monkeypatch):
    monkeypatch.setattr(shards, "_begins_group", lambda key, limit: False)
    kept.source = Bucket({f"{it:04}": b"x" for it in range(400)})
    tops = set()
    for workers in (1, 3, 20):
        kept.files.clear()
        hashed(SUM, tmp_path / "work", unreliable(random.Random(workers), 0.2), workers)
        tops.add(kept.files["bucket.b3"])
    # 16 of 8 groups each.
    assert len(tops) == 1 and tops.pop().count(b"part-") == 4


def test_a_large_object_is_settled_by_what_was_written_before_it_was_read(kept):
    source = kept.source = Bucket({"old": bytes(9000), "newer": bytes(9001)})
    source.times = {"old": 1000.0, "newer": 1010.0}
    # An earlier run may have read the first bytes.
    for began, is_settled in ((1005.0, False), (1011.0, True)):
        hash_all(SUM, lambda f, tasks, began=began: [seal({**unseal(f(it)), "began": began}) for it in tasks])
        (_, old) = read_list(kept, read_bucket(kept).large)
        assert (old.key, old.is_settled) == ("old", is_settled)


@pytest.mark.parametrize("count", [0, 1, 7, 8, 14, 700, 1000])
def test_pages_and_cuts_at_their_edges(count):
    keys = [f"k{it:05}" for it in range(count)]
    source = Bucket({it: b"" for it in keys})
    retries = Retries()
    assert [it.key for page in listed(source, ROOT, "", None, retries) for it in page] == keys
    places = cuts(source, ROOT, "", None, 9, Retries(), least=7)
    assert len(places) <= 9 and (count <= 7) == (not places)
    ends = ["", *places, None]
    parts = [
        [it.key for page in listed(source, ROOT, after, until, retries) for it in page]
        for after, until in pairwise(ends)
    ]
    assert [key for part in parts for key in part] == keys and (not keys or all(parts))


def test_keys_may_go_while_places_are_looked_for():
    source = Bucket({"x" * it: b"" for it in range(1, 20)})
    source.before = lambda number: number > 2 and source.objects.clear()
    assert cuts(source, ROOT, "", None, 9, Retries(), least=7) == []


def test_cuts_find_what_names_are_made_of():
    for prefix in ("", "long/" * 200):
        for names in (
            [f"{it:09}" for it in range(3000)],
            [f"{random.Random(it).getrandbits(128):032x}" for it in range(3000)],
            [f"\u65e5\u672c{chr(0x4E00 + it)}" for it in range(3000)],
        ):
            source = Bucket({prefix + it: b"" for it in names})
            source.lists = 0
            places = cuts(source, ROOT, "", None, 7, Retries(), least=7)
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
    retries = Retries()
    assert [it.key for page in listed(source, ROOT, "", None, retries) for it in page] == source.names()
    source.before = lambda number: fail(2)
    with pytest.raises(OSError, match=r"mem://bucket/: the keys after '' cannot be listed, tried 6 times: reset"):
        list(listed(source, ROOT, "", None, Retries()))


def test_a_listing_that_is_not_in_order_is_refused():
    source = Bucket({"a": b"", "b": b""})
    # In the order of UTF-16, as other programs sort.
    source.names = lambda: ["\U0001f600", "\uffee"]
    source.facts = lambda key: (0, '"1"', None, 0.0)
    with pytest.raises(Refused, match="not listed in the order of their bytes"):
        list(listed(source, ROOT, "", None, Retries()))


def test_a_bucket_that_changes_while_it_is_listed(kept, tmp_path):
    for seed in range(int(20 * SCALE)):
        choice = random.Random(seed)
        source = kept.source = Bucket({f"{it:03}": b"x" for it in range(200)})
        stays = {f"{it:03}" for it in range(0, 200, 2)}

        def change(number, choice=choice, source=source):
            key = f"{choice.randrange(100) * 2 + 1:03}"
            if choice.random() < 0.5:
                source.objects.pop(ROOT + key, None)
            else:
                source.put(key, b"y" * number)

        source.before = change
        kept.files.clear()
        hashed(SUM, tmp_path / "work", unreliable(choice, 0.1), choice.choice((1, 3, 9)))
        # Each lasting key is in exactly one list.
        assert stays <= contents(kept).keys(), seed


def test_a_store_that_cannot_name_places_is_hashed_all_the_same(kept, tmp_path):
    source = kept.source = Bucket({f"{it:03}": b"x" for it in range(100)})
    pages = source.pages

    def after_keys(root, after, most=None):
        if after and ROOT + after not in source.objects:
            raise Refused(after)
        yield from pages(root, after, most)

    source.pages = after_keys
    hashed(SUM, tmp_path / "work", unreliable(random.Random(0)), 9)
    assert contents(kept) == expected(source)


def test_a_range_that_cannot_be_done_is_said_and_nothing_is_written(kept, tmp_path, monkeypatch):
    monkeypatch.setattr("treewide._scale.buckets.keys_cover._ROUNDS", 3)
    source = kept.source = Bucket({f"{it:03}": b"x" for it in range(100)})

    def fail(number):
        if number > 9:
            raise ConnectionResetError("reset")

    source.before = fail
    rows = []
    outcome = hash_all(SUM, unreliable(random.Random(0)), workers=1, work=tmp_path / "work", told=rows.append)
    assert outcome.exit == 3 and "bucket.b3" not in kept.files and (tmp_path / "work").exists()
    assert "the keys after" in rows[0]["note"] and "reset" in rows[0]["note"]


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
    part = write_list(folder, facts, 2000.0)
    read = read_list(folder, part)
    assert [it[:2] for it in read] == [it[:2] for it in facts]
    # The newest is of second 1003.
    assert [it.is_settled for it in read] == [True, False, True, True, False, False, False, True]
    # What was written after the reading began says nothing.
    read = read_list(folder, write_list(folder, facts, 1002.0))
    assert [it.is_settled for it in read] == [False, False, True, False, False, False, False, True]
    assert write_list(folder, facts, 2000.0) == part and write_list(Kept(), facts, 2000.0, known=[part.name]) == part
    assert part.name != write_list(folder, [facts[0]], 2000.0).name and write_list(folder, [], 2000.0) is None

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


def test_a_list_of_lists_has_no_gaps(kept, tmp_path):
    kept.source = Bucket({f"{it:03}": b"x" for it in range(100)})
    hashed(SUM, tmp_path / "work", unreliable(random.Random(0)))
    folder, bucket = kept, read_bucket(kept)
    index = next(it for it in folder.files if it.startswith("index-"))
    good, top = folder.files[index], folder.files["bucket.b3"]
    lines = good.split(b"\n")
    for bad, words in (
        ([lines[0], *lines[2:]], "is not the index of its list"),
        ([*lines[:-2], b""], "does not reach the last key"),
        ([lines[0], lines[1].replace(b'"part-', b'"large-'), *lines[2:]], "is not the index of its list"),
        ([lines[0].replace(b'"version": 3', b'"version": 4'), *lines[1:]], "of version 4"),
        ([b"junk", *lines[1:]], "is damaged"),
        ([*lines[:-2], lines[-2].replace(b"[null,", b'["zz",'), b""], "does not reach the last key"),
        ([lines[0], lines[2], lines[1], *lines[3:]], "is damaged"),
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
    folder.files["bucket.b3"] = b"".join(top.splitlines(keepends=True)[:-1])
    with pytest.raises(ListError, match="does not name its index"):
        read_bucket(folder)
    folder.files["bucket.b3"] = top
    assert read_bucket(folder) == bucket and bucket.objects == 100
    del folder.files[index]
    with pytest.raises(ListError, match=r"its index index-.* is missing"):
        read_bucket(folder)
    folder.files["bucket.b3"] = b"00" * 32 + b"  some file\n"
    assert read_bucket(folder) is None
