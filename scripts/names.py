#!/usr/bin/env python3
"""Compares the table of names in CONTRIBUTING.md with the public interface of every language.

    scripts/names.py            each language whose interface can be read here; the others say SKIPPED
    scripts/names.py LANGUAGE   only this column, which must be readable

A name in the column of a language must be part of a public name there. A name in the last column must be no
public name anywhere. The types of the npm package exist after a build, the flags after `cargo build -p treewide-cli`.
"""

import ast
import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
# They take the place of the package of someone else, and have its names.
FOREIGN = {"blake3", "compat", "new"}


def words(files: list[pathlib.Path], pick: str = r".*") -> set[str]:
    """The words of all lines that match, without comments."""
    found = set[str]()
    for file in files:
        for line in COMMENT.sub("", file.read_text()).splitlines():
            if re.search(pick, line):
                found.update(WORD.findall(line))
    return found


def public(body: list[ast.stmt], foreign: set[str] = FOREIGN) -> Iterator[str]:
    """Names of functions, methods, fields and arguments."""
    for node in body:
        name = getattr(node, "name", "")
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        elif isinstance(node, ast.ClassDef) and name not in foreign and not name.startswith("_"):
            yield name
            yield from public(node.body, foreign)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if name == "__init__" or not name.startswith("_") and name not in foreign:
                yield name
                yield from (it.arg for it in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs])


def rust() -> set[str]:
    return words([it for it in ROOT.glob("crates/*/src/**/*.rs") if "blake3-shim" not in it.parts], r"\bpub\b|: ")


def python(foreign: set[str] = FOREIGN) -> set[str]:
    package = ROOT / "bindings/python/python/treewide"
    found = set[str]()
    for file in [*package.glob("*.pyi"), *package.glob("[a-z]*.py"), *package.glob("_*/**/[a-z]*.py")]:
        if file.stem not in FOREIGN | {"bench"}:
            found.update(public(ast.parse(file.read_text()).body, foreign))
    return found


def javascript() -> set[str]:
    return words([it for it in (ROOT / "bindings/js/dist/types").glob("*.d.ts")])


def c() -> set[str]:
    return words(list((ROOT / "bindings/c/include").glob("treewide*.h")))


def swift() -> set[str]:
    texts = [COMMENT.sub("", it.read_text()) for it in (ROOT / "bindings/swift/Sources").glob("Treewide*/*.swift")]
    return {word for it in texts for part in re.findall(r"\bpublic\b[^{]*", it) for word in WORD.findall(part)}


def command_line() -> set[str]:
    program = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug/treewide"
    if not program.exists():
        return set()
    found, waiting = set[str](), [[]]
    while waiting:
        command = waiting.pop()
        text = subprocess.run([program, *command, "--help"], capture_output=True, text=True, check=True).stdout
        found.update(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))
        names = re.findall(r"^  ([a-z][a-z-]*) {2,}\S", text, re.MULTILINE)
        waiting += [[*command, it] for it in names if it != "help"]
    return found


COLUMNS = {"Rust": rust, "command line": command_line, "Python": python, "JavaScript": javascript, "C": c, "Swift": swift}


def main() -> int:
    section = (ROOT / "CONTRIBUTING.md").read_text().split("\n## Names\n")[1].split("\n## ")[0]
    rows = [[it.strip() for it in line.strip("|").split("|")] for line in section.splitlines() if line.startswith("|")]
    titles, rows = rows[0], rows[2:]
    faults, cases = list[str](), 0
    wanted = sys.argv[1:] or list(COLUMNS)
    for title in wanted:
        known = COLUMNS[title]()
        if not known:
            print(f"SKIPPED: names of {title}: they exist after a build")
            faults += [f"{title} cannot be read"] if sys.argv[1:] else []
            continue
        for row in rows:
            for name in re.findall(r"`([^`]+)`", row[titles.index(title)]):
                cases += 1
                if not any(name in it for it in (python(set()) if title == "Python" else known)):
                    faults.append(f"{row[0]}: {title} has nothing named {name}")
            for name in re.findall(r"`([^`]+)`", row[-1]):
                cases += 1
                if name in known:
                    faults.append(f"{row[0]}: {title} has {name}, which CONTRIBUTING.md rules out")
    print(*faults, sep="\n")
    print(f"names: {cases} cases")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
