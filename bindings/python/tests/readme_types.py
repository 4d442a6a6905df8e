"""Prints the examples of README.md before its recipes as a module, for type checkers: readme_types.py >FILE."""

import re
from pathlib import Path

PRELUDE = """
from typing import Any

torch: Any
model: Any
tensor: Any
tensors: Any
out: Any
parts: Any
shard: Any
at: int
"""

readme = Path(__file__).parents[1] / "README.md"
text = readme.read_text(encoding="utf-8").partition("\n## Recipes\n")[0]
blocks = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
assert len(blocks) >= 2, "README.md has fewer examples than it had"
print(PRELUDE)
for number, block in enumerate(blocks):
    # The stubs of `hashlib` want an `update` that returns nothing.
    block = re.sub(r"(?m)^(hashlib\.file_digest.*)$", r"\1  # type: ignore[arg-type]", block)
    lines = "".join(f"    {line}\n" if line else "\n" for line in block.splitlines())
    print(f"\nasync def example_{number}() -> None:\n{lines}")
