"""Tests what a worker does with a store that fails, lies or changes."""

from typing import NamedTuple

import pytest
from fake import Memory, hash_objects, pattern
from treewide import digest
from treewide._scale.objects import Object
from treewide._scale.part import Piece, hash_pieces, read_part
from treewide._scale.reading import Retries
from treewide._scale.results import seal
from treewide._treewide import Parts

DATA = pattern(100_000)


class Result(NamedTuple):
    status: str
    detail: str
    parts: Parts


def work(source, start=0, stop=100_000, retries=None, **options):
    object = Memory({"mem://a": DATA}).head("mem://a")
    return Result(*read_part(Piece(object, start, stop), source, retries or Retries(), **options))


def outcome_of(data, source=None):
    source = source or Memory({"mem://a": data})
    object = Memory({"mem://a": data}).head("mem://a")
    return hash_objects([object], source, workers=2)[object]


@pytest.mark.parametrize("length", [0, 1, 1023, 1024, 1025, 4096, 4097, 100_000])
def test_objects_have_their_digests(length):
    outcome = outcome_of(pattern(length))
    assert (outcome.verdict, outcome.digest) == ("", digest(pattern(length)))


def test_a_result_is_small():
    source = Memory({"mem://a": DATA})
    result = work(source)
    assert (result.status, result.detail, source.requests) == ("ok", "", 25)
    assert result.parts.finish() == digest(DATA)
    assert len(seal({"pieces": hash_pieces([Piece(source.head("mem://a"), 0, 100_000)], source, 20)})) < 1000


def test_a_range_is_only_that_range():
    result = work(Memory({"mem://a": DATA}), 5120, 50_176)
    assert result.parts.missing() == [(0, 5120), (50_176, len(DATA))]


@pytest.mark.parametrize(
    "fault",
    [
        lambda reply: reply._replace(data=reply.data[:-1]),
        lambda reply: reply._replace(data=reply.data + b"x"),
        lambda reply: reply._replace(data=b""),
        lambda reply: reply._replace(start=reply.start + 1024),
        # All of the object instead of a range.
        lambda reply: reply._replace(start=0, data=DATA),
    ],
    ids=["truncated", "too long", "empty", "another range", "all of it"],
)
def test_wrong_replies_are_asked_for_again(fault):
    asked = set()

    def first_of_some(number, reply):
        is_first = reply.start not in asked
        asked.add(reply.start)
        return fault(reply) if is_first and reply.start // 4096 % 3 == 1 else reply

    source = Memory({"mem://a": DATA}, first_of_some)
    result = work(source)
    assert (result.status, result.parts.finish()) == ("ok", digest(DATA))
    assert source.requests > 25

    # A store that never gets better is a cause, with the range; what could be read counts.
    result = work(Memory({"mem://a": DATA}, lambda number, reply: fault(reply) if reply.start == 81920 else reply))
    assert result.status == "failed"
    assert "mem://a: bytes 81920..86016 cannot be read, tried 6 times: the store answered with" in result.detail
    assert result.parts.missing()[0][0] >= 81920 - 3 * 4096


def test_errors_are_asked_again_within_a_budget(monkeypatch):
    waits = []
    monkeypatch.setattr("treewide._scale.reading._FIRST", 0.1)
    monkeypatch.setattr("random.random", lambda: 1.0)
    monkeypatch.setattr("time.sleep", waits.append)

    def reset(number, reply):
        raise ConnectionResetError("connection reset")

    source = Memory({"mem://a": DATA}, reset)
    result = work(source, 0, 4096)
    assert result.status == "failed" and "connection reset" in result.detail
    assert waits == [0.2, 0.4, 0.8, 1.6, 3.2]
    source.requests = 0
    work(source, retries=Retries(3))
    assert source.requests <= 3 + 3, "three threads share one budget"


@pytest.mark.parametrize(
    "fault",
    [
        lambda reply: reply._replace(etag='"other"'),
        lambda reply: reply._replace(total=100_001),
    ],
    ids=["another ETag", "another length"],
)
def test_a_changed_object_is_dropped_whole(fault):
    # From the middle on, as if the object was replaced while it was read.
    source = Memory({"mem://a": DATA}, lambda number, reply: fault(reply) if number > 12 else reply)
    result = work(source)
    assert result.status == "changed" and "had" in result.detail
    assert result.parts.parts() == []
    source.requests = 0
    outcome = outcome_of(DATA, source)
    assert (outcome.verdict, outcome.digest) == ("changing", None)


def test_a_store_without_identity_is_refused():
    source = Memory({"mem://a": DATA}, lambda number, reply: reply._replace(etag=None))
    result = work(source)
    assert result.status == "refused" and "--unpinned" in result.detail
    object = Object("mem://a", len(DATA))
    assert hash_objects([object], source)[object].digest == digest(DATA), "an object that is not pinned is read"
    assert not object.is_pinned


def test_an_empty_object_is_looked_at():
    object = Object("mem://a", 0, '"1"')
    assert hash_objects([object], Memory({"mem://a": b"more"}))[object].verdict == "changing"
    assert hash_objects([object], Memory({}))[object].verdict == "changing"


def test_time_ends_a_task_early():
    source = Memory({"mem://a": DATA})
    result = work(source, seconds=0.0)
    assert result.status == "ok"
    missing = result.parts.missing()
    assert missing and missing[0][0] >= 4096, "something was done"
    outcome = outcome_of(DATA)
    assert outcome.digest == digest(DATA)


def test_a_version_is_enough():
    data, reply_of = DATA, Memory({"mem://a": DATA})

    class Versioned(Memory):
        def get(self, object, start, stop):
            return reply_of.get(object, start, stop)._replace(etag=None, version="7")

    object = Object("mem://a", len(data), '"1"', "7")
    assert hash_objects([object], Versioned({"mem://a": data}))[object].digest == digest(data)
    object = Object("mem://a", len(data), '"1"', "8")
    assert hash_objects([object], Versioned({"mem://a": data}))[object].verdict == "changing"
