"""`check`: files against lists and stores of digests by other programs. The library `treewide-digests` decides."""

from builtins import bytes as _bytes
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from treewide._arguments import Bytes, FilesDone, Path
from treewide._treewide import _check

__all__ = ["CheckFinding", "CheckReport", "MalformedLine", "check"]

_Status: TypeAlias = Literal["ok", "failed", "unreadable", "unverified", "missing", "skipped"]


@dataclass(frozen=True)
class CheckFinding:
    """A listed file, an object of a store, or a directory that is not a store, and the verdict on it.

    Or a list that is `unverified`: by it nothing was, or a line of it makes the check fail.

    - `ok`: it has the digest.
    - `failed`: it has not, or is wrong in another way.
    - `unreadable`: it could not be read, or does not exist, without `ignore_missing`.
    - `unverified`: there is no digest to verify it by, or no name to look for; or it is not a store.
    - `missing`: a listed file that does not exist, with `ignore_missing`; or an object that a store names and has not.
    - `skipped`: it is in the place of an object of a store, and cannot be checked.
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


@dataclass(frozen=True)
class MalformedLine:
    """A line of a list that cannot be used."""

    list: str
    #: Counted from 1.
    number: int
    error: str


@dataclass(frozen=True)
class CheckReport:
    """How a check ended. It is true exactly where `treewide check` ends with exit code 0."""

    #: All findings except for `ok`, in the order of the lists and stores; with `verbose`, those too. A file for which a
    #: list has several digests may have a finding for each.
    findings: tuple[CheckFinding, ...]
    #: Lines that cannot be used: those with a digest, the last one if it is cut off, and the first 1,000 others of each
    #: list.
    malformed: tuple[MalformedLine, ...]
    #: The number of files and objects with each status. A file with several digests counts once.
    counts: dict[_Status, int]
    #: The number of lines without a digest that cannot be used.
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
        return self.is_certain and not self.differs

    def __str__(self) -> str:
        """Return the messages for people, such as `models: an Ollama store: 214 objects (96.30 GiB), 213 are ...`."""
        return "\n".join(self.messages)


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
    - `strict`: malformed lines are failures, and so is what was skipped in stores.
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
    findings, malformed, counts, malformed_count, messages, is_certain, differs = _check(
        paths,
        algorithm=algorithm,
        strong=strong,
        strict=strict,
        ignore_missing=ignore_missing,
        store=store,
        recursive=recursive,
        verbose=verbose,
        key=key,
        derive_key_context=derive_key_context,
        length=length,
        threads=threads,
        progress=progress,
    )
    return CheckReport(
        tuple(CheckFinding(*it) for it in findings),
        tuple(MalformedLine(*it) for it in malformed),
        counts,
        malformed_count,
        tuple(messages),
        is_certain,
        differs,
    )
