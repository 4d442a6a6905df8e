"""Whole buckets: key ranges instead of ranges of bytes, and lists of what is in them."""
