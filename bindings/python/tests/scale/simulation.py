"""Workers in virtual time, with faults, for the same driver that real engines use.

Only time is pretended: plan, leases, results, merging and every hash are real. The object repeats one buffer, and a
chunk of 1 KiB stands for 64 MiB, so that 100 TB fit into a test.
"""

import heapq
import random
from dataclasses import dataclass
from functools import cache
from itertools import count

import treewide
from treewide._scale.object_driver import Driver
from treewide._scale.objects import Object
from treewide._scale.tasks import Result
from treewide._treewide import Parts

BUFFER = random.Random(0).randbytes(1 << 20)
#: Bytes that stand for 64 MiB.
UNIT = 1024
#: Seconds: what a request takes to start, and what the driver does for a lease.
LATENCY, DISPATCH = 0.064, 0.0002


@cache
def digest_of(size: int) -> bytes:
    hasher = treewide.blake3()
    for at in range(0, size, len(BUFFER)):
        hasher.update(memoryview(BUFFER)[: size - at])
    return hasher.digest()


def hashed(object: Object, start: int, stop: int, flip: int | None = None) -> bytes:
    parts = Parts(object.size, object=object.identity)
    at = start
    while at < stop:
        offset = at % len(BUFFER)
        data = memoryview(BUFFER)[offset : offset + min(stop - at, len(BUFFER) - offset)]
        if flip is not None and at <= flip < at + len(data):
            data = bytearray(data)
            data[flip - at] ^= 1
        parts.hash(data, at)
        at += len(data)
    parts.compact()
    return parts.to_bytes()


@dataclass(frozen=True)
class Faults:
    """How often something goes wrong with a task."""

    dies: float = 0.0
    #: The share of deaths that are not reported.
    silently: float = 0.0
    #: The share of deaths after which no other worker takes the place.
    forever: float = 0.0
    fails: float = 0.0
    twice: float = 0.0
    late: float = 0.0
    #: Another worker sends a wrong value for the same bytes.
    lies: float = 0.0
    slow: float = 0.01


@dataclass
class Ended:
    driver: Driver
    seconds: float
    #: Seconds that all workers together would take without anything else.
    ideal: float
    leases: int
    #: Wrong values that were sent.
    lies: int

    @property
    def linear(self) -> float:
        return self.ideal / self.seconds


def simulate(
    choice: random.Random,
    *,
    workers: int,
    size: int,
    rate: float = 1.25e9 * UNIT / (64 << 20),
    faults: Faults = Faults(),
    smallest: int = UNIT,
    grace: float = 30.0,
    limit: float = 1e6,
) -> Ended:
    now = 0.0
    object = Object("sim://object", size, '"1"')
    driver = Driver([object], smallest=smallest, largest=256 * UNIT, clock=lambda: now, grace=grace)
    rates = [
        rate * choice.lognormvariate(0, 0.15) / (8 if choice.random() < faults.slow else 1) for _ in range(workers)
    ]
    order = count()
    events: list[tuple[float, int, str, object]] = []
    idle: list[int] = list(range(workers))
    alive = workers
    driver_at = 0.0
    leases = lies = 0

    def later(at, kind, what):
        heapq.heappush(events, (at, next(order), kind, what))

    def start(worker, task):
        nonlocal driver_at, alive, leases, lies
        leases += 1
        driver_at = max(driver_at, now) + DISPATCH
        length = task.stop - task.start
        speed = rates[worker]
        if task.seconds is not None:
            allowed = max(UNIT, int(speed * task.seconds) // UNIT * UNIT)
            length = min(length, allowed)
        took = driver_at - now + LATENCY + length / speed
        host = f"host{worker}"
        if choice.random() < faults.dies:
            at = now + took * choice.random()
            forever = alive > 1 and choice.random() < faults.forever
            alive -= forever
            if not forever:
                later(at + 5 * choice.random(), "free", worker)
            if choice.random() >= faults.silently:
                later(at + choice.random(), "lost", task)
            return
        status = "failed" if choice.random() < faults.fails else "ok"
        if status == "failed":
            length = int(length * choice.random()) // UNIT * UNIT
        stop = task.start + length
        result = Result(task, status, hashed(object, task.start, stop), host, "a fault")
        later(now + took, "free", worker)
        delay = choice.random() * 4 * grace if choice.random() < faults.late else 0.0
        later(now + took + delay, "result", result)
        if choice.random() < faults.twice:
            later(now + took + choice.random() * grace, "result", result)
        if length and not task.avoid and status == "ok" and choice.random() < faults.lies:
            lies += 1
            flip = task.start + choice.randrange(length)
            later(now + took + delay, "lie", Result(task, "ok", hashed(object, task.start, stop, flip), "liar"))

    while not driver.is_done:
        while idle and (task := driver.next(max(1, alive))) is not None:
            start(idle.pop(), task)
        if not events or now > limit:
            # Only time can help: what was lost without a word.
            now += 1.0
            if now > limit + 1e5:
                raise AssertionError("the driver waits for ever")
            continue
        at, number, kind, what = heapq.heappop(events)
        # Engines ask from time to time.
        if at > now + 0.5 and idle:
            # In the same place, so that what happens at the same time keeps its order.
            heapq.heappush(events, (at, number, kind, what))
            now += 0.5
            continue
        now = max(now, at)
        if kind == "free":
            idle.append(what)
        elif kind == "lost":
            driver.lose(what, "it died")
        elif kind == "result":
            driver.take(what)
        else:
            # After the right value, so that there is one to disagree with.
            driver.take(what)
    return Ended(driver, now, size / sum(rates), leases, lies)
