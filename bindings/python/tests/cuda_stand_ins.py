"""Stand-ins for CUDA's libraries, so that PyTorch's wheel for Linux loads without gigabytes of them, for the CPU alone.

`python cuda_stand_ins.py FOLDER`, where FOLDER is `torch/lib`. Each function returns 100: there is no device. It needs
gcc and readelf.
"""

import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

#: Names of libraries, and of functions without a version, that CUDA has.
LIBRARY = re.compile(r"lib(cu|nv|nccl)\S*\.so")
FUNCTION = re.compile(r"_*(nv|cu|nccl)")


def read(path, *options):
    return subprocess.run(["readelf", "-W", *options, path], check=True, capture_output=True, text=True).stdout


def wanted(folder):
    """The functions of each library by the name of their version, which may be empty."""
    libraries, versions, undefined, defined = set(), {}, set(), set()
    for path in folder.glob("*.so*"):
        libraries.update(re.findall(r"\(NEEDED\).*\[(\S+)\]", read(path, "-d")))
        file = ""
        for found in re.finditer(r"File: (\S+)|Name: (\S+)\s+Flags", read(path, "-V")):
            file = found[1] or file
            versions[found[2]] = file
        for line in read(path, "--dyn-syms").splitlines():
            fields = line.split()
            if len(fields) >= 8 and fields[6] == "UND":
                undefined.add(tuple((fields[7] + "@").replace("@@", "@").split("@")[:2]))
            elif len(fields) >= 8:
                defined.add(fields[7].split("@")[0])
    missing = sorted(it for it in libraries if LIBRARY.match(it) and not (folder / it).exists())
    functions = {it: defaultdict(set) for it in missing}
    for name, version in sorted(undefined):
        if version and versions.get(version) in functions:
            functions[versions[version]][version].add(name)
        elif not version and name not in defined and FUNCTION.match(name):
            # Any library that is loaded may have it.
            functions[missing[0]][""].add(name)
    return functions


def make(folder):
    for library, versions in wanted(folder).items():
        names = sorted(set().union(*versions.values()))
        with tempfile.TemporaryDirectory() as at:
            source, script = Path(at, "all.c"), Path(at, "versions")
            source.write_text("".join(f"int {name}(void) {{ return 100; }}\n" for name in names) or "int none;\n")
            of_versions = [
                f"{it} {{ global: {'; '.join(sorted(versions[it]))}; }};\n" for it in sorted(filter(None, versions))
            ]
            script.write_text("".join(of_versions))
            options = [f"-Wl,--version-script={script}"] if of_versions else []
            command = ["gcc", "-w", "-shared", "-fPIC", "-fno-builtin", f"-Wl,-soname,{library}", *options]
            subprocess.run([*command, "-o", folder / library, source], check=True)
        print(f"{library}: {len(names)} functions")


if __name__ == "__main__":
    make(Path(sys.argv[1]))
