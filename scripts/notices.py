#!/usr/bin/env python3
"""Prints the licences of all crates of others that are linked into a program, for packages that contain it.

    scripts/notices.py CRATE [FEATURES]      CRATE is a folder with a Cargo.toml, FEATURES as for cargo

Of a licence by choice it takes MIT. The same text is printed once, with the names of all crates that have it.
"""

import json
import subprocess
import sys
from pathlib import Path

NAMES = ("LICEN", "COPY", "UNLICEN", "NOTICE")


def linked(crate, features):
    """The packages that are linked into the only member of the folder `crate`, in the order of their names."""
    host = next(it.split()[1] for it in output("rustc", "-vV").splitlines() if it.startswith("host: "))
    manifest = Path(crate, "Cargo.toml").resolve()
    options = ("--locked", "--format-version", "1", "--filter-platform", host, "--manifest-path", str(manifest))
    found = json.loads(output("cargo", "metadata", *options, *(("--features", features) if features else ())))
    packages = {it["id"]: it for it in found["packages"]}
    nodes = {it["id"]: it["deps"] for it in found["resolve"]["nodes"]}
    todo = [it for it, package in packages.items() if Path(package["manifest_path"]) == manifest]
    seen = set(todo)
    while todo:
        for dependency in nodes[todo.pop()]:
            name = dependency["pkg"]
            if name not in seen and any(it["kind"] is None for it in dependency["dep_kinds"]):
                seen.add(name)
                todo.append(name)
    # Those without a source are ours.
    return sorted((packages[it] for it in seen if packages[it]["source"]), key=lambda it: (it["name"], it["version"]))


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout


def texts(package):
    """The licences of a package that count."""
    files = [it for it in sorted(Path(package["manifest_path"]).parent.iterdir()) if it.name.upper().startswith(NAMES)]
    chosen = [it for it in files if "MIT" in it.name.upper()]
    if not chosen or "MIT" not in package["license"]:
        chosen = files
    # "AND Unicode-3.0" is not a choice.
    chosen += [it for it in files if "UNICODE" in it.name.upper() and it not in chosen]
    return [it.read_text(encoding="utf-8").strip() for it in chosen if it.is_file()]


def main(crate, features=""):
    users, without = {}, []
    packages = linked(crate, features)
    for package in packages:
        name = f"{package['name']} {package['version']} ({package['license']})"
        found = texts(package)
        for text in found:
            users.setdefault(text, []).append(name)
        if not found:
            without.append(name)
    print(f"This program contains {len(packages)} crates of others, and Rust's standard library (MIT OR Apache-2.0).")
    if without:
        print("\nThese name a licence, and have no file with it:\n")
        print("\n".join(without))
    for text, names in users.items():
        print("\n" + "-" * 80 + "\n" + "\n".join(names) + "\n\n" + text)


if len(sys.argv) not in (2, 3):
    sys.exit(__doc__)
sys.stdout.reconfigure(encoding="utf-8", newline="\n")
main(*sys.argv[1:])
