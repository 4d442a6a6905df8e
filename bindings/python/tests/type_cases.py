"""What type checkers find out about results. `check.sh` runs mypy on this file; nothing here is called."""

from typing import assert_type

from treewide import Digests, hash_many


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
