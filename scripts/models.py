#!/usr/bin/env python3
"""Estimates the cost of a block on CPUs that are not here: cycles by the models of llvm-mca.

    scripts/models.py            one lane on x86-64, by each way of compressing it (scalar.rs, row.rs)
    scripts/models.py aarch64    passes of the kernels of AArch64

Prints for each way and each CPU the cycles from one block to the next, with several lanes from one block of each
to the next. A model knows how long instructions take and where they run; it takes loads for independent of stores and
every branch for foreseen. Needs LLVM's llvm-mca (Debian: llvm-19; another by the variable LLVM_MCA) and binutils;
for AArch64 those for it, gcc-aarch64-linux-gnu and qemu-user, which says what runs from block to block.
"""

import collections
import json
import os
import re
import subprocess
import sys
import tempfile

WAYS = {
    "general": "avx512::compress_zen5",
    "rows, AVX-512": "avx512::compress_intel",
    "rows, AVX2": "avx2::compress",
    "rows, SSE4.1": "sse41::compress",
}
CPUS = [
    "haswell", "skylake", "skylake-avx512", "icelake-server", "alderlake", "sapphirerapids",
    "znver1", "znver2", "znver3", "znver4",
]  # fmt: skip
WITH_AVX512 = ["skylake-avx512", "icelake-server", "sapphirerapids", "znver4"]
# Kernel, function and bytes: a chunk for each lane.
PASSES = {
    "one lane": ("neon-two-ports", "portable::compress", 1),
    "neon, 4 lanes": ("neon-two-ports", "aarch64::neon::pass", 4),
    "neon, 8 lanes": ("neon-four-ports", "aarch64::neon::pass", 8),
    "sve2, 4 lanes": ("sve2", "aarch64::sve2::pass", 4),
    "sve2, 8 lanes": ("sve2", "aarch64::sve2::pass", 8),
}
ARM_CPUS = [
    "cortex-a55", "cortex-a72", "neoverse-n1", "neoverse-n2", "neoverse-v1", "neoverse-v2", "apple-m1", "ampere1",
]  # fmt: skip
WITH_SVE2 = ["neoverse-n2", "neoverse-v2"]
BLOCKS = 200
# In a loop; the last has no message after it, and comes last.
ROUNDS = 6
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
    found = re.search(rf"<treewide::kernel::x86_64::{function}>:\n(.*?)\n\n", assembly, re.S)
    if not found:
        sys.exit(f"{program} has no function {function}")
    lines = re.findall(r"^ *([0-9a-f]+):\t(.*)$", found[1], re.M)
    return [(int(address, 16), text.split("#")[0].strip()) for address, text in lines]


def block(code):
    """Return the code from one block to the next: the outer loop, the rounds in it as often as they run."""
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


def traced(program, kernel, function, lanes):
    """Return the code from one block to the next in the middle of a chunk of each lane."""
    listing = run("aarch64-linux-gnu-objdump", "-d", "-C", "--no-show-raw-insn", program)
    code, head, inside = {}, None, False
    for line in listing.splitlines():
        if label := re.match(r"[0-9a-f]+ <(.*)>:", line):
            inside = label[1] == "treewide::kernel::" + function
        elif instruction := re.match(r" *([0-9a-f]+):\t(.*)", line):
            code[int(instruction[1], 16)] = (instruction[2], inside)
    with tempfile.TemporaryDirectory() as folder:
        log, chunks = f"{folder}/log", f"{folder}/chunks"
        with open(chunks, "wb") as file:
            file.write(bytes(1024 * lanes))
        emulate = ["qemu-aarch64", "-singlestep", "-d", "exec,nochain", "-D", log, "-E", f"TREEWIDE_KERNEL={kernel}"]
        run(*emulate, program, "sum", "--num-threads", "1", chunks)
        with open(log) as file:
            trace = [int(at, 16) for at in re.findall(r"\[[0-9a-f]+/([0-9a-f]+)/", file.read())]
    visits = [i for i, at in enumerate(trace) if code.get(at, ("", False))[1]]
    trace = trace[visits[0] : visits[-1] + 1]
    # Instructions that run once a block, except for the first or the last block, are the loop.
    counts = collections.Counter(trace)
    head = next(at for at in trace if counts[at] in (15, 16))
    heads = [i for i, at in enumerate(trace) if at == head]
    texts = [code[at][0] for at in trace[heads[7] : heads[8]]]
    jumps = r"(b|b\..*|cbn?z|tbn?z|bl|blr|br|ret)\t.*|ret$"
    texts = [re.split(r" *(?://|<)", text)[0] for text in texts if not re.match(jumps, text)]
    return [re.sub(r"^(adrp?\t\w+), .*", r"\1, 0", text) for text in texts]


def model(cpu, text, *options):
    output = run(MCA, f"-mcpu={cpu}", f"-iterations={BLOCKS}", *options, stdin=text)
    return round(int(re.search(r"Total Cycles: +(\d+)", output)[1]) / BLOCKS)


def cycles(code, cpu):
    text = "\n".join(re.sub(r"^(j\w+) .*", r"\1 1f", line) for line in code if "nop" not in line)
    text = re.sub(r"<.*?>", "", text)
    text = ".intel_syntax noprefix\n" + re.sub(r"\[rip\+0x\w+\]", "[rip+64]", text) + "\n1: nop\n"
    return model(cpu, text)


def table(title, cpus, ways, figure):
    print(re.search(r"\S+ version .*", run(MCA, "--version"))[0])
    print(f"{title:16}" + "".join(f"{way:>15}" for way in ways))
    for cpu in cpus:
        print(f"{cpu:16}" + "".join(f"{figure(cpu, way) or '-':>15}" for way in ways))


def one_lane():
    build = ["cargo", "test", "--release", "--quiet", "--lib", "-p", "treewide", "--no-run"]
    messages = run(*build, "--message-format=json").splitlines()
    program = next(filter(None, (json.loads(line).get("executable") for line in messages)))
    blocks = {way: block(instructions(program, function)) for way, function in WAYS.items()}

    def figure(cpu, way):
        has = cpu in WITH_AVX512 or "AVX-512" not in way
        return cycles(blocks[way], cpu) if has else None

    table("cycles a block", CPUS, WAYS, figure)


def aarch64():
    target = "aarch64-unknown-linux-gnu"
    os.environ["CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER"] = "aarch64-linux-gnu-gcc"
    os.environ["CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS"] = "-C target-feature=+crt-static -C relocation-model=static"
    build = ["cargo", "build", "--release", "--quiet", "-p", "treewide-cli", "--target", target]
    messages = run(*build, "--message-format=json").splitlines()
    program = next(filter(None, (json.loads(line).get("executable") for line in messages)))
    steps = {way: "\n".join(traced(program, *how)) for way, how in PASSES.items()}

    def figure(cpu, way):
        has = cpu in WITH_SVE2 or not way.startswith("sve2")
        return model(cpu, steps[way], f"-mtriple={target}") if has else None

    table("cycles a block", ARM_CPUS, PASSES, figure)


match sys.argv[1:]:
    case []:
        one_lane()
    case ["aarch64"]:
        aarch64()
    case _:
        sys.exit(__doc__)
