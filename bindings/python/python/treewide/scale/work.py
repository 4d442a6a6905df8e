"""Tasks, their results, and what becomes of objects."""

from treewide._scale.merge import Disagreement, Outcome
from treewide._scale.object_journal import Journal, JournalError
from treewide._scale.tasks import Result, Task, run
from treewide._scale.verified import NoOutboard
from treewide._treewide import Clash, Parts, subtrees

__all__ = [
    "Clash",
    "Disagreement",
    "Journal",
    "JournalError",
    "NoOutboard",
    "Outcome",
    "Parts",
    "Result",
    "Task",
    "run",
    "subtrees",
]
