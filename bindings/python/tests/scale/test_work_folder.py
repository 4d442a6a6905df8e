"""The folder that keeps the results of a run: killed, torn, old, copied, of another job, at once, full or read-only."""

import json
import os
import random
import shutil
import time
from pathlib import Path

import pytest
from buckets import ROOT, Bucket, always_the_same
from fake import pattern
from treewide import digest
from treewide._scale import bytes_cover
from treewide._scale.console import UsageError
from treewide._scale.cover import Cover, hash_all
from treewide._scale.job import Job
from treewide._scale.program import main
from treewide._scale.results import seal, unseal
from treewide._scale.run import run
from treewide._scale.work import Work, planned

pytest_plugins = ["buckets", "server"]

SCALE = float(os.environ.get("TREEWIDE_TEST_SCALE", "1"))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two files, and a folder that a run which was killed left. One file has several tasks."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(bytes_cover, "_SMALLEST", 4096)
    Path("a").write_bytes(pattern(50_000))
    Path("b").write_bytes(b"b")
    cover = Cover(job())
    work = Work("work", cover.key)
    for task in cover.missing(2):
        work.keep(run(task))
    return Path("work")


def job(*urls, **options):
    return Job("sum", urls=urls or ("a", "b"), **options)


def bytes_read(**options):
    outcome = hash_all(job(**options), workers=2, work="work")
    assert outcome.digests == {it: digest(Path(it).read_bytes()) for it in ("a", "b")}
    return outcome.bytes_read


def test_a_run_that_was_killed_goes_on_and_is_over_then(folder):
    next(it for it in folder.glob("*.result") if "50000" in it.read_text()).unlink()
    assert 0 < bytes_read() < 50_000 and not folder.exists()
    assert bytes_read() == 50_001 and not folder.exists()


@pytest.mark.parametrize("damage", ["torn", "empty", "changed", "junk", "other job", "a folder"])
def test_what_is_damaged_or_of_another_job_is_read_again(folder, damage):
    for path in folder.glob("*.result"):
        data = path.read_bytes()
        fields = unseal(data)
        made = {
            "torn": data[:-9],
            "empty": b"",
            "changed": data.replace(b'"status":"ok"', b'"status":"no"'),
            "junk": os.urandom(100),
            "other job": seal({**fields, "job": "0" * 32}),
        }
        if damage == "a folder":
            path.unlink()
            path.mkdir()
        else:
            path.write_bytes(made[damage])
    assert bytes_read() == 50_001


def test_results_are_not_read_that_are_old_or_copies_of_old_ones(folder, tmp_path):
    day = time.time() - 25 * 3600
    shutil.copytree(folder, "kept")
    for it in folder.glob("*.result"):
        os.utime(it, (day, day))
    notes = []
    hash_all(job(), workers=1, work="work", told=notes.append)
    assert "1 days ago" in notes[0]["note"]
    # A copy has a new time, but the result says when it was found.
    Path("kept").rename("work")
    for it in folder.glob("*.result"):
        fields = unseal(it.read_bytes())
        it.write_bytes(seal({**fields, "ended": fields["ended"] - 26 * 3600}))
    assert bytes_read() == 50_001


def test_an_object_that_changed_since_is_read_again(folder):
    Path("a").write_bytes(pattern(49_999))
    assert bytes_read() == 49_999


def test_another_job_is_refused_and_changes_nothing(folder):
    before = sorted(it.name for it in folder.iterdir())
    for other in (job("a"), job(unpinned=True), Job("sum", urls=("a", "b"), output="list")):
        with pytest.raises(UsageError, match="is a folder of another run"):
            hash_all(other, workers=1, work="work")
    Path("mine").mkdir()
    Path("mine/exam.result").write_text("mine")
    with pytest.raises(UsageError, match="is a folder of something else"):
        hash_all(job(), workers=1, work="mine")
    assert sorted(it.name for it in folder.iterdir()) == before and Path("mine/exam.result").exists()


def test_two_runs_at_once_do_no_harm(folder):
    kept = next(folder.glob("*.result")).read_bytes()
    first, second = Cover(job()), Cover(job())
    one, two, late = (Work("work", first.key) for _ in range(3))
    first.continues(one)
    second.continues(two)
    for cover, work in ((first, one), (second, two)):
        while tasks := cover.missing(2):
            for it in tasks:
                work.keep(run(it))
                cover.take(run(it))
        assert cover.end().digests == {it: digest(Path(it).read_bytes()) for it in ("a", "b")}
        work.forget()
    assert not folder.exists()
    # What comes late makes it again for no other run.
    with pytest.raises(OSError, match="No such file"):
        late.keep(kept)
    assert bytes_read() == 50_001


def test_results_that_another_run_removes_do_not_count(command):
    Path("data").mkdir()
    Path("data/a").write_bytes(b"a")
    assert command("sum", "-r", "data", "-o", "out").returncode == 0
    first, second = (Cover(Job("verify", list="out")) for _ in range(2))
    work = Work("work", first.key)
    work.keep(run(first.missing(1)[0]))
    # Before a result is planned with, and when it is taken.
    for moment in (1, 2):
        second = Cover(Job("verify", list="out"))
        second.continues(work)
        results = [run(it) for it in second.missing(1)] if moment == 2 else []
        shutil.move("work", "away")
        for it in results:
            second.take(it)
        while tasks := second.missing(1):
            second.take(run(tasks[0]))
        assert second.end().evidence == {"read": 1}
        shutil.move("away", "work")


def test_a_worker_elsewhere_or_of_another_version_is_refused(folder, monkeypatch):
    (task, *_) = Cover(job()).missing(1)
    with monkeypatch.context() as patch:
        patch.setattr("treewide._scale.run.__version__", "9.9")
        with pytest.raises(OSError, match=r"has treewide 9\.9, and the run .*: install the same"):
            run(task)
    monkeypatch.chdir("..")
    with pytest.raises(OSError, match="name absolute paths"):
        run(task)


def test_a_disk_that_is_full_is_said_once(folder, monkeypatch):
    def full(path, data):
        raise OSError(28, "No space left on device", str(path))

    shutil.rmtree(folder)
    monkeypatch.setattr("treewide._scale.work._replace_file", full)
    notes = []
    outcome = hash_all(job(), workers=2, work="work", told=notes.append)
    assert outcome.exit == 0 and [it["note"] for it in notes if "note" in it] == [
        "a run that is killed would begin anew: work: [Errno 28] No space left on device: 'work/job.json'"
    ]
    # A worker of a batch system has no other place.
    task = Cover(job()).missing(1)[0]
    with pytest.raises(OSError, match="No space left"):
        run(task, "work")


def test_what_cannot_be_removed_is_emptied(folder, monkeypatch):
    def denied(self, missing_ok=False):
        raise PermissionError(13, "denied", str(self))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", denied)
        assert bytes_read() == 0
    assert folder.exists() and bytes_read() == 50_001


def test_a_batch_system_ends_whatever_it_loses(kept, tmp_path, monkeypatch, capsysbinary):
    """Tasks, jobs and whole rounds are lost, and some are done again when others are under way."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Bucket, "head", always_the_same)
    for seed in range(int(12 * SCALE)):
        choice = random.Random(seed)
        keys = {f"{it:03}": bytes(choice.choice((0, 9, 900, 9000))) for it in range(choice.choice((3, 100)))}
        source = kept.source = Bucket(keys | {"001": b"1", "large": pattern(99_999)})
        kept.files.clear()
        main(["sum", "-r", ROOT, "-o", "kept", "--work", "first"])
        for key in ("001", "large"):
            source.put(key, source.objects[ROOT + key][:-1] + b"!")
        late, rounds = [], 0
        plan = ["plan", "--work", "W", "--", "verify", "kept/bucket.b3", "--workers", "3"]
        while main(plan) or (tasks := planned("W")[2]):
            rounds += 1
            assert rounds < 500
            for share in choice.sample(range(3), choice.randrange(4)):
                main(["run", "--work", "W", f"{share}/3"])
            work = Work("W", planned("W")[0])
            late += choice.sample(tasks, 1)
            if choice.random() < 0.2 and (kept_ones := sorted(Path("W").glob("*.result"))):
                choice.choice(kept_ones).write_bytes(b"torn")
            if choice.random() < 0.3:
                work.keep(run(late.pop(choice.randrange(len(late)))))
        capsysbinary.readouterr()
        assert main(["merge", "--work", "W", "--json"]) == 1
        last = json.loads(capsysbinary.readouterr().out.splitlines()[-1])
        assert last["counts"] == {"same": len(keys) - 1, "rot": 2} and last["evidence"] == {"read": len(keys) + 1}, seed
        assert not Path("W").exists()


def test_a_planned_run_waits_over_the_weekend_and_starts_anew_where_it_failed(command):
    Path("data").mkdir()
    Path("data/a").write_bytes(b"a")
    plan = ("plan", "--work", "W", "--", "sum", "-r", "data", "-o", "out")
    assert command(*plan).stdout == "1\n"
    done = command(*plan)
    assert done.returncode == 3 and "no task of the last round has a result" in done.stderr and not done.stdout
    for number in range(2):
        assert command(*plan).stdout == "1\n"
        assert command("run", "--work", "W", "0/1").returncode == 0
        assert command(*plan).stdout == "0\n"
        # It gave a range up; or it is over.
        other = {"ended": time.time() - 99 * 3600} if number else {"status": "refused", "detail": "no"}
        for path in Path("W").glob("*.result"):
            path.write_bytes(seal(unseal(path.read_bytes()) | other))
        done = command("merge", "--work", "W")
        assert done.returncode == (0 if number else 3), done.stderr
    assert "1 read" in done.stderr and not Path("W").exists()


def test_a_batch_system_does_the_same(command):
    Path("data").mkdir()
    for name in ("a", "b", "c/d"):
        Path("data", name).parent.mkdir(exist_ok=True)
        Path("data", name).write_bytes(name.encode() * 1000)
    assert command("sum", "-r", "data", "-o", "out").returncode == 0
    wanted = Path("out/bucket.b3").read_bytes()
    shutil.rmtree("out")
    plan = ("plan", "--work", "W", "--", "sum", "-r", "data", "-o", "out", "--workers", "3")
    done = command(*plan)
    assert done.returncode == 0 and int(done.stdout) > 0, done.stderr
    done = command("merge", "--work", "W")
    assert done.returncode == 3 and "are not done" in done.stderr and not Path("out/bucket.b3").exists()
    for _ in range(2):
        for share in ("1/2", "0/2", "0/2"):
            assert command("run", "--work", "W", share).returncode == 0
        if (done := command(*plan)).stdout == "0\n":
            break
    assert done.stdout == "0\n"
    done = command("merge", "--work", "W", "--json")
    last = json.loads(done.stdout.splitlines()[-1])
    assert done.returncode == 0 and last["evidence"] == {"read": 3} and not Path("W").exists(), done.stderr
    assert Path("out/bucket.b3").read_bytes() == wanted
