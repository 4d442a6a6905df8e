"""Objects of an S3 server, of files and of fsspec; and a proxy that spoils replies."""

import os
from functools import partial

import pytest
from fake import hash_objects, pattern
from proxy import FAULTS, proxy_of
from treewide import digest
from treewide._scale.buckets.bucket_list import read_bucket
from treewide._scale.buckets.list_files import read_list
from treewide._scale.buckets.sinks import folder_of
from treewide._scale.cover import hash_all
from treewide._scale.engines import ENGINES
from treewide._scale.job import Job
from treewide._scale.objects import Object
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

    def __reduce__(self):
        return partial(Small, **self._options), ()


@pytest.fixture
def proxied(s3):
    with proxy_of(s3.url) as (proxy, url):
        client = {**s3.options["client_options"], "read_timeout": "1s"}
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


# moto itself has no keys with a line break.
@pytest.mark.parametrize("key", ["a b", "%41", "ü/日", "a?b#c", "~+&=", "k" * 1024])
def test_keys_may_have_any_characters(s3, key):
    source = Small(**s3.options)
    object = source.head(s3.put(key, DATA))
    assert outcome(source, object).digest == digest(DATA)


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
    assert proxy.gets > 19 or fault == "duplicate"


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


def test_an_object_that_is_removed_is_changed(s3, proxied):
    proxy, source = proxied
    object = source.head(s3.put("removed", DATA))
    proxy.before = lambda number: number == 8 and s3.client.delete_object(Bucket="bucket", Key="removed")
    found = outcome(source, object)
    assert (found.verdict, found.detail) == ("changing", "it is gone")


def test_another_etag_in_a_reply_is_a_change(s3, proxied):
    proxy, source = proxied
    object = source.head(s3.put("etag", DATA))
    proxy.etag = lambda number: '"other"' if number > 9 else None
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


def test_encrypted_objects_have_other_etags(s3):
    s3.client.put_object(Bucket="bucket", Key="sse", Body=DATA, ServerSideEncryption="aws:kms")
    source = Small(**s3.options)
    assert outcome(source, source.head("s3://bucket/sse")).digest == digest(DATA)


def test_wrong_keys_and_missing_objects_are_said(s3):
    source = Small(**s3.options)
    with pytest.raises(FileNotFoundError, match="s3://bucket/nothing: there is no such object"):
        source.head("s3://bucket/nothing")


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


def test_fsspec_memory():
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
    fsspec.filesystem("memory").pipe("/scale/a", DATA)
    source = source_of("memory://scale/a")
    assert isinstance(source, Fsspec)
    assert outcome(source, source.head("memory://scale/a")).digest == digest(DATA)


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
    folder = folder_of(output, source)
    return {it.key: it.digest for part in read_bucket(folder).parts() for it in read_list(folder, part)}


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
