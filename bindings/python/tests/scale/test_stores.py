"""Objects of an S3 server, of files and of fsspec; a proxy that spoils replies; clocks, throttling and ETags."""

import os
import threading
import time
from datetime import UTC, datetime

import pytest
from buckets import contents
from fake import hash_objects, pattern
from proxy import FAULTS, proxy_of
from treewide import digest
from treewide._scale.buckets.sinks import Folder
from treewide._scale.cover import hash_all
from treewide._scale.engines import ENGINES
from treewide._scale.job import Job
from treewide._scale.objects import Object, is_settled
from treewide._scale.program import main
from treewide._scale.reading import Refused
from treewide._scale.sources import source_of
from treewide._scale.sources.files import Files
from treewide._scale.sources.fsspec import Fsspec
from treewide._scale.sources.obstore import Obstore

obstore = pytest.importorskip("obstore", reason="obstore is not installed")

pytest_plugins = ["server"]

DATA = pattern(300_000)


class Small(Obstore):
    """Requests small enough for an object to have many."""

    piece = 16384


@pytest.fixture
def proxied(s3):
    with proxy_of(s3.url) as (proxy, url):
        client = {**s3.options["client_options"], "read_timeout": "10s"}
        yield proxy, Small(**{**s3.options, "endpoint": url, "client_options": client})


def outcome(source, object):
    return hash_objects([object], source, workers=2)[object]


@pytest.mark.parametrize("length", [0, 1, 1024, 1025, 300_000])
def test_s3_objects_have_their_digests(s3, length):
    uri = s3.put(f"length {length}", pattern(length))
    for source in (Small(**s3.options), source_of(uri, **s3.options)):
        object = source.head(uri)
        assert object.size == length and object.is_pinned
        assert outcome(source, object).digest == digest(pattern(length))


@pytest.mark.parametrize("key", ["a/../b", "a//b", "a/", "/a", "cr\r", "../a"])
def test_keys_that_the_library_cannot_name_are_read_by_boto3(s3, key):
    source = Small(**s3.options)
    uri = s3.put(key, DATA)
    # What obstore would take for it.
    s3.put("a", b"other")
    object = source.head(uri)
    assert object.size == len(DATA) and outcome(source, object).digest == digest(DATA)
    s3.put(key, DATA[::-1])
    assert outcome(source, object).verdict == "changing"
    s3.client.delete_object(Bucket="bucket", Key=key)
    assert outcome(source, object).verdict == "changing"
    with pytest.raises(FileNotFoundError, match="no such object"):
        source.head(uri)


def test_keys_that_nobody_can_name_are_refused():
    source = Obstore(skip_signature=True)
    for call in (lambda: source.head("gs://bucket/a//b"), lambda: source.get(Object("gs://bucket/a/", 1, '"1"'), 0, 1)):
        with pytest.raises(Refused, match="obstore cannot name this key"):
            call()


@pytest.mark.parametrize("fault", FAULTS)
def test_spoiled_replies_never_change_the_digest(s3, proxied, fault):
    proxy, source = proxied
    object = source.head(s3.put("spoiled", DATA))
    proxy.choice = lambda number: fault if number % 4 == 1 else None
    found = outcome(source, object)
    assert (found.verdict, found.digest) == ("", digest(DATA)), found
    assert proxy.gets > 19 or fault in ("duplicate", "stall")


@pytest.mark.parametrize("fault", ["truncate", "503", "shift", "whole"])
def test_a_store_that_never_gets_better_is_a_cause(s3, proxied, fault):
    proxy, source = proxied
    object = source.head(s3.put("spoiled", DATA))
    good = source.head(s3.put("good", DATA))
    proxy.choice = lambda number: fault if number <= 1000 else None
    found = outcome(source, object)
    assert found.verdict == "unreadable" and found.digest is None
    assert object.uri in found.detail and "tried" in found.detail
    # Others continue.
    proxy.choice = lambda number: None
    assert outcome(source, good).digest == digest(DATA)


@pytest.mark.parametrize("ignores", [False, True], ids=["If-Match", "server that ignores If-Match"])
def test_an_object_that_is_replaced_is_changed(s3, proxied, ignores):
    proxy, source = proxied
    uri = s3.put("replaced", DATA)
    object = source.head(uri)
    proxy.forget_if_match = ignores
    # Another content of the same length, in the middle of it.
    proxy.before = lambda number: number == 8 and s3.put("replaced", DATA[::-1])
    found = outcome(source, object)
    assert (found.verdict, found.digest) == ("changing", None)
    proxy.before = lambda number: None
    assert outcome(source, source.head(uri)).digest == digest(DATA[::-1])
    # By one that has no byte of the range.
    s3.put("replaced", b"")
    assert outcome(source, object).verdict == "changing"


def test_weak_etags_are_compared_in_replies(s3, proxied):
    proxy, source = proxied
    proxy.etag = lambda number: 'W/"1"' if number < 9 else 'W/"2"'
    object = source.head(s3.put("weak", DATA))
    assert object.etag == 'W/"1"' and outcome(source, object).verdict == "changing"
    proxy.etag = lambda number: 'W/"1"'
    assert outcome(source, object).digest == digest(DATA)


def test_a_version_can_be_read_after_it_was_replaced(s3):
    s3.client.create_bucket(Bucket="versioned")
    s3.client.put_bucket_versioning(Bucket="versioned", VersioningConfiguration={"Status": "Enabled"})
    first = s3.client.put_object(Bucket="versioned", Key="k", Body=DATA)
    s3.client.put_object(Bucket="versioned", Key="k", Body=DATA[::-1])
    object = Object("s3://versioned/k", len(DATA), first["ETag"], first["VersionId"])
    assert outcome(Small(**s3.options), object).digest == digest(DATA)


def test_s3fs_reads_the_same(s3):
    pytest.importorskip("s3fs", reason="s3fs is not installed")
    uri = s3.put("fsspec", DATA)
    source = Fsspec(endpoint_url=s3.url, key="test", secret="test")
    object = source.head(uri)
    assert outcome(source, object).digest == digest(DATA)
    s3.put("fsspec", DATA[::-1])
    assert outcome(source, object).verdict == "changing"
    s3.client.delete_object(Bucket="bucket", Key="fsspec")
    assert outcome(source, object).verdict == "changing"


def test_files(tmp_path):
    path = tmp_path / "a b%41\n"
    path.write_bytes(DATA)
    for uri in (str(path), path.as_uri()):
        source = source_of(uri)
        assert isinstance(source, Files)
        object = source.head(uri)
        assert outcome(source, object).digest == digest(DATA)
    # Written to, replaced, shortened and removed.
    with open(path, "r+b") as file:
        file.write(b"!")
    assert outcome(source, object).verdict == "changing"
    object = source.head(uri)
    os.truncate(path, 1000)
    assert outcome(source, object).verdict == "changing"
    object = source.head(uri)
    path.unlink()
    assert outcome(source, object).verdict == "changing"
    with pytest.raises(FileNotFoundError):
        source.head(uri)


def test_libraries_that_are_missing_are_named(monkeypatch):
    import importlib

    def missing(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(importlib, "import_module", missing)
    source = source_of("s3://b/k")
    for call, package in (
        (lambda: source.head("s3://b/k"), "boto3"),
        (lambda: source_of("gs://b/k").head("gs://b/k"), "obstore"),
        (lambda: source_of("memory://a").head("memory://a"), "fsspec"),
        (lambda: ENGINES["ray"](2).__enter__(), "ray"),
        (lambda: ENGINES["dask"](2).__enter__(), "distributed"),
        (lambda: ENGINES["spark"](2).__enter__(), "pyspark"),
    ):
        with pytest.raises(ModuleNotFoundError, match=rf"^{package} is not installed: pip install {package}, or"):
            call()


def lists_of(source, root, output, option=None):
    """Hash a bucket by two workers, and return what is in its lists."""
    told = []
    job = Job("sum", urls=(root,), recursive=True, output=output, option=option or {})
    outcome = hash_all(job, workers=2, told=told.append)
    assert not told and outcome.exit == 0, (told, outcome)
    return contents(Folder(output, source))


def test_other_stores_are_listed_by_obstore(s3, monkeypatch):
    s3.client.create_bucket(Bucket="obstore")
    data = {f"{it // 20}/{it % 20:02}-ü": pattern(it) for it in range(60)}
    for key, content in data.items():
        s3.client.put_object(Bucket="obstore", Key=f"below/{key}", Body=content)
    s3.client.put_object(Bucket="obstore", Key="below-not", Body=b"")
    monkeypatch.setattr("treewide._scale.sources.obstore._S3", ())
    monkeypatch.setattr("treewide._scale.sources.obstore._PAGE", 7)
    source = Small(**s3.options)
    assert [len(it) for it in source.pages("s3://obstore/below/", "2/10-ü")] == [7, 2]
    found = lists_of(source, "s3://obstore/below/", "s3://obstore/lists", s3.options)
    assert found == {key: digest(content) for key, content in data.items()}
    # Keys that it cannot name are not dropped silently.
    s3.client.put_object(Bucket="obstore", Key="below/a//b", Body=b"")
    with pytest.raises(OSError, match="a//b"):
        hash_all(Job("update", list="s3://obstore/lists/bucket.b3", option=s3.options), workers=2)


def test_fsspec_lists_and_keeps_lists():
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
    data = {f"{it:02}//x": pattern(it) for it in range(50)} | {"up/../x": b"odd"}
    fs = fsspec.filesystem("memory")
    fs.pipe({f"/fsspec/{key}": content for key, content in data.items()})
    source = source_of("memory://fsspec/")
    found = lists_of(source, "memory://fsspec/", "memory://lists")
    assert found == {key: digest(content) for key, content in data.items()}


class Meddled(Small):
    """Calls `meddle` after a number of requests."""

    def __init__(self, after, meddle, **options):
        super().__init__(**options)
        self.after, self.meddle, self.gets, self.lock = after, meddle, 0, threading.Lock()

    def get(self, object, start, stop):
        with self.lock:
            self.gets += 1
            if self.gets == self.after:
                self.meddle()
        return super().get(object, start, stop)


def test_a_server_that_ignores_if_match_never_gives_a_mixture(s3s):
    uri = s3s.put("replaced", DATA)
    source = Small(**s3s.options)
    object = source.head(uri)
    assert outcome(source, object).digest == digest(DATA)
    # It does ignore it, or this test shows nothing.
    reply = s3s.client.get_object(Bucket="bucket", Key="replaced", IfMatch='"0"')
    assert reply["Body"].read() == DATA
    for after in (2, 8, 18):
        s3s.put("replaced", DATA)
        object = source.head(uri)
        meddled = Meddled(after, lambda: s3s.put("replaced", DATA[::-1]), **s3s.options)
        found = outcome(meddled, object)
        assert (found.verdict, found.digest) == ("changing", None), (after, found)
    assert outcome(source, source.head(uri)).digest == digest(DATA[::-1])


def test_the_meaning_of_etags_does_not_matter(s3):
    with proxy_of(s3.url) as (proxy, url):
        source = Small(**{**s3.options, "endpoint": url})
        uri = s3.put("etags", DATA)
        plain = source.head(uri).etag
        # Of SSE-KMS, of a multipart upload, of another store; and that of another content.
        for etag in ('"9f1c3e77a0b2-kms"', '"d41d8cd98f00b204e9800998ecf8427e-7"', '"0x8DC"', '"' + "0" * 32 + '"'):
            proxy.etag = lambda number, etag=etag: etag
            # A server compares If-Match with its own ETag.
            proxy.forget_if_match = True
            object = source.head(uri)
            assert object.etag == etag != plain
            assert outcome(source, object).digest == digest(DATA)


def test_times_that_are_too_new_are_not_believed():
    now = 1_000_000.0
    for etag, is_known in (
        ("time 999997.5", True),
        # In the same two seconds it may change again, and keep its time; or its clock is fast.
        ("time 999998.5", False),
        ("time 1000000.0", False),
        ("time 1003600.0", False),
        ("time yesterday", False),
        ('"an ETag"', True),
    ):
        object = Object("mem://a", 5, etag)
        assert is_settled(object, now) == is_known, etag
    assert is_settled(Object("mem://a", 5, "time 1003600.0", "version"), now)
    assert is_settled(Object("mem://a", 5), now)


@pytest.mark.parametrize("skew", [-3600, 0, 3600])
def test_update_with_clocks_that_differ(tmp_path, monkeypatch, skew):
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    store = fsspec.filesystem("memory")
    path, url, lists = f"/skew{skew}/a", f"memory://skew{skew}/a", str(tmp_path / "list")

    def put(data, at):
        store.pipe(path, data)
        store.store[path].created = datetime.fromtimestamp(at + skew, UTC)

    put(DATA, time.time() - 60)
    assert main(["sum", url, "-o", lists]) == 0
    now = time.time()
    # Backwards, forwards, and again at the same time; which a slow clock hides, as the docs say.
    for data, at in ((DATA[::-1], now - 7200), (DATA, now), (DATA[::-1], now))[: 2 if skew < 0 else 3]:
        put(data, at)
        is_hidden = data == DATA[::-1] and at == now
        assert main(["update", "--list", lists]) == is_hidden
        # By its time alone it looks like rot.
        assert main(["update", "--list", lists, "--accept-rot", "*"]) == is_hidden
        assert main(["verify", "--list", lists]) == 0, at
