"""Manifests of trees: what every file of a directory is, and whether it still is that.

A manifest is a list `X.b3`, whose lines `b3sum --check` takes, and an index `X.b3.tw` next to it, with which `update`
and `verify(quick=True)` read only what changed. `docs/manifests.md` says when a file is taken for unchanged, and what
is trusted.
"""

import errno as _errno
import os as _os
from collections.abc import Iterable as _Iterable
from dataclasses import dataclass as _dataclass
from typing import Any as _Any, Literal as _Literal, TypeAlias as _TypeAlias

from treewide._arguments import (
    Bytes as _Bytes,
    FilesDone as _FilesDone,
    Path as _Path,
    expected_bytes as _expected_bytes,
)
from treewide._treewide import ManifestError, _diff, _digests, _dupes, _make, _missing, _verify

__all__ = [
    "Duplicates",
    "Evidence",
    "Finding",
    "Group",
    "Made",
    "ManifestError",
    "Member",
    "Missing",
    "MissingFile",
    "Report",
    "Verdict",
    "diff",
    "digests",
    "dupes",
    "missing",
    "scrub",
    "snapshot",
    "update",
    "verify",
]

Verdict: _TypeAlias = _Literal[
    "same",
    "touched",
    "changed",
    "rot",
    "suspect",
    "replaced-type",
    "moved",
    "renamed",
    "copied",
    "added",
    "removed",
    "changing",
    "unreadable",
    "not-checkable",
]
"""The verdict on a path. `suspect`: other content with the same size and mtime, though ctime moved."""

Evidence: _TypeAlias = _Literal["read", "metadata", "attested", "claimed"]
"""How something is known. `read`: its content was read in this run. `metadata`: size, times and inode say so.
`attested`: a store says so. `claimed`: a manifest says so."""


@_dataclass(frozen=True)
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


@_dataclass(frozen=True)
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
    #: What the manifest that was replaced had, and the new one has not, such as `permission bits`.
    dropped: list[str]
    #: Whether it is known of every path if it differs.
    is_certain: bool
    #: Whether the tree differs from the record.
    differs: bool
    _summary: str

    def __bool__(self) -> bool:
        """Whether everything is as recorded: nothing differs, and that is certain."""
        return self.is_certain and not self.differs

    def __str__(self) -> str:
        """Return the counts for people, such as `12 entries: 11 same, 1 changed`."""
        return self._summary


@_dataclass(frozen=True)
class Made(Report):
    """The outcome of each path, and the manifest that was written. `snapshot` counts paths as added, and lists none."""

    total_files: int
    total_bytes: int
    #: The BLAKE3 digest of the list `X.b3`: what is signed. `verify(expected=)` takes it as well.
    list_digest: bytes
    #: The digest of the manifest: names, contents, links, modes, attributes and rules. The same on every machine, and
    #: what `verify(expected=)` takes. The command line prints it.
    digest: bytes

    def __bool__(self) -> bool:
        """Whether the manifest says what every file is: all could be read, and no old digest stays."""
        return self.is_certain and self.files_kept == 0


def snapshot(
    directory: _Path,
    list: _Path | None = None,
    /,
    *,
    exclude: _Iterable[str] = (),
    hidden: bool = True,
    follow: bool = False,
    one_file_system: bool = False,
    modes: bool = False,
    xattrs: bool = False,
    index: bool = True,
    allow_empty: bool = False,
    accept_damage: bool = False,
    resume: bool = True,
    sync: bool = True,
    threads: int = 1,
    progress: _FilesDone | None = None,
) -> Made:
    """Write a manifest of `directory` to `list`, and its index next to it.

    Without `list`, the manifest of `photos` is `photos.b3`, next to the directory, which must not exist yet.

    `exclude` has globs of paths to leave out: one without `/` matches a name at any depth (`*.tmp`), one with `/` a
    path from the root on (`/a/b`, `a/**/b`), one that ends in `/` directories only. `hidden`, `follow`,
    `one_file_system`, `modes` (permission bits) and `xattrs` (extended attributes with access lists, on Unix; those
    named `trusted.*` only for the administrator) also say what is covered; the index records all of it. Without
    `sync`, other programs' changes in mapped memory are not written to the disk first.

    `progress` is called about 20 times a second with the numbers of files and bytes so far; an exception that it raises
    stops the run. The manifest appears at the end, all at once. A file that cannot be read is a finding. A run that was
    stopped or killed is continued by the next one with the same `list`, which reads again what took the first second
    only; with `resume=False`, everything.

    Raises `OSError` that names a file if the manifest cannot be written; `ManifestError` if it would replace one of
    another directory, or one whose files are gone or cannot be read, unless `allow_empty`; and if it would replace one
    that is damaged, has an index while the new one has none, or has other digests of files that may have rotted since,
    unless `accept_damage`; `ValueError` for an invalid glob.
    """
    if list is None:
        list = _beside(directory)
    rules = (_globs(exclude), hidden, follow, one_file_system, modes, xattrs)
    return _made(
        _make(
            None,
            directory,
            list,
            rules=rules,
            index=index,
            full=False,
            scrub=None,
            accepted=([], allow_empty, accept_damage, None),
            resume=resume,
            sync=sync,
            threads=threads,
            progress=progress,
        )
    )


def verify(
    list: _Path,
    directory: _Path,
    /,
    *,
    quick: bool = False,
    only: _Iterable[str] = (),
    expected: _Bytes | str | None = None,
    threads: int = 1,
    progress: _FilesDone | None = None,
) -> Report:
    """Compare `directory` with its manifest. The result is true if everything is as recorded.

    Every file is read. With `quick`, only files whose size, times, inode or device are not those recorded are; the
    others are counted in `files_unread`. `only` has globs of the paths to compare. `expected` is the digest that you
    trust (`Made.digest` or `Made.list_digest`), as bytes or hexadecimal digits. A manifest with another one is not
    compared. `progress` is that of `snapshot`.

    Raises `ManifestError` if the list is damaged or not the one expected; `OSError` if it or the directory cannot be
    read. A file that cannot be read is a finding.
    """
    return _report(
        _verify(
            list,
            directory,
            quick=quick,
            only=_globs(only),
            expected=None if expected is None else _expected_bytes(expected),
            threads=threads,
            progress=progress,
        )
    )


def update(
    list: _Path,
    directory: _Path,
    /,
    *,
    output: _Path | None = None,
    full: bool = False,
    accept_rot: _Iterable[str] = (),
    allow_empty: bool = False,
    accept_damage: bool = False,
    max_removed: str | None = None,
    resume: bool = True,
    sync: bool = True,
    threads: int = 1,
    progress: _FilesDone | None = None,
) -> Made:
    """Bring a manifest up to date, and read only what changed. What it covers stays as recorded.

    With `output`, the new manifest is written there, and the old one stays. `full` reads every file. A file whose
    content changed although no program wrote to it is `rot`, and one whose size and mtime stayed the same is `suspect`.
    Both keep their digests, unless a glob of `accept_rot` matches them. `resume`, `sync` and `progress` are those of
    `snapshot`.

    A manifest is never replaced by a worse one. Nothing is written if no recorded file is there, unless
    `allow_empty`; if the index is damaged, unless `accept_damage`; if more files are gone than `max_removed` (`"10%"`,
    `"1000"`). That raises `ManifestError`, as a damaged list does. Otherwise this raises what `snapshot` raises.
    """
    return _made(
        _make(
            list,
            directory,
            list if output is None else output,
            rules=None,
            index=True,
            full=full,
            scrub=None,
            accepted=(_globs(accept_rot), allow_empty, accept_damage, max_removed),
            resume=resume,
            sync=sync,
            threads=threads,
            progress=progress,
        )
    )


def scrub(
    list: _Path,
    directory: _Path,
    /,
    *,
    budget: str = "5%",
    allow_empty: bool = False,
    max_removed: str | None = None,
    resume: bool = True,
    sync: bool = True,
    threads: int = 1,
    progress: _FilesDone | None = None,
) -> Made:
    """Do what `update` does, and also read the files that were read longest ago.

    `budget` says how much of all bytes that is: `"5%"` or `"200G"`. Run it each night: all files have their
    turn, and rot is found. Raises what `update` raises.
    """
    return _made(
        _make(
            list,
            directory,
            list,
            rules=None,
            index=True,
            full=False,
            scrub=budget,
            accepted=([], allow_empty, False, max_removed),
            resume=resume,
            sync=sync,
            threads=threads,
            progress=progress,
        )
    )


def diff(old: _Path, new: _Path, /) -> Report:
    """Compare two manifests. No file of either tree is needed.

    Raises `ManifestError` if one is damaged, and `OSError` if one cannot be read.
    """
    return _report(_diff(old, new))


def digests(list: _Path, /) -> dict[str, bytes]:
    """Return the BLAKE3 digest of each file in a manifest, by its path, in the order of the list.

    Raises `ManifestError` if it is damaged, and `OSError` if it cannot be read.
    """
    return _digests(list)


@_dataclass(frozen=True)
class Member:
    """A file or a folder in a group."""

    #: Its path; below the operand where the directory of that is not here.
    path: str
    #: The operand that has it.
    operand: str
    #: The evidence of its content. `None` for folders.
    evidence: Evidence | None
    #: If it is another name of a file before it (a hard link): the path of that.
    link_of: str | None


@_dataclass(frozen=True)
class Group:
    """Files with the same content, folders that are equal, or two folders that are similar."""

    kind: _Literal["files", "folders", "similar"]
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


@_dataclass(frozen=True)
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
    #: With `verify`: files that are not as recorded, and why.
    changed: list[tuple[str, str]]
    #: What could not be read, and why.
    unreadable: list[tuple[str, str]]

    def to_arrow(self) -> _Any:
        """Return a table of pyarrow with a row for each member of each group."""
        rows = [(at, group, it) for at, group in enumerate(self.groups) for it in group.members]
        columns = {
            "group": [at for at, _, _ in rows],
            "kind": [group.kind for _, group, _ in rows],
            "digest": [group.digest for _, group, _ in rows],
            "size": [group.size for _, group, _ in rows],
            "reclaimable": [group.reclaimable for _, group, _ in rows],
            "path": [_os.fsencode(it.path) for _, _, it in rows],
            "operand": [it.operand for _, _, it in rows],
            "evidence": [it.evidence for _, _, it in rows],
            "link_of": [it.link_of and _os.fsencode(it.link_of) for _, _, it in rows],
        }
        kinds = ["int64", "string", "digest", "int64", "int64", "path", "string", "string", "path"]
        return _table(columns, kinds)


@_dataclass(frozen=True)
class MissingFile:
    """A file whose content no other operand has."""

    path: str
    #: `None` if its size alone shows that no other has it.
    digest: bytes | None
    size: int | None
    evidence: Evidence


@_dataclass(frozen=True)
class Missing:
    """Files whose content no other operand has, by their names."""

    files: tuple[MissingFile, ...]
    #: Files of the first operand.
    total_files: int
    #: Names in other operands that lead to files of the first. They do not count.
    not_counted: int
    files_read: int
    bytes_read: int
    #: What could not be read, and why.
    unreadable: list[tuple[str, str]]

    def __bool__(self) -> bool:
        """Whether anything is missing, or may be, as it could not be read."""
        return bool(self.files or self.unreadable)

    def to_arrow(self) -> _Any:
        """Return a table of pyarrow with a row for each file: path, digest, size, evidence."""
        columns = {
            "path": [_os.fsencode(it.path) for it in self.files],
            "digest": [it.digest for it in self.files],
            "size": [it.size for it in self.files],
            "evidence": [it.evidence for it in self.files],
        }
        return _table(columns, ["path", "digest", "int64", "string"])


def dupes(
    *operands: _Path,
    empty: bool = False,
    ignore_names: bool = False,
    similar: int = 0,
    root: _Path | None = None,
    verify: _Literal["metadata", "read"] | None = None,
    threads: int = 1,
    progress: _FilesDone | None = None,
) -> Duplicates:
    """Find files with the same content, and folders that are equal, in lists, manifests and directories.

    Lists are believed, and no file is read. Of a directory, only files are read that could be the same, and that its
    manifest `X.b3` next to it does not know. Nothing is changed.

    - `empty`: empty files are also a group.
    - `ignore_names`: folders are compared by the contents in them alone.
    - `similar=80`: pairs of folders that share 80 % of the larger one's bytes are also groups.
    - `root`: the directory that a list is of, or one that has it under the name of the list. Without it, it is `X` next
      to `X.b3`.
    - `verify`: files of lists are looked at first; with `"read"` all are read. Their folders are not: the files in them
      are groups of their own.

    Raises `ManifestError` if a list cannot be used, `ValueError` if two operands have the same files, and `OSError`.
    """
    if verify not in (None, "metadata", "read"):
        raise ValueError(f"verify takes None, 'metadata' or 'read', not {verify!r}")
    if not operands:
        raise TypeError("dupes needs at least one list or directory")
    if not 0 <= similar <= 100:
        raise ValueError(f"similar is a percentage from 0 to 100, not {similar!r}")
    groups, numbers, changed, unreadable = _dupes(
        [*operands],
        empty=empty,
        ignore_names=ignore_names,
        similar=similar,
        root=root,
        verify=verify,
        threads=threads,
        progress=progress,
    )

    def group(it: _Any) -> Group:
        fields: _Any = (*it[:-1], tuple(Member(*member) for member in it[-1]))
        return Group(*fields)

    fields: _Any = (tuple(map(group, groups)), *numbers, changed, unreadable)
    return Duplicates(*fields)


def missing(
    first: _Path,
    /,
    *others: _Path,
    names: bool = False,
    root: _Path | None = None,
    threads: int = 1,
    progress: _FilesDone | None = None,
) -> Missing:
    """Find the files of `first` whose content none of the others has.

    It may have any name there; with `names`, it must be under the same path. Each operand is a list, a manifest or a
    directory. Of a directory, only files are read that another operand could have. `root` is as in `dupes`.

    Raises `ManifestError` if a list cannot be used or `first` has no file, `ValueError` if an operand is named twice,
    and `OSError`.
    """
    if not others:
        raise TypeError("missing needs a list or directory in which it looks")
    files, numbers, unreadable = _missing(first, [*others], names=names, root=root, threads=threads, progress=progress)
    fields: _Any = (tuple(MissingFile(*it) for it in files), *numbers, unreadable)
    return Missing(*fields)


def _table(columns: dict[str, _Any], kinds: list[str]) -> _Any:
    """Make a table of pyarrow. Paths are bytes, as they may not be UTF-8."""
    import pyarrow  # type: ignore[import-not-found, import-untyped, unused-ignore]

    own = {"digest": pyarrow.binary(32), "path": pyarrow.binary()}
    types = [own.get(kind) or getattr(pyarrow, kind)() for kind in kinds]
    arrays = [pyarrow.array(values, kind) for values, kind in zip(columns.values(), types, strict=True)]
    return pyarrow.table(arrays, names=[*columns])


def _beside(directory: _Path) -> str:
    """Return the usual place of a manifest. Raises `FileExistsError` if there is one, `ValueError` if there is none."""
    path = _os.path.normpath(_os.fspath(directory))
    if _os.path.basename(path) in ("", ".", ".."):
        raise ValueError(f"{path!r} has no name for a manifest: pass one, as in snapshot({path!r}, 'X.b3')")
    list = f"{path}.b3"
    if _os.path.lexists(list):
        raise FileExistsError(_errno.EEXIST, "there is one already: use update, or pass another name", list)
    return list


def _globs(globs: _Iterable[str]) -> list[str]:
    if isinstance(globs, str):
        raise TypeError(f"this is one glob, and a list of them is wanted: pass [{globs!r}]")
    return [_os.fspath(glob) for glob in globs]


def _fields(ended: _Any) -> _Any:
    findings, counts, numbers, untold, all = ended
    return (tuple(Finding(*it) for it in findings), *counts, *numbers, *untold, *all)


def _report(ended: _Any) -> Report:
    return Report(*_fields(ended))


def _made(made: _Any) -> Made:
    ended, totals, list_digest, digest = made
    fields: _Any = (*_fields(ended), *totals, list_digest, digest)
    return Made(*fields)
