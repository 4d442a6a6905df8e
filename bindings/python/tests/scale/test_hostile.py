"""Hostile cases that no other test has: a server that really ignores If-Match, clocks, throttling, ETags."""

import threading
import time
from datetime import UTC, datetime

import pytest
from fake import hash_objects, pattern
from proxy import proxy_of
from treewide import digest
from treewide._scale.objects import Object, is_settled
from treewide._scale.program import main
from treewide._scale.sources.obstore import Obstore

pytest.importorskip("obstore", reason="obstore is not installed")

pytest_plugins = ["server"]

DATA = pattern(300_000)


class Small(Obstore):
    piece = 16384


def outcome(source, object):
    return hash_objects([object], source, workers=2)[object]


# ---- D2: replaced with the same length, and the server ignores If-Match ---------------------------


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


def test_d2_a_server_that_ignores_if_match_never_gives_a_mixture(s3s):
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


# ---- D17: clocks ----------------------------------------------------------------------------------


def test_d17_times_that_are_too_new_are_not_believed():
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
def test_d17_update_with_clocks_that_differ(tmp_path, monkeypatch, skew):
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


# ---- D18: only one prefix is throttled ------------------------------------------------------------


def test_d18_one_throttled_prefix_holds_up_no_other(s3):
    with proxy_of(s3.url) as (proxy, url):
        source = Small(**{**s3.options, "endpoint": url})
        source.piece = 65536
        objects = [source.head(s3.put(f"{prefix}/{it}", DATA)) for it in range(2) for prefix in ("hot", "cool")]
        count = iter(range(10**6))
        # For a while: all come through.
        proxy.by_path = lambda path: "503" if "/hot/" in path and next(count) % 3 else None
        outcomes = hash_objects(objects, source, workers=4)
        assert all(it.digest == digest(DATA) for it in outcomes.values()), outcomes
        # For ever: only these are unreadable, and the cause is said.
        proxy.by_path = lambda path: "503" if "/hot/" in path else None
        outcomes = hash_objects(objects, source, workers=4)
        for object, found in outcomes.items():
            if "/hot/" in object.uri:
                assert found.verdict == "unreadable" and "503" in found.detail and object.uri in found.detail
            else:
                assert found.digest == digest(DATA)


# ---- D19: ETags of encrypted and of multipart objects ---------------------------------------------


def test_d19_the_meaning_of_etags_does_not_matter(s3):
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


def test_d19_multipart_and_encrypted_objects(s3):
    source = Small(**s3.options)
    data = pattern((5 << 20) + 5)
    upload = s3.client.create_multipart_upload(Bucket="bucket", Key="multi", ServerSideEncryption="AES256")["UploadId"]
    parts = []
    for number, part in enumerate((data[: 5 << 20], data[5 << 20 :]), 1):
        target = {"Bucket": "bucket", "Key": "multi", "UploadId": upload, "PartNumber": number}
        parts.append({"PartNumber": number, "ETag": s3.client.upload_part(Body=part, **target)["ETag"]})
    s3.client.complete_multipart_upload(Bucket="bucket", Key="multi", UploadId=upload, MultipartUpload={"Parts": parts})
    object = source.head("s3://bucket/multi")
    assert object.etag.endswith('-2"')
    assert outcome(Obstore(**s3.options), object).digest == digest(data)
    for mode in ("aws:kms", "AES256", "aws:kms:dsse"):
        s3.client.put_object(Bucket="bucket", Key="sse", Body=DATA, ServerSideEncryption=mode)
        assert outcome(source, source.head("s3://bucket/sse")).digest == digest(DATA)
