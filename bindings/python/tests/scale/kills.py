"""Kills workers and drivers: kills.py ENGINE WORKERS KILLS, against an S3 server of moto that it starts here.

The command `sum -r` is begun again and again. Each time a worker is killed at a random moment, then the driver, by
their ids, until the command ends by itself. Each run must write the `bucket.b3` of a run without kills, with each key
once. For `ray`, `dask` and `spark` the driver has the cluster, which is killed with it.
"""

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

PROGRAM = """
import sys
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


def processes_below(pid):
    """Return the ids and names of all processes that one began, or that these did."""
    parents = {}
    for it in filter(str.isdecimal, os.listdir("/proc")):
        try:
            name, _, rest = Path("/proc", it, "stat").read_text().rpartition(")")
            command = Path("/proc", it, "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        parents.setdefault(int(rest.split()[1]), []).append((int(it), command or name))
    found, todo = [], [pid]
    while todo:
        children = parents.get(todo.pop(), [])
        found += children
        todo += [it for it, _ in children]
    return found


def is_worker(engine, command):
    words = {"processes": "spawn_main", "ray": "ray::", "dask": "spawn_main", "spark": "pyspark"}
    return words[engine] in command and "resource_tracker" not in command


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def keys_of(folder):
    from treewide._scale.buckets.bucket_list import read_bucket
    from treewide._scale.buckets.list_files import read_list
    from treewide._scale.buckets.sinks import folder_of
    from treewide._scale.sources.files import Files

    kept = folder_of(str(folder), Files())
    return [it.key for part in read_bucket(kept).parts() for it in read_list(kept, part)]


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
            return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=place)

        def end(run):
            out, errors = run.communicate(timeout=300)
            assert run.returncode == 0, (run.returncode, out, errors)
            return json.loads(out.splitlines()[-1])

        began = time.monotonic()
        end(begin("calm"))
        length = time.monotonic() - began
        top = (place / "calm/bucket.b3").read_bytes()
        assert sorted(keys_of(place / "calm")) == sorted(wanted)
        dead, runs, resumed = {"driver": 0, "worker": 0}, 0, 0
        while min(dead["driver"], dead["worker"] if engine != "local" else kills) < kills:
            name, runs = f"out{runs}", runs + 1
            for attempt in range(3):
                run = begin(name)
                for who in ("worker", "driver") if attempt < 2 else ("worker",):
                    # Before the first result, an engine may be killed that only begins.
                    # No event says that a result is kept.
                    while run.poll() is None and not [*place.glob("cache/treewide/scale/*/*.result")]:
                        time.sleep(0.02)
                    try:
                        run.wait(random.uniform(0, 0.2) * length)
                    except subprocess.TimeoutExpired:
                        below = processes_below(run.pid)
                        those = [it for it, text in below if engine != "local" and is_worker(engine, text)]
                        if who == "driver":
                            dead["driver"] += kill(run.pid)
                            run.wait()
                            # What of a cluster outlives its driver. That of Ray ends by itself.
                            for it, _ in below if engine != "ray" else ():
                                kill(it)
                        elif those:
                            dead["worker"] += kill(random.choice(those))
                last = end(run) if run.returncode != -signal.SIGKILL else None
                if last is not None:
                    break
            resumed += last["resumed"]
            assert (place / name / "bucket.b3").read_bytes() == top and sorted(keys_of(place / name)) == sorted(wanted)
            assert last["counts"] == {"hashed": len(wanted)}, last
            shutil.rmtree(place / name)
        assert not list((place / "cache").glob("treewide/scale/*"))
        print(
            f"{engine}, {workers} workers: {runs} runs, {dead['worker']} workers and {dead['driver']} drivers killed; "
            f"{resumed:,} objects were taken from killed runs; one bucket.b3, each of {len(wanted)} keys once; "
            f"a run takes {length:.1f} s",
            flush=True,
        )
    finally:
        server.kill()
        shutil.rmtree(place)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
