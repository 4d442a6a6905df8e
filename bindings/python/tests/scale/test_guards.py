"""Tests what a run must never say: that a file was read which was not, or that a worse list is better than the old."""

import json
import os
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from fake import pattern
from proxy import proxy_of
from treewide import digest
from treewide._scale import lists
from treewide._scale.cover import Cover
from treewide._scale.program import job_of, main, parsed
from treewide._scale.reading import Refused, Retries, cause_of, head
from treewide._scale.run import run
from treewide._scale.sources import source_of
from treewide._scale.sources.boto import Boto
from treewide._scale.sources.obstore import Obstore
from treewide._scale.sources.web import Web
from treewide._scale.temporary import temporary_name
from treewide._scale.work import Work, usual_place

pytest_plugins = ["server"]


def last(done):
    """The last line of JSON."""
    return json.loads(done.stdout.splitlines()[-1])


def flip(path, *, keep_time=True):
    """Change a byte of a file."""
    there = os.stat(path)
    data = bytearray(Path(path).read_bytes())
    data[0] ^= 1
    Path(path).write_bytes(data)
    if keep_time:
        os.utime(path, ns=(there.st_atime_ns, there.st_mtime_ns))


# ---- Evidence ------------------------------------------------------------------------------------


def test_verify_takes_nothing_from_another_run(command, tmp_path):
    Path("a").write_bytes(pattern(3_000_000))
    Path("b").write_bytes(b"b")
    assert command("sum", "a", "b", "-o", "list").returncode == 0
    # It cannot write outboards, so its folder stays.
    Path("in the way").write_text("")
    assert command("sum", "a", "b", "--outboards=in the way/x").returncode == 3
    assert list(tmp_path.glob("cache/treewide/scale/*/*.result"))
    done = command("verify", "-l", "list", "--json")
    assert last(done)["evidence"] == {"read": 2} and last(done)["bytes_read"] == 3_000_001


def test_update_names_what_it_did_not_read(command):
    Path("a").write_bytes(b"a")
    assert command("sum", "a", "-o", "list").returncode == 0
    Path("b").write_bytes(b"b")
    done = command("update", "-l", "list", "a", "b", "--json")
    first, second, total = map(json.loads, done.stdout.splitlines())
    assert (first["evidence"], second["evidence"]) == ("metadata", "read")
    assert total["evidence"] == {"metadata": 1, "read": 1} and total["objects_read"] == 1


def a_killed_verify(*args):
    """Do what a `verify` of a bucket does, up to the moment before it ends."""
    killed = Cover(job_of(parsed(["verify", "-l", "out", *args])))
    work = Work(usual_place(killed.key), killed.key)
    for task in killed.missing(1):
        work.keep(run(task))
    return work.path


@pytest.fixture
def hashed(command):
    """A folder of three files that was hashed as a bucket."""
    Path("data").mkdir()
    for name in ("a", "b", "c"):
        Path("data", name).write_bytes(name.encode() * 1000)
    assert command("sum", "-r", "data", "-o", "out").returncode == 0
    return command


def test_a_verify_of_a_bucket_that_was_killed_lists_again(hashed):
    a_killed_verify()
    done = hashed("verify", "-l", "out", "--json")
    assert "are only listed again" in done.stderr
    assert last(done)["evidence"] == {"metadata": 3} and last(done)["objects_read"] == 0 and done.returncode == 0
    # Something changed since then in a range that was done.
    a_killed_verify()
    Path("data/b").write_bytes(b"new")
    Path("data/d").write_bytes(b"d")
    Path("data/a").unlink()
    done = hashed("verify", "-l", "out", "--json")
    assert done.returncode == 1 and last(done)["counts"] == {"same": 1, "changed": 1, "added": 1, "removed": 1}
    assert last(done)["evidence"]["read"] == 3


def test_a_run_that_came_to_its_end_is_over(hashed, tmp_path):
    flip("data/a")
    assert hashed("verify", "-l", "out").returncode == 1
    Path("one").write_bytes(b"1")
    assert hashed("sum", "one", "missing").returncode == 3
    assert not list(tmp_path.glob("cache/treewide/scale/*"))


# ---- Rot and suspicion ---------------------------------------------------------------------------


def test_a_file_with_its_old_time_and_other_content_is_suspect(hashed):
    before = Path("out/bucket.b3").read_bytes()
    flip("data/b")
    done = hashed("verify", "-l", "out")
    assert done.returncode == 1 and done.stdout.startswith("suspect    data/b") and "1 suspect" in done.stderr
    done = hashed("update", "-l", "out")
    assert done.returncode == 1 and "1 suspect" in done.stdout and Path("out/bucket.b3").read_bytes() == before
    assert hashed("update", "-l", "out", "--accept-rot", "data/a").returncode == 1
    assert hashed("update", "-l", "out", "--accept-rot", "data/*").returncode == 1
    assert hashed("verify", "-l", "out").returncode == 0


def test_an_object_of_a_list_may_rot_or_be_suspect(command, store):
    url = store.put("guards/rot", b"content")
    assert command("sum", url, "-o", "list").returncode == 0
    before = Path("list").read_bytes()
    with proxy_of(store.url) as (proxy, endpoint):
        etag = store.client.head_object(Bucket="bucket", Key="guards/rot")["ETag"]
        store.put("guards/rot", b"kontent")
        # The store says that it is the same.
        proxy.etag = lambda number: etag
        proxy.forget_if_match = True
        done = command("verify", "-l", "list", "--option", f"endpoint={endpoint}")
    assert done.returncode == 1 and done.stdout.startswith("rot        "), done.stdout + done.stderr
    Path("file").write_bytes(b"content")
    Path("list").write_text(f"{digest(b'other').hex()}  file\n")
    done = command("update", "-l", "list")
    assert done.returncode == 1 and "does not say what it was" in done.stdout
    assert lists.read("list")["file"].digest == digest(b"other") and before
    assert command("update", "-l", "list", "--accept-rot", "file").returncode == 1
    assert lists.read("list")["file"].digest == digest(b"content")


def test_rot_is_said_only_after_a_second_reading(hashed, monkeypatch):
    from treewide._scale.buckets import whole_objects

    answers = iter([b"flipped on the way"])
    whole = whole_objects.WholeObjects._whole

    def flips(self, object, retries):
        found, data = whole(self, object, retries)
        return found, next(answers, data) if object.uri == "data/b" else data

    monkeypatch.setattr(whole_objects.WholeObjects, "_whole", flips)
    assert main(["verify", "-l", "out", "--workers", "1"]) == 0


# ---- Lists that must not become worse ------------------------------------------------------------


def test_a_bucket_that_is_suddenly_empty_changes_no_list(hashed):
    before = Path("out/bucket.b3").read_bytes()
    Path("data").rename("away")
    Path("data").mkdir()
    assert hashed("verify", "-l", "out").returncode == 3
    for args in (("update", "-l", "out"), ("sum", "-r", "data", "-o", "out")):
        done = hashed(*args)
        assert done.returncode == 3 and Path("out/bucket.b3").read_bytes() == before, done.stderr
    # Others are there instead.
    for name in ("a", "d", "e"):
        Path("data", name).write_bytes(name.encode() * 1000)
    for args in (("update", "-l", "out"), ("sum", "-r", "data", "-o", "out")):
        done = hashed(*args)
        assert done.returncode == 3 and "2 of 3 objects are gone" in done.stderr
        assert Path("out/bucket.b3").read_bytes() == before
    assert hashed("update", "-l", "out", "--max-removed", "2").returncode == 0
    assert hashed("verify", "-l", "out").returncode == 0


def test_a_list_keeps_its_objects_if_they_are_not_there(command):
    for name in ("a", "b", "c"):
        Path(name).write_text(name)
    assert command("sum", "a", "b", "c", "-o", "list").returncode == 0
    before = Path("list").read_bytes()
    for name in ("a", "b"):
        Path(name).unlink()
    done = command("update", "-l", "list")
    assert done.returncode == 3 and "2 of 3 objects are gone" in done.stderr and Path("list").read_bytes() == before
    # What cannot be hashed is not lost either.
    done = command("sum", "a", "c", "-o", "list")
    assert done.returncode == 3 and Path("list").read_bytes() == before
    assert command("update", "-l", "list", "--max-removed", "70%").returncode == 0
    assert list(lists.read("list")) == ["c"]
    Path("c").unlink()
    assert command("update", "-l", "list").returncode == 3 and command("verify", "-l", "list").returncode == 3
    assert command("update", "-l", "list", "--allow-empty").returncode == 0


def test_an_index_that_is_damaged_changes_no_list(command):
    Path("a").write_text("a")
    Path("b").write_text("b")
    assert command("sum", "a", "b", "-o", "list").returncode == 0
    before, index = Path("list").read_bytes(), Path("list.objects").read_text()
    flip("a")
    for text in (index[:-1], "not JSON\n" + index, "\0" * 100):
        Path("list.objects").write_text(text)
        for name in ("verify", "update"):
            done = command(name, "-l", "list")
            assert done.returncode == 3 and "is damaged" in done.stderr and Path("list").read_bytes() == before
    done = command("update", "-l", "list", "--accept-damage")
    assert done.returncode == 1 and Path("list").read_bytes() == before


def test_sum_replaces_no_digest_that_may_be_that_of_good_content(command, hashed):
    names = ["data/a", "data/b"]
    assert command("sum", *names, "-o", "list").returncode == 0
    before = [Path(it).read_bytes() for it in ("list", "list.objects", "out/bucket.b3")]
    flip("data/a")
    for args in ((*names, "-o", "list"), ("-r", "data", "-o", "out")):
        done = hashed("sum", *args)
        assert done.returncode == 3 and "another digest of" in done.stderr and "`update`" in done.stderr, done.stderr
        assert before == [Path(it).read_bytes() for it in ("list", "list.objects", "out/bucket.b3")]
    for name in ("list", "out"):
        assert hashed("verify", "-l", name).returncode == 1
    # An edit is written.
    flip("data/a")
    Path("data/a").write_bytes(b"an edit")
    assert hashed("sum", *names, "-o", "list").returncode == 0
    assert hashed("sum", "-r", "data", "-o", "out").returncode == 0
    for name in ("list", "out"):
        assert hashed("verify", "-l", name).returncode == 0
    # Objects that it does not name would be lost.
    before = Path("list").read_bytes()
    done = command("sum", "data/c", "-o", "list")
    assert done.returncode == 3 and "it has 2 objects more" in done.stderr and "--allow-empty" in done.stderr
    assert Path("list").read_bytes() == before
    assert command("sum", "data/c", "-o", "list", "--allow-empty").returncode == 0
    assert list(lists.read("list")) == ["data/c"]


@pytest.mark.parametrize(
    "args", [("update", "out"), ("sum", "-r", "data", "-o", "out"), ("update", "list", "data/a", "data/b")]
)
def test_a_list_is_not_replaced_that_another_run_wrote_since(hashed, args, capsys):
    assert hashed("sum", "data/a", "-o", "list").returncode == 0
    cover = Cover(job_of(parsed(args)))
    for task in cover.missing(1):
        cover.take(run(task))
    Path("data/d").write_bytes(b"d")
    for other in (("update", "out"), ("update", "list", "data/d")):
        assert main([*other]) == 0
    before = [Path(it).read_bytes() for it in ("list", "out/bucket.b3")]
    while tasks := cover.missing(1):
        cover.take(run(tasks[0]))
    outcome = cover.end()
    assert outcome.exit == 3 and "another run wrote it since" in outcome.why
    assert before == [Path(it).read_bytes() for it in ("list", "out/bucket.b3")]


# ---- Outputs in the way of inputs ----------------------------------------------------------------


def test_what_a_killed_run_left_behind_is_no_object(hashed):
    # As the command line names it, and as fsspec does.
    for name in (".treewide-0123456789abcdefb8f6b168214bf501.tmp", "a" + temporary_name()):
        Path("data", name).write_text("half")
    assert hashed("verify", "-l", "out").returncode == 0
    Path("data/.treewide-0123456789abcdef0123456789abcdef.tmp").write_text("someone's")
    assert hashed("verify", "-l", "out").returncode == 1


def test_quiet_prints_only_failures(hashed):
    done = hashed("verify", "-l", "out", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    Path("data/b").write_text("new")
    done = hashed("verify", "-l", "out", "-q")
    assert done.returncode == 1 and "changed    data/b" in done.stdout and done.stderr == "treewide: 1 changed\n"


# ---- Requests ------------------------------------------------------------------------------------


def test_every_request_is_asked_again(command, store):
    url = store.put("guards/again", pattern(5000))
    with proxy_of(store.url) as (proxy, endpoint):
        asked = []

        def once(path):
            asked.append(path)
            return "503" if asked.count(path) == 1 else None

        proxy.by_path = once
        done = command("sum", url, "--option", f"endpoint={endpoint}")
    assert done.returncode == 0 and done.stdout.startswith(digest(pattern(5000)).hex()), done.stderr


def test_causes_are_the_innermost_and_on_one_line(store, monkeypatch):
    monkeypatch.setattr("treewide._scale.reading.Retries.wait", lambda self, failures: False)
    with pytest.raises(OSError, match=r"tried once: .*Connection refused") as refused:
        head(Obstore(**{**store.options, "endpoint": "http://127.0.0.1:9"}), "s3://bucket/a", Retries())
    assert "\n" not in str(refused.value)
    store.client.put_object(Bucket="bucket", Key="guards/cold", Body=b"cold", StorageClass="GLACIER")
    source = Obstore(**store.options)
    object = source.head("s3://bucket/guards/cold")
    with pytest.raises(Refused, match=r"^s3://bucket/guards/cold: InvalidObjectState: The operation is not valid"):
        source.get(object, 0, 4)
    assert cause_of(ValueError()) == "ValueError"


@pytest.fixture
def bare(store, monkeypatch, tmp_path):
    """The server, where no variable says where it is."""
    for name in ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("credentials", "config"):
        variable = "AWS_SHARED_CREDENTIALS_FILE" if name == "credentials" else "AWS_CONFIG_FILE"
        monkeypatch.setenv(variable, str(tmp_path / name))
    return store


KEYS = "[{}]\naws_access_key_id = test\naws_secret_access_key = test\n"


@pytest.mark.parametrize(
    "way", ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT", "config", "profile", "option"]
)
def test_both_clients_find_the_same_store(command, bare, monkeypatch, tmp_path, way):
    url = bare.put("guards/found/a", b"found")
    options = []
    profile = "work" if way == "profile" else "default"
    (tmp_path / "credentials").write_text(KEYS.format(profile))
    if way.startswith("AWS"):
        monkeypatch.setenv(way, bare.url)
    elif way == "option":
        options = ["--option", f"endpoint={bare.url}"]
    else:
        section = "default" if way == "config" else "profile work"
        (tmp_path / "config").write_text(f"[{section}]\nregion = us-east-1\nendpoint_url = {bare.url}\n")
        if way == "profile":
            monkeypatch.setenv("AWS_PROFILE", "work")
    done = command("sum", url, *options)
    assert done.stdout == f"{digest(b'found').hex()}  {url}\n", done.stderr
    # A store gets its options also where only the lists are in it.
    for args in (("s3://bucket/guards/found", "-o", "out"), ("out", "-o", f"s3://bucket/guards/{way}")):
        done = command("sum", "-r", *args, *options)
        assert done.returncode == 0 and " hashed" in done.stderr, done.stderr


def test_a_store_without_keys_is_refused_or_public(command, bare, monkeypatch):
    url = bare.put("guards/public", b"public")
    bare.client.put_object_acl(Bucket="bucket", Key="guards/public", ACL="public-read")
    monkeypatch.setenv("AWS_ENDPOINT_URL", bare.url)
    done = command("sum", url)
    assert done.returncode == 3 and "skip_signature=true" in done.stderr and "169.254" not in done.stderr
    # The server takes requests that are not signed.
    for args, variable in ((["--option", "skip_signature=true"], "false"), ([], "true")):
        monkeypatch.setenv("AWS_SKIP_SIGNATURE", variable)
        done = command("sum", url, *args)
        assert done.stdout.startswith(digest(b"public").hex()), done.stderr
    assert Boto({"skip_signature": True})._is_public


def test_access_points_are_refused():
    with pytest.raises(Refused, match="access point"):
        Obstore().head("s3://arn:aws:s3:eu-west-1:1:accesspoint/a/key")


# ---- Web servers ---------------------------------------------------------------------------------


@contextmanager
def web(files, *, ranges=True, etag=True):
    """A web server with files by the path as it was asked for. Yields its URL, and the requests that came."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args):
            pass

        def do_GET(self):
            asked.append((self.path, self.headers.get("Range")))
            data = files.get(self.path)
            if data is None:
                self.send_response(404)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            first, last = 0, len(data) - 1
            if ranges and "Range" in self.headers:
                first, _, last = self.headers["Range"].removeprefix("bytes=").partition("-")
                first, last = int(first), min(int(last), len(data) - 1)
                if first >= len(data):
                    self.send_response(416)
                    self.send_header("Content-Range", f"bytes */{len(data)}")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
            else:
                self.send_response(200)
            if etag:
                self.send_header("ETag", f'"{digest(data).hex()}"')
            body = data[first : last + 1]
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *args: None
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()


def test_a_url_is_used_as_it_is(command):
    files = {"/a%20b.txt": b"escaped", "/a%2520b.txt": b"another", "/signed?key=a%2Fb&x=1": b"query", "/empty": b""}
    with web(files) as (url, _):
        for path, data in files.items():
            done = command("sum", url + path)
            assert (done.returncode, done.stdout) == (0, f"{digest(data).hex()}  {url}{path}\n"), done.stderr
        done = command("sum", url + "/signed", url + "/a b.txt", "--option", "region=unused")
        assert done.returncode == 3 and "/signed: there is no such object" in done.stderr
        assert done.stdout == f"{digest(b'escaped').hex()}  {url}/a b.txt\n"
    source = source_of("HTTP://host/a")
    assert isinstance(source, Web)


def test_a_server_without_ranges_is_read_or_refused_at_once(command, monkeypatch):
    with web({"/a": pattern(100_000)}, ranges=False) as (url, asked):
        done = command("sum", f"{url}/a")
        assert done.stdout == f"{digest(pattern(100_000)).hex()}  {url}/a\n" and len(asked) == 2, done.stderr
        source = Web()
        object = source.head(f"{url}/a")
        asked.clear()
        with pytest.raises(Refused, match="sends no ranges"):
            source.get(object, 0, 1000)
        assert len(asked) == 1


def test_a_web_page_that_changes_is_noticed(command):
    files = {"/a": pattern(1000)}
    with web(files) as (url, _):
        source = Web()
        object = source.head(f"{url}/a")
        assert bytes(source.get(object, 10, 20).data) == pattern(1000)[10:20]
        files["/a"] = pattern(999)
        assert source.get(object, 10, 20).etag != object.etag
        run = partial(command, "sum", "--json")
        assert last(run(f"{url}/a"))["counts"] == {"added": 1}


# ---- Inventories ---------------------------------------------------------------------------------


def test_an_inventory_that_says_no_version_is_refused_once(command, store):
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    import pyarrow.parquet

    store.put("guards/listed/a", b"a")
    pyarrow.parquet.write_table(arrow.table({"key": ["guards/listed/a"], "size": [1]}), "bare.parquet")
    args = ("sum", "-r", "s3://bucket/guards/listed", "-o", "out", "--inventory", "bare.parquet")
    done = command(*args)
    assert done.returncode == 2 and "neither the column e_tag nor version_id" in done.stderr, done.stderr
    assert not Path("out").exists()
    assert command(*args, "--unpinned").returncode == 0
