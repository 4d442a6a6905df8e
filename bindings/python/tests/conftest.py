"""Fixtures of several test files."""

import json
from pathlib import Path
from typing import Any

import pytest

VECTORS = Path(__file__).parents[3] / "vectors"

#: Around blocks, chunks, and the numbers of lanes of all kernels.
EDGES = [
    n + more
    for n in (1, 64, 128, 1024, 2048, 3072, 4096, 7168, 8192, 16384, 17408, 31744, 65536, 102400)
    for more in (-1, 0, 1)
]


def pattern(length: int) -> bytes:
    """The bytes 0, 1, .., 250, 0, .. of the known answers."""
    whole = bytes(range(251))
    return (whole * (length // 251 + 1))[:length]


@pytest.fixture(autouse=True)
def short_waits(monkeypatch):
    """Stores are asked again at once."""
    monkeypatch.setattr("treewide._scale.reading._FIRST", 0.0)


@pytest.fixture(scope="session")
def vectors() -> Any:
    """The known answers of `hash`."""
    return json.loads((VECTORS / "hash.json").read_text())
