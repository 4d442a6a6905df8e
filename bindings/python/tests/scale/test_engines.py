"""Real engines with two local workers. One is killed in the middle."""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from deadly import SIZE, Deadly
from deadly_bucket import KEYS, ROOT, DeadlyBucket, data_of
from fake import Memory, pattern
from treewide import digest
from treewide._scale.buckets.bucket_driver import BucketDriver
from treewide._scale.buckets.list_files import read_list
from treewide._scale.buckets.shards import Job
from treewide._scale.buckets.sinks import folder_of
from treewide._scale.engines import hash_objects
from treewide._scale.engines.futures import Futures, processes, threads
from treewide._scale.engines.loop import drive
from treewide._scale.object_driver import Driver

DATA = pattern(SIZE)

# For the modules next to this one, in processes of workers.
os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])


def check_killed(tmp_path, make):
    source = Deadly(str(tmp_path))
    object = source.head("deadly://a")
    driver = Driver([object], lease=65536)
    drive(driver, make(source))
    assert driver.outcomes[object].digest == digest(DATA), driver.outcomes
    assert (tmp_path / "killed").exists()
    workers = [it for it in os.listdir(tmp_path) if it.startswith("worker-")]
    assert len(workers) >= 2 and f"worker-{os.getpid()}" not in workers
    return driver


def check_bucket_killed(tmp_path, make):
    source = DeadlyBucket(str(tmp_path))
    job = Job(ROOT, output=str(tmp_path / "lists"), limit=50)
    driver = BucketDriver(job)
    drive(driver, make(source))
    assert (tmp_path / "killed").exists() and not driver.failures
    workers = [it for it in os.listdir(tmp_path) if it.startswith("worker-")]
    assert len(workers) >= 2 and f"worker-{os.getpid()}" not in workers
    folder = folder_of(job.output, source)
    found = {it.key: it.digest for at in driver.all_ranges() if at.part for it in read_list(folder, at.part, *at[:2])}
    assert found == {key: digest(data_of(key)) for key in KEYS}
    return driver


def test_processes(tmp_path):
    driver = check_killed(tmp_path, lambda source: processes(source, 2))
    assert driver.lost >= 1


def test_processes_and_a_bucket(tmp_path):
    driver = check_bucket_killed(tmp_path, lambda source: processes(source, 2))
    assert driver.lost >= 1


def test_ray(tmp_path):
    ray = pytest.importorskip("ray", reason="ray is not installed")
    from treewide._scale.engines.ray import Ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:
        for name, check in (("object", check_killed), ("bucket", check_bucket_killed)):
            (tmp_path / name).mkdir()
            assert check(tmp_path / name, lambda source: Ray(source, 2)).lost >= 1
    finally:
        ray.shutdown()


def test_dask(tmp_path):
    distributed = pytest.importorskip("distributed", reason="dask is not installed")
    from treewide._scale.engines.dask import Dask

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        # Dask itself runs the task of a worker that died again.
        for name, check in (("object", check_killed), ("bucket", check_bucket_killed)):
            (tmp_path / name).mkdir()
            check(tmp_path / name, lambda source: Dask(source, 2, client=client))


def test_spark(tmp_path, monkeypatch):
    pyspark = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    from treewide._scale.engines.spark import spark

    # Workers with the package, and not the first Python of the path.
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    builder = pyspark.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.python.worker.reuse", "true").getOrCreate()
    try:
        for name, check in (("object", check_killed), ("bucket", check_bucket_killed)):
            (tmp_path / name).mkdir()
            check(tmp_path / name, lambda source: spark(source, 2, session=session))
    finally:
        session.stop()


def test_threads_and_executors():
    files = {f"mem://{it}": DATA[: it * 50_000] for it in range(20)}
    source = Memory(files)
    objects = [source.head(it) for it in files]
    own = Futures(source, lambda: ThreadPoolExecutor(3), 3)
    for engine in ("local", threads(source, 1), own):
        outcomes = hash_objects(objects, source, engine=engine, lease=16384)
        assert [outcomes[it].digest for it in objects] == [digest(files[it.uri]) for it in objects]


def test_a_task_that_raises_is_a_lost_one():
    source = Memory({"mem://a": DATA})
    object = source.head("mem://a")
    lock, raised = threading.Lock(), []

    def broken(task, source):
        with lock:
            if len(raised) < 3:
                raised.append(task)
                raise MemoryError("no memory")
        from treewide._scale.tasks import run

        return run(task, source)

    driver = Driver([object], lease=65536)
    drive(driver, Futures(source, lambda: ThreadPoolExecutor(2), 2, work=broken))
    assert driver.outcomes[object].digest == digest(DATA) and driver.lost == 3

    def always(task, source):
        raise MemoryError("no memory")

    driver = Driver([object], lease=65536)
    drive(driver, Futures(source, lambda: ThreadPoolExecutor(2), 2, work=always))
    assert driver.outcomes[object].status == "unreadable"
    assert driver.outcomes[object].detail == "its worker was lost: no memory"


def test_progress_and_its_exceptions():
    source = Memory({"mem://a": DATA})
    seen = []
    hash_objects([source.head("mem://a")], source, workers=2, progress=lambda driver, workers: seen.append(driver.done))
    assert seen[-1] == SIZE

    def stop(driver, workers):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hash_objects([source.head("mem://a")], source, progress=stop)
