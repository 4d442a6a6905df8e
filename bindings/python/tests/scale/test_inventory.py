"""Inventories in Parquet instead of the LIST of a store."""

import json
from datetime import UTC, datetime
from urllib.parse import unquote

import pytest
from buckets import contents
from fake import pattern
from proxy import proxy_of
from treewide import digest
from treewide._scale.buckets.inventory import Inventory
from treewide._scale.buckets.listing import listed
from treewide._scale.reading import Refused, Retries
from treewide._scale.sources.files import Files

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")

pytest_plugins = ["server"]

KEYS = [f"p/{it:04}" for it in range(500)]


def write(path, keys, *, group=100, **columns):
    table = {"key": keys, "size": [len(it) for it in keys], **columns}
    parquet.write_table(pa.table(table), path, row_group_size=group)
    return str(path)


def keys_of(inventory, root="s3://b/", after="", until=None):
    return [it.key for page in listed(inventory, root, after, until, Retries()) for it in page]


def test_a_range_reads_only_its_row_groups(tmp_path):
    inventory = Inventory(write(tmp_path / "i.parquet", ["a", *KEYS, "q"]), Files())
    assert keys_of(inventory) == ["a", *KEYS, "q"]
    assert keys_of(inventory, "s3://b/p/") == [it[2:] for it in KEYS]
    read = []
    rows = inventory._rows
    inventory._rows = lambda group, bucket: read.append(group.number) or rows(group, bucket)
    assert keys_of(inventory, "s3://b/p/", "0149", "0160") == [f"{it:04}" for it in range(150, 161)]
    assert read == [1]
    assert keys_of(inventory, "s3://b/p/", "0499") == [] and keys_of(inventory, "s3://b/z/") == []
    # A key that is equal to a cut, at the end of a row group.
    assert keys_of(inventory, "s3://b/", "p/0098", "p/0099") == ["p/0099"]


def test_columns_of_s3_inventory(tmp_path):
    at = datetime(2026, 11, 25, tzinfo=UTC)
    columns = {
        "bucket": ["b", "b", "b", "b", "other"],
        "e_tag": ["1", '"2"', None, "4", "5"],
        "version_id": ["v1", "", "null", "v4", "v5"],
        "is_latest": [True, True, True, False, True],
        "is_delete_marker": [False, False, False, False, False],
        "last_modified_date": [at] * 5,
    }
    path = write(tmp_path / "i.parquet", ["a", "b", "c", "c", "d"], **columns)
    (page,) = listed(Inventory(path, Files()), "s3://b/", "", None, Retries())
    assert [tuple(it) for it in page] == [
        ("a", 1, '"1"', "v1", at.timestamp()),
        ("b", 1, '"2"', None, at.timestamp()),
        ("c", 1, None, None, at.timestamp()),
    ]


def test_what_is_not_sorted_is_refused_with_the_line_that_sorts_it(tmp_path):
    def refused(keys, **options):
        with pytest.raises(Refused, match="is not sorted by key") as caught:
            keys_of(Inventory(write(tmp_path / "i.parquet", keys, **options), Files()))
        return str(caught.value)

    # Row groups may be in any order, and keys may not: between them, in one of them, or as UTF-16 is sorted.
    assert keys_of(Inventory(write(tmp_path / "i.parquet", KEYS[200:] + KEYS[:200]), Files())) == KEYS
    refused(KEYS[::2] + KEYS[1::2])
    refused(["a", "c", "b", "d"])
    refused(["\U0001f600", "\uffee"])
    text = refused(["b", "a"])
    assert "ORDER BY key" in text
    # The line does what it says.
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    sql = text.partition('duckdb -c "')[2].partition('"')[0].replace("'sorted.parquet'", f"'{tmp_path}/s.parquet'")
    duckdb.sql(sql)
    assert keys_of(Inventory(f"{tmp_path}/s.parquet", Files())) == ["a", "b"]


def test_other_files_are_refused(tmp_path):
    parquet.write_table(pa.table({"name": ["a"]}), tmp_path / "x.parquet")
    with pytest.raises(Refused, match="has the columns key and size, and this has name"):
        Inventory(str(tmp_path / "x.parquet"), Files())
    (tmp_path / "manifest.json").write_text(json.dumps({"fileFormat": "CSV", "files": []}))
    with pytest.raises(Refused, match="CSV, and Parquet is wanted"):
        Inventory(str(tmp_path / "manifest.json"), Files())
    for text in ("", "[]", "key,size\n", '{"fileFormat": "Parquet", "files": ["a"]}'):
        for name, words in (("x.csv", "not a file of Parquet"), ("manifest.json", "not a manifest.json")):
            (tmp_path / name).write_text(text)
            with pytest.raises(Refused, match=words):
                Inventory(str(tmp_path / name), Files())


def test_a_bucket_is_hashed_by_its_inventory(command, store, tmp_path):
    store.client.create_bucket(Bucket="listed")
    store.client.create_bucket(Bucket="logs")
    for number, key in enumerate(KEYS[:40]):
        store.client.put_object(Bucket="listed", Key=key, Body=pattern(number))
    found = store.client.list_objects_v2(Bucket="listed")["Contents"]
    # Two files, and the objects that are not in them are not read.
    for name, part in (("1", found[:20]), ("2", found[20:30])):
        table = {"bucket": ["listed"] * len(part), "key": [it["Key"] for it in part]}
        table |= {"size": [it["Size"] for it in part], "e_tag": [it["ETag"].strip('"') for it in part]}
        parquet.write_table(pa.table(table), tmp_path / name)
        store.client.upload_file(str(tmp_path / name), "logs", f"data/{name}.parquet")
    manifest = {"fileFormat": "Parquet", "files": [{"key": "data/2.parquet"}, {"key": "data/1.parquet"}]}
    store.client.put_object(Bucket="logs", Key="manifest.json", Body=json.dumps(manifest).encode())
    # It was replaced since the inventory was made.
    store.client.put_object(Bucket="listed", Key=KEYS[7], Body=b"newer")

    done = command("sum", "-r", "s3://listed/p/", "-o", "out", "--inventory", "s3://logs/manifest.json")
    assert done.returncode == 0, done.stderr
    wanted = {key[2:]: digest(pattern(number)) for number, key in enumerate(KEYS[:30])}
    wanted[KEYS[7][2:]] = digest(b"newer")
    assert contents("out") == wanted
    # An object that is newer than the inventory is kept, and one that was removed is not.
    assert command("update", "out").returncode == 0 and len(contents("out")) == 40
    store.client.delete_object(Bucket="listed", Key=KEYS[35])
    done = command("update", "out", "--inventory", "s3://logs/manifest.json")
    assert done.returncode == 0 and "40 objects: 39 same, 1 removed" in done.stdout, done.stdout + done.stderr
    wanted |= {key[2:]: digest(pattern(number)) for number, key in enumerate(KEYS[:40]) if number > 29}
    del wanted[KEYS[35][2:]]
    assert contents("out") == wanted
    with proxy_of(store.url) as (proxy, endpoint):
        proxy.refused = f"/listed/{KEYS[36]}"
        options = ("--inventory", "s3://logs/manifest.json", "--option", f"endpoint={endpoint}")
        done = command("update", "out", *options)
        assert done.returncode == 3 and "38 same, 1 unreadable" in done.stdout and contents("out") == wanted
        # One request finds that a stretch of keys has no objects, however long it is.
        for key in KEYS[30:36] + KEYS[37:40]:
            store.client.delete_object(Bucket="listed", Key=key)
        paths = []
        proxy.refused, proxy.by_path = None, paths.append
        done = command("update", "out", *options)
    assert done.returncode == 0 and "31 same, 8 removed" in done.stdout, done.stdout + done.stderr
    asked = [unquote(it) for it in paths if "start-after" in it]
    assert [it for it in map(unquote, paths) if it[8:] in KEYS[30:40]] == [f"/listed/{KEYS[36]}"], paths
    assert len(asked) == 2, paths
