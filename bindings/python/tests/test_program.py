"""`python -m treewide`: the same program as `treewide`, whose own tests are in Rust."""

import os
import signal
import subprocess
import sys

import pytest
import treewide
from treewide import digest
from waiting import LIMIT, wait_for

posix = pytest.mark.skipif(os.name != "posix", reason="this system has other signals and descriptors")


def run(folder, *args, **options):
    program = [sys.executable, "-m", "treewide", *args]
    return subprocess.run(program, cwd=folder, capture_output=True, timeout=LIMIT, **options)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    return tmp_path


def test_sums_and_checks(folder):
    line = f"{digest(b'abc').hex()}  a\n".encode()
    done = run(folder, "sum", "a")
    assert (done.returncode, done.stdout, done.stderr) == (0, line, b"")
    assert run(folder, "sum", "a", "-o", "list").returncode == 0
    assert (folder / "list").read_bytes() == line
    assert run(folder, "check", "list").returncode == 0
    (folder / "a").write_bytes(b"other")
    done = run(folder, "check", "list")
    assert done.returncode == 1 and b"a" in done.stdout
    done = run(folder, "sum", input=b"abc")
    assert done.stdout.startswith(digest(b"abc").hex().encode())


def test_help_and_errors_name_the_program(folder):
    for args in ([], ["--help"], ["sum", "--no-such-flag"]):
        done = run(folder, *args)
        assert done.returncode == (0 if "--help" in args else 2)
        assert b"python -m treewide" in done.stdout + done.stderr
    assert b"scale --help" in run(folder, "--help").stdout
    done = run(folder, "sum", "missing")
    assert (done.returncode, done.stderr.startswith(b"treewide: missing: ")) == (1, True)
    assert run(folder, "-V").stdout == f"treewide {treewide.__version__}\n".encode()


@posix
def test_arguments_may_be_any_bytes(folder):
    name = b"\xff"
    if sys.platform != "linux":
        pytest.skip("other systems may refuse such names")
    (folder / os.fsdecode(name)).write_bytes(b"abc")
    done = run(folder, "sum", name)
    assert done.returncode == 0 and done.stdout.startswith(digest(b"abc").hex().encode())


@posix
def test_signals_end_it(folder):
    program = [sys.executable, "-m", "treewide", "sum", "-", "-o", "out"]
    for number, ignored in ((signal.SIGINT, False), (signal.SIGTERM, False), (signal.SIGINT, True)):
        # The program that runs the tests may ignore it.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN if ignored else signal.default_int_handler)
        with subprocess.Popen(program, cwd=folder, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as child:
            signal.signal(signal.SIGINT, before)
            wait_for(lambda: any(name.startswith(".treewide-") for name in os.listdir(folder)))
            child.send_signal(number)
            # It reads on until its input ends.
            if not ignored:
                child.wait(LIMIT)
            _, errors = child.communicate(timeout=LIMIT)
        assert (child.returncode, errors) == (0 if ignored else -number, b"")
        assert sorted(os.listdir(folder)) == (["a", "out"] if ignored else ["a"]), "nothing unfinished is left"


@posix
def test_a_reader_that_goes_away_ends_it(folder):
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "treewide", "sum", "a"], cwd=folder, stdout=write, stderr=subprocess.PIPE
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (-signal.SIGPIPE, b"")


@posix
def test_closed_streams_are_noticed(folder):
    for closed, args, code, words in (
        ("<&-", "sum", 1, b"standard input is closed"),
        ("<&-", "sum a", 0, b""),
        (">&-", "sum a", 1, b"is closed"),
        ("2>&-", "sum missing", 1, b""),
    ):
        script = f'exec "$0" -m treewide {args} {closed}'
        done = subprocess.run(["sh", "-c", script, sys.executable], cwd=folder, capture_output=True, timeout=60)
        assert done.returncode == code and words in done.stderr, done.stderr


@posix
def test_importing_changes_no_signals():
    code = """
        import signal
        before = [signal.getsignal(it) for it in signal.valid_signals()]
        import treewide, treewide.__main__
        assert before == [signal.getsignal(it) for it in signal.valid_signals()]
    """
    assert run(None, "--version").returncode == 0
    subprocess.run([sys.executable, "-c", "if True:" + code], check=True, timeout=60)
