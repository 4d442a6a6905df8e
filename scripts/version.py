#!/usr/bin/env python3
"""The version of treewide, which is written in several files.

    scripts/version.py             prints it; exit code 1 if the files disagree
    scripts/version.py X.Y.Z       writes it everywhere, also into the Cargo.lock files

CHANGELOG.md is written by hand: `scripts/release.sh` looks for a section of the version there.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NUMBER = r"\d+\.\d+\.\d+"

# Where it is: files, and the text before and after it.
PLACES = [
    ("Cargo.toml", r'^version = "', r'"'),
    ("Cargo.toml", r'path = "crates/[^"]+", version = "', r'"'),
    ("crates/*/Cargo.toml", r'path = "\.\./treewide[^"]*", version = "', r'"'),
    ("crates/treewide-*/Cargo.toml", r'^version = "', r'"'),
    ("bindings/c/full/Cargo.toml", r'^version = "', r'"'),
    ("bindings/c/include/treewide.h", r'^#define TREEWIDE_VERSION "', r'"'),
    ("bindings/js/package.json", r'^  "version": "', r'"'),
    ("bindings/js/package-lock.json", r'^ +"name": "treewide",\n +"version": "', r'"'),
    ("**/Cargo.lock", r'^name = "(?:(?:lib)?treewide(?!-fuzz)[^"]*|libblake3)"\nversion = "', r'"\n(?!source)'),
]

# The shim has the version of the crate whose name it has.
OTHERS = re.compile(r"(^|/)(target|node_modules|blake3-shim)/")


def places():
    for pattern, before, after in PLACES:
        for path in sorted(ROOT.glob(pattern)):
            if not OTHERS.search(path.relative_to(ROOT).as_posix()):
                yield path, re.compile(f"({before})({NUMBER})({after})", re.MULTILINE)


def main():
    # Also on Windows: bash would keep a carriage return as part of the version.
    sys.stdout.reconfigure(newline="\n")
    found = {}
    for path, place in places():
        text = path.read_text(encoding="utf-8")
        for it in place.finditer(text):
            line = text.count("\n", 0, it.start(2)) + 1
            found.setdefault(it[2], []).append(f"{path.relative_to(ROOT)}:{line}")
        if len(sys.argv) > 1:
            path.write_text(place.sub(rf"\g<1>{sys.argv[1]}\g<3>", text), encoding="utf-8", newline="\n")
    if len(sys.argv) > 1:
        return 0
    if len(found) == 1:
        print(*found)
        return 0
    for version, where in found.items():
        print(f"{version} in {', '.join(where)}", file=sys.stderr)
    print("the files disagree on the version; `scripts/version.py X.Y.Z` writes one everywhere", file=sys.stderr)
    return 1


if len(sys.argv) > 2 or (len(sys.argv) == 2 and not re.fullmatch(NUMBER, sys.argv[1])):
    sys.exit(__doc__)
sys.exit(main())
