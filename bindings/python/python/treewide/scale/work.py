"""Parts of an input that are hashed by threads, processes or machines."""

from treewide._scale.verified import NoOutboard
from treewide._treewide import Clash, Parts, subtrees

__all__ = ["Clash", "NoOutboard", "Parts", "subtrees"]
