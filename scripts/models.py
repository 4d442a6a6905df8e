#!/usr/bin/env python3
"""What a block of one lane costs on CPUs that are not here: cycles by the models of llvm-mca.

    scripts/models.py

Prints, for each way of compressing one lane (scalar.rs and row.rs in crates/treewide/src/kernel/x86_64/) and
each CPU, the cycles from one block to the next. A model knows how long instructions take and where
they run; it takes loads for independent of stores and every branch for foreseen. Needs LLVM's
llvm-mca (Debian: llvm-19; another by the variable LLVM_MCA) and binutils.
"""

import json
import os
import re
import subprocess
import sys

WAYS = {
    "general": "avx512::compress",
    "rows, AVX-512": "avx512::compress_row",
    "rows, AVX2": "avx2::compress_row",
    "rows, SSE4.1": "sse41::compress_row",
}
CPUS = [
    "haswell", "skylake", "skylake-avx512", "icelake-server", "alderlake", "sapphirerapids",
    "znver1", "znver2", "znver3", "znver4",
]  # fmt: skip
WITH_AVX512 = ["skylake-avx512", "icelake-server", "sapphirerapids", "znver4"]
BLOCKS = 200
ROUNDS = 7
MCA = os.environ.get("LLVM_MCA", "llvm-mca-19")


def run(*command, stdin=None):
    try:
        return subprocess.run(command, input=stdin, check=True, capture_output=True, text=True).stdout
    except FileNotFoundError:
        sys.exit(f"there is no {command[0]}: install it, or name another")
    except subprocess.CalledProcessError as error:
        sys.exit(f"{' '.join(command)}: {error.stderr}")


def instructions(program, function):
    """Address and text of each instruction."""
    assembly = run("objdump", "-d", "-C", "--no-show-raw-insn", "-M", "intel", program)
    found = re.search(rf"<treewide::kernel::{function}>:\n(.*?)\n\n", assembly, re.S)
    if not found:
        sys.exit(f"{program} has no function {function}")
    lines = re.findall(r"^ *([0-9a-f]+):\t(.*)$", found[1], re.M)
    return [(int(address, 16), text.split("#")[0].strip()) for address, text in lines]


def block(code):
    """What runs from one block to the next: the outer loop, the rounds in it as often as they run."""
    index = {address: i for i, (address, _) in enumerate(code)}
    loops = []
    for i, (_, text) in enumerate(code):
        jump = re.match(r"j\w+ +([0-9a-f]+)", text)
        if jump and index.get(int(jump[1], 16), i + 1) <= i:
            loops.append((index[int(jump[1], 16)], i + 1))
    loops.sort(key=lambda loop: loop[0] - loop[1])
    (start, end), *inner = loops
    texts = [text for _, text in code]
    if not inner:
        return texts[start:end]
    first, last = inner[0]
    return texts[start:first] + texts[first:last] * ROUNDS + texts[last:end]


def cycles(code, cpu):
    text = "\n".join(re.sub(r"^(j\w+) .*", r"\1 1f", line) for line in code if "nop" not in line)
    text = re.sub(r"<.*?>", "", text)
    text = ".intel_syntax noprefix\n" + re.sub(r"\[rip\+0x\w+\]", "[rip+64]", text) + "\n1: nop\n"
    output = run(MCA, f"-mcpu={cpu}", f"-iterations={BLOCKS}", stdin=text)
    return round(int(re.search(r"Total Cycles: +(\d+)", output)[1]) / BLOCKS)


def main():
    build = ["cargo", "test", "--release", "--quiet", "--lib", "-p", "treewide", "--no-run"]
    messages = run(*build, "--message-format=json").splitlines()
    program = next(filter(None, (json.loads(line).get("executable") for line in messages)))
    blocks = {way: block(instructions(program, function)) for way, function in WAYS.items()}
    print(re.search(r"\S+ version .*", run(MCA, "--version"))[0])
    print(f"{'cycles a block':16}" + "".join(f"{way:>15}" for way in WAYS))
    for cpu in CPUS:
        has = {way: cpu in WITH_AVX512 or "AVX-512" not in way for way in WAYS}
        row = [cycles(code, cpu) if has[way] else "-" for way, code in blocks.items()]
        print(f"{cpu:16}" + "".join(f"{figure:>15}" for figure in row))


main()
