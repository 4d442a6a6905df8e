"""Manifests of trees: what every file of a directory is, and whether it still is that.

A manifest is a list `X.b3`, whose lines `b3sum --check` takes, and an index `X.b3.tw` next to it, with which `update`
and `verify(quick=True)` read only what changed. `docs/manifests.md` says when a file is taken for unchanged, and what
is trusted.
"""

import os as _os
from typing import Any as _Any

from treewide._arguments import Evidence, Verdict
from treewide._treewide import (
    Duplicates,
    Finding,
    Group,
    HistoryRecord,
    HistoryRun,
    Made,
    ManifestError,
    Member,
    Missing,
    MissingFile,
    Report,
    _manifest_diff as diff,
    _manifest_digests as digests,
    _manifest_dupes as dupes,
    _manifest_history as history,
    _manifest_missing as missing,
    _manifest_scrub as scrub,
    _manifest_snapshot as snapshot,
    _manifest_update as update,
    _manifest_verify as verify,
)

__all__ = [
    "Duplicates",
    "Evidence",
    "Finding",
    "Group",
    "HistoryRecord",
    "HistoryRun",
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
    "history",
    "missing",
    "scrub",
    "snapshot",
    "update",
    "verify",
]


def _table_of_duplicates(found: Duplicates) -> _Any:
    rows = [(at, group, it) for at, group in enumerate(found.groups) for it in group.members]
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


def _table_of_missing(found: Missing) -> _Any:
    columns = {
        "path": [_os.fsencode(it.path) for it in found.files],
        "digest": [it.digest for it in found.files],
        "size": [it.size for it in found.files],
        "evidence": [it.evidence for it in found.files],
    }
    return _table(columns, ["path", "digest", "int64", "string"])


def _table(columns: dict[str, _Any], kinds: list[str]) -> _Any:
    """Make a table of pyarrow. Paths are bytes, as they may not be UTF-8."""
    import pyarrow  # type: ignore[import-not-found, import-untyped, unused-ignore]

    own = {"digest": pyarrow.binary(32), "path": pyarrow.binary()}
    types = [own.get(kind) or getattr(pyarrow, kind)() for kind in kinds]
    arrays = [pyarrow.array(values, kind) for values, kind in zip(columns.values(), types, strict=True)]
    return pyarrow.table(arrays, names=[*columns])
