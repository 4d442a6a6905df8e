"""`python -m treewide scale` for whole buckets, on an S3 server and on folders."""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import pytest
from buckets import contents
from fake import pattern
from proxy import FAULTS, proxy_of
from treewide import digest
from treewide._scale import lists
from treewide._scale.buckets.listing import cuts, listed
from treewide._scale.buckets.shards import BucketJob
from treewide._scale.cover import hash_all
from treewide._scale.job import Job
from treewide._scale.program import main
from treewide._scale.reading import Retries
from treewide._scale.sources import source_of
from waiting import LIMIT, wait_for

pytest_plugins = ["server"]

#: obstore cannot name these, or takes them for others.
ODD = ["a//b", "a/../b", "a/./b", "../up", "end/", "/start", "cr\rx", "\x01", "nul\x00", "//", "."]
PLAIN = ["a b", "%41", "a%2Fb", "ü/日", "a?b#c", "~+&=", "back\\slash", "\U0001f600", "\uffee", "k" * 1000, "end"]


def filled(store, bucket, objects):
    store.client.create_bucket(Bucket=bucket)
    # Without HTTP, which would take most of the time.
    for key, data in objects.items():
        backend().put_object(bucket, key, data)
    return f"s3://{bucket}/"


def backend():
    from moto.s3.models import s3_backends

    return next(iter(s3_backends["123456789012"].values()))


def spoil(bucket, key, data):
    """Change an object without its ETag, as a broken disk does."""
    object = backend().buckets[bucket].keys[key]
    etag = object.etag
    object.value = data
    object._etag = etag.strip('"')
    assert object.etag == etag


def test_a_bucket_is_hashed_verified_and_updated(command, store):
    objects = {f"logs/{it:04}": pattern(it) for it in range(60)} | {f"logs/{it}": b"odd" for it in PLAIN + ODD}
    filled(store, "whole", objects)
    store.client.put_object(Bucket="whole", Key="other", Body=b"not below")
    wanted = {key.removeprefix("logs/"): digest(data) for key, data in objects.items()}
    done = command("sum", "-r", "s3://whole/logs", "-o", "out")
    assert done.returncode == 0, done.stderr
    counts, copies = done.stderr.splitlines()
    assert counts == "treewide: 82 objects: 82 hashed; 82 read, 1.79 KiB"
    top = Path("out/bucket.b3").read_bytes()
    # The same for two people, wherever their copies are: without the index.
    of_lists = "".join(f"{it[:64]}\n" for it in top.decode().splitlines()[:-1])
    assert f"contents {digest(of_lists.encode()).hex()}" in copies
    assert done.stdout == lists.line_of("out/bucket.b3", digest(top)) + "\n"
    assert contents("out") == wanted
    # The program in Rust reads the list of lists where it is.
    check = subprocess.run([sys.executable, "-m", "treewide", "check", "bucket.b3"], cwd="out", capture_output=True)
    assert check.returncode == 0, check.stdout

    # The same again is the same, and nothing else is in the folder.
    names = sorted(os.listdir("out"))
    assert command("sum", "-r", "s3://whole/logs/", "-o", "out").stdout == done.stdout
    assert sorted(os.listdir("out")) == names
    for args in ((), ("--quick",)):
        done = command("verify", "-l", "out/bucket.b3", *args)
        amount = "82 attested, 0 B" if args else "82 read, 1.79 KiB"
        assert (done.returncode, done.stdout) == (0, f"82 objects: 82 same; {amount}\n"), done.stderr

    store.client.put_object(Bucket="whole", Key="logs/0003", Body=b"new")
    store.client.put_object(Bucket="whole", Key="logs/a//b", Body=b"new")
    store.client.put_object(Bucket="whole", Key="logs/zz\\", Body=b"new")
    store.client.delete_object(Bucket="whole", Key="logs/0005")
    spoil("whole", "logs/0009", b"!" * 9)
    done = command("verify", "-l", "out/bucket.b3")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert [it.split("  (")[0] for it in lines] == [
        "changed    s3://whole/logs/0003",
        "removed    s3://whole/logs/0005",
        "rot        s3://whole/logs/0009",
        "changed    s3://whole/logs/a//b",
        "added      s3://whole/logs/zz\\\\",
        # What seems to have rotted is read twice.
        "83 objects: 78 same, 2 changed, 1 rot, 1 added, 1 removed; 82 read, 1.80 KiB",
    ]
    assert f"(expected {digest(pattern(3)).hex()}, found {digest(b'new').hex()})" in lines[0]
    done = command("verify", "-l", "out/bucket.b3", "--quick", "--json")
    *found, last = map(json.loads, done.stdout.splitlines())
    assert [it["verdict"] for it in found] == ["changed", "removed", "changed", "added"] and done.returncode == 1
    assert (last["objects_read"], last["counts"]["same"], last["exit"]) == (3, 79, 1)
    assert found[0]["uri"] == "s3://whole/logs/0003" and found[0]["digest"] == digest(b"new").hex()

    done = command("update", "-l", "out/bucket.b3")
    assert done.returncode == 0, done.stderr
    assert (
        done.stdout.splitlines()[-2] == "83 objects: 79 same, 2 changed, 1 added, 1 removed; 3 read, 79 attested, 9 B"
    )
    wanted |= {"0003": digest(b"new"), "a//b": digest(b"new"), "zz\\": digest(b"new")}
    del wanted["0005"]
    assert contents("out") == wanted
    # What rotted is still what it was: only reading it shows that it is not.
    done = command("verify", "-l", "out/bucket.b3")
    assert done.returncode == 1 and done.stdout.count("\n") == 2 and done.stdout.startswith("rot        ")


def test_lists_may_lie_in_the_bucket_itself(command, store):
    filled(store, "own", {f"{it:03}": pattern(it) for it in range(30)})
    done = command("sum", "-r", "s3://own/", "-o", "s3://own/.lists", "--engine", "processes", "--workers", 2)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("  s3://own/.lists/bucket.b3\n")
    assert command("verify", "-l", "s3://own/.lists/bucket.b3").stdout == "30 objects: 30 same; 30 read, 435 B\n"
    store.client.put_object(Bucket="own", Key="new", Body=b"")
    assert "1 added" in command("update", "-l", "s3://own/.lists/bucket.b3").stdout
    assert command("verify", "-l", "s3://own/.lists/bucket.b3").stdout.startswith("31 objects: 31 same; 31 read")


def test_pages_of_a_thousand(store):
    root = filled(store, "pages", {})
    keys = [f"{it:04}" for it in range(1001)]
    for key in keys[1:]:
        backend().put_object("pages", key, b"")
    source = source_of(root, **store.options)
    retries = Retries()
    assert [[it.key for it in page] for page in listed(source, root, "", None, retries)] == [keys[1:]]
    store.client.put_object(Bucket="pages", Key=keys[0], Body=b"")
    assert [len(page) for page in listed(source, root, "", None, retries)] == [1000, 1]
    # A key that is equal to a cut is in front of it.
    assert [len(page) for page in listed(source, root, keys[0], keys[1000], retries)] == [1000]
    assert [it.key for page in listed(source, root, "", keys[5], retries) for it in page] == keys[:6]
    none, some = (cuts(source, root, "", it, 4, Retries(), least=1000) for it in (keys[999], None))
    assert not none and some


def test_folders(command):
    names = ["a b", "back\\slash", "new\nline", "cr\r", "d/e/f", "d-", "d0", "é"]
    if sys.platform == "linux":
        names.append(os.fsdecode(b"not \xff utf-8"))
    for name in names:
        path = Path("data", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode("utf-8", "surrogateescape"))
    Path("data/pointer").symlink_to("a b")
    for name, to in (("none", "nothing"), ("loop", "loop"), ("below", "a b/nothing")):
        Path("data", name).symlink_to(to)
    done = command("sum", "-r", "data", "-o", "data/lists")
    assert done.returncode == 0, done.stderr
    wanted = {it: digest(it.encode("utf-8", "surrogateescape")) for it in names} | {"pointer": digest(b"a b")}
    assert contents("data/lists") == wanted
    part = next(it for it in os.listdir("data/lists") if it.startswith("part-") and it.endswith(".b3"))
    check = subprocess.run(
        [sys.executable, "-m", "treewide", "check", f"lists/{part}"], cwd="data", capture_output=True
    )
    assert check.returncode == 0, check.stdout + check.stderr
    # Also while it is listed.
    pages = source_of("data").pages("data/", "", 1)
    assert [it.key for it in next(pages)] == ["a b"]
    shutil.rmtree("data/d")
    assert "d/e/f" not in [it.key for page in pages for it in page]
    done = command("verify", "-l", "data/lists/bucket.b3")
    assert done.returncode == 1 and done.stdout.startswith("removed    data/d/e/f\n")


def test_a_program_may_run_the_command_and_have_no_bytes_to_print_to(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    Path("data/a").write_bytes(b"a")
    stdout = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stdout)
    assert main(["sum", "-r", "data", "-o", "out"]) == 0
    assert stdout.getvalue() == f"{digest(Path('out/bucket.b3').read_bytes()).hex()}  out/bucket.b3\n"
    Path("data/a").unlink()
    assert main(["verify", "-l", "out/bucket.b3"]) == 3
    assert stdout.getvalue().splitlines()[1:] == ["removed    data/a", "1 object: 1 removed; 0 read, 0 B"]


@pytest.mark.skipif(os.name != "posix", reason="this system has no signal that cannot be caught")
@pytest.mark.parametrize("is_bucket", [False, True])
def test_a_run_that_was_killed_goes_on(command, store, tmp_path, is_bucket):
    objects = {f"{it:05}": it.to_bytes(2, "big") for it in range(300)} if is_bucket else {"large": pattern(80 << 20)}
    root = filled(store, "killed" if is_bucket else "single", objects)
    number = 4 if is_bucket else 1

    def results():
        return sorted(tmp_path.glob("cache/treewide/scale/*/*.result"))

    with proxy_of(store.url) as (proxy, endpoint):
        # Nothing more is sent once there are results.
        is_killed = threading.Event()
        proxy.before = lambda _: len(results()) >= number and is_killed.wait()
        args = ["sum", *(("-r", root, "-o", "out") if is_bucket else (f"{root}large",)), "--workers", 1]
        args += ["--option", f"endpoint={endpoint}"]
        limit = "import sys; from treewide._scale import cover; cover._SHORTEST = 0; "
        limit += "from treewide._scale.buckets import bucket_command as it; it._LIMIT = 20; "
        limit += "from treewide._scale.program import main; sys.exit(main(sys.argv[1:]))"
        program = [sys.executable, "-c", limit, *map(str, args)]
        with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
            wait_for(lambda: len(results()) >= number)
            child.send_signal(signal.SIGKILL)
            assert child.wait(LIMIT) == -signal.SIGKILL
        is_killed.set()
        found = results()
        assert not Path("out/bucket.b3").exists()
        # A result that was torn does not count.
        found[0].with_name("0" * 32 + ".result").write_bytes(found[0].read_bytes()[:-1])
        proxy.before = lambda _: None
        proxy.gets = 0
        done = command(*args)
    assert done.returncode == 0 and not results(), done.stderr
    if is_bucket:
        assert "objects were done by an earlier run, and are only listed again: continuing it from" in done.stderr
        assert "treewide: 300 objects: 300 hashed; " in done.stderr and "attested" in done.stderr and proxy.gets < 300
        assert contents("out") == {key: digest(data) for key, data in objects.items()}
    else:
        assert done.stdout == f"{digest(objects['large']).hex()}  {root}large\n"
        assert "were hashed by an earlier run" in done.stderr and proxy.gets <= 4


def test_spoiled_replies_never_change_a_digest(store, tmp_path, monkeypatch):
    small = partial(BucketJob, small=10_000, large=60_000)
    monkeypatch.setattr("treewide._scale.buckets.bucket_command.BucketJob", small)
    objects = {f"{it:03}": pattern(it + 1) for it in range(100)} | {"large": pattern(70_000)}
    root = filled(store, "spoiled", objects)
    with proxy_of(store.url) as (proxy, endpoint):
        # Each fault some times, also in replies to LIST.
        proxy.choice = lambda number: FAULTS[number // 5 % len(FAULTS)] if number % 5 == 1 else None
        client = {**store.options["client_options"], "read_timeout": "10s"}
        option = {**store.options, "endpoint": endpoint, "client_options": client}
        job = Job("sum", urls=(root,), recursive=True, output=str(tmp_path / "out"), option=option)
        told = []
        outcome = hash_all(job, workers=2, told=told.append)
        assert proxy.gets > 110
    assert not told and outcome.exit == 0
    assert contents(tmp_path / "out") == {key: digest(data) for key, data in objects.items()}


def test_what_cannot_be_read_is_said_and_others_go_on(command, store):
    root = filled(store, "broken", {f"{it:02}": pattern(it) for it in range(20)})
    args = ["sum", "-r", root, "-o", "out"]
    with proxy_of(store.url) as (proxy, endpoint):
        args += ["--option", f"endpoint={endpoint}"]
        # This one is refused.
        proxy.refused = "/broken/07"
        done = command(*args)
        assert done.returncode == 3 and len(contents("out")) == 19
        first, last, _, why = done.stderr.splitlines()
        assert why == "treewide: 1 unreadable"
        assert first.startswith("treewide: s3://broken/07: ") and "403" in first
        assert last == "treewide: 20 objects: 19 hashed, 1 unreadable; 19 read, 183 B"
        proxy.refused = None
        done = command("update", "-l", "out/bucket.b3", "--option", f"endpoint={endpoint}")
        assert done.returncode == 0 and done.stdout.startswith("added      s3://broken/07\n"), done.stdout
        # What was known and cannot be read keeps its digest.
        proxy.refused = "/broken/08"
        store.client.put_object(Bucket="broken", Key="08", Body=b"new")
        done = command("update", "-l", "out/bucket.b3", "--option", f"endpoint={endpoint}")
        assert done.returncode == 3 and contents("out")["08"] == digest(pattern(8))
    done = command("update", "-l", "out/bucket.b3")
    assert done.returncode == 0 and contents("out")["08"] == digest(b"new")
    done = command("sum", "-r", "s3://nothing/", "-o", "out")
    assert done.returncode == 3 and "s3://nothing/: there is no such" in done.stderr
