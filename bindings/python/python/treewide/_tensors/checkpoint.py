"""Files of `torch.distributed.checkpoint`: hashed in the pass that writes them, and checked when they are read.

The list of a checkpoint has a line for each file. It is complete before `.metadata` gets its name, which makes a
checkpoint of the files: so there is none without its list.
"""

import contextlib
import io
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch.distributed as dist

from treewide._treewide import DamageError, blake3, digest, hash_files

if TYPE_CHECKING:
    from typing import Any as _Mixin
else:
    _Mixin = object

LIST = "checkpoint.b3"

#: How files end that PyTorch reads.
_OF_PYTORCH = (".metadata", ".distcp", ".safetensors")

#: Bytes that are hashed and written while the cache of a core has them.
_TILE = 1 << 20


class _HashingStream(io.RawIOBase):
    """A file that is written from its beginning to its end, and hashed in the same pass."""

    def __init__(self, stream: Any) -> None:
        self._stream, self.hasher, self._at = stream, blake3(), 0

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        for at in range(0, len(view), _TILE):
            tile = view[at : at + _TILE]
            self.hasher.update(tile)
            self._stream.write(tile)
        self._at += len(view)
        return len(view)

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def flush(self) -> None:
        # Also called by `close`.
        if not self._stream.closed:
            self._stream.flush()

    def fileno(self) -> int:
        return int(self._stream.fileno())

    def close(self) -> None:
        super().close()
        self._stream.close()


class _Files(dict[str, bytes]):
    """Digests of the files of a rank. They travel with the results of its writes."""


class _FilesOf:
    """The file system of a writer or a reader. It travels with it into another process."""

    def __init__(self, fs: Any) -> None:
        self._fs = fs

    def __getattr__(self, name: str) -> Any:
        # Not yet there when it arrives.
        return getattr(self.__dict__["_fs"], name) if "_fs" in self.__dict__ else object.__getattribute__(self, name)


class _WritingFiles(_FilesOf):
    """The file system of a writer."""

    def __init__(self, fs: Any) -> None:
        super().__init__(fs)
        self.digests: dict[str, bytes] = {}
        #: What is to be written: the folder and name of the list, the files in it, and whether it reaches the disk.
        self.list: tuple[Any, str, dict[str, bytes], bool] | None = None

    @contextlib.contextmanager
    def create_stream(self, path: Any, mode: str) -> Iterator[Any]:
        if mode not in ("w", "wb"):
            raise ValueError(
                f"{path}: a file that is hashed is opened to be written from its beginning, and not {mode!r}"
            )
        with self._fs.create_stream(path, "wb") as stream:
            hashing: Any = _HashingStream(stream)
            given = hashing if mode == "wb" else io.TextIOWrapper(hashing, encoding="utf-8", newline="")
            yield given
            if not given.closed:
                given.flush()
        self.digests[_name(path)] = hashing.hasher.digest()

    def rename(self, path: Any, new_path: Any) -> None:
        self.digests[_name(new_path)] = self.digests.pop(_name(path))
        self.write_list()
        self._fs.rename(path, new_path)

    def write_list(self) -> None:
        if self.list is None:
            return
        folder, name, files, is_synced = self.list
        self.list = None
        path, temporary = (self._fs.concat_path(folder, it) for it in (name, f"{name}.tmp"))
        lines = (f"{value.hex()}  {it}\n" for it, value in sorted({**files, **self.digests}.items()))
        with self._fs.create_stream(temporary, "wb") as stream:
            stream.write("".join(lines).encode())
            stream.flush()
            # Not all streams have a file.
            with contextlib.suppress(AttributeError, io.UnsupportedOperation):
                os.fsync(stream.fileno()) if is_synced else None
        if self._fs.exists(path):
            self._fs.rm_file(path)
        self._fs.rename(temporary, path)


class HashingWriter(_Mixin):  # type: ignore[misc]
    """Makes a writer of checkpoints hash the files: `class Writer(HashingWriter, FsspecWriter): ...`.

    The other class has files that come from `self.fs.create_stream`. The list `checkpoint.b3` is complete before
    `.metadata` appears. With `use_collectives=False`, each rank has its list `__RANK_checkpoint.b3`, as it has its
    metadata.
    """

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.fs: Any = _WritingFiles(self.fs)

    def write_data(self, plan: Any, planner: Any) -> Any:
        """Write what this rank has, and keep the digests."""
        self.fs.digests.clear()
        done = super().write_data(plan, planner)
        return done.then(lambda done: [*done.value(), _Files(self.fs.digests)])

    def finish(self, metadata: Any, results: Any) -> None:
        """Write the list and the metadata."""
        alone = not getattr(self, "use_collectives", True) and getattr(self, "rank", None) is not None
        name = f"__{self.rank}_{LIST}" if alone else LIST
        files = {
            name: value for of_rank in results for it in of_rank if type(it) is _Files for name, value in it.items()
        }
        self.fs.digests.clear()
        self.fs.list = (self.path, name, files, getattr(self, "sync_files", False))
        super().finish(metadata, [[it for it in of_rank if type(it) is not _Files] for of_rank in results])
        # Some writers rename nothing at the end.
        self.fs.write_list()


def _name(path: str | os.PathLike[str]) -> str:
    return os.path.basename(os.fspath(path))


def _files_of(text: bytes, path: Any) -> dict[str, bytes]:
    """Return the files of a list. Raises `DamageError` if it is not one."""
    files = {}
    for number, line in enumerate(text.decode("utf-8", "replace").splitlines(), 1):
        found = re.fullmatch("([0-9a-f]{64})  ([^/\\\\]+)", line)
        if found is None or found[2] in files:
            raise DamageError(f"{path}, line {number}: not a digest, two spaces and the name of a file: {line!r:.90}")
        files[found[2]] = bytes.fromhex(found[1])
    return files


class _CheckedFiles(_FilesOf):
    """The file system of a reader."""

    def __init__(self, fs: Any) -> None:
        super().__init__(fs)
        self._lists: dict[bytes, dict[str, bytes]] = {}

    def _list(self, path: Any, name: str) -> dict[str, bytes] | None:
        at = path.with_name(name) if isinstance(path, Path) else os.path.join(os.path.dirname(path), name)
        if not self._fs.exists(at):
            return None
        with self._fs.create_stream(at, "rb") as stream:
            text = stream.read()
        # Parsed once, as each of many files asks for it.
        key = digest(text)
        if key not in self._lists:
            self._lists[key] = _files_of(text, at)
        return self._lists[key]

    def _expected(self, path: Any) -> bytes | None:
        files = self._list(path, LIST)
        own = re.match(r"__([0-9]+)[._]", _name(path))
        # PyTorch reads the metadata of a rank where `.metadata` is damaged. It is of another save.
        if files is None and own:
            files = self._list(path, f"__{own[1]}_{LIST}")
        return (files or {}).get(_name(path))

    @contextlib.contextmanager
    def create_stream(self, path: Any, mode: str) -> Iterator[Any]:
        with self._fs.create_stream(path, mode) as stream:
            # Each time: a reader may be used for several loads.
            hasher, buffer = blake3(), memoryview(bytearray(_TILE))
            while count := stream.readinto(buffer):
                hasher.update(buffer[:count])
            if (expected := self._expected(path)) is None:
                raise DamageError(
                    f"{path}: is not in {LIST} next to it: save with treewide.weights.dcp.FileSystemWriter"
                )
            if hasher.digest() != expected:
                raise DamageError(f"{path}: is not as it was written")
            stream.seek(0)
            yield stream


class CheckingReader(_Mixin):  # type: ignore[misc]
    """Makes a reader of checkpoints check each file first: `class Reader(CheckingReader, FsspecReader): ...`.

    The other class has files that come from `self.fs.create_stream`. A rank reads each file from which it needs
    something, all of it, once more. `.metadata` is a pickle, and is checked before it is loaded. Raises `DamageError`
    that names a file, which PyTorch wraps in its `CheckpointException`, a `BaseException`.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if any(it.__name__ == "HuggingFaceStorageReader" for it in cls.__mro__):
            raise TypeError(
                "HuggingFaceStorageReader opens files by itself, so they cannot be checked: "
                "call treewide.weights.dcp.verify first, and read with HuggingFaceStorageReader"
            )

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.fs: Any = _CheckedFiles(self.fs)

    def reset(self, *given: Any, **options: Any) -> None:
        """Begin to read a checkpoint."""
        super().reset(*given, **options)
        self.fs = _CheckedFiles(self.fs._fs)


def _checked(folder: str, rank: int, world: int) -> tuple[bytes, list[str], list[str]]:
    """Return the digest of the lists, what is wrong with the files of this rank, and files of others."""
    names = sorted(os.listdir(folder))
    # Next to the list of all ranks, lists of single ranks are of another save.
    lists = [LIST] if LIST in names else [it for it in names if re.fullmatch(rf"__[0-9]+_{re.escape(LIST)}", it)]
    if not lists:
        raise FileNotFoundError(f"{folder}: there is no {LIST}: save with treewide.weights.dcp.FileSystemWriter")
    paths = [os.path.join(folder, it) for it in lists]
    texts = [Path(it).read_bytes() for it in paths]
    files = {name: value for it in zip(texts, paths, strict=True) for name, value in _files_of(*it).items()}
    others = [it for it in names if it not in {*files, *lists} and os.path.isfile(os.path.join(folder, it))]
    problems = [f"{it}: is not in the list" for it in others if it.endswith(_OF_PYTORCH)]
    if not any(it.endswith((".metadata", ".safetensors")) for it in files):
        problems.append(f"{LIST}: names no .metadata, so it is not the list of a checkpoint")
    # A pipe would let all ranks wait.
    odd = {it for it in files if os.path.exists(os.path.join(folder, it))} - {
        it for it in names if os.path.isfile(os.path.join(folder, it))
    }
    problems += [f"{it}: is not a regular file" for it in sorted(odd)]
    mine = [it for it in sorted(files)[rank::world] if it not in odd]
    for name, value in zip(mine, hash_files([os.path.join(folder, it) for it in mine], errors="return"), strict=True):
        if value != files[name]:
            problems.append(f"{name}: {value.strerror if isinstance(value, OSError) else 'is not as it was written'}")
    return digest(b"".join(texts)), problems, [it for it in others if not it.endswith(_OF_PYTORCH)]


def verify(path: str | os.PathLike[str], /, *, group: Any = None) -> list[str]:
    """Compare the files of a checkpoint in a local directory with its list. Returns the files that are not in the list.

    PyTorch would not read these, such as the state of a trainer. With a process group, all ranks of `group` call it,
    and each file is read by one of them. So all of them must see one directory: where each machine has a copy, `group`
    has the ranks of one machine. Raises `DamageError`, on all ranks, that names the files which are missing, are not as
    they were written, or are files of a checkpoint and not in the list. If there is no list, raises `OSError` without a
    process group and `DamageError` with one.
    """
    if not (dist.is_available() and dist.is_initialized()):
        everywhere: list[Any] = [_checked(os.fspath(path), 0, 1)]
    else:
        if dist.get_rank(group) < 0:
            raise ValueError(f"rank {dist.get_rank()} is not in the group, so it cannot take part")
        everywhere = [None] * dist.get_world_size(group)
        try:
            own = _checked(os.fspath(path), dist.get_rank(group), len(everywhere))
        except Exception as error:  # all ranks raise it
            own = b"", [f"rank {dist.get_rank()}: {error}"], []
        dist.all_gather_object(everywhere, own, group=group)
    problems = sorted({it for _, some, _ in everywhere for it in some})
    if not problems and len({lists for lists, _, _ in everywhere}) > 1:
        problems = [f"the ranks have other files named {LIST}"]
    if problems:
        raise DamageError(f"{path}: {'; '.join(problems)}")
    return sorted({it for _, _, others in everywhere for it in others})
