"""Measures the Python package next to the package `blake3` and `hashlib`, and prints samples.

    python bindings/python/bench/bench.py | treewide-bench report -
    python bindings/python/bench/bench.py digest hash_many --seconds 0.2    # only rows with one of these words

The sides of a row alternate in this process. The package `blake3` must be installed; pyarrow brings more rows.
"""

import argparse
import hashlib
import json
import os
import platform
import random
import tempfile
import time
from collections.abc import Callable, Iterator

import blake3 as peer
import treewide
from treewide import AUTO, digest, hash_many

LENGTHS = (0, 64, 256, 1024, 3072, 4096, 7168, 16384, 65536, 1 << 20)
BATCHES = ((65536, 64, 10.0), (65536, 200, 10.0), (65536, 1024, 5.0), (4096, 4096, 2.0))
FILE = 64 << 20

# A name, bytes, what hashes them by engine (ours first), and the least ratios of others' times to ours.
Row = tuple[str, int, dict[str, Callable[[], object]], dict[str, float]]


def rows() -> Iterator[Row]:
    theirs = peer.blake3
    for length in LENGTHS:
        data = os.urandom(length)
        yield (
            f"digest {length} B",
            length,
            {
                "treewide": lambda data=data: digest(data),
                "blake3": lambda data=data: theirs(data).digest(),
                "sha256": lambda data=data: hashlib.sha256(data).digest(),
            },
            {"blake3": 2.8 if length <= 64 else 1.0, "sha256": 1.0},
        )
    for length in LENGTHS:
        data = os.urandom(length)
        yield (
            f"class {length} B",
            length,
            {
                "treewide": lambda data=data: treewide.blake3(data).digest(),
                "blake3": lambda data=data: theirs(data).digest(),
            },
            {"blake3": 1.05},
        )
    for count, length, bar in BATCHES:
        items = [os.urandom(length) for _ in range(count)]
        sides = {
            name: lambda items=items, threads=threads: hash_many(items, threads=threads)
            for name, threads in (("treewide, one thread", 1), ("treewide, all threads", AUTO))
        }
        sides["a loop of blake3"] = lambda items=items: [theirs(item).digest() for item in items]
        yield f"hash_many {count} x {length} B", count * length, sides, {"a loop of blake3": bar}
    try:
        import pyarrow
    except ImportError:
        return
    for count, most in ((200_000, 200), (50_000, 2000)):
        array = pyarrow.array([os.urandom(random.randrange(most)) for _ in range(count)])
        sides = {
            "treewide, Arrow": lambda array=array: hash_many(array),
            "treewide, to_pylist": lambda array=array: hash_many(array.to_pylist()),
        }
        yield f"hash_many Arrow {count} x 0 to {most} B", array.nbytes, sides, {"treewide, to_pylist": 2.0}


def of_file(path: str) -> Row:
    with open(path, "wb") as file:
        file.write(os.urandom(FILE))
    sides = {
        "treewide": lambda: treewide.blake3(max_threads=AUTO).update_mmap(path).digest(),
        "blake3": lambda: peer.blake3(max_threads=AUTO).update_mmap(path).digest(),
    }
    return "update_mmap 64 MiB, all threads", FILE, sides, {"blake3": 1.0}


def nanoseconds(work: Callable[[], object], calls: int) -> int:
    start = time.perf_counter_ns()
    for _ in range(calls):
        work()
    return time.perf_counter_ns() - start


def measure(row: Row, seconds: float) -> None:
    name, size, sides, bars = row
    works = list(sides.values())
    once = max(nanoseconds(work, 3) // 3 for work in 2 * works)
    calls = max(1, int(seconds * 1e9 / 40 / (once + 1)))
    samples: list[list[int]] = [[] for _ in works]
    end = time.perf_counter() + seconds * len(works) / 2
    turn = 0
    while time.perf_counter() < end or turn < 5:
        # The side that is first changes from turn to turn.
        for at in range(len(works)):
            side = (at + turn) % len(works)
            samples[side].append(nanoseconds(works[side], calls))
        turn += 1
    for engine, times in zip(sides, samples, strict=True):
        line = {"name": name, "engine": engine, "bytes": size, "calls": calls, "samples": times}
        if engine in bars:
            line["bar"] = bars[engine]
        print(json.dumps(line), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.0, help="time for each row of two sides (default: 1)")
    parser.add_argument("words", nargs="*", help="only the rows whose names contain one of these words")
    arguments = parser.parse_args()
    about = f"treewide {treewide.__version__}, blake3 {peer.__version__}, Python {platform.python_version()}"
    print(json.dumps({"about": f"{about}, {os.cpu_count()} CPUs"}))
    with tempfile.TemporaryDirectory() as folder:
        for row in rows():
            if not arguments.words or any(word in row[0] for word in arguments.words):
                measure(row, arguments.seconds)
        if not arguments.words or "update_mmap" in arguments.words:
            measure(of_file(os.path.join(folder, "file")), arguments.seconds)


if __name__ == "__main__":
    main()
