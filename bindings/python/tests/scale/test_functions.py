"""Rounds: results in any order, twice, lost, of another run or version; and what is the next round."""

import random
import time
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from buckets import ROOT, Bucket, always_the_same, unreliable
from fake import Memory, pattern, result_of
from treewide import digest
from treewide._scale import bytes_cover, lists
from treewide._scale.bytes_cover import BytesCover
from treewide._scale.cover import Cover, hash_all
from treewide._scale.job import Job
from treewide._scale.objects import Object
from treewide._scale.part import hash_pieces
from treewide._scale.results import seal, unseal
from treewide._scale.run import run

pytest_plugins = ["buckets"]

MIB = 1 << 20
DATA = pattern(300_000)


def test_pieces_shrink_and_cover_everything():
    objects = [Object("a", 10 << 40, '"1"'), Object("b", 3 * MIB + 5, '"2"'), Object("c", 200 * MIB, '"3"')]
    objects += [Object(f"small{it}", it, '"4"') for it in range(5000)]
    tasks = [it["pieces"] for it in BytesCover(objects).missing(100)]
    of = {it: [] for it in objects}
    for it in (it for task in tasks for it in task):
        of[it.object].append(it[1:3])
    for object, ranges in of.items():
        ranges.sort()
        assert ranges[0][0] == 0 and ranges[-1][1] == object.size
        assert all(left[1] == right[0] for left, right in pairwise(ranges))
    sizes = [it.stop - it.start for task in tasks for it in task if it.object == objects[0]]
    assert sizes[0] == 8 << 30 and sizes == sorted(sizes, reverse=True) and sizes[-1] < 2 * 64 * MIB
    assert len(sizes) < 8000, "and there are not many"
    # Small ones go together.
    assert max(map(len, tasks)) <= 1000 and len([it for it in tasks if len(it) > 1]) < 1200


def test_two_hosts_that_disagree_are_named():
    source, wrong = Memory({"mem://a": DATA}), Memory({"mem://a": DATA[:70_000] + b"!" + DATA[70_001:]})
    object = source.head("mem://a")
    wrong.head = source.head
    cover = BytesCover([object])
    (piece,) = cover.missing(1)[0]["pieces"]
    first, second = (hash_pieces([piece._replace(stop=131_072)], it, 20) for it in (source, wrong))
    cover.take(result_of(first, "host:1"))
    cover.take(result_of(second, "host:2"))
    found = cover.found[object]
    assert found.verdict == "unreadable" and "host:1 and host:2 disagree" in found.detail
    assert cover.missing(1) == [] and cover.left == 0


def rounds_of(cover, source):
    """Run rounds in which each task has time for one request."""
    rounds = 0
    while tasks := cover.missing(2):
        rounds += 1
        for task in tasks:
            cover.take(result_of(hash_pieces(task["pieces"], source, 0)))
    return rounds


def test_time_for_one_request_is_enough():
    source = Memory({"mem://a": DATA[:4096], "mem://b": DATA})
    cover = BytesCover([source.head(it) for it in source.objects])
    assert rounds_of(cover, source) > 10
    assert [it.digest for it in cover.found.values()] == [digest(DATA[:4096]), digest(DATA)]


@pytest.mark.parametrize(("error", "rounds"), [(ConnectionResetError, 3), (PermissionError, 1)])
def test_a_range_that_fails_is_given_up_after_three_rounds_and_a_refusal_at_once(monkeypatch, error, rounds):
    monkeypatch.setattr("treewide._scale.reading.Retries.wait", lambda self, failures: False)

    def fault(number, reply):
        raise error("no")

    source = Memory({"mem://a": DATA}, fault)
    cover = BytesCover([object := source.head("mem://a")])
    assert rounds_of(cover, source) == rounds
    assert cover.found[object].verdict == "unreadable" and "no" in cover.found[object].detail


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Files that have several tasks."""
    monkeypatch.setattr(bytes_cover, "_SMALLEST", 4096)
    monkeypatch.setattr("treewide._scale.cover._ROUNDS", 1000)
    names = {str(tmp_path / f"{it}"): pattern(it * 999) for it in range(40)} | {str(tmp_path / "large"): DATA}
    for name, data in names.items():
        with open(name, "wb") as file:
            file.write(data)
    return names


def test_rounds_find_the_same_whatever_was_lost(files):
    for seed in range(20):
        choice = random.Random(seed)
        chance = choice.choice((0.0, 0.1, 0.5))
        outcome = hash_all(Job("sum", urls=(*files,)), unreliable(choice, chance), workers=choice.choice((1, 3, 50)))
        assert outcome.digests == {name: digest(data) for name, data in files.items()}, seed
        assert (
            outcome.exit == 0
            and outcome.evidence == {"read": 41}
            and outcome.bytes_read == sum(map(len, files.values()))
        )


def test_a_cover_takes_only_results_of_its_own_run(files):
    job = Job("sum", urls=(*files,))
    cover, other = Cover(job), Cover(Job("sum", urls=job.urls))
    results = [run(it) for it in cover.missing(3)]
    with pytest.raises(ValueError, match="of another run"):
        other.take(results[0])
    for bad in (b"", results[0][:-1], results[0][:40] + b"!" + results[0][41:], b"junk" * 100):
        with pytest.raises(ValueError, match="damaged"):
            cover.take(bad)
    with pytest.raises(ValueError, match="of another run"):
        cover.take(seal({"pieces": []}))
    for it in results[1:]:
        cover.take(it)
    with pytest.raises(ValueError, match="2 tasks or more are not done"):
        cover.end()
    assert cover.missing(1)
    # Late, and of a cut that is not asked for any more.
    cover.take(results[0])
    assert cover.missing(1) == [] and cover.end().digests == {name: digest(data) for name, data in files.items()}


@pytest.mark.parametrize("is_bucket", [False, True])
def test_a_late_result_is_no_second_reading(is_bucket, tmp_path, kept, monkeypatch):
    if is_bucket:
        monkeypatch.setattr(Bucket, "head", always_the_same)
        source = kept.source = Bucket({"large": DATA})
        hash_all(Job("sum", urls=(ROOT,), recursive=True, output="kept"), workers=1)
        source.put("large", DATA[::-1])
        job = Job("verify", list="kept/bucket.b3")
    else:
        (tmp_path / "a").write_bytes(DATA)
        (tmp_path / "list").write_text(f"{'00' * 32}  {tmp_path / 'a'}\n")
        monkeypatch.undo()
        job = Job("verify", list=str(tmp_path / "list"))
    cover, results = Cover(job), []
    while not unseal((tasks := cover.missing(1))[0]).get("is_second"):
        results += map(run, tasks)
        for it in results:
            cover.take(it)
    for it in results:
        cover.take(it)
    (task,) = cover.missing(1)
    cover.take(run(task))
    outcome = cover.end()
    assert outcome.counts in ({"rot": 1}, {"suspect": 1}) and outcome.bytes_read == 2 * len(DATA)


def test_a_worker_needs_no_directory_of_the_driver(tmp_path, monkeypatch):
    (tmp_path / "a").write_bytes(DATA)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    cover = Cover(Job("sum", urls=(str(tmp_path / "a"),), output="list"))
    (task,) = cover.missing(1)
    monkeypatch.chdir(tmp_path)
    cover.take(run(task))
    monkeypatch.chdir(tmp_path / "here")
    assert cover.end().exit == 0 and (tmp_path / "here/list").read_text().startswith(digest(DATA).hex())


def test_what_was_read_right_after_it_was_written_is_not_settled(tmp_path):
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
    store, path = fsspec.filesystem("memory"), tmp_path / "list"
    store.pipe("/settled/a", DATA)
    written = time.time() - 60
    store.store["/settled/a"].created = datetime.fromtimestamp(written, UTC)
    for began, is_settled in ((written + 1, False), (written + 10, True)):
        cover = Cover(Job("sum", urls=("memory://settled/a",), output=str(path)))
        (task,) = cover.missing(1)
        cover.take(seal({**unseal(run(task)), "began": began}))
        cover.end()
        assert lists.read(path)["memory://settled/a"].is_settled == is_settled
