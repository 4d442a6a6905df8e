"""A bucket in memory, and a map with faults."""

import random
from bisect import bisect_right
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from threading import Lock

import pytest
from fake import Memory
from treewide import digest
from treewide._scale.buckets import bucket_command, keys_cover, shards
from treewide._scale.buckets.bucket_list import read_bucket
from treewide._scale.buckets.list_files import read_list
from treewide._scale.buckets.sinks import Folder
from treewide._scale.cover import Cover, hash_all
from treewide._scale.found import Found
from treewide._scale.objects import Object
from treewide._scale.sources.files import Files

ROOT = "mem://bucket/"


class Bucket(Memory):
    """Objects by key below `ROOT`. Pages are short, so that few objects have many."""

    page = 7

    def __init__(self, objects, fault=None):
        super().__init__({ROOT + key: data for key, data in objects.items()}, fault)
        self.times = {}
        self.lists = 0
        self.before = lambda number: None
        self.lock = Lock()

    def names(self):
        return sorted(it.removeprefix(ROOT) for it in self.objects)

    def put(self, key, data):
        self.objects[ROOT + key] = data

    def pages(self, root, after, most=None):
        # A store may have a page of an object that is not listed, such as the root itself.
        if most:
            yield []
        while True:
            # Each request sees the objects of one moment.
            with self.lock:
                self.lists += 1
                self.before(self.lists)
                keys = self.names()
                start = bisect_right(keys, after)
                chosen = keys[start : start + (most or self.page)]
                page = [Found(it, *self.facts(it)) for it in chosen]
            yield page
            if start + len(chosen) >= len(keys):
                return
            after = chosen[-1]

    def facts(self, key):
        object = self.head(ROOT + key)
        return object.size, object.etag, None, self.times.get(key, 0.0)


def always_the_same(self, uri):
    """A `head` of a store that gives all contents one ETag."""
    if uri not in self.objects:
        raise FileNotFoundError(uri)
    return Object(uri, len(self.objects[uri]), '"always"')


class Kept:
    """A folder in memory."""

    def __init__(self):
        self.files = {}
        self.writes = 0

    def put(self, name, data):
        assert self.files.setdefault(name, data) == data or name == "bucket.b3", "only the list of lists is replaced"
        self.files[name] = data
        self.writes += 1

    def get(self, name):
        if name not in self.files:
            raise FileNotFoundError(name)
        return self.files[name]

    def names(self, prefix):
        yield from (it for it in sorted(self.files) if it.startswith(prefix))


@pytest.fixture
def kept(monkeypatch):
    """A folder in memory for lists, small groups, and `use`, which says what the bucket is."""
    folder = Kept()
    folder.source = None
    monkeypatch.setattr(bucket_command, "BucketJob", partial(shards.BucketJob, small=400, large=6000))
    monkeypatch.setattr(bucket_command, "_LIMIT", 16)
    for module in (bucket_command, shards):
        monkeypatch.setattr(module, "Folder", lambda url, source: folder)
    for module in ("buckets.bucket_command", "run"):
        monkeypatch.setattr(f"treewide._scale.{module}.source_for", lambda url, option: folder.source)
    # Not brought to the disk each time, as hundreds of tasks end in a second here.
    monkeypatch.setattr("treewide._scale.work._replace_file", lambda path, data: path.write_bytes(data))
    monkeypatch.setattr("treewide._scale.cover._ROUNDS", 1000)
    monkeypatch.setattr(keys_cover, "_ROUNDS", 1000)
    return folder


#: Names of runs, so that what a seed finds it finds again.
_RUNS = count()


class Killed(BaseException):
    """The end of a driver."""


def unreliable(choice, chance=0.0, kill=0.0):
    """A map that loses tasks, does some twice, in any order, and breaks off; or whose driver is killed."""

    def map(f, tasks):
        tasks = choice.sample(tasks, len(tasks))
        last = choice.randrange(len(tasks) + 1) if choice.random() < kill else None
        for number, task in enumerate(tasks):
            if number == last:
                raise Killed
            if choice.random() < chance:
                # Sometimes with all others.
                if choice.random() < 0.2:
                    raise ConnectionResetError("the cluster is gone")
                continue
            result = f(task)
            yield result
            if choice.random() < chance:
                yield result
            if choice.random() < chance:
                yield f(task)

    return map


def hashed(job, work, map, workers=3):
    """Do a job to its end, over the deaths of its driver. Returns how it ended, its last rows, and deaths."""
    deaths = 0
    while True:
        rows = []
        try:
            again = Cover(replace(job, run=f"{next(_RUNS):016x}"), rows.append)
            outcome = hash_all(again, map, workers=workers, work=work, told=rows.append)
        except Killed:
            deaths += 1
            continue
        return outcome, [it for it in rows if "note" not in it], deaths


def contents(folder):
    """Return all keys and their digests in lists, in a folder or at its path. Each is there once."""
    folder = Folder(str(folder), Files()) if isinstance(folder, (str, Path)) else folder
    bucket = read_bucket(folder)
    found = {}
    ranges = [(it.part, it.after, it.until) for it in bucket.ranges if it.part is not None]
    ranges += [(bucket.large, "", None)] if bucket.large else []
    for part, after, until in ranges:
        facts = read_list(folder, part, after, until)
        assert len(facts) == part.objects
        for fact in facts:
            assert fact.key not in found, fact.key
            found[fact.key] = fact.digest
    return found


def expected(source):
    return {key: digest(source.objects[ROOT + key]) for key in sorted(source.names())}


def some_keys(choice, count):
    """Keys as people and programs make them."""
    kind = choice.randrange(5)
    prefix = choice.choice(["", "a/", "common/" * 30, "data/year=2026/", "ü" * 10 + "/"])
    letters = choice.choice(["0123456789abcdef", "ab", "aé\U0001f600\uffee\n\\", " !~/", "\U0010ffff\x01"])
    keys = set()
    while len(keys) < count:
        if kind == 0:
            keys.add(f"{prefix}part-{len(keys):09}.parquet")
        elif kind == 1:
            keys.add(prefix + "".join(choice.choices(letters, k=12 if len(letters) > 2 else 40)))
        elif kind == 2:
            keys.add(prefix + f"{choice.randrange(10)}/{choice.getrandbits(60):x}")
        elif kind == 3:
            keys.add(prefix + "x" * (len(keys) + 1))
        else:
            keys.add(choice.choice(["a/", "b/c/", "z"]) + f"{choice.getrandbits(40):b}")
    return sorted(keys)


def some_data(choice):
    size = choice.choice((0, 1, choice.randrange(400), choice.randrange(400), choice.randrange(401, 6000)))
    return random.Random(choice.getrandbits(30)).randbytes(
        choice.randrange(6001, 30000) if choice.random() < 0.02 else size
    )
