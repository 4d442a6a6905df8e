"""Measures engines on this machine against `hash_file`: measure.py FILE [ENGINE...], with a file of some GiB.

The file is read once before, so that it is in memory. The two sides alternate, seven times; medians count, and the
ratio is printed with the smallest and the largest of the seven. `--again` drops the file from the page cache and reads
it first: the cache then holds it in large pieces, as read-ahead makes them. A file that was just written is there in
small ones.
"""

import os
import statistics
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


def read_again(path):
    handle = os.open(path, os.O_RDONLY)
    os.fsync(handle)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    while os.read(handle, 1 << 20):
        pass
    os.close(handle)


def main(path, *names):
    if "--again" in names:
        names = [it for it in names if it != "--again"]
        read_again(path)
    source = scale.source_of(path)
    object = source.head(path)
    treewide.hash_file(path)
    print(f"{object.size} bytes; treewide {treewide.__version__}, Python {sys.version.split()[0]}")
    for name in names or ("local", "processes", "ray"):
        engine = Kept(ENGINES[name](source, 2))
        scale.hash_objects([object], source, engine=engine)
        rows = []
        for _ in range(7):
            own, digest = timed(lambda: treewide.hash_file(path))
            took, outcomes = timed(lambda engine=engine: scale.hash_objects([object], source, engine=engine))
            assert outcomes[object].digest == digest
            rows.append((own, took))
        own, took = statistics.median(row[0] for row in rows), statistics.median(row[1] for row in rows)
        ratios = sorted(row[0] / row[1] for row in rows)
        middle = statistics.median(ratios)
        gigabytes = object.size / 1e9
        print(
            f"{name}: {gigabytes / took:.2f} GB/s, hash_file {gigabytes / own:.2f} GB/s, ratio {middle:.2f} "
            f"({ratios[0]:.2f} to {ratios[-1]:.2f})",
            flush=True,
        )
        engine.engine.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
