"""`sum --outboards` and `verify --range`, as a user has them."""

import json
import os
import subprocess
import sys

import pytest
import treewide.outboard
from fake import pattern
from treewide import digest
from treewide._scale import lists
from treewide._scale.program import main

pytest_plugins = ["server"]

MIB = 1 << 20
DATA = pattern(5 * MIB + 77)
HASH = digest(DATA).hex()


@pytest.fixture
def command(capfd, tmp_path, monkeypatch):
    """Run the command in this process: code, output, errors."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    pytest.importorskip("obstore", reason="obstore is not installed")

    def call(*args):
        capfd.readouterr()
        try:
            code = main(list(map(str, args)))
        except SystemExit as end:
            code = end.code
        return (code, *capfd.readouterr())

    return call


def test_outboards_next_to_objects_of_a_store(store, command, tmp_path):
    url = store.put("ob/data", DATA)
    small = store.put("ob/small", DATA[:MIB])
    code, out, errors = command("sum", url, small, "-o", "list", "--outboards")
    assert (code, out, errors) == (0, "", "")
    # The same as that of a file, and the library in Rust verifies the file by it.
    made = store.client.get_object(Bucket="bucket", Key="ob/data.obao10")
    pairs = made["Body"].read()
    (tmp_path / "data").write_bytes(DATA)
    (tmp_path / "data.obao10").write_bytes(pairs)
    assert len(pairs) == 5 * 64 and made["Metadata"] == {"blake3": HASH, "length": str(len(DATA))}
    program = [sys.executable, "-m", "treewide", "outboard", "verify", "data", "--expect", HASH]
    done = subprocess.run(program, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert treewide.outboard.create("data", "again", group=MIB).hex() == HASH
    assert (tmp_path / "again").read_bytes() == pairs
    # One group has none.
    assert [it["Key"] for it in store.client.list_objects_v2(Bucket="bucket", Prefix="ob/")["Contents"]] == [
        "ob/data",
        "ob/data.obao10",
        "ob/small",
    ]

    code, out, _ = command("verify", url, "--expect", HASH, "--range", "1M..+1", "--range", "5M..")
    assert (code, out) == (0, "1 object: 1 same; 1 in part, 1.00 MiB, and 512 B of outboards\n")
    code, out, _ = command("verify", "-l", "list", "--range", "..100")
    assert (code, out) == (0, "2 objects: 2 same; 2 in part, 2.00 MiB, and 192 B of outboards\n")

    # A byte of the object is another one: of the groups without it, all are right.
    store.put("ob/data", DATA[: 2 * MIB + 5] + b"!" + DATA[2 * MIB + 6 :])
    code, out, errors = command("verify", url, "--expect", HASH, "--range", "0..2M", "--range", "3M..")
    assert (code, errors) == (0, "")
    code, out, _ = command("verify", url, "--expect", HASH, "--range", "2M..+1")
    text = f"the bytes {2 * MIB}..{3 * MIB} are not those of the digest; restore them from a copy"
    assert code == 1 and out.splitlines()[:2] == [
        f"BAD        {url}  {2 * MIB}..{3 * MIB}",
        f"changed    {url}  ({text})",
    ]
    code, out, _ = command("verify", "-l", "list", url, "--range", "..", "--json")
    found, last = map(json.loads, out.splitlines())
    assert code == last["exit"] == 1 and found["damage"] == [{"start": 2 * MIB, "stop": 3 * MIB, "state": "bad"}]
    assert (found["verdict"], found["bytes_read"], last["bytes_of_outboard"]) == ("changed", len(DATA) + MIB, 320)


def test_outboards_of_something_else_are_said(store, command):
    url, other = store.put("wrong/data", DATA), store.put("wrong/other", DATA[::-1])
    assert command("sum", url, other, "--outboards")[0] == 0
    ranged = ("verify", url, "--expect", HASH, "--range", "..1M", "--outboard")
    code, out, _ = command(*ranged, f"{other}.obao10")
    assert code == 3 and f"UNKNOWN    {url}  0..{MIB}" in out
    assert f"{other}.obao10: the outboard is broken above the bytes 0..{MIB}, or does not belong to the digest" in out
    pairs = store.client.get_object(Bucket="bucket", Key="wrong/data.obao10")["Body"].read()
    store.put("wrong/cut.obao10", pairs[:-1])
    code, out, _ = command(*ranged, "s3://bucket/wrong/cut.obao10")
    assert code == 3 and "has 319 bytes, and the outboard of 5242957 bytes by groups of 1048576 has 320" in out
    code, out, _ = command(*ranged, "s3://bucket/wrong/none.obao10")
    assert code == 3 and "s3://bucket/wrong/none.obao10: there is no such object; write it with sum --outboards" in out
    # Another digest than that of the object: the object may be right, but that is not known.
    code, out, _ = command("verify", url, "--expect", "00" * 32, "--range", "..1M")
    assert code == 3 and "UNKNOWN" in out
    # Gone, or the wrong length.
    code, out, _ = command("verify", "s3://bucket/wrong/gone", "--expect", HASH, "--range", "..1M")
    assert code == 1 and "removed    s3://bucket/wrong/gone" in out
    store.put("wrong/data", DATA + bytes(MIB))
    code, out, _ = command("verify", url, "--expect", HASH, "--range", "..1M")
    assert code == 3 and "cut off, or of another object" in out


def test_outboards_in_a_folder_by_digest(store, command, tmp_path):
    path = tmp_path / "data"
    path.write_bytes(DATA)
    for folder in ("s3://bucket/folder", str(tmp_path / "made" / "here")):
        code, out, errors = command("sum", path, "--group", 65536, "--json", f"--outboards={folder}")
        assert code == 0, errors
        assert json.loads(out.splitlines()[0])["outboard"] == f"{folder}/{HASH}.obao6"
    outboard = str(tmp_path / "made" / "here" / f"{HASH}.obao6")
    assert treewide.outboard.verify(outboard, path, expected=HASH, group="64K") == []
    assert sorted(it.name for it in (tmp_path / "made" / "here").iterdir()) == [f"{HASH}.obao6"]
    for name in (f"s3://bucket/folder/{HASH}.obao6", outboard):
        code, out, _ = command("verify", path, "--expect", HASH, "--range", "100..200", "--outboard", name)
        assert code == 0 and "64.00 KiB, and" in out
    # Outboards of usual groups are found by their folder.
    assert command("sum", path, "-o", "list", "--outboards", "s3://bucket/folder")[0] == 0
    code, out, _ = command("verify", "-l", "list", "--range", "100..200", "--outboard", "s3://bucket/folder")
    assert code == 0 and "1.00 MiB, and" in out
    # And where they are, the list says.
    code, out, _ = command("verify", "-l", "list", "--range", "100..200")
    assert code == 0 and "1.00 MiB, and" in out
    assert command("update", "-l", "list")[0] == 0
    assert lists.read("list")[str(path)].outboard == f"s3://bucket/folder/{HASH}.obao10"
    assert command("sum", path, "-o", "list", "--group", 65536, f"--outboards={tmp_path / 'made'}")[0] == 0
    code, out, _ = command("verify", "-l", "list", "--range", "100..200")
    assert code == 0 and "64.00 KiB, and" in out
    # What did not change is not read, and what did has its outboard.
    path.write_bytes(DATA[::-1])
    code, out, _ = command("update", "-l", "list", "--outboards")
    assert code == 0 and (tmp_path / "data.obao10").stat().st_size == 320
    code, out, _ = command("verify", "-l", "list", "--range", "..")
    assert code == 0 and lists.read("list")[str(path)].digest == digest(DATA[::-1])


def test_what_may_have_rotted_has_the_outboard_that_it_had(command, tmp_path):
    path, outboard = tmp_path / "data", tmp_path / "data.obao10"
    path.write_bytes(DATA)
    assert command("sum", "data", "-o", "list", "--outboards")[0] == 0
    pairs, there = outboard.read_bytes(), path.stat()
    path.write_bytes(DATA[:-1] + b"!")
    os.utime(path, ns=(there.st_atime_ns, there.st_mtime_ns))
    for args in (("sum", "data", "-o", "list"), ("update", "list")):
        assert command(*args, "--outboards")[0] != 0 and outboard.read_bytes() == pairs
    assert f"BAD        data  {5 * MIB}.." in command("verify", "list", "--range", "..")[1]
    assert command("update", "list", "--outboards", "--accept-rot", "*")[0] == 1 and outboard.read_bytes() != pairs
    assert command("verify", "list", "--range", "..")[0] == 0


def test_an_outboard_that_cannot_be_written_does_not_lose_the_digest(store, command, tmp_path):
    path = tmp_path / "data"
    path.write_bytes(DATA)
    (tmp_path / "file").write_text("here")
    code, out, errors = command("sum", path, f"--outboards={tmp_path / 'file'}")
    assert (
        code == 3 and out == f"{HASH}  {path}\n" and "cannot be written" in errors and str(tmp_path / "file") in errors
    )
    # Another command takes nothing from it.
    code, out, errors = command("sum", path, "--outboards")
    assert code == 0 and "earlier run" not in errors
    # The same again with room: nothing is hashed again.
    (tmp_path / "file").unlink()
    code, out, errors = command("sum", path, f"--outboards={tmp_path / 'file'}")
    assert code == 0 and "were hashed by an earlier run" in errors
    assert command("verify", path, "--expect", HASH, "--range", "..")[0] == 0
