import sys
from builtins import bytes as _bytes
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import GenericAlias
from typing import Any, Final, Literal, Protocol, Self, TypeAlias, final, overload

from typing_extensions import TypeVar

from treewide._arguments import Buffer, Bytes, BytesDone, Evidence, FilesDone, Path, Verdict

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
def hash_rows(
    table: _ArrowArray | _ArrowStream, /, columns: Sequence[str] | None = None, *, threads: int = 1
) -> Digests:
    """Return a BLAKE3 digest of each row of a table, in order.

    `table` is an object with `__arrow_c_stream__` or `__arrow_c_array__`, such as a table of pyarrow, a frame of
    polars, or one of pandas from 2.2 on if pyarrow is installed. `columns` names the columns that are hashed, in this
    order; by default all are. Names of columns are not hashed, and the index of pandas is not.

    Rows with equal values have equal digests, however the table stores them: in chunks or slices, with a dictionary or
    runs, with offsets of 32 or 64 bits, as views. Integers of all widths are equal if their values are, and so are
    floats, decimals, and times of all units. A null differs from all values. `docs/formats.md` has the bytes of each
    type.

    Raises `ValueError` for a column that is not there, or a table that is not valid, and `TypeError` for an object
    without this interface, or a type without a form.
    """

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

    `digests("a.iso", ["blake3", "sha256"])`. The names are those of `treewide sum --algorithm`, `crc32`
    and `git-blob-sha1`. With `threads=2` or more, BLAKE3 is found at the same time as the
    others; the others are found one after the other. `progress` is that of `hash_file`.

    Not to be confused with the class `Digests`, a sequence that `hash_many` returns; nor with
    `treewide.manifest.digests` and `treewide.weights.digests`, the BLAKE3 digests of the files and tensors in one file.

    Raises `ValueError` for an unknown name, which lists the known ones; `OSError` that names the file if it
    cannot be read, or becomes shorter while it is read.
    """

_Status: TypeAlias = Literal["ok", "failed", "unreadable", "unverified", "missing", "skipped"]

class CheckFinding:
    """A listed file, an object of a store, or a directory that is not a store, and the verdict on it.

    Or a list that is `unverified`: by it nothing was, or a line of it makes the check fail.

    - `ok`: it has the digest.
    - `failed`: it has not, or is wrong in another way.
    - `unreadable`: it could not be read, or does not exist, without `ignore_missing`.
    - `unverified`: there is no digest to verify it by, or no name to look for; or it is not a store.
    - `missing`: a listed file that does not exist, with `ignore_missing`; or an object that a store names and has not.
    - `skipped`: it has no digest, as is usual for such a file. It is listed, or in the place of an object of a store.
    """

    #: The path. Names that are not UTF-8 are as `os.fsdecode` makes them.
    path: str
    status: _Status
    #: The digest that was found. `None` if none was.
    digest: _bytes | None
    #: The one that it should have. `None` if there is none.
    expected: _bytes | None
    #: By which it has the digest, or should have it. `None` if none is known.
    algorithm: str | None
    #: How the algorithm is known. `option`: by `algorithm=`. `length`: by that of the digest.
    by: Literal["tag", "option", "list-name", "length", "store"] | None
    #: Its length. `None` if it was not read.
    bytes: int | None
    #: The length that it should have. `None` if that is not known.
    expected_bytes: int | None
    #: Why it is not `ok`. `None` if nothing more can be said.
    error: str | None
    #: The kind of the store that it is in.
    store: str | None

class MalformedLine:
    """A line of a list that cannot be used."""

    list: str
    #: Counted from 1.
    number: int
    error: str

class CheckReport:
    """How a check ended. It is true exactly where `treewide check` ends with exit code 0."""

    #: All findings except for `ok`, in the order of the lists and stores; with `verbose`, those too. A file for which a
    #: list has several digests may have a finding for each.
    findings: tuple[CheckFinding, ...]
    #: The first 1,000 lines of each list that are not understood.
    malformed: tuple[MalformedLine, ...]
    #: The number of files and objects with each status. A file with several digests counts once.
    counts: dict[_Status, int]
    #: The number of lines that are not understood.
    malformed_count: int
    #: Text about each list and store as a whole, and in the end about all lists.
    messages: tuple[str, ...]
    #: Whether it is known of everything if it is as recorded. It is not if something could not be read or verified, or
    #: nothing was.
    is_certain: bool
    #: Whether something is not as recorded, or missing.
    differs: bool

    def __bool__(self) -> bool:
        """Whether everything is as recorded: something was verified, nothing differs, and that is certain."""

def check(
    paths: Path | Iterable[Path],
    /,
    *,
    algorithm: str | None = None,
    strong: bool = False,
    strict: bool = False,
    ignore_missing: bool = False,
    store: str | None = None,
    recursive: bool = False,
    verbose: bool = False,
    key: Bytes | None = None,
    derive_key_context: str | None = None,
    length: int | None = None,
    threads: int = 1,
    progress: FilesDone | None = None,
) -> CheckReport:
    """Check files against lists of their digests, and stores whose files are named by digests.

    `paths` is a list such as `SHA256SUMS`, a directory with a store such as `~/.ollama/models`, or several of them. The
    result is true if everything is as recorded, and something was verified: exactly where `treewide check` ends with
    exit code 0. `docs/check.md` has the forms of lists and the kinds of stores, which are recognised. As in the command
    line, names in lists are relative to the current directory, with a few exceptions. `-` is not standard input.

    - `algorithm`: that of lines that do not name one, such as `"sha256"`. By default the list's name says it, or the
      length of the digest.
    - `strong`: MD5, SHA-1 and CRC-32 are refused.
    - `strict`: what was skipped is a failure.
    - `ignore_missing`: files that do not exist are passed over, if at least one does.
    - `store`: only stores of this kind, such as `"ollama"`.
    - `recursive`: every store below a directory.
    - `verbose`: findings that are `ok` are kept. Otherwise they are only counted, because a store may have millions of
      objects, and a finding takes about 1 KB.
    - `key`, `derive_key_context`, `length`: those of the list's BLAKE3 digests. By default, they may have any length
      from 32 bytes on.

    `progress` is called about 20 times a second with the numbers of files and bytes so far. An exception that it
    raises, or Ctrl-C, ends the check; while a list that is a pipe is waited for, only once its next line is there.

    Raises `OSError` that names a list if it cannot be read to its end, or one of `paths` if it does not exist;
    `ValueError` for an unknown name, which lists the known ones, and for options that do not fit. A listed file
    or an object that cannot be read is a finding.
    """

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

# For `treewide.weights`: name, type, shape and digest of a tensor; and other names of tensors.
_Row: TypeAlias = tuple[str, str, Sequence[int], bytes]
_Rows: TypeAlias = tuple[Sequence[_Row], Mapping[str, str]]

def _tensors(
    path: Path, /, *, threads: int, progress: BytesDone | None
) -> tuple[list[_Row], dict[str, str], list[Path]]: ...
def _tensor_list(given: _Rows, /) -> str: ...
def _tensor_compare(
    old: _Rows, new: _Rows, /, *, paths: tuple[Path, ...] | None, rename: Callable[[str], str] | None
) -> tuple[
    list[tuple[str, str, str | None, str, tuple[int, int, float, float] | None]],
    list[tuple[str, int]],
    list[str],
    bool,
]: ...
def _hash_memory(places: Sequence[tuple[int, int]], threads: int, /) -> list[bytes]: ...

# For `treewide.manifest`.
class ManifestError(ValueError):
    """A manifest that cannot be used: it is damaged, or not the one that was expected."""

    #: Where `against` ends a run: the files that are not as listed.
    findings: tuple[CheckFinding, ...]

class Finding:
    """A path and the verdict on it. Every path has one."""

    #: The path below the root, with `/`. Names that are not UTF-8 are as `os.fsdecode` makes them.
    path: str
    verdict: Verdict
    #: What it is, or was if it is gone: `file`, `link`, `directory`, `pipe`, `socket`, `device` or `something`.
    type: str
    #: The path from which it was moved, copied or renamed.
    other: str | None
    #: Anything else about it. Empty if there is nothing.
    detail: str
    #: How it is known. `None` where nothing is.
    evidence: Evidence | None
    #: When the manifest had this path or content last, if its past has it: the time of a run, "2026-11-26T02:00:03Z".
    until: str | None
    #: Whether it is as it was then. `None` if the past has nothing of it.
    as_then: bool | None
    #: The bytes that are not as recorded, if `outboards` say which: the first 100 ranges.
    ranges: tuple[Damage, ...] | None

class Report:
    """How a comparison ended."""

    #: All findings except for `same`. Removed and added paths come last.
    findings: tuple[Finding, ...]
    #: The number of paths with each verdict. They add up to the number of paths.
    counts: dict[Verdict, int]
    #: The number of files that are as recorded, by evidence. Only what was `read` was verified.
    known_by: dict[Evidence, int]
    files_read: int
    bytes_read: int
    #: Files whose content was not read, because their size, times and inode are as recorded.
    files_unread: int
    bytes_unread: int
    #: Files that an interrupted run had read.
    files_resumed: int
    #: Files whose content differs, and whose old digests the new manifest keeps.
    files_kept: int
    #: Paths that `only` left out.
    skipped: int
    #: Files in the tree that a killed run left behind. They are not covered.
    leftovers: int
    #: Paths that the manifest before this one had, and that are there and left out by the rules of the new one.
    uncovered: int
    #: What is wrong with the index, so that every file was read, and links and modes could not be compared.
    damage: str | None
    #: Nothing was recorded, and no index says that this is so; or a glob of `only` matches nothing.
    nothing_checked: bool
    #: Extended attributes `trusted.*` are covered, and this process cannot see them.
    trusted_unseen: bool
    #: Rules of exclusion that matched nothing.
    idle_rules: list[str]
    #: Globs of `accept_rot` that match no file that is `rot` or `suspect`.
    idle_accepts: list[str]
    #: What is wrong with the past of the manifest, `X.b3.past`. Other parts of it count.
    past_damage: str | None
    #: Why the journal of an interrupted run was not used.
    unused_journal: str | None
    #: Whether it is known of every path if it differs.
    is_certain: bool
    #: Whether the tree differs from the record.
    differs: bool
    _summary: str

    def __bool__(self) -> bool:
        """Whether everything is as recorded: nothing differs, and that is certain."""

class Made(Report):
    """The outcome of each path, and the manifest that was written. `snapshot` counts paths as added, and lists none."""

    total_files: int
    total_bytes: int
    #: The BLAKE3 digest of the list `X.b3`: what is signed. `verify(expected=)` takes it as well.
    list_digest: bytes
    #: The digest of the manifest: names, contents, links, modes, attributes and rules. The same on every machine, and
    #: what `verify(expected=)` takes. The command line prints it.
    digest: bytes
    #: With `against`: files that have all listed digests, and files that no list names.
    as_listed: int
    unlisted: int
    #: Outboards that were written.
    outboards: int
    #: Why one could not be written. After that no other was; `update` makes them.
    outboards_failed: str | None

    def __bool__(self) -> bool:
        """Whether the manifest says what every file is: all could be read, no old digest stays, no outboard failed."""

class HistoryRun:
    """A run that changed a manifest."""

    #: When it began, such as `"2026-11-26T02:00:03Z"`.
    run: str
    #: Paths that were new, that changed, and that were gone.
    new: int
    changed: int
    gone: int
    #: `"forgotten"` or `"damaged"` if the records until then are not known.
    gap: str | None

class HistoryRecord:
    """A record of a path, of now or of then."""

    #: The run that found it changed or gone. `None` if it is recorded now.
    until: str | None
    #: The type of the path, such as `"file"`.
    type: str
    digest: bytes | None
    size: int | None

class Member:
    """A file or a folder in a group."""

    #: Its path; of a list or manifest, its name there.
    path: str
    #: The operand that has it.
    operand: str
    #: The evidence of its content. `None` for folders.
    evidence: Evidence | None
    #: If it is another name of a file before it (a hard link): the path of that.
    link_of: str | None

class Group:
    """Files with the same content, folders that are equal, or two folders that are similar."""

    kind: Literal["files", "folders", "similar"]
    #: The digest of the content; of folders, of names and contents below them. `None` for similar folders.
    digest: bytes | None
    #: Bytes of one member; of similar folders, the bytes that both have. `None` if no operand says it.
    size: int | None
    #: Files of one member. `None` for similar folders.
    files: int | None
    #: Of similar folders, the percentage of the larger one that they share.
    percent: int | None
    #: The bytes that become free if one member stays. `None` if no operand says how long the files are.
    reclaimable: int | None
    members: tuple[Member, ...]

class Duplicates:
    """Groups, most reclaimable bytes first."""

    groups: tuple[Group, ...]
    file_groups: int
    folder_groups: int
    similar: int
    #: Files that could go.
    redundant: int
    #: The bytes that would become free.
    reclaimable: int
    #: Names of files that have another name: hard links.
    links: int
    files_read: int
    bytes_read: int
    #: What could not be read, and why.
    unreadable: list[tuple[str, str]]

class MissingFile:
    """A file whose content no other operand has."""

    path: str
    #: `None` if its size alone shows that no other has it.
    digest: bytes | None
    size: int | None
    evidence: Evidence

class Missing:
    """Files whose content no other operand has, by their names."""

    files: tuple[MissingFile, ...]
    #: Files of the first operand.
    total_files: int
    #: Files with a copy that this run has read; one that is as the manifest next to it records it (`quick`); one that
    #: only a list or manifest has.
    by_read: int
    by_metadata: int
    by_claimed: int
    #: Names in other operands that lead to files of the first. They do not count.
    not_counted: int
    files_read: int
    bytes_read: int
    #: What could not be read, and why.
    unreadable: list[tuple[str, str]]

    def __bool__(self) -> bool:
        """Whether anything is missing, or may be, as it could not be read."""

def _manifest_snapshot(
    directory: Path,
    list: Path | None = None,
    /,
    *,
    exclude: Iterable[str] = (),
    hidden: bool = True,
    follow: bool = False,
    one_file_system: bool = False,
    modes: bool = False,
    xattrs: bool = False,
    also: Iterable[str] = (),
    against: Path | Iterable[Path] = (),
    outboards: Path | None = None,
    min: int | str | None = None,
    index: bool = True,
    resume: bool = True,
    sync: bool = True,
    threads: int = 1,
    progress: FilesDone | None = None,
) -> Made:
    """Write a manifest of `directory` to `list`, and its index next to it.

    Without `list`, the manifest of `photos` is `photos.b3`, next to the directory, which must not exist yet.

    `exclude` has globs of paths to leave out: one without `/` matches a name at any depth (`*.tmp`), one with `/` a
    path from the root on (`/a/b`, `a/**/b`), one that ends in `/` directories only. `hidden`, `follow`,
    `one_file_system`, `modes` (permission bits) and `xattrs` (extended attributes with access lists, on Unix; those
    named `trusted.*` only for the administrator) also say what is covered; the index records all of it. Without
    `sync`, other programs' changes in mapped memory are not written to the disk first.

    `also` has algorithms such as `"sha256"`, by which the index has a digest of each file too. `against` is a list of
    any program, such as `SHA256SUMS`, or several: no manifest is written unless every file that they name is there and
    as listed. Names are relative to `directory`. `outboards` is a folder that gets the outboard of each file of at
    least `min` bytes, by default `"1G"`. All of that comes from the one reading.

    `progress` is called about 20 times a second with the numbers of files and bytes so far; an exception that it raises
    stops the run. The manifest appears at the end, all at once. A file that cannot be read is a finding. A run that was
    stopped or killed after its first second is continued by the next one with the same `list`; with `resume=False`,
    everything is read again.

    Raises `OSError` that names a file if the manifest cannot be written; `ManifestError` if there is a list or an index
    in its place, which only `update` replaces; and, with `findings`, for files that are not as `against` lists them;
    `ValueError` for an invalid glob, or an unknown algorithm.
    """

def _manifest_verify(
    list: Path,
    directory: Path,
    /,
    *,
    quick: bool = False,
    only: Iterable[str] = (),
    expected: Bytes | str | None = None,
    outboards: Path | None = None,
    min: int | str | None = None,
    threads: int = 1,
    progress: FilesDone | None = None,
) -> Report:
    """Compare `directory` with its manifest. The result is true if everything is as recorded.

    Every file is read. With `quick`, only files whose size, times, inode or device are not those recorded are; the
    others are counted in `files_unread`. `only` has globs of the paths to compare. `expected` is the digest that you
    trust (`Made.digest` or `Made.list_digest`), as bytes or hexadecimal digits. A manifest with another one is not
    compared. `outboards` and `min` are those of `snapshot`: `ranges` of a finding then says which bytes differ.
    `progress` is that of `snapshot`.

    Raises `ManifestError` if the list is damaged or not the one expected; `OSError` if it or the directory cannot be
    read. A file that cannot be read is a finding.
    """

def _manifest_update(
    list: Path,
    directory: Path,
    /,
    *,
    full: bool = False,
    accept_rot: Iterable[str] = (),
    also: Iterable[str] = (),
    outboards: Path | None = None,
    min: int | str | None = None,
    accept_damage: bool = False,
    max_removed: str = "50%",
    forget: str | None = None,
    resume: bool = True,
    sync: bool = True,
    threads: int = 1,
    progress: FilesDone | None = None,
) -> Made:
    """Bring a manifest up to date, and read only what changed. What it covers stays as recorded.

    `full` reads every file. A file whose content changed although no program wrote to it is `rot`, and one whose size
    and mtime stayed the same is `suspect`. Both keep their digests, unless a glob of `accept_rot` matches them.
    Algorithms of the old index are carried on. `also`, `outboards`, `min`, `resume`, `sync` and `progress` are those of
    `snapshot`.

    Records that are dropped or replaced go to `X.b3.past`; `forget`, `"90d"`, `"1y"` or `"all"`, leaves those out that
    were dropped longer ago. Nothing is written if the index is damaged, unless
    `accept_damage`; or if more files are gone than `max_removed`, `"10%"` or `"1000"`, or most and none is as it was,
    which `"100%"` allows. That raises `ManifestError`, as a damaged list does. Otherwise this raises what `snapshot`
    raises.
    """

def _manifest_scrub(
    list: Path,
    directory: Path,
    /,
    *,
    budget: str = "5%",
    also: Iterable[str] = (),
    outboards: Path | None = None,
    min: int | str | None = None,
    max_removed: str = "50%",
    forget: str | None = None,
    resume: bool = True,
    sync: bool = True,
    threads: int = 1,
    progress: FilesDone | None = None,
) -> Made:
    """Do what `update` does, and also read the files that were read longest ago.

    `budget` says how much of all bytes that is: `"5%"` or `"200G"`. Run it each night: all files have their
    turn, and rot is found. Raises what `update` raises.
    """

def _manifest_diff(old: Path, new: Path, /) -> Report:
    """Compare two manifests. No file of either tree is needed.

    Raises `ManifestError` if one is damaged, and `OSError` if one cannot be read.
    """

@overload
def _manifest_history(list: Path, path: None = None, /) -> tuple[HistoryRun, ...]: ...
@overload
def _manifest_history(list: Path, path: Path, /) -> tuple[HistoryRecord, ...]:
    """Return the runs that changed a manifest, or what was recorded under a path, the newest first.

    `path` is relative to the directory of the manifest. What a manifest was then is `"photos.b3@2026-11-20"` or
    `"photos.b3@-1"` (one change back), wherever a manifest is read: in `verify`, `diff`, `digests`, `dupes` and
    `missing`.

    Raises `ManifestError` if the manifest is damaged, and `OSError` if it or its past cannot be read.
    """

def _manifest_digests(list: Path, /) -> dict[str, bytes]:
    """Return the BLAKE3 digest of each file in a manifest, by its path, in the order of the list.

    Raises `ManifestError` if it is damaged, and `OSError` if it cannot be read.
    """

def _manifest_dupes(
    *operands: Path,
    empty: bool = False,
    ignore_names: bool = False,
    similar: int = 0,
    quick: bool = False,
    threads: int = 1,
    progress: FilesDone | None = None,
) -> Duplicates:
    """Find files with the same content, and folders that are equal, in lists, manifests and directories.

    Of a directory, only files are read that could be the same. Of a list or manifest, no file is looked at. Nothing is
    changed.

    - `empty`: empty files are also a group.
    - `ignore_names`: folders are compared by the contents in them alone.
    - `similar=80`: pairs of folders that share 80 % of the larger one's bytes are also groups.
    - `quick`: files are not read that are as the manifest next to their directory records them, by metadata.

    Raises `ManifestError` if a list cannot be used, `ValueError` if two operands have the same files, and `OSError`.
    """

def _manifest_missing(
    first: Path,
    /,
    *others: Path,
    names: bool = False,
    quick: bool = False,
    threads: int = 1,
    progress: FilesDone | None = None,
) -> Missing:
    """Find the files of `first` whose content none of the others has.

    It may have any name there; with `names`, it must be under the same path. Each operand is a list, a manifest or a
    directory. Of a directory, files are read that another operand could have. A copy that only a list or manifest has
    was not looked at, and is in `by_claimed`. `quick` is that of `dupes`.

    Raises `ManifestError` if a list cannot be used or an operand has no file, `ValueError` if an operand is named
    twice, and `OSError`.
    """

# For `treewide.gpu`.
def _gpu_devices() -> list[tuple[int, str, int | None, str | None]]: ...
def _gpu_digest(
    tensor: _Tensor,
    /,
    *,
    key: Bytes | None = None,
    derive_key_context: str | None = None,
    length: int = 32,
    stream: Any = None,
) -> bytes:
    """Return the BLAKE3 digest of the bytes of a tensor on a CUDA device.

    Raises `TypeError` for an object that is not a tensor; `BufferError` for one that is not on a CUDA device, not
    contiguous, or requires a gradient; `RuntimeError` that names the device if there is no driver, or it fails;
    `MemoryError`.
    """

# A mapping is an iterable too; the first signature that fits counts.
@overload
def _gpu_hash_many(  # type: ignore[overload-overlap]
    tensors: Mapping[_Key, _Tensor],
    /,
    *,
    key: Bytes | None = None,
    derive_key_context: str | None = None,
    stream: Any = None,
) -> dict[_Key, bytes]:
    """Return the BLAKE3 digests of tensors on one CUDA device, in few launches.

    `tensors` is an iterable; or a mapping, such as `model.state_dict()`, for a `dict` with its keys; or one tensor of
    two or more dimensions, whose rows are the inputs. Raises what `digest` raises, with a note that names the item.
    """

@overload
def _gpu_hash_many(
    tensors: Iterable[_Tensor] | _Tensor,
    /,
    *,
    key: Bytes | None = None,
    derive_key_context: str | None = None,
    stream: Any = None,
) -> Digests: ...
def _gpu_hash_many_to(
    tensors: Mapping[Any, _Tensor] | Iterable[_Tensor] | _Tensor,
    out: _Tensor,
    /,
    *,
    key: Bytes | None = None,
    derive_key_context: str | None = None,
    stream: Any = None,
) -> None:
    """Do what `hash_many` does, and leave the digests on the device: 32 bytes each, side by side in all of `out`.

    Does not wait for the device: what comes later in the stream finds the digests. Tensors are kept until the work is
    done, which a later call of a function of this module notices. A failure of the device is also raised then.

    Raises what `hash_many` raises; `ValueError` if `out` has another length, does not start at a multiple of 4 bytes,
    or is the same memory as an input; `BufferError` if it is read-only.
    """

def _gpu_hash_parts(
    pieces: Sequence[tuple[Parts, _Tensor, Sequence[tuple[int, int, int]]]], /, *, stream: Any = None
) -> None:
    """Hash ranges of tensors on one CUDA device as parts of longer inputs, in few launches, and add them to the parts.

    A piece is the `treewide.scale.Parts` of the whole input, a tensor, and its ranges `(at, start, stop)`. Bytes
    `start` up to `stop` of the tensor lie at byte `at` of the input. A range may begin and end anywhere. Each subtree
    of a range comes to the host as 32 bytes. The bytes of a chunk that a range cuts come as they are, by one copy for
    all tensors.

    Raises what `digest` raises, with a note that names the item; `ValueError` for ranges that do not fit, or parts with
    several keys; `Clash` if bytes that are there have another value. Then the pieces before that one are added.
    """

def _gpu_hash_blocks(
    pieces: list[tuple[Parts, Any, tuple[int, Sequence[int], Sequence[Sequence[tuple[int, int]]]]]],
    /,
    *,
    stream: Any = None,
) -> None: ...

# For `treewide.outboard`.
class Damage:
    """Bytes of a file that are not verified: whole groups, from `start` up to `stop`."""

    start: int
    stop: int
    #: `bad`: they are not those of the digest. `unknown`: the outboard is broken above them, so nothing is known.
    #: `extra`: they come after the end.
    state: Literal["bad", "unknown", "extra"]

    def __new__(cls, start: int, stop: int, state: Literal["bad", "unknown", "extra"]) -> Self: ...

class DamageError(ValueError):
    """Bytes that are not verified: they are not those of the digest, or the outboard is broken."""

def _outboard_create(
    path: Path,
    outboard: Path,
    /,
    *,
    group: int | str = 16384,
    key: Bytes | None = None,
    derive_key_context: str | None = None,
    threads: int = 1,
    progress: BytesDone | None = None,
) -> bytes:
    """Write the outboard of a file, and return the digest of the file. It takes as long as `hash_file`.

    The outboard appears when it is complete. `progress` is that of `hash_file`.

    Raises `OSError` that names the file if it cannot be read, or the outboard cannot be written; `ValueError` if both
    are the same file, or for an invalid `group`.
    """

def _outboard_places(size: int, group: int, start: int, stop: int, /) -> tuple[int, list[tuple[int, int]]]: ...
def _outboard_trusted(
    expected: bytes,
    size: int,
    group: int,
    start: int,
    stop: int,
    pairs: Sequence[tuple[int, bytes]],
    /,
) -> tuple[list[tuple[int, int, bytes]], list[tuple[int, int]]]: ...
def _outboard_verify(
    outboard: Path,
    path: Path,
    /,
    *,
    expected: Bytes | str,
    start: int = 0,
    stop: int | None = None,
    size: int | None = None,
    group: int | str = 16384,
    key: Bytes | None = None,
    derive_key_context: str | None = None,
    threads: int = 1,
    progress: BytesDone | None = None,
) -> list[Damage]:
    """Return where the bytes of `path` from `start` up to `stop` are not those of the digest: nothing, if all are.

    `expected` is the digest that you trust, as bytes or hexadecimal digits. Without `stop`, all is verified up to the
    end, and that it is the end. `size` is the size that the file had; without it, the one it has. Only the groups of
    the range are read, and the part of the outboard above them.

    Raises `OSError` that names the file if one cannot be read.
    """

def _outboard_read(
    outboard: Path,
    path: Path,
    start: int,
    stop: int,
    /,
    *,
    expected: Bytes | str,
    size: int | None = None,
    group: int | str = 16384,
    key: Bytes | None = None,
    derive_key_context: str | None = None,
) -> bytes:
    """Return the bytes from `start` up to `stop`, all of them verified; fewer, if the file ends before.

    Raises `DamageError` if one is not that of the digest, or the outboard is broken; `OSError` that names the file if
    one cannot be read. `expected` and `size` are those of `verify`.
    """

# For `treewide.scale` and `treewide.weights`.
def _expected_bytes(expected: Bytes | str, /) -> bytes: ...
def _size_of(size: int | str, /) -> int: ...
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
        self,
        data: Bytes | tuple[int, int],
        item: int,
        shape: Sequence[int],
        indices: Sequence[Sequence[tuple[int, int]]],
        /,
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

    def compact(self) -> None:
        """Merge neighbours into larger parts, so that fewer are kept and sent."""

    def finish(self) -> bytes:
        """Return the digest of the whole input. Raises `ValueError` that names the first range which is missing."""

    def outboard(self, group: int = 16384) -> bytes:
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

def subtrees(start: int, stop: int, total: int, /) -> list[tuple[int, int]]:
    """Return the nodes of the tree that make up a range of an input of `total` bytes, in order.

    Raises `ValueError` if it does not begin and end at multiples of 1,024 or the end of the input.
    """
