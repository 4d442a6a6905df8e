"""Tests what a run says about how far it is, and the lists that it writes."""

import io

import pytest
from simulation import hashed
from treewide._scale import lists
from treewide._scale.object_driver import Driver
from treewide._scale.objects import Object
from treewide._scale.progress import Progress, bytes_text
from treewide._scale.tasks import Result

K = 1024
OBJECT = Object("s3://b/k", 100 * K, '"1"')


class Terminal(io.StringIO):
    def isatty(self):
        return True


def some_progress(stream):
    """Half of an object in 20 seconds."""
    now = 0.0
    driver = Driver([OBJECT], lease=2 * K)
    progress = Progress(stream, clock=lambda: now)
    for _ in range(25):
        progress(driver, 2)
        task = driver.next(2)
        driver.take(Result(task, "ok", hashed(OBJECT, task.start, task.stop), "a"))
        now += 0.8
    progress(driver, 2)
    return progress, driver


def test_bytes_rate_time_and_workers_are_said():
    stream = io.StringIO()
    progress, driver = some_progress(stream)
    # The rate is that of the last ten seconds: 2 KiB in 0.8 seconds.
    assert progress.line(driver, 2) == "51.2 kB of 102.4 kB (50 %), 2.6 kB/s, 0:20 left, 2 workers"
    lines = stream.getvalue().splitlines()
    assert 2 <= len(lines) <= 4 and lines[0] == "0 B of 102.4 kB (0 %), 0 B/s, time left unknown, 2 workers"
    progress.end()
    assert stream.getvalue().splitlines()[-1].startswith("51.2 kB of")


def test_a_terminal_has_one_line_that_goes_away():
    stream = Terminal()
    progress, _ = some_progress(stream)
    assert "\n" not in stream.getvalue() and stream.getvalue().count("\r") > 20
    progress.end()
    assert stream.getvalue().endswith(" \r")


def test_units():
    assert [bytes_text(it) for it in (0, 999, 1000, 12_345_678, 10**13, 10**16)] == [
        "0 B",
        "999 B",
        "1.0 kB",
        "12.3 MB",
        "10.0 TB",
        "10.0 PB",
    ]


def test_lists_keep_every_name(tmp_path):
    path = tmp_path / "list.b3"
    names = ["a", "a  b", "line\nbreak", "back\\slash", "\\n", "cr\r", "é", "\udcff", " "]
    entries = [lists.Entry(it, bytes([index]) * 32, Object(it, 5, '"1"')) for index, it in enumerate(names)]
    lists.write(path, entries)
    assert list(lists.read(path).values()) == entries
    # What was hashed of another content does not count.
    text = path.read_bytes().replace(b"00" * 32, b"ff" * 32)
    path.write_bytes(text)
    assert lists.read(path)["a"].object is None and lists.read(path)["a  b"].object is not None
    (tmp_path / "list.b3.objects").write_bytes(b"junk\n{}\n[]\n\xff\n")
    assert all(it.object is None for it in lists.read(path).values())
    (tmp_path / "list.b3.objects").unlink()
    assert len(lists.read(path)) == len(names)
    assert sorted(it.name for it in tmp_path.iterdir()) == ["list.b3"]
    with pytest.raises(OSError, match="nothing"):
        lists.write(tmp_path / "nothing" / "list", entries)
