"""Whole buckets: key ranges instead of ranges of bytes, and lists of their objects."""

from treewide._scale.buckets.bucket_list import Bucket, Range, write_bucket
from treewide._scale.buckets.list_files import Fact, ListFile, read_list, write_list
from treewide._scale.buckets.shards import BucketJob, Difference, hash_shard
from treewide._scale.buckets.sinks import Folder, folder_of
from treewide._scale.found import Found, Lists
from treewide._scale.lists import ListError

__all__ = [
    "Bucket",
    "BucketJob",
    "Difference",
    "Fact",
    "Folder",
    "Found",
    "ListError",
    "ListFile",
    "Lists",
    "Range",
    "folder_of",
    "hash_shard",
    "read_list",
    "write_bucket",
    "write_list",
]
