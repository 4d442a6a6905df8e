#!/usr/bin/env python3
"""Builds the site of the documentation in target/site, and checks its links.

    scripts/site.py            the book of docs/, by mdbook, and the pages of the Rust, Python and TypeScript interfaces
    scripts/site.py --book     only the book

mdbook is needed: `cargo install --locked mdbook`. Interfaces whose tools are missing are SKIPPED, with the reason.
"""

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
WORK = ROOT / "target/site-work"
SITE = ROOT / "target/site"
ONLINE = "https://github.com/treewide/treewide/blob/main/"
CRATES = ["treewide", "treewide-files", "treewide-digests", "treewide-manifest", "treewide-tensors", "treewide-gpu"]

# Pages of the book that have their place elsewhere in the repository.
PAGES = {
    "README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md", "CHANGELOG.md": "changelog.md",
    "crates/treewide/README.md": "crate.md", "bindings/python/README.md": "python.md", "bindings/c/README.md": "c.md",
    "bindings/js/README.md": "javascript.md", "bindings/swift/README.md": "swift.md", "dev/bench/README.md": "benchmarking.md",
}

CODE = re.compile(r"^( *)(```|~~~).*?^\1\2[^\n]*$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(\]\(|\]: |src=\"|srcset=\")([^)\s\"]+)")


def run(*command, **options):
    print("+", *command, flush=True)
    subprocess.run(command, check=True, cwd=options.pop("cwd", ROOT), **options)


def page(path):
    """The name of the page of the book for a file of the repository, or None."""
    name = str(path.relative_to(ROOT))
    if name in PAGES:
        return PAGES[name]
    return path.name if path.parent == ROOT / "docs" and path.is_file() else None


def rewritten(text, folder):
    """Links to other files than pages lead to the repository online."""

    def link(it):
        target, _, anchor = it[2].partition("#")
        if not target or re.match(r"[a-z]+:|…", target):
            return it[0]
        path = (folder / target).resolve()
        if not path.exists():
            sys.exit(f"{folder.relative_to(ROOT)}: the link {it[2]} leads nowhere")
        name = page(path) or ONLINE + str(path.relative_to(ROOT))
        return it[1] + name + ("#" + anchor if anchor else "")

    kept, end, result = [], 0, ""
    for it in CODE.finditer(text):
        result += LINK.sub(link, text[end : it.start()]) + "\0"
        kept.append(it[0])
        end = it.end()
    result += LINK.sub(link, text[end:])
    for code in kept:
        result = result.replace("\0", code, 1)
    return result


def diagrams(text):
    """mdbook draws no diagrams of mermaid; GitHub does."""
    link = f"The [picture of the parts]({ONLINE}docs/architecture.md) is on GitHub."
    return re.sub(r"^```mermaid.*?^```$", link, text, flags=re.MULTILINE | re.DOTALL)


def book(interfaces):
    """The pages of docs/ in the order of SUMMARY.md, and those of PAGES."""
    for name in ("book.toml", "site.css"):
        shutil.copy(ROOT / "docs" / name, WORK)
    source = WORK / "src"
    source.mkdir()
    for path in [*(ROOT / "docs").iterdir(), *(ROOT / name for name in PAGES)]:
        if path.suffix == ".md":
            (source / page(path)).write_text(diagrams(rewritten(path.read_text(), path.parent)))
        elif path.suffix == ".svg":
            shutil.copy(path, source)
    summary = (source / "SUMMARY.md").read_text().replace("# Summary\n", "# Summary\n\n[Treewide](index.md)\n")
    if interfaces:
        lines = [f"- [{name}](api/{link})\n" for name, link in interfaces.items()]
        (source / "interfaces.md").write_text("# Interfaces\n\nEvery public item, with its errors and an example:\n\n" + "".join(lines))
        summary += "- [Interfaces](interfaces.md)\n"
    (source / "SUMMARY.md").write_text(summary)
    shutil.rmtree(SITE, ignore_errors=True)
    run("mdbook", "build", "--dest-dir", SITE, WORK)


# Each writes the pages of a language below `into`, and returns where they begin, or raises `Missing`.


class Missing(Exception):
    """A tool or a package that is needed, and how to get it."""


def rust(into):
    run("cargo", "doc", "--locked", "--no-deps", "--all-features", *(it for name in CRATES for it in ("-p", name)))
    shutil.copytree(TARGET / "doc", into)
    return "treewide/index.html"


def python(into):
    tools = ROOT / "bindings/python/target/venv/bin"
    if not (tools / "python").exists():
        raise Missing("the package is not built: run bindings/python/check.sh package")
    run(tools / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "pdoc")
    options = ("--docformat", "markdown", "--template-directory", ROOT / "docs/pdoc")
    run(tools / "python", "-m", "pdoc", *options, "-o", into, "treewide", "!treewide._treewide")
    return "treewide.html"


def typescript(into):
    if not (ROOT / "bindings/js/package.json").exists() or not shutil.which("npx"):
        raise Missing("there is no bindings/js/package.json, or no npx")
    options = ("--name", "treewide for JavaScript", "--entryPoints", "src/index.ts")
    run("npx", "--yes", "typedoc@0.28", *options, "--out", into, cwd=ROOT / "bindings/js")
    return "index.html"


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.anchors = [], set()

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name in ("id", "name") and value:
                self.anchors.add(value)


def check():
    """Every link of the book leads to a file of the site, and to an anchor on it."""
    pages = {}
    for path in SITE.glob("*.html"):
        pages[path] = Links()
        pages[path].feed(path.read_text())
    wrong = count = 0
    for path, links in sorted(pages.items()):
        if path.name in ("404.html", "print.html"):
            continue
        for link in links.links:
            if re.match(r"[a-z]+:", link):
                continue
            count += 1
            target, _, anchor = link.partition("#")
            to = (path.parent / target).resolve() if target else path
            to = to / "index.html" if to.is_dir() else to
            if not to.exists() or (anchor and to in pages and anchor not in pages[to].anchors):
                print(f"{path.name}: the link {link} leads nowhere")
                wrong += 1
    print(f"{len(pages)} pages, {count} links, {wrong} of them lead nowhere")
    return wrong


if sys.argv[1:] not in ([], ["--book"]):
    sys.exit(__doc__)
if not shutil.which("mdbook"):
    sys.exit("there is no mdbook: cargo install --locked mdbook")
shutil.rmtree(WORK, ignore_errors=True)
WORK.mkdir(parents=True)
interfaces = {}
for language, function in ({} if sys.argv[1:] else {"Rust": rust, "Python": python, "TypeScript": typescript}).items():
    name = language.lower()
    try:
        interfaces[language] = f"{name}/{function(WORK / 'api' / name)}"
    except Missing as reason:
        print(f"SKIPPED: {language}: {reason}")
book(interfaces)
if interfaces:
    shutil.copytree(WORK / "api", SITE / "api")
sys.exit(1 if check() else 0)
