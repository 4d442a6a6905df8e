"""`hash_file`, `hash_files` and `hash_file_async`."""

import asyncio
import os
import subprocess
import sys
import textwrap
import threading

import pytest
import treewide
from conftest import pattern
from treewide import digest, hash_file, hash_file_async, hash_files

LENGTHS = (0, 1, 64, 1024, 5000, 100_000, 1_048_577, 20_000_000)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A file of each length."""
    folder = tmp_path_factory.mktemp("files")
    paths = []
    for length in LENGTHS:
        paths.append(folder / f"{length} ü")
        paths[-1].write_bytes(pattern(length))
    return paths


@pytest.mark.parametrize("threads", [1, 2, -1])
def test_files_have_the_digests_of_their_bytes(files, threads):
    for mode in ({}, {"key": b"k" * 32}, {"derive_key_context": "ctx"}, {"length": 1}, {"length": 100}, {"length": 0}):
        expected = [digest(path.read_bytes(), **mode) for path in files]
        assert [hash_file(path, threads=threads, **mode) for path in files] == expected
        assert hash_files(files, threads=threads, **mode) == expected
        assert hash_files((str(path) for path in files), threads=threads, errors="return", **mode) == expected
    assert hash_files([]) == []


@pytest.mark.skipif(sys.platform != "linux", reason="other systems may refuse such names")
def test_names_may_be_any_bytes(tmp_path):
    name = os.fsencode(tmp_path) + b"/\xff\xfe"
    with open(name, "wb") as file:
        file.write(b"abc")
    for path in (name, os.fsdecode(name)):
        assert (
            hash_file(path) == hash_files([path])[0] == treewide.blake3().update_mmap(path).digest() == digest(b"abc")
        )
    with pytest.raises(FileNotFoundError) as caught:
        hash_file(name + b"?")
    assert caught.value.filename == os.fsdecode(name + b"?")


def test_many_small_files(tmp_path):
    paths = [tmp_path / str(i) for i in range(1000)]
    for i, path in enumerate(paths):
        path.write_bytes(pattern(i * 7))
    assert hash_files(paths) == [digest(pattern(i * 7)) for i in range(1000)]


def test_an_error_names_the_file(files, tmp_path):
    missing = tmp_path / "missing"
    for path, error in ((missing, FileNotFoundError), (tmp_path, IsADirectoryError)):
        for function in (lambda path: hash_file(path), lambda path: hash_files([files[0], path, files[1]])):
            with pytest.raises(error) as caught:
                function(path)
            assert caught.value.filename == str(path)
    found = hash_files([files[1], missing, files[2], tmp_path], errors="return")
    assert found[::2] == [digest(pattern(1)), digest(pattern(64))]
    assert isinstance(found[1], FileNotFoundError) and isinstance(found[3], IsADirectoryError)
    assert found[1].filename == str(missing)


def test_wrong_parameters_are_named(files):
    with pytest.raises(ValueError, match="errors is"):
        hash_files([], errors="ignore")
    with pytest.raises(TypeError, match="use hash_file"):
        hash_files("path")
    with pytest.raises(TypeError, match="use hash_file"):
        hash_files(files[0])
    with pytest.raises(TypeError, match="use hash_file"):
        hash_files(b"path")
    for wrong in ([3], [None], 3):
        with pytest.raises(TypeError):
            hash_files(wrong)
    with pytest.raises(TypeError):
        hash_file(3)
    with files[1].open("rb") as file, pytest.raises(TypeError, match="update_reader"):
        hash_file(file)
    with pytest.raises((OSError, ValueError)):
        hash_file("a\0b")
    with pytest.raises((MemoryError, OverflowError)):
        hash_file(files[0], length=2**62)
    with pytest.raises((MemoryError, OverflowError)):
        hash_files([files[0]], length=2**62)
    with pytest.raises(TypeError):
        hash_file(files[0], progress=3)


def test_progress_reaches_the_end(files):
    seen = []
    hash_file(files[-1], progress=seen.append)
    assert seen[-1] == LENGTHS[-1] and seen == sorted(seen)
    seen = []
    hash_files(files, progress=lambda *done: seen.append((threading.current_thread(), done)))
    assert seen[-1][1] == (len(files), sum(LENGTHS))
    assert {thread for thread, _ in seen} == {threading.current_thread()}


def test_an_error_of_progress_stops(files):
    def fails(*_):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        hash_file(files[-1], progress=fails)
    with pytest.raises(ZeroDivisionError, match="mine"):
        hash_files(files, progress=fails)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_read_to_its_end_and_can_be_interrupted(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def write():
        pipe.write_bytes(pattern(300_000))

    writer = threading.Thread(target=write)
    writer.start()
    assert hash_file(pipe) == digest(pattern(300_000))
    writer.join()
    # A pipe with a writer that is silent, and one without a writer.
    writer = os.open(pipe, os.O_RDWR)
    assert_interrupted(pipe)
    os.close(writer)
    if sys.platform == "linux":
        assert_interrupted(pipe)


def assert_interrupted(pipe):
    # In programs of their own, because only their main threads see signals.
    for call in ("hash_file(pipe)", "hash_files([pipe])", "blake3().update_mmap(pipe)"):
        program = f"""
            import signal, treewide
            pipe = {str(pipe)!r}
            signal.signal(signal.SIGALRM, signal.default_int_handler)
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.2)
                treewide.{call}
            except KeyboardInterrupt:
                print("interrupted")
        """
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, timeout=60)
        assert done.stdout == b"interrupted\n", call


def test_hash_file_async(files):
    async def work():
        assert await hash_file_async(files[-1], key=b"k" * 32) == digest(pattern(LENGTHS[-1]), key=b"k" * 32)
        seen = []
        both = await asyncio.gather(
            hash_file_async(files[3], progress=seen.append), hash_file_async(files[4], length=5)
        )
        assert both == [digest(pattern(1024)), digest(pattern(5000), length=5)]
        assert seen[-1] == 1024
        with pytest.raises(FileNotFoundError):
            await hash_file_async("missing file")

    asyncio.run(work())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_hash_file_async_can_be_cancelled(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = os.open(pipe, os.O_RDWR)

    async def work():
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(hash_file_async(pipe), 0.1)

    # Leaving waits for the executor's thread, so it has stopped.
    asyncio.run(work())
    os.close(writer)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_hashes_files(files):
    if not hasattr(os, "fork"):
        pytest.skip("this system has no fork")
    expected = hash_files(files)
    child = os.fork()
    if child == 0:
        fine = hash_files(files) == expected and hash_file(files[-1]) == expected[-1]
        os._exit(0 if fine else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_update_mmap_and_hash_file_agree(files):
    for path in files:
        assert treewide.blake3().update_mmap(path).digest() == hash_file(path)
