"""Rounds in virtual time: how near a run is to the time that its workers would need together, and nothing is lost.

Workers have 1.25 GB/s with a log-normal spread, 1 % of them are eight times slower, and 0.2 % of the tasks are lost.
"""

import os
import random
from heapq import heapify, heapreplace

import pytest
from treewide._scale.bytes_cover import BytesCover
from treewide._scale.cover import _SHARE, _SHORTEST, LONGEST
from treewide._scale.objects import Object
from treewide._scale.results import base85
from treewide._treewide import Parts, subtrees

SCALE = float(os.environ.get("TREEWIDE_TEST_SCALE", "1"))
#: Bytes a second of a worker; seconds of a task until it begins, and of the driver for each.
SPEED, START, DISPATCH = 1.25e9, 0.06, 0.0002
MIB = 1 << 20


def hashed(piece, stop):
    """Return the result of a worker that hashed a piece up to `stop`."""
    object = piece.object
    parts = Parts(object.size, object=object.identity)
    for low, high in subtrees(piece.start, stop, object.size):
        parts.push(low, high, low.to_bytes(16, "little") + high.to_bytes(16, "little"))
    found = {"object": [object.uri, object.size, object.etag, object.version], "status": "ok", "detail": ""}
    return {**found, "requests": 1, "range": [piece.start, stop], "parts": base85(parts.to_bytes())}


def share_of_linear(size, workers, seed):
    """Run rounds over one object. Returns the share of linear, and the rounds."""
    choice = random.Random(seed)
    speeds = [SPEED * choice.lognormvariate(0, 0.15) / (8 if choice.random() < 0.01 else 1) for _ in range(workers)]
    cover = BytesCover([Object("s3://b/k", size, '"1"')])
    now, rounds = 0.0, 0
    while tasks := cover.missing(workers):
        rounds += 1
        seconds = min(max(now / _SHARE, _SHORTEST), LONGEST)
        free = [(now, it) for it in range(workers)]
        heapify(free)
        for number, ((piece,)) in enumerate(tasks):
            at, worker = free[0]
            at = max(at, now + number * DISPATCH) + START
            # It begins no further request of 16 MiB when its time is over.
            most = piece.start + (int(seconds * speeds[worker]) // (16 * MIB) + 1) * 16 * MIB
            stop = min(piece.stop, most)
            heapreplace(free, (at + (stop - piece.start) / speeds[worker], worker))
            if choice.random() >= 0.002:
                cover.take([hashed(piece, stop)], str(worker))
        now = max(at for at, _ in free)
    assert cover.done == size and not cover.left
    return size / sum(speeds) / now, rounds


@pytest.mark.parametrize(
    ("size", "workers", "least"),
    [(10**13, 10, 0.96), (10**13, 100, 0.89), *([(10**14, 1000, 0.85)] if SCALE >= 10 else [])],
)
def test_share_of_linear(size, workers, least):
    found = [share_of_linear(size, workers, seed) for seed in range(max(3, int(3 * SCALE)))]
    shares = sorted(it[0] for it in found)
    print(f"{size:.0e} bytes, {workers} workers: {shares[len(shares) // 2]:.3f} of linear in {found[0][1]} rounds")
    assert shares[len(shares) // 2] >= least, shares
