"""Results in any order, twice, late or wrong; and the journal of a driver that died."""

import json
import random
from itertools import pairwise

import pytest
from fake import merge, plan
from simulation import digest_of, hashed
from treewide._scale.journal_file import JournalError
from treewide._scale.merge import Disagreement, Merge
from treewide._scale.object_driver import Driver
from treewide._scale.object_journal import Journal
from treewide._scale.objects import Object
from treewide._scale.plan import Plan
from treewide._scale.tasks import Result, Task
from treewide._treewide import Parts

K = 1024
OBJECT = Object("s3://b/k", 64 * K, '"1"')
MIB = 1 << 20


def result(start, stop, host="a", *, object=OBJECT, flip=None, **task):
    return Result(Task(object, start, stop, **task), "ok", hashed(object, start, stop, flip), host)


def test_leases_shrink_and_cover_everything():
    objects = [Object("a", 10 << 40, '"1"'), Object("b", 3 * MIB + 5, '"2"'), Object("c", 200 * MIB, '"3"')]
    tasks = list(plan(objects, workers=100))
    for object in objects:
        ranges = sorted((it.start, it.stop) for it in tasks if it.object == object)
        assert ranges[0][0] == 0 and ranges[-1][1] == object.size
        assert all(left[1] == right[0] for left, right in pairwise(ranges))
    sizes = [it.stop - it.start for it in tasks if it.object == objects[0]]
    assert sizes[0] == 16 << 30 and sizes == sorted(sizes, reverse=True)
    # The smallest, and the end.
    assert sizes[-1] < 2 * 64 * MIB
    assert len({it.number for it in tasks}) == len(tasks)
    assert [it.stop - it.start for it in plan([objects[2]], lease=64 * MIB)] == [64 * MIB] * 3 + [8 * MIB]


def test_nobody_has_longer_than_the_run_has_lasted():
    now = 0.0
    driver = Driver([Object("a", 1 << 30, '"1"')], lease=MIB, clock=lambda: now)
    first, second, _ = driver.next(2), driver.next(2), driver.next(2)
    assert first.seconds == second.seconds == 2.0
    # The slowest is the first to answer. By its rate, an hour is left.
    now = 1.0
    driver.take(result(0, 64 * K, object=first.object, number=first.number))
    assert driver.next(2).seconds == 2.0
    now = 7.0
    assert driver.next(2).seconds == 7.0
    # The others are fast, and the end is near.
    for _ in range(500):
        task = driver.next(2)
        now += 0.001
        driver.take(result(task.start, task.stop, object=task.object, number=task.number))
    assert driver.next(2).seconds == 1.0


def test_what_is_given_back_is_dealt_first():
    unwanted = set()
    dealer = Plan([OBJECT], lease=16 * K, wanted=lambda object: object not in unwanted)
    first = dealer.lease(1)
    dealer.give_back(OBJECT, 2 * K, 16 * K, 3)
    again = dealer.lease(1)
    assert (first.start, first.stop) == (0, 16 * K)
    assert (again.start, again.stop, again.attempt) == (2 * K, 16 * K, 3)
    unwanted.add(OBJECT)
    assert (dealer.lease(1), dealer.rest, bool(dealer)) == (None, 0, False)
    for lease in (1000, 512, 3 * K):
        with pytest.raises(ValueError, match="power of two"):
            Plan([OBJECT], lease=lease)


def test_results_merge_in_any_order_and_twice():
    choice = random.Random(3)
    tasks = list(plan([OBJECT], lease=4 * K))
    results = [result(it.start, it.stop) for it in tasks] * 2
    choice.shuffle(results)
    outcome = merge([OBJECT], results)[OBJECT]
    assert (outcome.status, outcome.digest) == ("hashed", digest_of(OBJECT.size))
    with pytest.raises(ValueError, match=r"s3://b/k: \[\(4096, 8192\)\] is missing"):
        merge([OBJECT], [result(it.start, it.stop) for it in tasks if it.start != 4 * K])


def test_two_hosts_that_disagree_are_named():
    with pytest.raises(Disagreement, match=r"s3://b/k: bytes 0\.\.32768 have two values, by a and b") as caught:
        merge([OBJECT], [result(0, 32 * K), result(0, 32 * K, "b", flip=77), result(32 * K, 64 * K)])
    assert (caught.value.start, caught.value.stop, caught.value.hosts) == (0, 32 * K, ("a", "b"))


@pytest.mark.parametrize("liar", ["a", "b"])
@pytest.mark.parametrize("cut", [None, 8 * K, 24 * K])
def test_a_third_host_decides(liar, cut):
    merging = Merge([OBJECT])
    merging.take(result(32 * K, 48 * K, "z"))
    merging.take(result(0, 32 * K, "a", flip=77 if liar == "a" else None))
    # The other has other cuts: all of it must be there before it can be compared.
    for start, stop in [(0, cut), (cut, 32 * K)] if cut else [(0, 32 * K)]:
        flip = 77 if liar == "b" and start <= 77 < stop else None
        merging.take(result(start, stop, "b", flip=flip))
    (third,) = merging.thirds
    assert (third.start, third.stop, third.avoid) == (0, 32 * K, ("a", "b"))
    assert merging.missing(OBJECT) == [(48 * K, 64 * K)] and merging.done == 16 * K
    # One of the two says nothing new.
    merging.take(result(0, 32 * K, "a", avoid=third.avoid))
    assert not merging.is_done and len(merging.thirds) == 2
    merging.take(result(0, 32 * K, "c", avoid=third.avoid))
    merging.take(result(48 * K, 64 * K, "z"))
    assert merging.outcomes[OBJECT].digest == digest_of(OBJECT.size)
    (found,) = merging.disagreements
    assert found.odd == (liar,) and set(found.hosts) == {"a", "b", "c"}
    assert f"{liar} is wrong" in str(found)


def test_on_one_machine_the_same_host_decides_in_the_end():
    driver = Driver([OBJECT])
    task = driver.next(1)
    driver.take(result(0, 64 * K, "only", flip=5, number=task.number))
    # No host is asked twice without reason.
    assert driver.is_done and driver.outcomes[OBJECT].digest != digest_of(OBJECT.size)
    driver = Driver([OBJECT], lease=32 * K)
    first, second = driver.next(1), driver.next(1)
    driver.take(result(0, 32 * K, "only", flip=5, number=first.number))
    driver.take(result(0, 32 * K, "only", number=first.number))
    driver.take(result(32 * K, 64 * K, "only", number=second.number))
    asked = 0
    while not driver.is_done:
        task = driver.next(1)
        assert (task.start, task.stop) == (0, 32 * K) and task.avoid
        driver.take(result(0, 32 * K, "only", avoid=task.avoid, number=task.number))
        asked += 1
    assert asked == 4 and driver.outcomes[OBJECT].digest == digest_of(OBJECT.size)


def test_five_values_are_nobodys():
    merging = Merge([OBJECT])
    for number, host in enumerate("abcde"):
        avoid = merging.thirds.pop().avoid if merging.thirds else ()
        merging.take(result(0, 32 * K, host, flip=number, avoid=avoid))
    outcome = merging.outcomes[OBJECT]
    assert outcome.status == "unreadable" and "a and b and c and d and e" in outcome.detail


def test_results_of_something_else_are_refused():
    other = Object(OBJECT.uri, OBJECT.size, '"2"')
    merging = Merge([OBJECT])
    wrong = Result(Task(OBJECT, 0, 64 * K), "ok", hashed(other, 0, 64 * K), "a")
    with pytest.raises(ValueError, match="parts of another object"):
        merging.take(wrong)
    keyed = Parts(OBJECT.size, object=OBJECT.identity, key=bytes(32))
    for raw in (b"", b"junk", hashed(OBJECT, 0, 64 * K)[:-1], keyed.to_bytes()):
        with pytest.raises(ValueError):
            merging.take(Result(Task(OBJECT, 0, 64 * K), "ok", raw, "a"))
    assert merging.missing(OBJECT) == [(0, 64 * K)]
    # A driver gives such a task to others, and gives up in the end.
    driver = Driver([OBJECT])
    attempts = 0
    while not driver.is_done:
        driver.take(Result(driver.next(1), "ok", b"junk", "a"))
        attempts += 1
    assert attempts == 10 and "not parts" in driver.outcomes[OBJECT].detail


def test_a_worker_that_returns_nothing_holds_up_nothing():
    driver = Driver([OBJECT], lease=16 * K)
    empty = Parts(OBJECT.size, object=OBJECT.identity).to_bytes()
    driver.take(Result(driver.next(4), "ok", empty, "a"))
    while not driver.is_done:
        task = driver.next(4)
        driver.take(result(task.start, task.stop, number=task.number))
    assert driver.outcomes[OBJECT].digest == digest_of(OBJECT.size)


def run_some(driver, most=None):
    """Do up to `most` tasks, and return how many there were."""
    done = 0
    while not driver.is_done and done != most:
        task = driver.next(2)
        driver.take(result(task.start, task.stop, object=task.object, number=task.number, avoid=task.avoid))
        done += 1
    return done


def test_a_driver_goes_on_from_its_journal(tmp_path):
    path = tmp_path / "journal"
    objects = [OBJECT, Object("s3://b/other", 100 * K, '"2"')]
    journal = Journal(path)
    all = run_some(Driver(objects, lease=4 * K, journal=Journal(tmp_path / "whole")))
    assert run_some(Driver(objects, lease=4 * K, journal=journal), 10) == 10
    journal.close()
    saved = path.read_bytes()
    # Wherever the last line is torn; and nothing is glued to it.
    for cut in (0, 1, 50, len(saved) - saved.rindex(b"\n", 0, -1) - 2):
        path.write_bytes(saved[: len(saved) - cut])
        journal = Journal(path)
        driver = Driver(objects, lease=4 * K, journal=journal)
        assert driver.resumed == driver.done == (10 - (cut > 0)) * 4 * K
        assert run_some(driver) == all - 10 + (cut > 0)
        assert [driver.outcomes[it].digest for it in objects] == [digest_of(it.size) for it in objects]
        journal.close()
        assert run_some(Driver(objects, journal=Journal(path))) == 0, "it is complete"
    journal.remove()
    assert not path.exists()


def test_the_journal_drops_what_is_damaged_or_changed(tmp_path):
    path = tmp_path / "journal"
    journal = Journal(path)
    run_some(Driver([OBJECT], lease=16 * K, journal=journal), 3)
    journal.close()
    lines = path.read_bytes().splitlines(keepends=True)
    assert len(lines) == 4 and path.stat().st_mode & 0o77 == 0
    damaged = lines[1].replace(b'"host": "a"', b'"hosts": "a"'), lines[2][:30] + b"!" + lines[2][31:]
    path.write_bytes(b"".join([lines[0], *damaged, b"\xff\n", b"[]\n", b'{"parts": 5}\n', lines[3]]))
    journal = Journal(path)
    driver = Driver([OBJECT], journal=journal)
    assert (journal.dropped, driver.done) == (5, 16 * K)
    journal.close()
    # The object was replaced: nothing of the old one counts.
    journal = Journal(path)
    assert Driver([Object(OBJECT.uri, OBJECT.size, '"2"')], journal=journal).done == 0
    journal.close()


def test_what_is_not_a_journal_is_left_alone(tmp_path):
    path = tmp_path / "journal"
    for text, words in (
        ("my notes\n", "not a journal"),
        ("my notes", "not a journal"),
        ("{}\n", "not a journal"),
        (json.dumps({"treewide": "journal of scale", "version": 1}) + "\n", "version 1"),
    ):
        path.write_text(text)
        with pytest.raises(JournalError, match=words) as caught:
            Journal(path)
        assert str(path) in str(caught.value) and path.read_text() == text
    path.write_text('{"treewide": "jour')
    journal = Journal(path)
    with pytest.raises(JournalError, match="another run"):
        Journal(path)
    journal.close()
    Journal(path).close()


def test_a_dispute_survives_the_driver(tmp_path):
    for liar in "ab":
        path = tmp_path / liar
        journal = Journal(path)
        driver = Driver([OBJECT], lease=32 * K, journal=journal)
        first = driver.next(1)
        driver.take(result(0, 32 * K, "a", flip=9 if liar == "a" else None, number=first.number))
        driver.take(result(0, 32 * K, "b", flip=9 if liar == "b" else None, number=first.number))
        journal.close()
        # Now it died. The value of `a` is known, and not believed.
        journal = Journal(path)
        driver = Driver([OBJECT], lease=32 * K, journal=journal)
        assert driver.done == 0
        hosts = iter("bcdefgh")
        while not driver.is_done:
            task = driver.next(1)
            flip = 9 if (host := next(hosts)) == liar else None
            driver.take(result(task.start, task.stop, host, flip=flip, number=task.number, avoid=task.avoid))
        assert driver.outcomes[OBJECT].digest == digest_of(OBJECT.size)
        journal.close()
