"""Measures engines on this machine against `hash_file`: measure.py FILE [ENGINE...], with a file of some GiB.

The file is read once before, so that it is in memory. The two sides alternate; the best of five counts, and the ratio
is printed with the smallest and the largest of the five.
"""

import sys
import time

import treewide
from treewide import scale
from treewide.scale.engines import ENGINES


class Kept:
    """An engine that is not closed after a run, as a cluster that is there already."""

    def __init__(self, engine):
        self.engine = engine

    def __getattr__(self, name):
        return getattr(self.engine, name)

    def close(self):
        pass


def timed(call):
    began = time.perf_counter()
    result = call()
    return time.perf_counter() - began, result


def main(path, *names):
    source = scale.source_of(path)
    object = source.head(path)
    treewide.hash_file(path)
    print(f"{object.size} bytes; treewide {treewide.__version__}, Python {sys.version.split()[0]}")
    for name in names or ("local", "processes", "ray"):
        engine = Kept(ENGINES[name](source, 2))
        scale.hash_objects([object], source, engine=engine)
        rows = []
        for _ in range(5):
            own, digest = timed(lambda: treewide.hash_file(path))
            took, outcomes = timed(lambda engine=engine: scale.hash_objects([object], source, engine=engine))
            assert outcomes[object].digest == digest
            rows.append((own, took))
        own, took = min(row[0] for row in rows), min(row[1] for row in rows)
        ratios = sorted(row[0] / row[1] for row in rows)
        gigabytes = object.size / 1e9
        print(
            f"{name}: {gigabytes / took:.2f} GB/s, hash_file {gigabytes / own:.2f} GB/s, ratio {own / took:.2f} "
            f"({ratios[0]:.2f} to {ratios[-1]:.2f})",
            flush=True,
        )
        engine.engine.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
