"""Real engines with two local workers. One is killed in the middle."""

import os
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from buckets import contents
from deadly import BUCKET, KEYS, SIZE, data_of
from fake import pattern
from treewide import digest
from treewide._scale.cover import hash_all
from treewide._scale.engines import ENGINES
from treewide._scale.job import Job

# For the modules next to this one, in processes of workers: `sitecustomize` makes `deadly://` a store there.
os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent / "workers"), os.environ.get("PYTHONPATH", "")])
sys.path.insert(0, str(Path(__file__).parent / "workers"))
import sitecustomize


@contextmanager
def ray_of_two():
    ray = pytest.importorskip("ray", reason="ray is not installed")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:
        yield
    finally:
        ray.shutdown()


@contextmanager
def dask_of_two():
    distributed = pytest.importorskip("distributed", reason="dask is not installed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):
        yield


@contextmanager
def spark_of_two():
    pyspark = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = pyspark.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.python.worker.reuse", "true").getOrCreate()
    try:
        yield
    finally:
        session.stop()


@contextmanager
def nothing():
    yield


CLUSTERS = {"processes": nothing, "ray": ray_of_two, "dask": dask_of_two, "spark": spark_of_two}


def check_killed(folder):
    assert (folder / "killed").exists()
    workers = [it for it in os.listdir(folder) if it.startswith("worker-")]
    assert len(workers) >= 2 and f"worker-{os.getpid()}" not in workers


@pytest.mark.parametrize("name", CLUSTERS)
def test_a_worker_that_is_killed_changes_nothing(name, tmp_path, monkeypatch):
    monkeypatch.setattr("treewide._scale.bytes_cover._SMALLEST", 65536)
    monkeypatch.setattr("treewide._scale.buckets.bucket_command._LIMIT", 50)
    monkeypatch.setenv("TREEWIDE_TEST_DEADLY", str(tmp_path))
    sitecustomize.register()
    with CLUSTERS[name](), ENGINES[name](2) as (map, workers):
        for what in ("object", "bucket"):
            folder = tmp_path / what
            folder.mkdir()
            if what == "object":
                url = f"deadly://{folder}/one"
                outcome = hash_all(Job("sum", urls=(url,)), map, workers=workers)
                assert outcome.digests == {url: digest(pattern(SIZE))}, outcome
            else:
                job = Job("sum", urls=(f"deadly://{folder}{BUCKET}",), recursive=True, output=str(tmp_path / "lists"))
                outcome = hash_all(job, map, workers=workers)
                assert outcome.exit == 0, outcome
                assert contents(job.output) == {key: digest(data_of(key)) for key in KEYS}
            check_killed(folder)


def test_a_map_that_fails_raises_its_error_and_one_that_fails_once_does_not(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"a")
    job, rounds = Job("sum", urls=(str(path),)), []

    def broken(f, tasks):
        rounds.append(tasks)
        if len(rounds) != 2:
            raise MemoryError("no memory")
        return map(f, tasks)

    assert hash_all(job, broken, workers=1).digests == {str(path): digest(b"a")} and len(rounds) == 2
    with pytest.raises(RuntimeError, match="no memory"):
        hash_all(Job("sum", urls=(str(path),)), broken, workers=1)
    assert len(rounds) == 4
    with pytest.raises(RuntimeError, match="the map returned no result"):
        hash_all(Job("sum", urls=(str(path),)), lambda f, tasks: [], workers=1)


def test_the_same_job_again_reads_everything_again(tmp_path):
    distributed = pytest.importorskip("distributed", reason="dask is not installed")
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster), ENGINES["dask"](1) as (map, _):
        job = Job("sum", urls=(str(tmp_path / "a"),))
        for data in (b"a", b"b"):
            (tmp_path / "a").write_bytes(data)
            assert [*hash_all(job, map, workers=1).digests.values()] == [digest(data)]
    # Nor is a task the same again, for engines that remember results.
    cache = {}
    for number in (1, 2):
        hash_all(job, lambda f, tasks: [cache.get(it) or cache.setdefault(it, f(it)) for it in tasks], workers=1)
        assert len(cache) == number
