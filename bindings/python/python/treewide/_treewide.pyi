import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import GenericAlias
from typing import Any, Final, Literal, Protocol, TypeAlias, final, overload

from typing_extensions import TypeVar

from treewide._arguments import Buffer, Bytes, BytesDone, FilesDone, Path

__all__ = [
    "AUTO",
    "Clash",
    "DamageError",
    "Digests",
    "ManifestError",
    "MerkleTree",
    "Parts",
    "__version__",
    "_check",
    "_diff",
    "_digests",
    "_dupes",
    "_gpu_devices",
    "_gpu_digest",
    "_gpu_hash_blocks",
    "_gpu_hash_many",
    "_gpu_hash_many_to",
    "_gpu_hash_parts",
    "_list_entries",
    "_make",
    "_missing",
    "_outboard_create",
    "_outboard_places",
    "_outboard_read",
    "_outboard_trusted",
    "_outboard_verify",
    "_replace_file",
    "_run_program",
    "_tensor_compare",
    "_tensor_list",
    "_tensor_list_read",
    "_tensors",
    "_verify",
    "blake3",
    "digest",
    "digests",
    "hash_file",
    "hash_files",
    "hash_many",
    "hash_tree",
    "hexdigest",
    "new",
    "subtrees",
    "verify_proof",
]

__version__: Final[str]
AUTO: Final = -1
"""Asks for as many threads as the input is worth."""

_Out = TypeVar("_Out", bound=Bytes)
_Key = TypeVar("_Key")
# `bytes`, or `bytes | None` where nulls are kept.
_Digest_co = TypeVar("_Digest_co", bound=bytes | None, covariant=True, default=bytes)

class _Readable(Protocol):
    def read(self, size: int, /) -> Buffer | None: ...

class _ReadableInto(Protocol):
    def readinto(self, buffer: bytearray, /) -> int | None: ...

# Options differ between producers: all are taken.
class _Tensor(Protocol):
    def __dlpack__(self, *args: Any, **options: Any) -> Any: ...
    def __dlpack_device__(self) -> tuple[Any, Any]: ...

class _ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class blake3:
    """A BLAKE3 hasher: input in pieces, output of any length.

    `data` is the first piece, if there is one. `key` is 32 bytes. `derive_key_context` names the purpose of a derived
    key; it excludes `key`. `max_threads` is the most threads that work on one input: 1, more, or `blake3.AUTO`.
    `usedforsecurity` changes nothing.

    Takes buffers whose items are single bytes. `treewide.digest` takes the bytes of any items.
    """

    name: Final = "blake3"
    digest_size: Final = 32
    block_size: Final = 64
    key_size: Final = 32
    AUTO: Final = -1

    def __new__(
        cls,
        data: Bytes | None = None,
        /,
        *,
        key: Bytes | None = None,
        derive_key_context: str | None = None,
        max_threads: int = 1,
        usedforsecurity: bool = True,
    ) -> blake3: ...
    def update(self, data: Bytes, /) -> blake3:
        """Append bytes. Returns the hasher."""

    def update_mmap(self, path: Path) -> blake3:
        """Append a file. Returns the hasher.

        The file is mapped or read, whichever takes less time. If it becomes shorter while it is read, this raises
        `OSError`, and the hasher is as it was before.
        """

    def update_file(
        self,
        path: Path,
        /,
        *,
        strategy: Literal["auto", "read", "read-overlapped", "pread", "mmap", "mmap-parallel"] = "auto",
    ) -> blake3:
        """Do what `update_mmap` does, by a strategy of your choice. Returns the hasher."""

    def update_reader(self, file: _Readable | _ReadableInto, /) -> blake3:
        """Append all that is left of a binary file object. Returns the hasher.

        The object has `readinto`, or `read` that takes a number of bytes. For a file with a name, `update_mmap` is
        faster. If reading fails, or Ctrl-C is pressed, the hasher is as it was before.
        """

    def copy(self) -> blake3:
        """Return an independent hasher with the same input so far."""

    def reset(self) -> None:
        """Forget all input, also that of the constructor. The key or context stays."""

    def digest(self, length: int = 32, *, seek: int = 0) -> bytes:
        """Return `length` bytes of the digest, from byte `seek` on. More input may follow."""

    def hexdigest(self, length: int = 32, *, seek: int = 0) -> str:
        """Return the same as `digest`, as hexadecimal digits. `length` and `seek` are in bytes."""

    def digest_into(self, out: Bytes, /, *, seek: int = 0) -> None:
        """Write the digest, from byte `seek` on, to all of a writable buffer."""

    @property
    def count(self) -> int:
        """The number of bytes so far."""

    def to_state(self) -> bytes:
        """Return the state, as 188 to 1,916 bytes that `from_state` continues from, also on another machine.

        Secret: the bytes contain the key, and up to 64 bytes of input. `pickle` stores these bytes too.
        """

    @classmethod
    def from_state(cls, state: Bytes, /, max_threads: int = 1) -> blake3:
        """Return the hasher that `to_state` saved.

        Raises `ValueError` for bytes that are not a state or were changed. This finds accidents, not attacks.
        """

def digest(
    data: Bytes | _Tensor,
    /,
    *,
    key: Bytes | None = None,
    derive_key_context: str | None = None,
    length: int = 32,
    threads: int = 1,
) -> bytes:
    """Return the BLAKE3 digest of the bytes of an object.

    `data` is any C-contiguous object with the buffer protocol, such as `bytes`, `bytearray`, `memoryview`,
    `array.array`, `mmap` or a NumPy array of any type; or a contiguous tensor of the CPU with `__dlpack__`, such as
    those of PyTorch and JAX. Its bytes are hashed as they are in memory; type and shape are not part of the digest.

    Raises `TypeError` for an object without a buffer, such as `str`; `BufferError` for one that is not C-contiguous, is
    on another device, or requires a gradient; `ValueError` for a wrong key.
    """

def hexdigest(
    data: Bytes | _Tensor,
    /,
    *,
    key: Bytes | None = None,
    derive_key_context: str | None = None,
    length: int = 32,
    threads: int = 1,
) -> str:
    """Return the same as `digest`, as hexadecimal digits. `length` is in bytes."""

def new(
    name: Literal["blake3"],
    data: Bytes | None = None,
    /,
    *,
    key: Bytes | None = None,
    derive_key_context: str | None = None,
    threads: int = 1,
    usedforsecurity: bool = True,
) -> blake3:
    """Return `blake3(data, ...)`, with the shape of `hashlib.new`. Raises `ValueError` for another name."""

@final
class Digests(Sequence[_Digest_co]):
    """Digests of one length, one after the other in one piece of memory.

    A sequence of `bytes`; a slice is `Digests` again. NumPy reads the memory in place: `numpy.asarray(digests)` has the
    shape `(n, digest_size)`. So do libraries of Arrow: `pyarrow.array(digests)` and `polars.Series(digests)`. Cannot be
    changed.

    `hash_many(..., nulls="keep")` puts nulls into the places of nulls: `None` as an item, a null in Arrow, and bytes 0
    in NumPy.

    `Digests(data)` are digests from their bytes, which are copied; `ValueError` is raised if the last one is
    incomplete. `validity` has a bit for each digest, the lowest first, as Arrow has it: 0 for a null.
    """

    def __new__(cls, data: Bytes, /, length: int = 32, validity: Bytes | None = None) -> Digests[_Digest_co]: ...
    @property
    def digest_size(self) -> int:
        """The bytes of each digest."""

    @property
    def null_count(self) -> int:
        """The number of nulls."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[_Digest_co]: ...
    @overload
    def __getitem__(self, at: int, /) -> _Digest_co: ...
    @overload
    def __getitem__(self, at: slice, /) -> Digests[_Digest_co]: ...
    def __contains__(self, value: object, /) -> bool: ...
    def __eq__(self, other: object, /) -> bool:
        """Return whether `other` has the same digests: `Digests`, or a list of `bytes`."""

    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        """Return the digests for libraries of Arrow: `fixed_size_binary` in place. No other type is made."""

    @classmethod
    def __class_getitem__(cls, item: Any, /) -> GenericAlias: ...
    def index(self, value: Any, start: int = 0, stop: int = sys.maxsize, /) -> int:
        """Return the place of the first digest that is `value`. Raises `ValueError` if there is none."""

    def count(self, value: Any, /) -> int:
        """Return how many of the digests are `value`."""

    @overload
    def hex(self: Digests[bytes]) -> list[str]:
        """Return the digests as hexadecimal digits; `None` for a null."""

    @overload
    def hex(self) -> list[str | None]: ...
    def tolist(self) -> list[_Digest_co]:
        """Return the digests as a list of `bytes`; `None` for a null."""

    def tobytes(self) -> bytes:
        """Return all bytes of all digests, one after the other."""

# A mapping is an iterable too; the first signature that fits counts.
@overload
def hash_many(  # type: ignore[overload-overlap]
    items: Mapping[_Key, Bytes | _Tensor],
    /,
    *,
    offsets: None = None,
    key: Bytes | None = None,
    derive_key_context: str | None = None,
    length: int = 32,
    threads: int = 1,
    out: None = None,
    nulls: Literal["error", "keep"] = "error",
) -> dict[_Key, bytes]:
    """Return the BLAKE3 digests of many inputs, in order.

    `items` is one of these:

    - a list, tuple or other iterable of buffers and tensors;
    - a mapping, whose values are the inputs: the result is a `dict` with its keys;
    - an array or tensor of two or more dimensions, whose rows are the inputs. Each row is contiguous, wherever it is:
      `a[:, :3]` and `a[::-1]` are taken too;
    - a column of Arrow, that is an object with `__arrow_c_array__` or `__arrow_c_stream__`, such as those of pyarrow,
      polars, pandas and DuckDB, or a table with one column. The type is (large) binary or string, a view of them, or
      binary of a fixed size. Text is hashed as UTF-8;
    - with `offsets`, an array of n + 1 integers of 32 or 64 bits: one buffer, where input `i` is the bytes from
      `offsets[i]` up to `offsets[i + 1]`.

    Each digest is that of `digest` with the same `key`, `derive_key_context` and `length`. With `out`, a writable
    buffer of exactly the right size, the digests are written there, and `out` is returned.

    A null in a column of Arrow raises `ValueError`. With `nulls="keep"` its digest is a null too; `out` then has
    bytes 0 there.

    Inputs are taken by their bytes. Those of a list, tuple or `dict` are not copied, and none of them may change before
    the call returns. Inputs of an iterator or another mapping are hashed or copied before it makes the next one,
    so all may lie in the same memory. A set is refused, because it has no order.

    An item that cannot be taken raises what `digest` raises, with a note that names its index or key; `out` is then as
    it was.
    """

@overload
def hash_many(
    items: Iterable[Bytes | _Tensor] | Bytes | _Tensor | _ArrowArray | _ArrowStream,
    /,
    *,
    offsets: Bytes | None = None,
    key: Bytes | None = None,
    derive_key_context: str | None = None,
    length: int = 32,
    threads: int = 1,
    out: None = None,
    nulls: Literal["error"] = "error",
) -> Digests: ...
@overload
def hash_many(
    items: Iterable[Bytes | _Tensor] | Bytes | _Tensor | _ArrowArray | _ArrowStream,
    /,
    *,
    offsets: Bytes | None = None,
    key: Bytes | None = None,
    derive_key_context: str | None = None,
    length: int = 32,
    threads: int = 1,
    out: None = None,
    nulls: Literal["keep"],
) -> Digests[bytes | None]: ...
@overload
def hash_many(
    items: Mapping[Any, Bytes | _Tensor] | Iterable[Bytes | _Tensor] | Bytes | _Tensor | _ArrowArray | _ArrowStream,
    /,
    *,
    offsets: Bytes | None = None,
    key: Bytes | None = None,
    derive_key_context: str | None = None,
    length: int = 32,
    threads: int = 1,
    out: _Out,
    nulls: Literal["error", "keep"] = "error",
) -> _Out: ...
def hash_file(
    path: Path,
    /,
    *,
    key: Bytes | None = None,
    derive_key_context: str | None = None,
    length: int = 32,
    threads: int = 1,
    progress: BytesDone | None = None,
) -> bytes:
    """Return the BLAKE3 digest of a file.

    The file is mapped or read, whichever takes less time. Memory does not depend on its length. A pipe or device is
    read to its end.

    `progress` is called about 20 times a second with the number of bytes so far, and once at the end. If it raises an
    exception, or Ctrl-C is pressed, hashing stops, and the exception is raised.

    Raises `OSError` that names the file if it cannot be read, or becomes shorter while it is read.
    """

@overload
def hash_files(
    paths: Iterable[Path],
    /,
    *,
    key: Bytes | None = None,
    derive_key_context: str | None = None,
    length: int = 32,
    threads: int = 1,
    errors: Literal["raise"] = "raise",
    progress: FilesDone | None = None,
) -> list[bytes]:
    """Return the BLAKE3 digests of many files, in the order of their paths.

    Small files are hashed next to each other in vector registers, large ones by all threads. `progress` is called about
    20 times a second with the numbers of files and bytes so far, and once at the end; an exception that it raises stops
    hashing.

    A file that cannot be read raises an `OSError` that names it. With `errors="return"`, that error is in the
    list in the place of the digest, and the other files are hashed.
    """

@overload
def hash_files(
    paths: Iterable[Path],
    /,
    *,
    key: Bytes | None = None,
    derive_key_context: str | None = None,
    length: int = 32,
    threads: int = 1,
    errors: Literal["return"],
    progress: FilesDone | None = None,
) -> list[bytes | OSError]: ...
@overload
def hash_tree(
    directory: Path,
    /,
    *,
    hidden: bool = True,
    follow: bool = False,
    key: Bytes | None = None,
    derive_key_context: str | None = None,
    length: int = 32,
    threads: int = 1,
    errors: Literal["raise"] = "raise",
    progress: FilesDone | None = None,
) -> dict[str, bytes]:
    """Return the BLAKE3 digest of each file below a directory, by its path below it, in the order of the walk.

    Paths have `/` on every system; names that are not UTF-8 are as `os.fsdecode` makes them. With `hidden=False`, names
    that begin with a dot are left out. Symbolic links are passed over, or followed with `follow`; so are pipes, sockets
    and devices. `progress` is that of `hash_files`.

    A file or directory that cannot be read raises an `OSError` that names it. With `errors="return"`, that error is in
    the place of the digest, and the others are hashed. `treewide.manifest` keeps such digests in files, and compares.
    """

@overload
def hash_tree(
    directory: Path,
    /,
    *,
    hidden: bool = True,
    follow: bool = False,
    key: Bytes | None = None,
    derive_key_context: str | None = None,
    length: int = 32,
    threads: int = 1,
    errors: Literal["return"],
    progress: FilesDone | None = None,
) -> dict[str, bytes | OSError]: ...
def digests(
    path: Path,
    algorithms: Iterable[str],
    /,
    *,
    threads: int = 1,
    progress: BytesDone | None = None,
) -> dict[str, bytes]:
    """Return the digests of a file by several algorithms, by their names, from one reading.

    `digests("a.iso", ["blake3", "sha256"])`. The names are those of `treewide sum --algorithm`, `crc32`,
    `git-blob-sha1` and `md5-dos2unix`. With `threads=2` or more, BLAKE3 is found at the same time as the
    others; the others are found one after the other. `progress` is that of `hash_file`.

    Not to be confused with the class `Digests`, a sequence that `hash_many` returns; nor with
    `treewide.manifest.digests` and `treewide.tensors.digests`, the BLAKE3 digests of the files and tensors in one file.

    Raises `ValueError` for an unknown name, which lists the known ones; `OSError` that names the file if it
    cannot be read, or becomes shorter while it is read.
    """

def _check(
    paths: Path | Iterable[Path],
    /,
    *,
    algorithm: str | None,
    strong: bool,
    strict: bool,
    ignore_missing: bool,
    store: str | None,
    recursive: bool,
    verbose: bool,
    key: Bytes | None,
    derive_key_context: str | None,
    length: int | None,
    threads: int,
    progress: FilesDone | None,
) -> tuple[Any, ...]: ...
def _run_program(arguments: Sequence[str], closed: Sequence[bool]) -> int:
    """Run the program `treewide`, and return its exit code. Only for `treewide.__main__`."""

@final
class MerkleTree:
    """A binary tree over digests of 32 bytes: one root for all of them, and a short proof for each.

    `leaves` are `Digests` of 32 bytes, or a buffer with such digests one after the other: bytes, or an array of the
    shape `(n, 32)`. Raises `ValueError` for digests of another length. A node is the BLAKE3 digest of the 64 bytes of
    the two below it; the last of an odd number rises.
    """

    def __new__(cls, leaves: Bytes, /, *, threads: int = 1) -> MerkleTree: ...
    @property
    def root(self) -> bytes:
        """The root: the last node, the only leaf, or the digest of no bytes."""

    def __len__(self) -> int: ...
    def proof(self, index: int, /) -> tuple[bytes, ...]:
        """Return the nodes that prove the place of a leaf, from the leaves up, for `verify_proof`.

        Raises `IndexError` if there is no such leaf.
        """

def verify_proof(
    leaf: Bytes,
    index: int,
    proof: Iterable[Bytes],
    /,
    *,
    root: Bytes | str,
    leaves: int,
) -> bool:
    """Return whether `leaf` is leaf number `index` of a `MerkleTree` of `leaves` leaves with this root.

    `root` and `leaves` must come from a source that you trust; `root` is 32 bytes or 64 hexadecimal digits. `index` is
    the place that you ask about. `leaf` and
    `proof` may come from anyone.
    """

# For `treewide.safetensors`, `treewide.gguf` and `treewide.tensors`: name, type, shape and digest of a tensor.
_Row: TypeAlias = tuple[str, str, tuple[int, ...], bytes]

def _tensors(
    path: Path,
    /,
    *,
    key: Bytes | None,
    derive_key_context: str | None,
    length: int,
    threads: int,
    progress: BytesDone | None,
) -> list[tuple[str, str, list[int], bytes]]: ...
def _tensor_list(given: Sequence[_Row], /) -> str: ...
def _tensor_list_read(path: Path, /) -> list[tuple[str, str, list[int], bytes]]: ...
def _tensor_compare(
    old: Sequence[_Row], new: Sequence[_Row], /
) -> tuple[list[tuple[str, str, str | None, str]], list[tuple[str, int]], str | None]: ...

# For `treewide.manifest`.
class ManifestError(ValueError):
    """A manifest that cannot be used: it is damaged, or not the one that was expected."""

def _verify(
    list: Path,
    directory: Path,
    /,
    *,
    quick: bool,
    only: list[str],
    expected: bytes | None,
    threads: int,
    progress: FilesDone | None,
) -> tuple[Any, ...]: ...
def _diff(old: Path, new: Path, /) -> tuple[Any, ...]: ...
def _make(
    old: Path | None,
    directory: Path,
    output: Path,
    /,
    *,
    rules: tuple[list[str], bool, bool, bool, bool, bool] | None,
    index: bool,
    full: bool,
    scrub: str | None,
    accepted: tuple[list[str], bool, bool, str | None],
    resume: bool,
    sync: bool,
    threads: int,
    progress: FilesDone | None,
) -> tuple[Any, ...]: ...
def _digests(list: Path, /) -> dict[str, bytes]: ...
def _dupes(
    operands: list[Path],
    /,
    *,
    empty: bool,
    ignore_names: bool,
    similar: int,
    root: Path | None,
    verify: str | None,
    threads: int,
    progress: FilesDone | None,
) -> tuple[Any, ...]: ...
def _missing(
    first: Path,
    others: list[Path],
    /,
    *,
    names: bool,
    root: Path | None,
    threads: int,
    progress: FilesDone | None,
) -> tuple[Any, ...]: ...

# For `treewide.gpu`.
def _gpu_devices() -> list[tuple[int, str, int | None, str | None]]: ...
def _gpu_digest(
    tensor: Any,
    /,
    *,
    key: Bytes | None,
    derive_key_context: str | None,
    length: int,
    stream: int,
) -> bytes: ...
def _gpu_hash_many(tensors: Any, /, *, key: Bytes | None, derive_key_context: str | None, stream: int) -> Any: ...
def _gpu_hash_many_to(
    tensors: Any, out: Any, /, *, key: Bytes | None, derive_key_context: str | None, stream: int
) -> None: ...
def _gpu_hash_parts(pieces: list[tuple[Parts, Any, list[tuple[int, int, int]]]], /, *, stream: int) -> None: ...
def _gpu_hash_blocks(
    pieces: list[tuple[Parts, Any, tuple[int, Sequence[int], Sequence[Sequence[tuple[int, int]]]]]], /, *, stream: int
) -> None: ...

# For `treewide.outboard`.
class DamageError(ValueError):
    """Bytes that are not verified: they are not those of the digest, or the outboard is broken."""

def _outboard_create(
    path: Path,
    outboard: Path,
    /,
    *,
    shape: tuple[int, str],
    key: Bytes | None,
    derive_key_context: str | None,
    threads: int,
    progress: BytesDone | None,
) -> bytes: ...
def _outboard_places(
    size: int, shape: tuple[int, str], start: int, stop: int, /
) -> tuple[int, list[tuple[int, int]]]: ...
def _outboard_trusted(
    expected: bytes,
    size: int,
    shape: tuple[int, str],
    start: int,
    stop: int,
    pairs: Sequence[tuple[int, bytes]],
    /,
) -> tuple[list[tuple[int, int, bytes]], list[tuple[int, int]]]: ...
def _outboard_verify(
    outboard: Path,
    path: Path,
    expected: bytes,
    /,
    *,
    start: int,
    stop: int | None,
    size: int | None,
    shape: tuple[int, str],
    key: Bytes | None,
    derive_key_context: str | None,
    threads: int,
    progress: BytesDone | None,
) -> list[tuple[int, int, Literal["bad", "unknown", "extra"]]]: ...
def _outboard_read(
    outboard: Path,
    path: Path,
    expected: bytes,
    /,
    *,
    start: int,
    stop: int,
    size: int | None,
    shape: tuple[int, str],
    key: Bytes | None,
    derive_key_context: str | None,
) -> bytes: ...

# For `treewide.scale`.
def _list_entries(data: bytes, /) -> list[tuple[str, bytes]]: ...
def _replace_file(path: Path, data: bytes, /) -> None: ...

class Clash(ValueError):
    """Two values for the same bytes: a broken machine, or a store that returned other bytes."""

    here: tuple[int, int]
    there: tuple[int, int]

@final
class Parts:
    """The parts of an input of `total` bytes that are hashed so far, in no particular order.

    `object` are bytes that say which object it is, such as its URL and version: parts of others are refused. Threads
    may share it, and hash side by side. Calls let other Python threads run.
    """

    def __new__(
        cls,
        total: int,
        /,
        *,
        object: Bytes | None = None,
        key: Bytes | None = None,
        derive_key_context: str | None = None,
    ) -> Parts: ...
    @property
    def total(self) -> int:
        """The bytes of the whole input."""

    @property
    def object(self) -> bytes:
        """The bytes that say which object this is."""

    def parts(self) -> list[tuple[int, int, bytes]]:
        """Return the parts in order: where each starts and stops, and its value."""

    def hash(self, data: Bytes, at: int, /) -> tuple[int, int]:
        """Hash the bytes that stand at byte `at` of the input, and add their parts.

        The range may begin and end anywhere: the bytes of a chunk that was cut are held until it is whole. Returns how
        many bytes were new, and how many were there already, and were the same. Raises `ValueError` if the range
        reaches beyond the end of the input; `Clash` if bytes that were there have another value. Nothing is added then.
        """

    def _hash_block(
        self, data: Bytes, item: int, shape: Sequence[int], indices: Sequence[Sequence[tuple[int, int]]], /
    ) -> tuple[int, int]: ...
    def _hash_file(self, handle: int, start: int, stop: int, /) -> bool: ...
    def push(self, start: int, stop: int, value: bytes, /) -> tuple[int, int]:
        """Add a part that was hashed elsewhere: a range that `subtrees` returns, with its value of 32 bytes."""

    def absorb(self, other: Parts, /) -> tuple[int, int]:
        """Add all parts of `other`. Parts that both have are compared. Returns what `hash` returns.

        Raises `ValueError` if they are of another object, length, mode or key; `Clash`, whose `here` and `there` are
        the ranges, if the same bytes have two values. Nothing is added then.
        """

    def missing(self) -> list[tuple[int, int]]:
        """Return the ranges that are not there, in order."""

    def unchecked(self) -> list[tuple[int, int]]:
        """Return the ranges that are there twice, with other cuts, and could not be compared yet."""

    def forget(self, start: int, stop: int, /) -> None:
        """Forget each part that touches the range. It is missing then."""

    def compact(self) -> None:
        """Merge neighbours into larger parts, so that fewer are kept and sent."""

    def finish(self) -> bytes:
        """Return the digest of the whole input. Raises `ValueError` that names the first range which is missing."""

    def outboard(self, group: int = 16384, order: Literal["pre", "post"] = "pre") -> bytes:
        """Return the outboard of the whole input, as `treewide.outboard.create` writes it.

        Raises `ValueError` if a part is missing, or is larger than a group of `group` bytes: hash by groups, and do not
        `compact`.
        """

    def to_bytes(self) -> bytes:
        """Return the parts as bytes, to send them. The key is not in them.

        Bytes of chunks that are not whole are in them as they are: at most 1,023 at each end of a range.
        """

    def _keep_cut_chunks(self) -> None: ...
    @staticmethod
    def _pack(parts: list[Parts], /) -> bytes: ...
    @staticmethod
    def _unpack(data: bytes, /) -> list[Parts]: ...
    @classmethod
    def from_bytes(cls, data: Bytes, /, *, key: Bytes | None = None, derive_key_context: str | None = None) -> Parts:
        """Return what `to_bytes` saved. `key` and `derive_key_context` are those of the worker.

        Raises `ValueError` if the bytes are damaged, or were hashed in another mode or with another key.
        """

    def copy(self) -> Parts:
        """Return an independent copy."""

def subtrees(start: int, stop: int, total: int, /) -> list[tuple[int, int]]:
    """Return the nodes of the tree that make up a range of an input of `total` bytes, in order.

    Raises `ValueError` if it does not begin and end at multiples of 1,024 or the end of the input.
    """
