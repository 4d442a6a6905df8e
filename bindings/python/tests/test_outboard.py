"""`treewide.outboard`."""

import os
import subprocess
import sys

import pytest
from conftest import pattern
from treewide import digest, outboard
from treewide.outboard import Damage

GROUP = 16384


@pytest.fixture
def files(tmp_path):
    """A file of 61 groups and a bit, its outboard, and its digest."""
    path, pairs = tmp_path / "data", tmp_path / "data.obao4"
    path.write_bytes(pattern(1_000_000))
    return path, pairs, outboard.create(path, pairs)


def overwrite(path, at, data):
    with open(path, "r+b") as file:
        file.seek(at)
        file.write(data)


def test_outboards_have_the_digests_of_files(tmp_path):
    path, pairs = tmp_path / "data", tmp_path / "pairs"
    for length in (0, 1, 1024, 1025, GROUP, GROUP + 1, 3 * GROUP, 1_000_000):
        data = pattern(length)
        path.write_bytes(data)
        for mode in ({}, {"key": b"k" * 32}, {"derive_key_context": "ctx"}):
            for shape in ({}, {"group": 1024}, {"group": 1 << 26}):
                made = outboard.create(path, pairs, **shape, **mode)
                assert made == digest(data, **mode)
                groups = max(1, -(-length // shape.get("group", GROUP)))
                assert pairs.stat().st_size == 64 * (groups - 1)
                assert outboard.verify(pairs, path, expected=made, **shape, **mode) == []
                assert outboard.read(pairs, path, 0, length + 10, expected=made, **shape, **mode) == data
    seen = []
    outboard.create(path, pairs, progress=seen.append)
    assert seen[-1] == 1_000_000


def test_damage_is_found_where_it_is(files):
    path, pairs, expected = files
    overwrite(path, 500_000, b"!")
    bad = Damage(500_000 // GROUP * GROUP, (500_000 // GROUP + 1) * GROUP, "bad")
    assert outboard.verify(pairs, path, expected=expected) == [bad]
    assert outboard.verify(pairs, path, expected=expected.hex(), start=0, stop=400_000) == []
    assert outboard.verify(pairs, path, expected=bytearray(expected), start=500_001, stop=500_002, threads=1) == [bad]
    assert outboard.read(pairs, path, 17, 400_000, expected=expected) == pattern(400_000)[17:]
    with pytest.raises(outboard.DamageError, match=r"data: the bytes 491520\.\.507904"):
        outboard.read(pairs, path, 400_000, 600_000, expected=expected)

    with open(path, "ab") as file:
        file.write(b"more")
    extra = Damage(1_000_000, 1_000_004, "extra")
    assert outboard.verify(pairs, path, expected=expected, size=1_000_000) == [bad, extra]
    assert outboard.verify(pairs, path, expected=expected) != [], "another length is another tree"

    overwrite(pairs, 0, b"!")
    (unknown,) = outboard.verify(pairs, path, expected=expected, size=1_000_000, stop=1_000_000)
    assert (unknown.start, unknown.stop, unknown.state) == (0, 1_000_000, "unknown")
    with pytest.raises(outboard.DamageError, match=r"data\.obao4: the outboard is broken"):
        outboard.read(pairs, path, 0, 1, expected=expected, size=1_000_000)


def test_the_command_line_reads_the_same(files):
    path, _, expected = files
    run = [sys.executable, "-m", "treewide", "outboard", "verify", path, "--expect", expected.hex()]
    assert subprocess.run(run, capture_output=True).returncode == 0
    overwrite(path, 0, b"!")
    assert subprocess.run(run, capture_output=True).returncode == 1


def test_what_is_wrong_is_said(files):
    path, pairs, expected = files
    missing = path.with_name("missing")
    for call in (
        lambda: outboard.create(missing, pairs),
        lambda: outboard.verify(pairs, missing, expected=expected),
        lambda: outboard.read(missing, path, 0, 1, expected=expected),
    ):
        with pytest.raises(FileNotFoundError) as caught:
            call()
        assert caught.value.filename == str(missing)
    for shape in ({"group": 1000}, {"group": 512}, {"group": 1 << 27}, {"group": 0}):
        with pytest.raises(ValueError, match=next(iter(shape))):
            outboard.verify(pairs, path, expected=expected, **shape)
    with pytest.raises(ValueError, match="32 bytes"):
        outboard.verify(pairs, path, expected=b"short")
    with pytest.raises(TypeError):
        outboard.verify(pairs, path, expected=32)
    with pytest.raises(ValueError, match="the file itself"):
        outboard.create(path, path)
    with pytest.raises(OSError, match="not a regular file"):
        outboard.verify(pairs, path.parent, expected=expected)
    with pytest.raises(OverflowError):
        outboard.read(pairs, path, -1, 1, expected=expected)
    assert outboard.read(pairs, path, 5, 5, expected=expected) == b""
    assert path.read_bytes() == pattern(1_000_000)


@pytest.mark.skipif(os.name != "posix", reason="there are no named pipes")
def test_a_pipe_is_refused(tmp_path, files):
    _, pairs, expected = files
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        outboard.verify(pairs, tmp_path / "pipe", expected=expected)


def test_a_run_that_is_stopped_leaves_nothing(tmp_path):
    path, pairs = tmp_path / "data", tmp_path / "pairs"
    path.write_bytes(bytes(20_000_000))

    def stop(bytes):
        raise KeyError

    for call in (
        lambda: outboard.create(path, pairs, progress=stop),
        lambda: outboard.verify(path, path, expected=bytes(32), progress=stop),
    ):
        with pytest.raises(KeyError):
            call()
    assert [it.name for it in tmp_path.iterdir()] == ["data"]
