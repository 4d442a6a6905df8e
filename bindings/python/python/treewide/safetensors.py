"""Digests of the tensors in safetensors files, straight from the files: no tensor is loaded.

A file has the length of its header in 8 bytes, the header as JSON, and the bytes of the tensors, without gaps and in
any order. Headers are checked before anything is hashed, as those who load the file check them, or more strictly.
"""

import json as _json
import os as _os
from typing import Any as _Any, BinaryIO as _BinaryIO, NoReturn as _NoReturn

from treewide._arguments import Bytes as _Bytes, BytesDone as _BytesDone, Path as _Path, handle_of as _handle_of
from treewide._treewide import _hash_ranges

__all__ = ["digests"]

#: The longest header that the package safetensors loads.
_LONGEST_HEADER = 100_000_000

#: Bits of the items of each type.
_BITS = {
    **dict.fromkeys(("F4",), 4),
    **dict.fromkeys(("F6_E2M3", "F6_E3M2"), 6),
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"), 8),
    **dict.fromkeys(("I16", "U16", "F16", "BF16"), 16),
    **dict.fromkeys(("I32", "U32", "F32"), 32),
    **dict.fromkeys(("I64", "U64", "F64", "C64"), 64),
}


class _Refused(Exception):
    """A fault of a file; becomes a `ValueError` that names the file."""


def digests(
    path: _Path,
    /,
    *,
    key: _Bytes | None = None,
    derive_key_context: str | None = None,
    length: int = 32,
    threads: int = 1,
    progress: _BytesDone | None = None,
) -> dict[str, bytes]:
    """Return the BLAKE3 digest of each tensor in a safetensors file, by its name, in the order of the header.

    `path` is a file `*.safetensors`, or the index `*.safetensors.index.json` of a model in several files. The digests
    are those of `hash_many` for the loaded model: of the bytes of each tensor; type and shape are not part of them.

    `progress` is called about 20 times a second with the number of bytes so far, and once after each file. If it raises
    an exception, or Ctrl-C is pressed, hashing stops, and the exception is raised.

    Raises `OSError` that names a file if it cannot be read, or becomes shorter while it is read; `ValueError` that
    names a file if it is not valid: tensors that overlap, leave gaps or end outside of the file, names that appear
    twice, types and shapes that do not fit.
    """
    path = _os.fspath(path)
    before = 0

    def report(done: int) -> None:
        if progress is not None:
            progress(before + done)

    def hash_file(path: str, names: set[str] | None) -> dict[str, bytes]:
        nonlocal before
        with open(path, "rb", buffering=0) as file:
            try:
                tensors = _tensors(file)
                if names is not None:
                    _compare(set(tensors), names)
            except _Refused as error:
                raise ValueError(f"{path}: {error}") from error.__cause__
            in_order = sorted(tensors, key=lambda name: tensors[name])
            found = _hash_ranges(
                _handle_of(file),
                path,
                [tensors[name] for name in in_order],
                key=key,
                derive_key_context=derive_key_context,
                length=length,
                threads=threads,
                progress=None if progress is None else report,
            )
            before += sum(end - start for start, end in tensors.values())
        by_name = dict(zip(in_order, found, strict=True))
        return {name: by_name[name] for name in tensors}

    if not path.endswith(".json"):
        return hash_file(path, None)
    with open(path, "rb") as file:
        try:
            shards = _shards(file.read(_LONGEST_HEADER + 1))
        except _Refused as error:
            raise ValueError(f"{path}: {error}") from error.__cause__
    digests: dict[str, bytes] = {}
    for shard, names in shards.items():
        digests.update(hash_file(_os.path.join(_os.path.dirname(path), shard), names))
    return digests


def _object(text: bytes, what: str) -> dict[str, _Any]:
    def unique(pairs: list[tuple[str, _Any]]) -> dict[str, _Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise _Refused(f"{what} has {twice!r} twice, so it is not clear which one counts")
        return found

    def no_number(text: str) -> _NoReturn:
        raise _Refused(f"{what} has {text}, which is not JSON")

    try:
        found = _json.loads(text.decode(), object_pairs_hook=unique, parse_constant=no_number)
    except (ValueError, RecursionError) as error:
        raise _Refused(f"{what} is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise _Refused(f"{what} is not an object of JSON")
    return found


def _tensors(file: _BinaryIO) -> dict[str, tuple[int, int]]:
    """Return the place of each tensor in a file, whose header is checked."""
    size = _os.fstat(file.fileno()).st_size
    head = _read(file, 8)
    if len(head) < 8:
        raise _Refused(f"this is not a safetensors file: it has {size} bytes, and the length of a header has 8")
    length = int.from_bytes(head, "little")
    if length > _LONGEST_HEADER:
        raise _Refused(
            f"this is not a safetensors file: its header would have {length} bytes, of at most {_LONGEST_HEADER}"
        )
    if 8 + length > size:
        raise _Refused(
            f"the file is cut off, or no safetensors file: its header ends at byte {8 + length}, and it has {size}"
        )
    text = _read(file, length)
    if len(text) < length:
        raise _Refused("the file became shorter while it was being read; hash it again when nothing writes to it")
    if not text.startswith(b"{") or not text.rstrip(b" ").endswith(b"}"):
        raise _Refused(
            "this is not a safetensors file: its header does not begin with '{', or does not end with '}' and blanks"
        )
    header = _object(text, "the header")
    metadata = header.pop("__metadata__", None)
    if metadata is not None and not (
        isinstance(metadata, dict) and all(isinstance(value, str) for value in metadata.values())
    ):
        raise _Refused("__metadata__ is not an object whose values are strings")
    start = 8 + length
    tensors = {name: _place(name, info) for name, info in header.items()}
    _check_cover(tensors, size - start)
    return {name: (start + first, start + last) for name, (first, last) in tensors.items()}


def _read(file: _BinaryIO, length: int) -> bytes:
    read = b""
    while len(read) < length:
        more = file.read(length - len(read))
        if not more:
            break
        read += more
    return read


def _is_length(value: object) -> bool:
    # A bool is an int of Python, and not of JSON.
    return type(value) is int and 0 <= value < 1 << 63


def _place(name: str, info: _Any) -> tuple[int, int]:
    """Return the offsets of a tensor, whose entry is checked."""
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise _Refused(f"the name {name!r} is not text") from error
    if not isinstance(info, dict) or not {"dtype", "shape", "data_offsets"} <= set(info):
        raise _Refused(f"tensor {name!r} has no dtype, shape or data_offsets")
    dtype, shape, offsets = info["dtype"], info["shape"], info["data_offsets"]
    if not isinstance(dtype, str):
        raise _Refused(f"tensor {name!r}: dtype is {dtype!r}, and not a string")
    if not isinstance(shape, list) or not all(map(_is_length, shape)):
        raise _Refused(f"tensor {name!r}: shape is {shape!r}, and not a list of lengths")
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(map(_is_length, offsets)):
        raise _Refused(f"tensor {name!r}: data_offsets is {offsets!r}, and not two offsets")
    first, last = offsets
    if first > last:
        raise _Refused(f"tensor {name!r} ends before it begins: data_offsets is {offsets!r}")
    # The bytes of a type that came later can be hashed all the same.
    if dtype in _BITS:
        bits = _BITS[dtype]
        for number in shape:
            bits *= number
        if bits != 8 * (last - first):
            raise _Refused(f"tensor {name!r}: shape {shape!r} of {dtype} does not have {last - first} bytes")
    return first, last


def _check_cover(tensors: dict[str, tuple[int, int]], size: int) -> None:
    """Check that tensors cover `size` bytes, each byte once."""
    at, before = 0, None
    for name, (first, last) in sorted(tensors.items(), key=lambda item: item[1]):
        if first < at:
            raise _Refused(f"tensors {before!r} and {name!r} overlap, at byte {first} of the data")
        if first > at:
            raise _Refused(f"bytes {at} to {first} of the data, before tensor {name!r}, do not belong to a tensor")
        if last > size:
            raise _Refused(f"the file is cut off: tensor {name!r} ends at byte {last} of the data, which has {size}")
        at, before = last, name
    if at < size:
        raise _Refused(f"the last {size - at} bytes of the file do not belong to a tensor")


def _shards(text: bytes) -> dict[str, set[str]]:
    """Return the names of tensors for each file of an index, in its order."""
    if len(text) > _LONGEST_HEADER:
        raise _Refused(f"this is not an index: it has more than {_LONGEST_HEADER} bytes")
    weights = _object(text, "the index").get("weight_map")
    if not isinstance(weights, dict):
        raise _Refused("this is not the index of a model: it has no weight_map")
    shards: dict[str, set[str]] = {}
    for name, shard in weights.items():
        if not isinstance(shard, str) or not shard or _os.path.basename(shard) != shard or shard in (".", ".."):
            raise _Refused(f"tensor {name!r} is in {shard!r}, which is not the name of a file next to the index")
        shards.setdefault(shard, set()).add(name)
    return shards


def _compare(found: set[str], expected: set[str]) -> None:
    """Check that a file has the tensors that the index says."""
    for name in sorted(expected - found):
        raise _Refused(f"the index says that tensor {name!r} is in this file, and it is not")
    for name in sorted(found - expected):
        raise _Refused(f"tensor {name!r} is in this file, and the index does not say so")
