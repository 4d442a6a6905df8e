"""`python -m treewide scale`."""

import json
import subprocess
import sys
from pathlib import Path

from fake import pattern
from treewide import digest, hash_file
from treewide._scale import lists

pytest_plugins = ["server"]

DATA = pattern(100_000)


def text_of(path):
    return Path(path).read_text()


def test_sums_verifies_and_updates(command, store):
    urls = [store.put(f"cli/{it}", DATA[: it * 1000]) for it in range(3)]
    lines = "".join(f"{digest(DATA[: it * 1000]).hex()}  {url}\n" for it, url in enumerate(urls))
    done = command("sum", *urls)
    assert (done.returncode, done.stdout, done.stderr) == (0, lines, "")
    done = command("sum", *urls, "-o", "list.b3")
    assert (done.returncode, done.stdout, text_of("list.b3")) == (0, "", lines)
    done = command("verify", "list.b3")
    assert (done.returncode, done.stdout) == (0, "3 objects: 3 same; 3 read, 2.93 KiB\n")

    # Nothing changed: nothing is read.
    done = command("update", "--list", "list.b3")
    assert (done.returncode, done.stdout) == (0, "3 objects: 3 same; 3 attested, 0 B\n")
    assert text_of("list.b3") == lines

    store.put("cli/1", DATA[:1001])
    store.client.delete_object(Bucket="bucket", Key="cli/2")
    done = command("verify", "list.b3")
    assert done.returncode == 1
    assert f"changed    {urls[1]}  (expected {digest(DATA[:1000]).hex()}, found" in done.stdout
    assert f"removed    {urls[2]}" in done.stdout and "1 same, 1 changed, 1 removed; 2 read" in done.stdout
    assert command("verify", "list.b3", urls[0]).returncode == 0

    new = store.put("cli/new", DATA)
    done = command("update", "--list", "list.b3", *urls, new, "--json")
    assert done.returncode == 0, done.stderr
    *objects, last = map(json.loads, done.stdout.splitlines())
    assert [it["verdict"] for it in objects] == ["same", "changed", "removed", "added"]
    assert objects[3]["digest"] == digest(DATA).hex() and objects[3]["size"] == len(DATA)
    assert (last["objects_read"], last["bytes_read"], last["exit"]) == (2, 101_001, 0)
    assert list(lists.read("list.b3")) == [urls[0], urls[1], new]
    assert command("verify", "--list", "list.b3").returncode == 0


def test_one_digest_is_enough(command, store):
    url = store.put("cli/one", DATA)
    assert command("verify", url, "--expect", digest(DATA).hex()).returncode == 0
    assert command("verify", url, "--expect", digest(b"").hex()).returncode == 1
    done = command("verify", store.put("cli/two", DATA)[:-1], "--expect", digest(DATA).hex())
    assert done.returncode == 1 and "removed" in done.stdout


def test_files_and_engines(command, tmp_path):
    names = ["a b", "back\\slash", "new\nline", "é"]
    for name in names:
        with open(name, "wb") as file:
            file.write(pattern(len(name) * 1000))
    for engine in ("local", "processes"):
        done = command("sum", *names, "--engine", engine, "--workers", 2, "-o", "list.b3", "--progress")
        assert done.returncode == 0, done.stderr
        assert "(100 %)" in done.stderr and "2 workers" in done.stderr
        assert {name: it.digest for name, it in lists.read("list.b3").items()} == {it: hash_file(it) for it in names}
    # The program in Rust reads the list.
    done = subprocess.run([sys.executable, "-m", "treewide", "check", "list.b3"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    with open("a b", "ab") as file:
        file.write(b"!")
    assert command("verify", "-l", "list.b3").returncode == 1


def test_what_cannot_be_read_is_said(command, store):
    url = store.put("cli/good", DATA)
    done = command("sum", url, "s3://bucket/cli/nothing")
    assert done.returncode == 3 and done.stdout == f"{digest(DATA).hex()}  {url}\n"
    assert done.stderr == "treewide: s3://bucket/cli/nothing: there is no such object\ntreewide: 1 unreadable\n"
    done = command("sum", "file")
    assert done.returncode == 3 and "file" in done.stderr


def test_a_damaged_list_is_not_compared_or_written(command):
    line = f"{'00' * 32}  a\n"
    Path("a").write_bytes(b"a")
    for text, words in (
        (line + "junk\n", "line 2 is not a digest"),
        (line * 2, "names a a second time"),
        (line[:-1], "cut off"),
    ):
        Path("list").write_text(text)
        for name in ("verify", "update"):
            done = command(name, "--list", "list")
            assert done.returncode == 3 and words in done.stderr, done.stderr
        assert Path("list").read_text() == text
