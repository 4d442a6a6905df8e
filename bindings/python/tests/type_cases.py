"""Types of results, for type checkers. `check.sh` runs mypy on this file; nothing here is called."""

from typing import Any, assert_type

import numpy
from treewide import Digests, MerkleTree, blake3, hash_many


def of_hash_many(out: bytearray) -> None:
    assert_type(hash_many([b""]), Digests[bytes])
    assert_type(hash_many([b""])[0], bytes)
    assert_type(hash_many([b""])[1:], Digests[bytes])
    assert_type(hash_many([b""]).hex(), list[str])
    assert_type(hash_many([b""], nulls="keep"), Digests[bytes | None])
    assert_type(hash_many([b""], nulls="keep")[0], bytes | None)
    assert_type(hash_many([b""], nulls="keep").hex(), list[str | None])
    assert_type(hash_many({"name": b""}), dict[str, bytes])
    assert_type(hash_many({"name": b""}, out=out), bytearray)
    assert_type(hash_many(hash_many([b""])), Digests[bytes])


def of_arrays(rows: "numpy.ndarray[Any, numpy.dtype[numpy.float64]]", offsets: "numpy.ndarray[Any, Any]") -> None:
    out = numpy.empty((len(rows), 8), "u1")
    # Also on Python 3.11, where NumPy's stubs know no buffers.
    out = hash_many(rows, length=8, out=out)
    assert_type(hash_many(b"ab", offsets=offsets), Digests[bytes])
    blake3(numpy.zeros(4, "u1")).update(numpy.zeros(4, "u1")).digest_into(numpy.zeros(4, "u1"))
    assert_type(MerkleTree(numpy.zeros((2, 32), "u1"), threads=2).root, bytes)
