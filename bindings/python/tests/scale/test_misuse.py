"""People who use the command wrongly, remove files under it, or change the lists."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from buckets import contents
from treewide import digest
from treewide._scale.buckets.bucket_command import _below
from treewide._scale.cover import Cover
from treewide._scale.program import job_of, main, parsed
from treewide._scale.run import run as run_task
from treewide._scale.work import Work, usual_place
from waiting import LIMIT, wait_for

pytest_plugins = ["server"]


def journals(tmp_path):
    """Journals that runs left to be resumed."""
    return sorted(tmp_path.glob("cache/treewide/scale/*"))


WANTED = {it: digest(it.encode()) for it in ("1", "2", "sub/3")}
HASH = digest(b"a").hex()

#: Commands, with the exit status and what they say. None of them changes a file.
SENSELESS = [
    (2, "URL", "sum"),
    (2, "--workers: a number from 1 on is wanted, and not 0", "sum a --workers 0"),
    (2, "--workers: a number from 1 on is wanted, and not two", "sum a --workers two"),
    (2, "abacus", "sum a --engine abacus"),
    (2, "gs and s3 cannot be mixed", "sum s3://b/a gs://b/a"),
    (2, "NAME=VALUE", "sum a --option x"),
    (2, "--max-removed 101%: is neither", "update good --max-removed 101%"),
    (2, "name the list", "verify"),
    (2, "name the list", "update"),
    (2, "one URL", "verify a b --expect 00"),
    (2, "64 hexadecimal digits", "verify a --expect 00"),
    (2, "b is not in good", "verify --list good b"),
    # Buckets.
    (2, "-o", "sum -r data"),
    (2, "one URL", "sum -r data data -o new"),
    (2, "is empty", ["sum", "-r", "", "-o", "new"]),
    *((2, "is empty", it) for it in (["sum", "-r", "data", "-o", ""], ["sum", "data/1", "-o", ""], ["verify", ""])),
    (2, "add -r", "sum data --inventory x.parquet"),
    (2, "add -r", "verify -l good --quick"),
    (2, "remove the URLs", "verify -l out/bucket.b3 data/1"),
    (2, "nowhere/bucket.b3: there is no such list", "verify -l nowhere/bucket.b3"),
    (3, "its index", "verify -l alone/bucket.b3"),
    (3, "is damaged, or was changed", "verify -l gap/bucket.b3"),
    (3, "flat/bucket.b3 is damaged, or not the list of a bucket", "verify -l flat"),
    (3, "nothing", "sum -r nothing -o new"),
    (3, "there is no object below empty/", "sum -r empty -o new"),
    # Outputs in the way of inputs.
    *((2, "name another folder", f"sum -r data -o {it}") for it in ("data/", "{here}/data", "link", "data/../data")),
    (2, "name another folder", "sum -r data -o file://{here}/data/"),
    (2, "would replace data/1", "sum data/1 -o data/1"),
    (2, "would replace mine.objects", "sum data/1 mine.objects -o mine"),
    (2, "is not a list", "sum data/1 -o notes"),
    (2, "belongs to no list", "sum data/1 -o mine"),
    (2, "would be replaced by the outboard", "sum data/1 data/1.obao10 --outboards"),
    (2, "are files of this machine", "sum data/1 -o s3://bucket/list"),
    (2, "of another program", "sum -r data -o foreign"),
    (2, "is the list of data/", "sum -r foreign -o out"),
    (2, "name bucket.b3", "verify -l {part}"),
    (2, "use -r", "sum data"),
    (2, "use -r", "sum s3://bucket"),
    (2, "use -r", "sum S3://bucket/"),
    (2, "'.' is not the name of a file", "sum data/1 -o ."),
    (3, "nodir/list", "sum data/1 -o nodir/list"),
    (3, "data/1/lists", "sum -r data -o data/1/lists"),
    # Outboards.
    (2, "required: URL", "sum --outboards s3://bucket/a"),
    (2, "--group is for --outboards", "sum a --group 65536"),
    (2, "from 1K to 64M", "sum a --outboards --group 134217728"),
    (2, "power of two", "sum a --outboards --group 1000"),
    (2, "--outboards is for objects that are named one by one", "sum -r data -o new --outboards"),
    (2, "A..B", f"verify a --expect {HASH} --range 5"),
    (2, "--outboard is for --range", f"verify a --expect {HASH} --outboard a.obao4"),
    (2, "the outboard of one URL", "verify -l two --range .. --outboard a.obao4"),
    (2, "has no byte 9", f"verify a --expect {HASH} --range 9.."),
    (2, "K up to 16", f"verify a --expect {HASH} --range .. --outboard a.obao99"),
    # Plans.
    (2, "nothing was planned there", "run --work none 0/1"),
    (2, "nothing was planned there", "merge --work none"),
    (2, "nothing was planned there", "run --work torn 0/1"),
    (2, "K from 0 to N-1", "run --work none 1/1"),
    (2, "is a secret", "plan --work W -- sum a --option secret_access_key=x"),
    (2, "what is planned is sum", "plan --work W -- merge --work W"),
    (2, "without --range", f"plan --work W -- verify a --expect {HASH} --range 0..1"),
]


@pytest.fixture(autouse=True)
def data(command):
    """Three files below `data`."""
    for name in ("data/1", "data/2", "data/sub/3"):
        Path(name).parent.mkdir(exist_ok=True, parents=True)
        Path(name).write_bytes(name.removeprefix("data/").encode())


def test_commands_that_make_no_sense_change_nothing(tmp_path, capsys):
    line = f"{HASH}  a\n"
    for name, text in {
        "a": "a", "good": line, "two": line + line.replace("  a", "  b"), "notes": "mine\n", "mine.objects": "mine\n",
        "data/1.obao10": "mine\n", "foreign/README.txt": "mine\n", "torn/job.json": "0\n{", "torn/tasks": "torn",
        "flat/bucket.b3": line,
    }.items():  # fmt: skip
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
    Path("link").symlink_to("data")
    Path("empty").mkdir()
    assert main(["sum", "-r", "data", "-o", "out"]) == 0
    for name in ("alone", "gap"):
        shutil.copytree("out", name)
    (index,) = Path("alone").glob("index*")
    index.unlink()
    Path("gap", index.name).write_bytes(Path("gap", index.name).read_bytes().replace(b"[null,", b'["b",'))

    def there():
        return {str(it): it.is_file() and it.read_bytes() for it in tmp_path.rglob("*")}

    before = there()
    part = next(Path("out").glob("part-*.b3"))
    for code, words, args in SENSELESS:
        args = [it.format(here=Path.cwd(), part=part) for it in (args.split() if isinstance(args, str) else args)]
        capsys.readouterr()
        try:
            found = main(args)
        except SystemExit as end:
            found = end.code
        errors = capsys.readouterr().err
        assert found == code and words in errors and ".tmp" not in errors, (args, errors)
        assert there() == before, args


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
    assert contents("out") == WANTED
    # And it does, if they are.
    shutil.rmtree("out")
    kept.rename("out")
    shutil.copytree("results", work.path)
    done = command(*args)
    assert done.returncode == 0 and "3 objects were done by an earlier run" in done.stderr
    assert contents("out") == WANTED


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


def test_a_list_that_cannot_be_written_loses_nothing(command, tmp_path, monkeypatch):
    args = ["sum", "data/1", "-o", "list.b3"]

    def full(path, entries):
        raise OSError(28, "No space left on device", str(path))

    with monkeypatch.context() as patch:
        patch.setattr("treewide._scale.lists.write", full)
        assert main(args) == 3 and journals(tmp_path)
    done = command(*args)
    assert done.returncode == 0 and "were hashed by an earlier run" in done.stderr and not journals(tmp_path)


def test_a_list_of_nothing_and_the_names_of_a_list(command):
    Path("empty").mkdir()
    assert command("sum", "-r", "empty", "-o", "none", "--allow-empty").returncode == 0
    # Only its index.
    assert contents("none") == {} and Path("none/bucket.b3").read_bytes().count(b"\n") == 1
    assert command("verify", "-l", "none").stdout == "0 objects; 0 read, 0 B\n"
    # A folder of lists has its list found, with a slash and without one.
    assert command("sum", "-r", "data", "-o", "out").returncode == 0
    assert command("sum", "data/1", "data/2", "data/sub/3", "-o", f"file://{Path.cwd()}/list").returncode == 0
    for name in ("out", "out/", f"file://{Path.cwd()}/out", "list", f"file://{Path.cwd()}/list"):
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


def test_an_interrupt_before_the_first_task_has_no_traceback(command, monkeypatch):
    program = "import sys; from treewide._scale import program\ndef stop(*args): raise KeyboardInterrupt\n"
    program += "program.job_of = stop; sys.exit(program.main(sys.argv[1:]))"
    done = subprocess.run([sys.executable, "-c", program, "sum", "data/1"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "treewide: interrupted\n")


def test_a_fault_of_the_program_is_no_difference(monkeypatch, capsys):
    monkeypatch.setattr("treewide._scale.program.job_of", lambda options: {}["no job"])
    assert main(["sum", "data/1"]) == 3 and "KeyError: 'no job'" in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="this system has no such shell")
def test_a_stream_may_be_closed(command):
    for closed, code in ((">&-", 3), ("2>&-", 0)):
        shell = ["sh", "-c", f'exec "$@" {closed}', "-", sys.executable, "-m", "treewide", "scale", "sum", "data/1"]
        assert subprocess.run(shell).returncode == code, closed


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("", "it does not start: no worker"),
        ("return nullcontext((fail, 1))", "no task was done in 2 rounds: no worker"),
    ],
)
def test_an_engine_that_does_not_work_has_no_traceback(command, fault, words):
    program = "import sys; from contextlib import nullcontext; from treewide._scale import program\n"
    program += f"def fail(*args): raise LookupError('no worker')\ndef begin(workers):\n {fault}\n fail()\n"
    program += "program.ENGINES['dask'] = begin; sys.exit(program.main(sys.argv[1:]))"
    arguments = ["sum", "-r", "data", "-o", "out", "--engine", "dask"]
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(f"treewide: the engine dask: {words}; the same command continues "), done.stderr


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
