"""Rounds in virtual time: how near a run is to the time that its workers would need together, and nothing is lost.

`python test_rounds.py SEEDS` prints a table, of up to 1,000 workers. Workers have a log-normal spread, 1 % of them are
eight times slower, and 0.2 % of the tasks are lost. With two levels, the driver has 32 others, which have the workers.
"""

import random
import sys
from base64 import b64encode
from heapq import heapify, heapreplace
from statistics import median

import pytest
from fake import result_of
from treewide._scale.buckets.keys_cover import _GAPS, KeysCover
from treewide._scale.buckets.shards import BucketJob
from treewide._scale.bytes_cover import BytesCover
from treewide._scale.cover import _SHARE, _SHORTEST, LONGEST
from treewide._scale.objects import Object
from treewide._treewide import Parts, subtrees

#: Bytes and objects a second of a worker; seconds of a task until it begins, and of the driver for each.
BYTES, OBJECTS, START, DISPATCH = 1.25e9, 1000, 0.06, 0.0002
#: Seconds of a request of LIST; of finding the first group of a range, which is eight of them and a bit.
LIST, FIRST = 0.06, 0.9
MIB, GROUP, LEVELS, DIGEST = 1 << 20, 8192, 32, b64encode(bytes(32)).decode()


def rounds_of(cover, workers, choice, done, *, levels=1, dispatch=DISPATCH, planned=lambda: 0.0, shortest=_SHORTEST):
    """Run rounds to the end. `done` does a task, and returns its seconds and what the cover takes.

    Returns the seconds, how many workers of the usual speed there would be, and the rounds.
    """
    speeds = [choice.lognormvariate(0, 0.15) / (8 if choice.random() < 0.01 else 1) for _ in range(workers)]
    now, rounds = 0.0, 0
    while tasks := cover.missing(workers):
        rounds += 1
        now += planned()
        limit = min(max(now / _SHARE, shortest), LONGEST)
        # Each level has some of the workers, and deals its own tasks.
        pools = [[(now, it) for it in range(level, workers, levels)] for level in range(levels)]
        for pool in pools:
            heapify(pool)
        for number, task in enumerate(tasks):
            pool = pools[number % levels]
            at, worker = pool[0]
            at = max(at, now + (number // levels) * dispatch) + START
            seconds, take = done(task, limit, speeds[worker])
            heapreplace(pool, (at + seconds, worker))
            if choice.random() >= 0.002:
                take(str(worker))
        now = max(at for pool in pools for at, _ in pool)
    return now, sum(speeds), rounds


def hashed(piece, stop):
    """Return the result of a worker that hashed a piece up to `stop`."""
    object = piece.object
    parts = Parts(object.size, object=object.identity)
    for low, high in subtrees(piece.start, stop, object.size):
        parts.push(low, high, low.to_bytes(16, "little") + high.to_bytes(16, "little"))
    found = {"object": [object.uri, object.size, object.etag, object.version], "status": "ok", "detail": ""}
    return {**found, "parts": parts.to_bytes()}


def share_of_object(size, workers, seed, **options):
    """Return the share of linear of a run over one object, and its rounds."""
    cover = BytesCover([Object("s3://b/k", size, '"1"')])

    def done(task, limit, speed):
        (piece,) = task["pieces"]
        # It begins no further request of 16 MiB when its time is over.
        most = piece.start + (int(limit * BYTES * speed) // (16 * MIB) + 1) * 16 * MIB
        stop = min(piece.stop, most)
        return (stop - piece.start) / BYTES / speed, lambda host: cover.take(result_of([hashed(piece, stop)], host))

    seconds, all, rounds = rounds_of(cover, workers, random.Random(seed), done, **options)
    assert cover.done == size and not cover.left
    return size / BYTES / all / seconds, rounds


def share_of_bucket(objects, workers, seed, names="even", **options):
    """Return the share of linear of a run over a bucket, and its rounds. A key is the number of an object.

    `names` says where places that are evenly apart among names are among the keys.
    """
    choice, asked = random.Random(seed), []
    ends = [*range(GROUP, objects, GROUP), None]
    old = [key_of(it) for it in ends[:-1]] if names == "old" else []

    def cuts(after, until, count):
        low, high = number_of(after), number_of(until) if until is not None else objects
        asked.append((57 if until is None else 20) + count / 16)
        if names == "even":
            places = {low + (high - low) * it // (count + 1) for it in range(1, count + 1)}
        else:
            # Half of all keys are in one of the first ranges.
            first = high // 2 if names == "half" and not after else low
            places = {choice.randrange(first, high) for _ in range(count)}
        return [key_of(it) for it in sorted(places) if low < it < high]

    def planned():
        # Many gaps at a time.
        seconds = max([sum(asked) / _GAPS, *asked]) * LIST if asked else 0.0
        asked.clear()
        return seconds

    cover = KeysCover(BucketJob("s3://b/"), cuts, places=old)

    def done(task, limit, speed):
        low = number_of(task.after)
        first = low if task.exact else -(-low // GROUP) * GROUP
        until = number_of(task.until) if task.until is not None else objects
        stop = number_of(task.stop) if task.stop is not None else objects
        if first >= until:
            # No group begins there.
            first = until = low
        seconds, at = 2 * FIRST * (first - low) / GROUP, first
        lists = []
        while at < until and (at == first or seconds <= limit):
            end = min((at // GROUP + 1) * GROUP, stop)
            seconds += (end - at) / OBJECTS / speed
            lists.append([key_of(end), [f"part-{end:032x}", DIGEST, end - at]])
            at = end
        result = {
            "status": "ok", "after": key_of(first), "until": key_of(at) if at < objects else None, "lists": lists,
            "counts": {"hashed": at - first}, "differences": [], "gone": [], "large": [], "kept": [],
            "read": {}, "bytes_read": 0, "unread": {}, "unknown": 0, "doubt": None,
        }  # fmt: skip
        return seconds, lambda host: cover.take(result)

    seconds, all, rounds = rounds_of(cover, workers, choice, done, planned=planned, **options)
    assert cover.counts == {"hashed": objects} and len(cover.all_ranges()) == len(ends)
    return objects / OBJECTS / all / seconds, rounds


def key_of(number):
    return None if number is None else f"{number:012}" if number else ""


def number_of(key):
    return int(key or 0)


def middle_of(share, *args, seeds=3, **options):
    found = [share(*args, seed, **options) for seed in range(seeds)]
    return median(it[0] for it in found), median(it[1] for it in found)


@pytest.mark.parametrize(("size", "workers", "least"), [(10**13, 10, 0.96), (10**13, 100, 0.89)])
def test_share_of_linear_of_objects(size, workers, least):
    assert middle_of(share_of_object, size, workers)[0] >= least


@pytest.mark.parametrize(("names", "least"), [("old", 0.9), ("uneven", 0.75)])
def test_share_of_linear_of_buckets(names, least):
    assert middle_of(share_of_bucket, 10**8, 100, names=names)[0] >= least


def main(seeds):
    rows = [
        (f"{size / 1e12:.0f} TB", it, share_of_object, size, {})
        for size, it in ((10**13, 10), (10**13, 100), (10**14, 1000), (10**13, 1000))
    ]
    for title, options in (
        ("1 ms a dispatch", {"dispatch": 0.001}),
        ("1 ms, two levels", {"dispatch": 0.001, "levels": LEVELS}),
    ):
        rows += [(f"{size / 1e12:.0f} TB, {title}", 1000, share_of_object, size, options) for size in (10**14, 10**13)]
    for size, workers in ((10**9, 100), (10**8, 100), (10**9, 1000)):
        rows += [
            (f"{size:.0e} objects, {names}", workers, share_of_bucket, size, {"names": names})
            for names in ("even", "uneven", "half", "old")
        ]
    for title, options in (
        ("1 ms a dispatch", {"dispatch": 0.001}),
        ("1 ms, two levels", {"dispatch": 0.001, "levels": LEVELS}),
    ):
        rows.append((f"1e+09 objects, old, {title}", 1000, share_of_bucket, 10**9, {"names": "old", **options}))
    print("| what | workers | share of linear | rounds |\n|---|---:|---:|---:|")
    for what, workers, share, size, options in rows:
        found, rounds = middle_of(share, size, workers, seeds=seeds, **options)
        print(f"| {what} | {workers:,} | {found:.3f} | {rounds:.0f} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
