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
from typing import Any

import torch.distributed as dist

from treewide._treewide import DamageError, blake3, digest, hash_files

__all__ = ["reader_of", "verify", "writer_of"]

LIST = "checkpoint.b3"

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


class _WritingFiles:
    """The file system of a writer."""

    def __init__(self, fs: Any) -> None:
        self._fs = fs
        self.digests: dict[str, bytes] = {}
        #: What is to be written: the folder and name of the list, the files in it, and whether it reaches the disk.
        self.list: tuple[Any, str, dict[str, bytes], bool] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._fs, name)

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


def _check_base(base: Any, kind: str, method: str) -> None:
    if not isinstance(base, type) or not hasattr(base, method):
        raise TypeError(f"give a class of a {kind}, such as FileSystem{kind[7:]}, and not {base!r:.90}")


def writer_of(base: type[Any]) -> type[Any]:
    """Return the class that writes as `base` does, and hashes."""
    _check_base(base, "StorageWriter", "write_data")

    class HashingWriter(base):  # type: ignore[misc]
        def __init__(self, *given: Any, **options: Any) -> None:
            super().__init__(*given, **options)
            self.fs: Any = _WritingFiles(self.fs)

        def write_data(self, plan: Any, planner: Any) -> Any:
            self.fs.digests.clear()
            done = super().write_data(plan, planner)
            return done.then(lambda done: [*done.value(), _Files(self.fs.digests)])

        def finish(self, metadata: Any, results: Any) -> None:
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

    return HashingWriter


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


class _CheckedFiles:
    """The file system of a reader."""

    def __init__(self, fs: Any) -> None:
        self._fs = fs
        self._lists: dict[bytes, dict[str, bytes]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._fs, name)

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
                raise DamageError(f"{path}: is not in {LIST} next to it: save with treewide.dcp.writer()")
            if hasher.digest() != expected:
                raise DamageError(f"{path}: is not as it was written")
            stream.seek(0)
            yield stream


def reader_of(base: type[Any]) -> type[Any]:
    """Return the class that reads as `base` does, and checks each file first."""
    _check_base(base, "StorageReader", "read_metadata")
    if any(it.__name__ == "HuggingFaceStorageReader" for it in base.__mro__):
        raise TypeError(
            "HuggingFaceStorageReader opens files by itself, so they cannot be checked: "
            "call treewide.dcp.verify first, and read with HuggingFaceStorageReader"
        )

    class CheckingReader(base):  # type: ignore[misc]
        def __init__(self, *given: Any, **options: Any) -> None:
            super().__init__(*given, **options)
            self.fs: Any = _CheckedFiles(self.fs)

        def reset(self, *given: Any, **options: Any) -> None:
            super().reset(*given, **options)
            self.fs = _CheckedFiles(self.fs._fs)

    return CheckingReader


def _checked(folder: str, rank: int, world: int) -> tuple[bytes, list[str]]:
    """Return the digest of the lists, and what is wrong with the files of this rank."""
    names = sorted(os.listdir(folder))
    # Next to the list of all ranks, lists of single ranks are of another save.
    lists = [LIST] if LIST in names else [it for it in names if re.fullmatch(rf"__[0-9]+_{re.escape(LIST)}", it)]
    if not lists:
        raise FileNotFoundError(f"{folder}: there is no {LIST}: save with treewide.dcp.writer()")
    paths = [os.path.join(folder, it) for it in lists]
    texts = [Path(it).read_bytes() for it in paths]
    files = {name: value for it in zip(texts, paths, strict=True) for name, value in _files_of(*it).items()}
    here = {it for it in names if os.path.isfile(os.path.join(folder, it)) and not it.endswith((".tensors.b3", ".sig"))}
    problems = [f"{it}: is not in the list" for it in sorted(here - {*files, *lists})]
    if not any(it.endswith(".metadata") or it.endswith(".safetensors") for it in files):
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
    return digest(b"".join(texts)), problems


def verify(folder: str, group: Any) -> None:
    """Read all files of a checkpoint, each on one rank."""
    if not (dist.is_available() and dist.is_initialized()):
        everywhere: list[Any] = [_checked(folder, 0, 1)]
    else:
        if dist.get_rank(group) < 0:
            raise ValueError(f"rank {dist.get_rank()} is not in the group, so it cannot take part")
        everywhere = [None] * dist.get_world_size(group)
        own: tuple[bytes, list[str]]
        try:
            own = _checked(folder, dist.get_rank(group), len(everywhere))
        except Exception as error:  # all ranks raise it
            own = b"", [f"rank {dist.get_rank()}: {error}"]
        dist.all_gather_object(everywhere, own, group=group)
    problems = sorted({it for _, some in everywhere for it in some})
    if not problems and len({lists for lists, _ in everywhere}) > 1:
        problems = [f"the ranks have other files named {LIST}"]
    if problems:
        raise DamageError(f"{folder}: {'; '.join(problems)}")
