#!/usr/bin/env python3
"""Checks the prose of this repository against the word list in CONTRIBUTING.md.

    scripts/prose.py               checks the files of CHECKED below; exit code 1 if a phrase is found
    scripts/prose.py PATH...       checks these files and folders, whether or not they are in CHECKED

It reads Markdown except for code; comments and messages (string literals) in Rust, TypeScript, Swift, C, CUDA, WGSL and
Python, where docstrings are messages; and comments in shell scripts, TOML and YAML. A phrase that is broken over two lines is
found as well.

Two more rules. A sentence of README, SECURITY, CHANGELOG and docs/ has at most 25 words; a longer one ends in
`<!-- long -->`. The first line of a docstring, and of the doc comment of a public item or a module, begins with a verb or a
noun of its own, because readers who come from a search see it without its neighbours.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# The whole repository. A file that cannot follow the list yet would be named in NEVER, with the reason.
CHECKED = ["."]

# Generated files, data, and records, which stay as they were written.
NEVER = re.compile(r"(^|/)(results/.*|Cargo\.lock|LICENSE-\w+|crates/treewide-gpu/kernels/built/.*)$")

KINDS = {
    ".md": "markdown",
    **dict.fromkeys((".rs", ".ts", ".mjs", ".swift", ".c", ".h", ".cpp", ".cu", ".cuh", ".wgsl"), "slashes"),
    **dict.fromkeys((".py", ".pyi"), "python"),
    **dict.fromkeys((".sh", ".toml", ".yml"), "hash"),
}

SLASHES = re.compile(
    r"""(?P<line>//[/!]?[^\n]*)
      | (?P<block>/\*.*?\*/)
      | r(?P<hashes>\#*)"(?P<raw>.*?)"(?P=hashes)
      | "(?P<string>(?:\\.|[^"\\])*)"
      | '(?:\\.[^']*|[^'\\])'
    """,
    re.VERBOSE | re.DOTALL,
)


PYTHON = re.compile(
    r"""(?P<line>\#[^\n]*)
      | \"{3}(?P<block>.*?)\"{3}
      | "(?P<string>(?:\\.|[^"\\\n])*)"
      | '(?:\\.|[^'\\\n])*'
    """,
    re.VERBOSE | re.DOTALL,
)


def blank(text):
    """Return as many lines and characters, all of them blank."""
    return re.sub(r"[^\n]", " ", text)


def prose_of_markdown(text):
    text = re.sub(r"^( *)(```|~~~).*?^\1\2", lambda it: blank(it[0]), text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"<!--.*?-->", lambda it: blank(it[0]), text, flags=re.DOTALL)
    return without_code(text)


def without_code(text):
    return re.sub(r"`[^`\n]*`", lambda it: "`" + "_" * (len(it[0]) - 2) + "`", text)


def prose_of_code(text, tokens):
    prose, end = "", 0
    for it in tokens.finditer(text):
        prose += blank(text[end : it.start()])
        if it["line"] is not None:
            prose += re.sub(r"^(//[/!]?|#!?)", lambda mark: " " * len(mark[0]), it[0])
        elif it["block"] is not None:
            prose += it[0]
        elif it["string"] is not None or it.groupdict().get("raw") is not None:
            # The quotes end a phrase, as an empty line does; a string continues after a backslash.
            prose += "|" + re.sub(r"\\n", "  ", it[0][1:-1].replace("\\\n", " \n")) + "|"
        else:
            prose += blank(it[0])
        end = it.end()
    return without_code(prose + blank(text[end:]))


def prose_of_hash_comments(text):
    lines = []
    for line in text.split("\n"):
        at = re.search(r"(^|\s)#(?!!)", line)
        lines.append(blank(line[: at.end()]) + line[at.end() :] if at else "|" + blank(line))
    return without_code("\n".join(lines))


READERS = {
    "markdown": prose_of_markdown,
    "slashes": lambda text: prose_of_code(text, SLASHES),
    "python": lambda text: prose_of_code(text, PYTHON),
    "hash": prose_of_hash_comments,
}


def words():
    """The rows of the table in CONTRIBUTING.md whose head is `not`: (phrase, better, exceptions)."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    table = re.search(r"^\| not \| but \| fine \|\n\|[-| ]+\|\n((?:\|.*\n)+)", text, re.MULTILINE)
    if not table:
        sys.exit("CONTRIBUTING.md has no table with the columns `not`, `but` and `fine`")
    rows = []
    for line in table[1].splitlines():
        wrong, better, fine = (cell.strip() for cell in line.strip("|").split("|"))
        for phrase in re.findall(r"`([^`]+)`", wrong):
            rows.append((phrase, better, re.findall(r"`([^`]+)`", fine)))
    return rows


def found_in(text, phrase):
    """Where a phrase is in a text. It begins with a literal, which is found ten times as fast as a boundary."""
    for it in re.finditer(r"\s+".join(map(re.escape, phrase.split())) + r"\b", text):
        if not INSIDE.match(text, it.start()):
            yield it.span()


INSIDE = re.compile(r"\B\w")


def faults(path, text, rows):
    prose = READERS[KINDS[path.suffix]](text)
    lower = prose.lower()
    for phrase, better, fine in rows:
        # With a capital, a phrase is the beginning of a sentence.
        if spans := [*found_in(prose if phrase[0].isupper() else lower, phrase)]:
            allowed = [it for ok in fine for it in found_in(lower, ok.lower())]
            for start, end in spans:
                if not any(first <= start and end <= last for first, last in allowed):
                    yield prose.count("\n", 0, start) + 1, phrase, better


# Documents whose sentences are measured.
MEASURED = re.compile(r"^(README|SECURITY|CHANGELOG)\.md$|^docs/[^/]*\.md$")
LONGEST = 25

# How the first line of a doc comment does not begin.
FIRST = re.compile(
    r"(The same|What|Those|That|Such|It|This one|As|One that|Of|For|With|Without|By|Like|From|In|If|None|There)\b"
)


def long_sentences(text):
    """(line, number of words, beginning) of sentences that are too long. Tables have no sentences."""
    prose = re.sub(r"^( *)(```|~~~).*?^\1\2", lambda it: blank(it[0]), text, flags=re.MULTILINE | re.DOTALL)
    prose = prose.replace("<!-- long -->", "\0")
    prose = re.sub(r"<!--.*?-->", lambda it: blank(it[0]), prose, flags=re.DOTALL)
    prose = re.sub(r"^(\||#|\[[^\]]+\]:).*$", "", prose, flags=re.MULTILINE)
    # A link is its text, and code is one word. A colon before a list or a block ends a sentence.
    prose = re.sub(r"\]\([^)]*\)", "]", prose)
    prose = re.sub(r"`[^`\n]*`", "Code", prose)
    start = 0
    for it in re.finditer(r"[.?!]+[\"')\]*]*(?=\s)(?!\s+[a-z])|:(?=\s*\n)|\n\s*\n|\n(?=\s*([-*]|\d+\.)\s)|\Z", prose):
        sentence = prose[start : it.start()]
        count = len([word for word in sentence.split() if re.search(r"\w", word)])
        if count > LONGEST and "\0" not in prose[start : it.end() + 2]:
            first = start + len(sentence) - len(sentence.lstrip())
            yield prose.count("\n", 0, first) + 1, count, " ".join(sentence.split()[:6])
        start = it.end()


def first_lines(text):
    """(line, text) of docstrings, and of doc comments of public items and modules, that do not begin as they should."""
    for it in re.finditer(r"^ *(//!|///) (.*)\n(?: *\1.*\n)*((?: *[#@].*\n)* *pub(?:lic)? )?", text, re.MULTILINE):
        if FIRST.match(it[2]) and (it[3] or it[1] == "//!"):
            yield text.count("\n", 0, it.start(2)) + 1, it[2]
    for it in re.finditer(r'^ *"""(.*)', text, re.MULTILINE):
        if FIRST.match(it[1]):
            yield text.count("\n", 0, it.start()) + 1, it[1]


def files(paths):
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *paths],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout
    for name in sorted(filter(None, listed.split("\0"))):
        path = ROOT / name
        if path.suffix in KINDS and path.is_file() and not path.is_symlink() and not NEVER.search(name):
            yield path


def main():
    for name in CHECKED:
        if not (ROOT / name).exists():
            sys.exit(f"scripts/prose.py: CHECKED names {name}, which does not exist")
    rows, found, count = words(), 0, 0
    for path in files(sys.argv[1:] or CHECKED):
        count += 1
        for line, phrase, better in faults(path, path.read_text(), rows):
            print(f"{path.relative_to(ROOT)}:{line}: \"{phrase}\": write {better}")
            found += 1
        name, text = str(path.relative_to(ROOT)), path.read_text()
        if MEASURED.match(name):
            for line, words_in, beginning in long_sentences(text):
                print(f"{name}:{line}: {words_in} words: \"{beginning} ..\"")
                found += 1
        if path.suffix in (".rs", ".swift", ".py", ".pyi"):
            for line, first in first_lines(text):
                print(f"{name}:{line}: begin with a verb or a noun of its own: \"{first[:60]}\"")
                found += 1
    print(f"prose: {count} files, {len(rows)} phrases, {found} found")
    return found > 0


if __name__ == "__main__":
    sys.exit(main())
