import sys
from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import Any, Final, Literal, Protocol, TypeVar, final, overload

if sys.version_info >= (3, 12):
    from collections.abc import Buffer
else:
    from typing_extensions import Buffer

__all__ = [
    "AUTO",
    "Digests",
    "__version__",
    "blake3",
    "digest",
    "hash_file",
    "hash_files",
    "hash_many",
    "hexdigest",
    "new",
]

__version__: Final[str]
AUTO: Final = -1
"""As many threads as the input is worth."""

_Out = TypeVar("_Out", bound=Buffer)

class _Readable(Protocol):
    def read(self, size: int, /) -> Buffer | None: ...

class _ReadableInto(Protocol):
    def readinto(self, buffer: bytearray, /) -> int | None: ...

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
        data: Buffer | None = None,
        /,
        *,
        key: Buffer | None = None,
        derive_key_context: str | None = None,
        max_threads: int = 1,
        usedforsecurity: bool = True,
    ) -> blake3: ...
    def update(self, data: Buffer, /) -> blake3:
        """Append bytes. Returns the hasher."""

    def update_mmap(self, path: str | PathLike[str]) -> blake3:
        """Append a file. Returns the hasher.

        The file is mapped or read, by what takes less time. If it becomes shorter while it is read, this raises
        `OSError`, and the hasher is as it was before.
        """

    def update_reader(self, file: _Readable | _ReadableInto, /) -> blake3:
        """Append all that is left of a binary file object. Returns the hasher.

        The object has `readinto`, or `read` that takes a number of bytes. For a file with a name, `update_mmap` is
        faster.
        """

    def copy(self) -> blake3:
        """Return an independent hasher with the same input so far."""

    def reset(self) -> None:
        """Forget all input, also that of the constructor. The key or context stays."""

    def digest(self, length: int = 32, *, seek: int = 0) -> bytes:
        """Return `length` bytes of the digest, from byte `seek` on. More input may follow."""

    def hexdigest(self, length: int = 32, *, seek: int = 0) -> str:
        """Return the same as `digest`, as hexadecimal digits. `length` and `seek` are in bytes."""

    def digest_into(self, out: Buffer, /, *, seek: int = 0) -> None:
        """Write the digest, from byte `seek` on, to all of a writable buffer."""

    @property
    def count(self) -> int:
        """The number of bytes so far."""

    def to_state(self) -> bytes:
        """Return the state, as 188 to 1,916 bytes that `from_state` continues from, also on another machine.

        Secret: the bytes contain the key, and up to 64 bytes of input. `pickle` stores these bytes too.
        """

    @classmethod
    def from_state(cls, state: Buffer, /, max_threads: int = 1) -> blake3:
        """Return the hasher that `to_state` saved.

        Raises `ValueError` for bytes that are not a state or were changed. This finds accidents, not attacks.
        """

def digest(
    data: Buffer,
    /,
    *,
    key: Buffer | None = None,
    derive_key_context: str | None = None,
    length: int = 32,
    max_threads: int = 1,
) -> bytes:
    """Return the BLAKE3 digest of the bytes of an object.

    `data` is any C-contiguous object with the buffer protocol, such as `bytes`, `bytearray`, `memoryview`,
    `array.array`, `mmap` or a NumPy array of any type. Its bytes are hashed as they are in memory; type and shape are
    not part of the digest.

    Raises `TypeError` for an object without a buffer, such as `str`; `BufferError` for one that is not C-contiguous;
    `ValueError` for a wrong key.
    """

def hexdigest(
    data: Buffer,
    /,
    *,
    key: Buffer | None = None,
    derive_key_context: str | None = None,
    length: int = 32,
    max_threads: int = 1,
) -> str:
    """Return the same as `digest`, as hexadecimal digits. `length` is in bytes."""

def new(
    name: Literal["blake3"],
    data: Buffer | None = None,
    /,
    *,
    key: Buffer | None = None,
    derive_key_context: str | None = None,
    max_threads: int = 1,
    usedforsecurity: bool = True,
) -> blake3:
    """Return `blake3(data, ...)`, with the shape of `hashlib.new`. Raises `ValueError` for another name."""

@final
class Digests(Sequence[bytes]):
    """Digests of one length, one after the other in one piece of memory.

    A sequence of `bytes`; a slice is `Digests` again. NumPy reads the memory in place: `numpy.asarray(digests)` has the
    shape `(n, digest_size)`. Cannot be changed.
    """

    def __new__(cls, data: Buffer, /, length: int = 32) -> Digests:
        """Make digests from their bytes, which are copied. Raises `ValueError` if the last one is incomplete."""

    @property
    def digest_size(self) -> int:
        """The bytes of each digest."""

    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, at: int, /) -> bytes: ...
    @overload
    def __getitem__(self, at: slice, /) -> Digests: ...
    def __contains__(self, value: object, /) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def index(self, value: Any, start: int = 0, stop: int = sys.maxsize, /) -> int:
        """Return the place of the first digest that is `value`. Raises `ValueError` if there is none."""

    def count(self, value: Any, /) -> int:
        """Return how many of the digests are `value`."""

    def hex(self) -> list[str]:
        """Return the digests as hexadecimal digits."""

    def tolist(self) -> list[bytes]:
        """Return the digests as a list of `bytes`."""

    def tobytes(self) -> bytes:
        """Return all bytes of all digests, one after the other."""

@overload
def hash_many(
    items: Iterable[Buffer] | Buffer,
    /,
    *,
    offsets: Buffer | None = None,
    key: Buffer | None = None,
    derive_key_context: str | None = None,
    length: int = 32,
    max_threads: int = -1,
    out: None = None,
) -> Digests:
    """Return the BLAKE3 digests of many inputs, in order.

    `items` is a list, tuple or other iterable of buffers, or an array of two or more dimensions, whose rows are the
    inputs. With `offsets`, an array of n + 1 integers of 32 or 64 bits, `items` is one buffer, and input `i` is its
    bytes from `offsets[i]` up to `offsets[i + 1]`.

    Each digest is that of `digest` with the same `key`, `derive_key_context` and `length`. With `out`, a writable
    buffer of exactly the right size, the digests are written there, and `out` is returned.

    Inputs are taken by their bytes, and not copied. An item that cannot be taken raises what `digest` raises, with a
    note that names its index; `out` is then as it was.
    """

@overload
def hash_many(
    items: Iterable[Buffer] | Buffer,
    /,
    *,
    offsets: Buffer | None = None,
    key: Buffer | None = None,
    derive_key_context: str | None = None,
    length: int = 32,
    max_threads: int = -1,
    out: _Out,
) -> _Out: ...
def hash_file(
    path: str | PathLike[str],
    /,
    *,
    key: Buffer | None = None,
    derive_key_context: str | None = None,
    length: int = 32,
    max_threads: int = -1,
    progress: Callable[[int], object] | None = None,
) -> bytes:
    """Return the BLAKE3 digest of a file.

    The file is mapped or read, by what takes less time; memory does not depend on its length. A pipe or device is read
    to its end.

    `progress` is called about 20 times a second with the number of bytes so far, and once at the end. If it raises an
    exception, or Ctrl-C is pressed, hashing stops, and the exception is raised.

    Raises `OSError` that names the file if it cannot be read, or becomes shorter while it is read.
    """

@overload
def hash_files(
    paths: Iterable[str | PathLike[str]],
    /,
    *,
    key: Buffer | None = None,
    derive_key_context: str | None = None,
    length: int = 32,
    max_threads: int = -1,
    errors: Literal["raise"] = "raise",
    progress: Callable[[int, int], object] | None = None,
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
    paths: Iterable[str | PathLike[str]],
    /,
    *,
    key: Buffer | None = None,
    derive_key_context: str | None = None,
    length: int = 32,
    max_threads: int = -1,
    errors: Literal["return"],
    progress: Callable[[int, int], object] | None = None,
) -> list[bytes | OSError]: ...
