"""Tests what a run says about how far it is, and the lists that it writes."""

import io

import pytest
from treewide._scale import lists
from treewide._scale.found import Fact, Found
from treewide._scale.progress import Progress, bytes_text

K = 1024


class Terminal(io.StringIO):
    def isatty(self):
        return True


def some_progress(stream):
    """Half of an object in 20 seconds."""
    now = 0.0
    progress = Progress(stream, clock=lambda: now)
    for step in range(26):
        progress(step * 2 * K, 100 * K - step * 2 * K, "", 2)
        now += 0.8
    return progress


def test_bytes_rate_time_and_workers_are_said():
    stream = io.StringIO()
    progress = some_progress(stream)
    # The rate is that of the last ten seconds: 2 KiB in 0.8 seconds.
    lines = stream.getvalue().splitlines()
    assert 2 <= len(lines) <= 4 and lines[0] == "0 B of 100.00 KiB (0 %), 0 B/s, time left unknown, 2 workers"
    progress.end()
    assert stream.getvalue().splitlines()[-1] == "50.00 KiB of 100.00 KiB (50 %), 2.50 KiB/s, 0:20 left, 2 workers"


def test_a_terminal_has_one_line_that_goes_away():
    stream = Terminal()
    progress = some_progress(stream)
    assert "\n" not in stream.getvalue() and stream.getvalue().count("\r") > 20
    progress.end()
    assert stream.getvalue().endswith(" \r")


def test_units():
    assert [bytes_text(it) for it in (0, 1023, 1024, 12_345_678, 10**13, 10**16)] == [
        "0 B",
        "1023 B",
        "1.00 KiB",
        "11.77 MiB",
        "9.09 TiB",
        "8.88 PiB",
    ]


def test_lists_keep_every_name(tmp_path):
    path = tmp_path / "list.b3"
    names = ["a", "a  b", "line\nbreak", "back\\slash", "\\n", "cr\r", "é", "\udcff", " "]
    entries = [Fact(Found(it, 5, '"1"', None, None), bytes([index]) * 32) for index, it in enumerate(names)]
    lists.write(path, entries)
    assert list(lists.read(path).values()) == entries
    # What was hashed of another content does not count.
    text = path.read_bytes().replace(b"00" * 32, b"ff" * 32)
    path.write_bytes(text)
    assert not lists.read(path)["a"].is_known and lists.read(path)["a  b"].is_known
    (tmp_path / "list.b3.objects").write_bytes(b"junk\n{}\n[]\n\xff\n")
    assert all(not it.is_known for it in lists.read(path).values())
    (tmp_path / "list.b3.objects").unlink()
    assert len(lists.read(path)) == len(names)
    assert sorted(it.name for it in tmp_path.iterdir()) == ["list.b3"]
    with pytest.raises(OSError, match="nothing"):
        lists.write(tmp_path / "nothing" / "list", entries)
