"""The driver with workers in virtual time: no wrong digest, no lost lease, close to linear.

`scripts/slow.sh scale` runs 10,000 seeds: TREEWIDE_TEST_SCALE=40.
"""

import os
import random

import pytest
from simulation import UNIT, Faults, digest_of, simulate

SCALE = float(os.environ.get("TREEWIDE_TEST_SCALE", "1"))


def test_faults_never_change_the_digest():
    seeds = int(250 * SCALE)
    lost = lies = found = late = 0
    for seed in range(seeds):
        choice = random.Random(seed)
        # All sizes of faults, and mostly few workers; a thousand now and then.
        workers = 1000 if seed % 125 == 124 else choice.choice((1, 2, 3, 10, 50))
        chance = choice.choice((0.0, 0.02, 0.1))
        faults = Faults(
            dies=chance,
            silently=choice.choice((0.0, 0.5)),
            forever=choice.choice((0.0, 0.3)),
            fails=choice.choice((0.0, 0.05)),
            twice=chance,
            late=choice.choice((0.0, 0.05)),
            lies=choice.choice((0.0, 0.05)),
            slow=choice.choice((0.01, 0.3)),
        )
        size = choice.choice((0, 1, 1024, 1025)) if seed % 10 == 0 else choice.randrange(2000 * UNIT * min(workers, 50))
        ended = simulate(choice, workers=workers, size=size, smallest=choice.choice((1, 4, 16)) * UNIT, faults=faults)
        (outcome,) = ended.driver.outcomes.values()
        assert (outcome.status, outcome.digest) == ("hashed", digest_of(size)), (seed, outcome)
        # Who lied is always the odd one.
        assert all("liar" in it.odd or "liar" in it.hosts for it in ended.driver.disagreements), seed
        lost += ended.driver.lost
        late += ended.driver.late
        lies += ended.lies
        found += len(ended.driver.disagreements)
    assert lost and late and found
    print(f"simulation: {seeds} cases; {lost} leases lost, {late} late, {lies} wrong values sent, {found} named")


@pytest.mark.parametrize("workers", [10, 100, 1000] if SCALE > 1 else [10, 100])
def test_it_is_close_to_linear(workers):
    # 100 seconds of work: 1.25 GB/s for each worker.
    size = int(100 * workers * 1.25e9 / (64 << 20)) * UNIT
    shares = []
    for seed in range(3):
        faults = Faults(dies=0.002, slow=0.01)
        ended = simulate(random.Random(seed), workers=workers, size=size, faults=faults)
        (outcome,) = ended.driver.outcomes.values()
        assert outcome.digest == digest_of(size)
        shares.append(ended.linear)
        print(f"{workers} workers: {ended.linear:.3f} of linear, {ended.seconds:.1f} s, {ended.leases} leases")
    # Virtual time: the same on every machine.
    assert min(shares) >= 0.90


def test_a_short_run_of_many_workers_is_not_held_up_by_slow_ones():
    # Eight seconds of work. The first results are few, so that the end seems far: slow workers that kept long leases
    # then made it 0.5 and 0.6.
    size = int(8 * 400 * 1.25e9 / (64 << 20)) * UNIT
    for seed in range(2):
        ended = simulate(random.Random(seed), workers=400, size=size, faults=Faults(slow=0.05))
        (outcome,) = ended.driver.outcomes.values()
        assert outcome.digest == digest_of(size)
        assert ended.linear >= 0.80, ended.linear
