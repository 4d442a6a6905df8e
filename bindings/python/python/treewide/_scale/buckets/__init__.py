"""Whole buckets: key ranges instead of ranges of bytes, and lists of their objects."""
