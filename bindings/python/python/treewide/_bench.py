"""Measures this package against the package `blake3` and `hashlib`.

Both sides of a row run alternately in this process, and what counts is the median of the ratios of the rounds. So other
programs disturb both sides alike.
"""

import argparse
import hashlib
import importlib
import os
import platform
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from treewide import AUTO, __version__, blake3, digest, hash_many

_LENGTHS = (0, 64, 256, 1024, 3072, 4096, 7168, 16384, 65536, 1 << 20)
_BATCHES = ((65536, 64, 10.0), (65536, 200, 10.0), (65536, 1024, 5.0), (4096, 4096, 2.0))
_FILE = 64 << 20


@dataclass
class Row:
    """Two ways to do the same: `bar` is the most of the time of `theirs` that `ours` may take."""

    name: str
    against: str
    ours: Callable[[], object]
    theirs: Callable[[], object]
    bar: float


def _size(length: int) -> str:
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if length >= unit and length % unit == 0:
            return f"{length // unit} {name}"
    return f"{length} B"


def _rows(peer: Any) -> Iterator[Row]:
    for length in _LENGTHS:
        data = os.urandom(length)
        name = f"digest {_size(length)}"
        if peer:
            bar = 0.35 if length <= 64 else 1.0
            yield Row(name, "blake3", lambda data=data: digest(data), lambda data=data: peer(data).digest(), bar)  # type: ignore[misc]
        yield Row(name, "sha256", lambda data=data: digest(data), lambda data=data: hashlib.sha256(data).digest(), 1.0)  # type: ignore[misc]
    yield from _arrow_rows()
    if not peer:
        return
    for length in _LENGTHS:
        data = os.urandom(length)
        yield Row(
            f"class {_size(length)}",
            "blake3",
            lambda data=data: blake3(data).digest(),  # type: ignore[misc]
            lambda data=data: peer(data).digest(),  # type: ignore[misc]
            0.95,
        )
    for count, length, times in _BATCHES:
        items = [os.urandom(length) for _ in range(count)]
        for threads, name in ((1, "one thread"), (AUTO, "all threads")):
            yield Row(
                f"hash_many {count} x {_size(length)}, {name}",
                "blake3, loop",
                lambda items=items, threads=threads: hash_many(items, threads=threads),  # type: ignore[misc]
                lambda items=items: [peer(item).digest() for item in items],  # type: ignore[misc]
                1 / times,
            )
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "file")
        with open(path, "wb") as file:
            file.write(os.urandom(_FILE))
        yield Row(
            f"update_mmap {_size(_FILE)}, all threads",
            "blake3",
            lambda: blake3(max_threads=AUTO).update_mmap(path).digest(),
            lambda: peer(max_threads=peer.AUTO).update_mmap(path).digest(),
            1.0,
        )


def _arrow_rows() -> Iterator[Row]:
    try:
        arrow = importlib.import_module("pyarrow")
    except ImportError:
        return
    for count, most in ((200_000, 200), (50_000, 2000)):
        array = arrow.array([os.urandom(random.randrange(most)) for _ in range(count)])
        for threads, name in ((1, "one thread"), (AUTO, "all threads")):
            yield Row(
                f"hash_many Arrow {count} x 0 to {_size(most)}, {name}",
                "to_pylist, hash_many",
                lambda array=array, threads=threads: hash_many(array, threads=threads),  # type: ignore[misc]
                lambda array=array, threads=threads: hash_many(array.to_pylist(), threads=threads),  # type: ignore[misc]
                0.5,
            )


def _seconds(work: Callable[[], object], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        work()
    return (time.perf_counter() - start) / calls


def _measure(row: Row, seconds: float) -> tuple[float, float, float]:
    """Seconds of ours and of theirs, and the ratio: medians of the rounds."""
    row.ours()
    row.theirs()
    once = max(_seconds(row.ours, 3), _seconds(row.theirs, 3))
    calls = max(1, int(seconds / 40 / once))
    ours: list[float] = []
    theirs: list[float] = []
    ratios: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(ratios) < 5:
        pair = [row.ours, row.theirs]
        # Which side is first changes from round to round.
        first = len(ratios) % 2
        times = [0.0, 0.0]
        for side in (first, 1 - first):
            times[side] = _seconds(pair[side], calls)
        ours.append(times[0])
        theirs.append(times[1])
        ratios.append(times[0] / times[1])
    return statistics.median(ours), statistics.median(theirs), statistics.median(ratios)


def _time(seconds: float) -> str:
    return f"{seconds * 1e9:,.0f} ns" if seconds < 1e-5 else f"{seconds * 1e6:,.0f} µs"


def main() -> int:
    """Measure all rows, and print them. Returns 1 if a bar was missed."""
    parser = argparse.ArgumentParser(prog="python -m treewide.bench", description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0, help="time for each row (default: 1)")
    parser.add_argument("words", nargs="*", help="only the rows whose names contain one of these words")
    arguments = parser.parse_args()
    try:
        module = importlib.import_module("blake3")
        peer, version = module.blake3, module.__version__
    except ImportError:
        peer, version = None, "missing: pip install blake3 brings more rows"
    print(f"treewide {__version__}, blake3 {version}, Python {platform.python_version()}, {os.cpu_count()} CPUs\n")
    print("| what | against | ours | theirs | ratio | bar | |\n|---|---|---:|---:|---:|---:|---|")
    missed = 0
    for row in _rows(peer):
        if arguments.words and not any(word in row.name for word in arguments.words):
            continue
        ours, theirs, ratio = _measure(row, arguments.seconds)
        picture = "█" * max(1, round(min(ratio, 2) * 20))
        mark = "" if ratio <= row.bar else " missed"
        missed += bool(mark)
        print(
            f"| {row.name} | {row.against} | {_time(ours)} | {_time(theirs)} | {ratio:.2f} | {row.bar:.2f}{mark} "
            f"| {picture} |",
            flush=True,
        )
    print(f"\n{missed} bars missed. A ratio is our time by theirs; a bar of 20 blocks is the same time.")
    return int(missed > 0)
