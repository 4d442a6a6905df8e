"""Threads, forks, interpreters and memory."""

import contextlib
import multiprocessing
import os
import resource
import subprocess
import sys
import sysconfig
import textwrap
from concurrent.futures import ThreadPoolExecutor

import pytest
import treewide
from conftest import pattern
from treewide import blake3, digest

LONG = pattern(4_000_000)


def run(code):
    """The output of a program of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def in_child(_):
    return digest(LONG, threads=-1), blake3(LONG, max_threads=2).digest(), digest(LONG)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_has_threads_of_its_own():
    expected = (digest(LONG),) * 3
    assert in_child(None) == expected
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map_async(in_child, range(4)).get(timeout=60) == [expected] * 4


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="this system does not list threads")
def test_a_forked_child_of_a_child_starts_its_threads():
    out = run(
        """
        import os, sys, treewide
        data = bytes(8_000_000)
        threads = lambda: len(os.listdir("/proc/self/task"))
        assert threads() == 1, "importing starts no thread"
        treewide.digest(data)
        assert threads() == 1, "one thread is enough for one"
        expected = treewide.digest(data, threads=-1)
        for generation in range(3):
            child = os.fork()
            if child:
                assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
                break
            assert threads() == 1
            assert treewide.digest(data, threads=-1) == expected
            if os.cpu_count() > 1:
                assert threads() > 1, "a pool of its own"
        sys.exit(0)
        """
    )
    assert out == ""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems count threads in other ways")
def test_without_threads_the_caller_works():
    out = run(
        """
        import os, resource, treewide
        if os.getuid() == 0:
            os.setgroups([])
            os.setuid(65534)
        resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
        data = bytes(10_000_000)
        expected = treewide.digest(data)
        for threads in (2, -1):
            assert treewide.digest(data, threads=threads) == expected
            assert treewide.blake3(data, max_threads=threads).digest() == expected
            many = treewide.hash_many([data, data[:-1]] + [b"x" * 1000] * 3000, threads=threads)
            assert many[0] == expected and many[2] == treewide.digest(b"x" * 1000)
            seen = []
            digest = treewide.hash_file("/proc/self/exe", threads=threads, progress=seen.append)
            assert treewide.hash_files(["/proc/self/exe"] * 3, threads=threads) == [digest] * 3
            assert seen == [os.path.getsize("/proc/self/exe")]
        """
    )
    assert out == ""


def test_without_memory_there_is_an_error():
    out = run(
        """
        import resource, treewide
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
        for call in (
            lambda: treewide.hexdigest(b"", length=800_000_000),
            lambda: treewide.digest(b"", length=3_000_000_000),
            lambda: treewide.blake3().hexdigest(800_000_000),
            lambda: treewide.hash_many([b""], length=3_000_000_000),
        ):
            try:
                call()
            except MemoryError:
                print("MemoryError")
        """
    )
    assert out == "MemoryError\n" * 4


def test_short_inputs_start_no_threads(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    out = run(
        f"""
        import os, treewide
        treewide.hash_many([b"a"] * 100)
        treewide.digest(bytes(100_000), threads=-1)
        treewide.blake3(bytes(100_000), max_threads=2).update(b"abc").digest()
        treewide.hash_file({str(path)!r})
        print(len(os.listdir("/proc/self/task")) if os.path.exists("/proc/self/task") else 1)
        """
    )
    assert out == "1\n"


def test_threads_share_a_hasher():
    hasher = blake3(max_threads=2)
    piece = bytes(100_000)

    def work(_):
        for _ in range(20):
            hasher.update(piece)
            hasher.update(b"\0" * 7)
            hasher.copy().digest(100)
            assert hasher.count % 7 in range(7)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert hasher.digest() == digest(bytes(hasher.count))
    assert hasher.count == 4 * 20 * (len(piece) + 7)


def test_threads_hash_at_the_same_time():
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: digest(LONG, threads=-1), range(40))) == {digest(LONG)}


def test_a_bytearray_cannot_be_resized_while_it_is_hashed():
    data = bytearray(10_000_000)
    # Each round may leave one byte more: `append` came before hashing, and `pop` was refused. A thread that waits
    # long between the two may miss all of it, so the length that was hashed need not be the last one.
    possible = {digest(bytes(len(data) + more)) for more in range(22)}
    refused = 0
    with ThreadPoolExecutor(1) as pool:
        for _ in range(20):
            work = pool.submit(digest, data)
            while not work.done():
                try:
                    data.append(0)
                    data.pop()
                except BufferError:
                    refused += 1
            assert work.result() in possible
    print(f"resizing was refused: {refused} cases")


def test_half_a_million_calls_leak_nothing():
    def calls(count):
        array = bytearray(100)
        for _ in range(count):
            digest(array)
            treewide.hexdigest(b"abc", length=40)
            blake3(array).update(b"x").hexdigest()
            for wrong in ("text", memoryview(array)[::2]):
                with contextlib.suppress(TypeError, BufferError):
                    digest(wrong)

    calls(20_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    calls(100_000)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 1000, f"{grown} KiB more after half a million calls"


def test_another_interpreter_gets_an_import_error():
    code = "import sys; sys.path = {!r}\ntry: import treewide; print('works')\nexcept ImportError as e: print(e)"
    out = run(
        f"""
        import sys, treewide
        if sys.version_info >= (3, 13):
            import _interpreters as interpreters
        else:
            import _xxsubinterpreters as interpreters
        interpreters.run_string(interpreters.create(), {code!r}.format(sys.path))
        """
    )
    if sys.version_info >= (3, 12):
        assert "does not support loading in subinterpreters" in out
    else:
        assert out == "works\n", "interpreters share a lock"


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has a global lock")
def test_importing_keeps_the_global_lock_off():
    assert not sys._is_gil_enabled()
