"""Kills workers and drivers: kills.py ENGINE WORKERS KILLS, against an S3 server of moto that it starts here.

The command `sum -r` is begun again and again. Each time a worker is killed at a random moment, then the driver, by
their ids, until the command ends by itself. Each run must write the `bucket.b3` of a run without kills, with each key
once. For `ray`, `dask` and `spark` the driver has the cluster, which is killed with it. A run of more than five minutes
says where its threads are. Processes that outlive a run are counted: they keep its output open, for whom it was piped.
"""

import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from buckets import contents

PROGRAM = """
import faulthandler, signal, sys
faulthandler.register(signal.SIGUSR1, all_threads=True)
from treewide._scale import bytes_cover
from treewide._scale.buckets import bucket_command, shards
bucket_command._LIMIT, bytes_cover._SMALLEST = 16, 1 << 20
class Small(shards.BucketJob):
    def __init__(self, **fields):
        super().__init__(**{"large": 3 << 20, **fields})
bucket_command.BucketJob = Small
from treewide._scale.program import main
if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
"""


def command_of(pid):
    """Return the command of a process that is alive."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def processes_below(pid):
    """Return the ids and commands of all processes that one began, or that these did."""
    parents = {}
    for it in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            parent = Path("/proc", it, "stat").read_text().rpartition(")")[2].split()[1]
            parents.setdefault(int(parent), []).append((int(it), command_of(it)))
    found, todo = [], [pid]
    while todo:
        children = parents.get(todo.pop(), [])
        found += children
        todo += [it for it, _ in children]
    return found


def is_worker(engine, command):
    words = {"processes": "spawn_main", "ray": "ray::", "dask": "spawn_main", "spark": "pyspark.daemon"}
    return words[engine] in command and "resource_tracker" not in command


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def main(engine, workers, kills):
    import boto3

    random.seed(5)
    place = Path(tempfile.mkdtemp())
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = [sys.executable, "-c", "import sys; from moto.server import main; main(sys.argv[1:])"]
    server = subprocess.Popen([*program, "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.environ |= {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_REGION": "us-east-1",
        "PYSPARK_PYTHON": sys.executable,
    }
    os.environ |= {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "XDG_CACHE_HOME": str(place / "cache")}
    (place / "small.py").write_text(PROGRAM)
    try:
        client = boto3.client("s3", region_name="us-east-1")
        while True:
            try:
                client.create_bucket(Bucket="bucket")
                break
            except Exception:
                assert server.poll() is None, "moto ended"
                # A server says nowhere that it listens.
                time.sleep(0.2)
        wanted = {f"{it % 7}/{it:04}": random.randbytes(random.randrange(60_000)) for it in range(60)}
        wanted |= {f"large{it}": random.randbytes(7 << 20) for it in range(2)}
        for key, data in wanted.items():
            client.put_object(Bucket="bucket", Key=f"data/{key}", Body=data)

        def begin(name):
            args = ["sum", "-r", "s3://bucket/data/", "-o", str(place / name), "--json", "--engine", engine]
            command = [sys.executable, str(place / "small.py"), *args, "--workers", str(workers)]
            # Not pipes, which what outlives a run would keep open.
            with open(place / "out", "wb") as out, open(place / "errors", "wb") as errors:
                return subprocess.Popen(command, stdout=out, stderr=errors, cwd=place)

        def wait_for(run, condition):
            """Wait until it is true, or the run has ended. No event says that a result is kept."""
            # Looks and not seconds, in which all of this may have been stopped.
            for _ in range(300 * 50):
                if run.poll() is not None or condition():
                    return
                time.sleep(0.02)
            run.send_signal(signal.SIGUSR1)
            # It prints its stacks, and nothing says when it has.
            time.sleep(1)
            raise AssertionError(f"{(place / 'errors').read_text()}\n{processes_below(run.pid)}")

        def end(run):
            wait_for(run, lambda: False)
            assert run.returncode == 0, (run.returncode, (place / "errors").read_text())
            return json.loads((place / "out").read_text().splitlines()[-1])

        began = time.monotonic()
        end(begin("calm"))
        length = time.monotonic() - began
        top = (place / "calm/bucket.b3").read_bytes()
        assert sorted(contents(place / "calm")) == sorted(wanted)
        dead, runs, resumed, left, longest = {"driver": 0, "worker": 0}, 0, 0, 0, 0.0
        while min(dead["driver"], dead["worker"] if engine != "local" else kills) < kills:
            name, runs = f"out{runs}", runs + 1
            for attempt in range(3):
                kept = set(place.glob("cache/treewide/scale/*/*.result"))
                run, began, known = begin(name), time.monotonic(), dict[int, str]()
                for who in ("worker", "driver") if attempt < 2 else ("worker",):
                    # Before its first result, an engine may be killed that only begins.
                    wait_for(run, lambda kept=kept: set(place.glob("cache/treewide/scale/*/*.result")) - kept)
                    try:
                        run.wait(random.uniform(0, 0.2) * length)
                    except subprocess.TimeoutExpired:
                        known |= (below := dict(processes_below(run.pid)))
                        those = [it for it, text in below.items() if engine != "local" and is_worker(engine, text)]
                        if who == "driver":
                            dead["driver"] += kill(run.pid)
                            run.wait()
                            # What of a cluster outlives its driver.
                            for it in below:
                                kill(it)
                        elif those:
                            dead["worker"] += kill(random.choice(those))
                last = end(run) if run.returncode != -signal.SIGKILL else None
                if last is not None:
                    longest = max(longest, time.monotonic() - began)
                    left += sum(kill(it) for it, text in known.items() if command_of(it) == text)
                    break
            resumed += last["resumed"]
            assert (place / name / "bucket.b3").read_bytes() == top and sorted(contents(place / name)) == sorted(wanted)
            assert last["counts"] == {"hashed": len(wanted)}, last
            shutil.rmtree(place / name)
            print(engine, workers, runs, dead, resumed, left, f"{longest:.1f} s", flush=True)
        kept = list((place / "cache").glob("treewide/scale/*/**"))
        assert not kept, kept
        print(
            f"{engine}, {workers} workers: {runs} runs, {dead['worker']} workers and {dead['driver']} drivers killed; "
            f"{resumed:,} objects were taken from killed runs; one bucket.b3, each of {len(wanted)} keys once; "
            f"a run takes {length:.1f} s, the longest to its end {longest:.1f} s; {left} processes outlived a run",
            flush=True,
        )
    finally:
        server.kill()
        shutil.rmtree(place)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
