"""The examples of documents, in their order."""

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]

#: Packages that recipes may lack.
OPTIONAL = ("polars", "torch")


@pytest.mark.parametrize(
    ("document", "least"), [("README.md", 1), ("bindings/python/README.md", 15), ("docs/tensors.md", 1)]
)
def test_the_examples_of_a_document_work(document, least, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    # The first examples of the package's own page need a model on a GPU.
    text = (REPOSITORY / document).read_text(encoding="utf-8").rpartition("\n## Recipes\n")[2]
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert len(blocks) >= least
    names = {}
    missing = set()
    for block in blocks:
        # What follows from a package that is missing is left out too.
        if any(package in block for package in missing):
            continue
        try:
            exec(compile(block, document, "exec"), names)
        except ModuleNotFoundError as error:
            if error.name not in OPTIONAL:
                raise
            missing.add(error.name)
            with capsys.disabled():
                print(f"SKIPPED: an example with {error.name}, which is not installed")
    print(f"{document}: {len(blocks)} cases")
