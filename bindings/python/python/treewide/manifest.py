"""Manifests of trees: what every file of a directory is, and whether it still is that.

A manifest is a list `X.b3`, whose lines `b3sum --check` takes, and an index `X.b3.tw` next to it, with which `update`
and `verify(quick=True)` read only what changed. `docs/manifests.md` says when a file is taken for unchanged, and what
is trusted.
"""

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
