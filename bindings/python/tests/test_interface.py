"""Tests the surface of the package: names, signatures and texts."""

import ast
import importlib
import inspect
import pickle
import pkgutil
from pathlib import Path

import pytest
import treewide

STUB = Path(treewide.__file__).with_name("_treewide.pyi")


def stubs():
    """Each documented name of the stub, with its text."""
    for node in ast.parse(STUB.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
            yield node.name, text
        for inner in node.body if isinstance(node, ast.ClassDef) else []:
            # Python has texts of its own for `==` and for truth.
            is_own = isinstance(inner, ast.FunctionDef) and inner.name not in ("__eq__", "__bool__")
            if is_own and (text := ast.get_docstring(inner)):
                yield f"{node.name}.{inner.name}", text


@pytest.mark.parametrize(("name", "text"), dict(stubs()).items())
def test_help_says_what_the_stub_says(name, text):
    found = importlib.import_module("treewide._treewide")
    for part in name.split("."):
        found = inspect.getattr_static(found, part)
        found = found.__func__ if isinstance(found, classmethod) else found
    assert inspect.getdoc(found) == text


def modules():
    """The names of all modules that are public."""
    yield "treewide"
    for found in pkgutil.walk_packages(treewide.__path__, "treewide."):
        if not any(part.startswith("_") for part in found.name.split(".")):
            yield found.name


@pytest.mark.parametrize("name", [*modules()])
def test_a_module_shows_its_interface_and_nothing_else(name):
    module = pytest.importorskip(name, reason=f"what {name} is for is not installed", exc_type=ImportError)
    public = {it for it in vars(module) if not it.startswith("_")}
    # Modules below it that were imported by now.
    inner = {it for it in public if getattr(getattr(module, it), "__name__", "") == f"{name}.{it}"}
    assert public - inner == set(module.__all__) - {"__version__"} and module.__doc__
    for it in module.__all__:
        shown = getattr(module, it)
        assert not (inspect.isroutine(shown) or inspect.isclass(shown)) or inspect.getdoc(shown), (
            f"{name}.{it} says nothing"
        )
        # As for processes and engines.
        assert not (inspect.isroutine(shown) or inspect.isclass(shown)) or pickle.loads(pickle.dumps(shown)) is shown
