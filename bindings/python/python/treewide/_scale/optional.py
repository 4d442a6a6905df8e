"""Libraries that are loaded when they are used."""

import importlib
from typing import Any


def load(module: str, package: str, *, extra: str | None = None) -> Any:
    """Return a module of an optional package. Raises `ModuleNotFoundError` that says how to install it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        text = f"{package} is not installed: pip install {package}, or treewide[{extra or package}] instead of treewide"
        raise ModuleNotFoundError(text, name=error.name) from error
