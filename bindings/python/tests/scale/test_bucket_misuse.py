"""Buckets of people who use the command wrongly, remove files under it, or change the lists."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from treewide import digest
from treewide._scale.buckets.bucket_command import _below
from treewide._scale.buckets.bucket_list import Bucket, Range, read_bucket, write_bucket
from treewide._scale.buckets.list_files import read_list
from treewide._scale.buckets.sinks import folder_of
from treewide._scale.cover import Cover
from treewide._scale.lists import ListError
from treewide._scale.program import job_of, main, parsed
from treewide._scale.run import run as run_task
from treewide._scale.sources.files import Files
from treewide._scale.work import Work, usual_place
from waiting import LIMIT, wait_for


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Run the command next to a folder `data`, with a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    for name in ("1", "2", "sub/3"):
        path = Path("data", name)
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_bytes(name.encode())

    def run(*args):
        program = [sys.executable, "-m", "treewide", "scale", *map(str, args)]
        return subprocess.run(program, capture_output=True, text=True, timeout=120)

    return run


def digests(folder):
    kept = folder_of(str(folder), Files())
    return {it.key: it.digest for part in read_bucket(kept).parts() for it in read_list(kept, part)}


def journals(tmp_path):
    """Journals that runs left to be resumed."""
    return sorted(tmp_path.glob("cache/treewide/scale/*"))


WANTED = {it: digest(it.encode()) for it in ("1", "2", "sub/3")}


def test_a_run_goes_on_only_from_lists_that_are_still_there(command):
    args = ["sum", "-r", "data", "-o", "out"]
    # A run that dies before it writes the list of lists.
    killed = Cover(job_of(parsed(args)))
    work = Work(usual_place(killed.key), killed.key)
    for task in killed.missing(1):
        work.keep(run_task(task))
    kept = Path("kept")
    shutil.copytree("out", kept)
    shutil.copytree(work.path, "results")
    shutil.rmtree("out")
    done = command(*args)
    assert done.returncode == 0 and "earlier run" not in done.stderr, done.stderr
    assert digests("out") == WANTED
    # And it does, if they are.
    shutil.rmtree("out")
    kept.rename("out")
    shutil.copytree("results", work.path)
    done = command(*args)
    assert done.returncode == 0 and "3 objects were done by an earlier run" in done.stderr
    assert digests("out") == WANTED


def test_a_run_goes_on_only_in_its_own_folder_and_store(command, monkeypatch):
    def what(*args):
        return job_of(parsed(["sum", "-r", "s3://bucket/", "-o", "out", *args])).key(b"")

    first = what()
    assert first == what() and first != what("--option", "endpoint=http://127.0.0.1:1")
    monkeypatch.chdir("data")
    assert first != what()


def test_facts_that_are_missing_are_written_again(command):
    assert command("sum", "-r", "data", "-o", "out").returncode == 0
    names = sorted(os.listdir("out"))
    for name in names:
        if name.endswith(".gz"):
            Path("out", name).unlink()
    done = command("update", "-l", "out/bucket.b3")
    assert done.returncode == 3 and "3 same; 3 read" in done.stdout and "damaged or missing" in done.stderr
    assert command("update", "-l", "out/bucket.b3", "--accept-damage").returncode == 0
    assert sorted(os.listdir("out")) == names
    assert "3 same; 3 metadata" in command("update", "-l", "out").stdout


@pytest.mark.parametrize("output", ["{here}/data", "link", "data/../data", "file://{here}/data/"])
def test_lists_are_not_written_among_what_is_hashed(command, tmp_path, output):
    Path("link").symlink_to("data")
    done = command("sum", "-r", "data", "-o", output.format(here=tmp_path))
    assert done.returncode == 2 and "name another folder" in done.stderr
    assert sorted(os.listdir("data")) == ["1", "2", "sub"]


def test_a_list_that_cannot_be_written_loses_nothing(command, tmp_path, monkeypatch):
    for output, code in (("", 2), (".", 2), ("nowhere/list.b3", 3)):
        done = command("sum", "data/1", "-o", output)
        assert done.returncode == code and not journals(tmp_path) and output in done.stderr, done.stderr
    args = ["sum", "data/1", "-o", "list.b3"]

    def full(path, entries):
        raise OSError(28, "No space left on device", str(path))

    with monkeypatch.context() as patch:
        patch.setattr("treewide._scale.lists.write", full)
        assert main(args) == 3 and journals(tmp_path)
    done = command(*args)
    assert done.returncode == 0 and "were hashed by an earlier run" in done.stderr and not journals(tmp_path)


@pytest.mark.parametrize("args", [["", "-o", "out"], ["data", "-o", ""]])
def test_an_empty_name_is_not_the_top_of_the_file_system(command, args):
    done = command("sum", "-r", *args)
    assert done.returncode == 2 and "is empty" in done.stderr
    assert sorted(os.listdir()) == ["data"]


def test_a_name_that_is_spelt_wrong_is_said(command):
    done = command("verify", "-l", "nothere.b3")
    assert done.returncode == 2 and done.stderr.startswith("treewide: nothere.b3: there is no such list"), done.stderr
    Path("empty").mkdir()
    done = command("sum", "-r", "empty", "-o", "out")
    assert done.returncode == 3 and "there is no object below empty/" in done.stderr, done.stderr
    assert not Path("out").exists()
    assert command("sum", "-r", "empty", "-o", "none", "--allow-empty").returncode == 0
    assert digests("none") == {}
    # A folder of lists has its list found, with a slash and without one.
    assert command("sum", "-r", "data", "-o", "out").returncode == 0
    for name in ("out", "out/", f"file://{Path.cwd()}/out"):
        assert command("verify", "-l", name).stdout.startswith("3 objects: 3 same"), name


def test_an_option_that_does_not_exist_is_said_before_anything_is_listed(command, tmp_path):
    pytest.importorskip("obstore", reason="obstore is not installed")
    done = command(
        "sum", "-r", "s3://some-bucket/", "-o", "out", "--option", "colour=red", "--option", "skip_signature=true"
    )
    assert done.returncode == 3 and done.stderr.startswith("treewide: s3://some-bucket: ") and "colour" in done.stderr
    assert not journals(tmp_path) and not Path("out").exists()


def test_what_is_below_is_left_out_whatever_it_is_called():
    assert _below("s3a://bucket/a/", "s3://bucket/a/lists") == "lists/"
    assert _below("s3://bucket/", "s3a://bucket/lists/") == "lists/"
    assert _below("s3://bucket/a/", "s3://bucket/ab") is None and _below("s3://bucket/a/", "") is None


def test_an_output_that_cannot_be_written_is_said_before_anything_is_read(command, tmp_path):
    done = command("sum", "-r", "data", "-o", "data/1/lists")
    assert done.returncode == 3 and "data/1/lists" in done.stderr and "objects" not in done.stderr
    assert not journals(tmp_path)


def test_the_digest_of_a_list_of_lists_stands_for_its_index(command):
    assert command("sum", "-r", "data", "-o", "out").returncode == 0
    (index,) = Path("out").glob("index-*")
    first, rest = index.read_text().split("\n", 1)
    for change in ({"skip": "sub/"}, {"root": "elsewhere/"}):
        index.write_text(json.dumps(json.loads(first) | change) + "\n" + rest)
        done = command("verify", "-l", "out/bucket.b3")
        assert done.returncode == 3 and f"{index.name} is damaged, or was changed" in done.stderr
    lines = Path("out/bucket.b3").read_text().splitlines(keepends=True)
    Path("out/bucket.b3").write_text("".join(lines[:-1]))
    done = command("verify", "-l", "out/bucket.b3")
    assert done.returncode == 3 and "does not name its index" in done.stderr


@pytest.mark.parametrize(
    ("ranges", "words"),
    [
        ([Range("", "b", None), Range("c", None, None)], "has a gap after the key 'b'"),
        ([Range("", "b", None)], "does not reach the last key"),
        ([], "does not reach the last key"),
    ],
)
def test_an_index_with_gaps_is_refused(tmp_path, ranges, words):
    folder = folder_of(str(tmp_path), Files())
    write_bucket(folder, Bucket("data/", ranges, None, b"", None, 10))
    with pytest.raises(ListError, match=words):
        read_bucket(folder)


def test_a_part_that_is_missing_or_changed_is_named(command):
    assert command("sum", "-r", "data", "-o", "out").returncode == 0
    (part,) = Path("out").glob("part-*.b3")
    text = part.read_bytes()
    before = Path("out/bucket.b3").read_bytes()
    part.write_bytes(text.replace(text[:2], b"00"))
    done = command("update", "-l", "out/bucket.b3")
    assert done.returncode == 3 and f"{part.name} is not the list" in done.stderr
    part.unlink()
    done = command("update", "-l", "out/bucket.b3")
    assert done.returncode == 3 and part.name in done.stderr
    assert Path("out/bucket.b3").read_bytes() == before


def test_counts_name_what_is_wrong_with_them(command):
    for option, value in (("--workers", "0"), ("--workers", "two")):
        done = command("sum", "data/1", f"{option}={value}")
        assert done.returncode == 2 and "is wanted, " in done.stderr and f"not {value}" in done.stderr, done.stderr
        assert "invalid _" not in done.stderr


def test_an_interrupt_before_the_first_task_has_no_traceback(command, monkeypatch):
    program = "import sys; from treewide._scale import program\ndef stop(*args): raise KeyboardInterrupt\n"
    program += "program.job_of = stop; sys.exit(program.main(sys.argv[1:]))"
    done = subprocess.run([sys.executable, "-c", program, "sum", "data/1"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "treewide: interrupted\n")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")
@pytest.mark.parametrize("signal_", [signal.SIGKILL, signal.SIGINT])
def test_processes_end_with_the_driver(command, signal_):
    # So long that a worker is at work for seconds.
    with open("data/long", "wb") as file:
        file.truncate(40 << 30)
    program = [sys.executable, "-m", "treewide", "scale", "sum", "data/long", "--engine", "processes", "--workers", "2"]
    with subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:

        def at_work():
            found = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
            return [it for it in found if _has_open(it, "data/long")]

        tasks = wait_for(lambda: (found := at_work()) and len(found) == 2 and found)
        child.send_signal(signal_)
        child.wait(LIMIT)
    wait_for(lambda: not any(_is_alive(it) for it in tasks))


def _has_open(number, path):
    try:
        return any(os.path.samefile(it, path) for it in Path(f"/proc/{number}/fd").iterdir())
    except FileNotFoundError:
        return False


def _is_alive(number):
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
