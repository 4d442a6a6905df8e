"""Measures engines on this machine against `hash_file`: measure.py FILE [ENGINE...], with a file of some GiB.

The file is read once before, so that it is in memory. The two sides alternate, seven times; the samples are for
`treewide-bench report`. `--again` drops the file from the page cache and reads
it first: the cache then holds it in large pieces, as read-ahead makes them. A file that was just written is there in
small ones.
"""

import json
import os
import sys
import time

import treewide
from treewide import scale
from treewide._scale.engines import ENGINES


def timed(call):
    began = time.perf_counter_ns()
    result = call()
    return time.perf_counter_ns() - began, result


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
    size = os.stat(path).st_size
    treewide.hash_file(path)
    print(json.dumps({"about": f"treewide {treewide.__version__}, Python {sys.version.split()[0]}"}))
    for name in names or ("local", "processes", "ray"):
        with ENGINES[name](2) as (map, workers):

            def run(map=map, workers=workers):
                return scale.hash_all(scale.Job("sum", urls=(path,)), map, workers=workers).digests[path]

            run()
            samples = {"hash_file": [], f"scale, {name}": []}
            own, other = samples.values()
            for _ in range(7):
                took, digest = timed(lambda: treewide.hash_file(path))
                own.append(took)
                took, found = timed(run)
                other.append(took)
                assert found == digest
        for side, times in samples.items():
            line = {"name": f"{size} B, {name}", "engine": side, "bytes": size, "samples": times}
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
