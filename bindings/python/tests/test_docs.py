"""The examples of documents, in their order."""

import re
from pathlib import Path

import pytest
from treewide.weights import digests

REPOSITORY = Path(__file__).parents[3]

#: Packages that recipes may lack.
OPTIONAL = ("polars", "torch")


def folder_of_models(folder):
    """Make the models that the examples of docs/tensors.md download and compare."""
    header = b'{"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}'
    (folder / "llama").mkdir()
    for name, data in (("llama/model.safetensors", b"1"), ("tuned.safetensors", b"2")):
        (folder / name).write_bytes(len(header).to_bytes(8, "little") + header + data)
    digests(folder / "llama").save(folder / "llama.tensors.b3")


@pytest.mark.parametrize(("document", "least"), [("bindings/python/README.md", 15), ("docs/tensors.md", 1)])
def test_the_examples_of_a_document_work(document, least, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    # The first examples of the package's own page need a model on a GPU.
    text = (REPOSITORY / document).read_text(encoding="utf-8").rpartition("\n## Recipes\n")[2]
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert len(blocks) >= least
    folder_of_models(tmp_path)
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
