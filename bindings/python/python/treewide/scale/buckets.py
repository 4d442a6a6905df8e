"""Whole buckets: key ranges instead of ranges of bytes, and lists of their objects."""

from treewide._scale.buckets.bucket_driver import BucketDriver
from treewide._scale.buckets.bucket_list import Bucket, Range, write_bucket
from treewide._scale.buckets.list_files import Fact, ListFile, read_list, write_list
from treewide._scale.buckets.shards import Difference, Job
from treewide._scale.buckets.sinks import Folder, folder_of
from treewide._scale.found import Found, Lists
from treewide._scale.lists import ListError

__all__ = [
    "Bucket",
    "BucketDriver",
    "Difference",
    "Fact",
    "Folder",
    "Found",
    "Job",
    "ListError",
    "ListFile",
    "Lists",
    "Range",
    "folder_of",
    "read_list",
    "write_bucket",
    "write_list",
]
