"""The recipes of docs/python.md, in their order."""

import re
from pathlib import Path

RECIPES = Path(__file__).parents[3] / "docs" / "python.md"


def test_the_recipes_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", RECIPES.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) > 5
    names = {}
    for block in blocks:
        exec(compile(block, str(RECIPES), "exec"), names)
    print(f"recipes: {len(blocks)} cases")
