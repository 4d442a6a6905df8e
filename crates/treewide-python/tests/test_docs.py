"""The recipes of docs/python.md, in their order."""

import re
from pathlib import Path

RECIPES = Path(__file__).parents[3] / "docs" / "python.md"

#: Packages that recipes may lack.
OPTIONAL = ("polars", "torch")


def test_the_recipes_work(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", RECIPES.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) > 5
    names = {}
    missing = set()
    for block in blocks:
        # What follows from a package that is missing is left out too.
        if any(package in block for package in missing):
            continue
        try:
            exec(compile(block, str(RECIPES), "exec"), names)
        except ModuleNotFoundError as error:
            if error.name not in OPTIONAL:
                raise
            missing.add(error.name)
            with capsys.disabled():
                print(f"SKIPPED: a recipe with {error.name}, which is not installed")
    print(f"recipes: {len(blocks)} cases")
