#!/usr/bin/env python3
"""CUDA kernels without a GPU: builds them with NVRTC, and counts what is in the machine code.

    scripts/cuda.py build            writes crates/treewide-gpu/kernels/built/
    scripts/cuda.py build --check    compares the files there with a new build
    scripts/cuda.py census           writes what is counted to kernels/built/census.txt
    scripts/cuda.py census --check   compares, and with the limits in LIMITS below
    scripts/cuda.py where            prints the folder of NVRTC, for programs that load it

NVRTC and the disassembler are Python packages, of exactly these versions, as others give other code:

    pip install nvidia-cuda-nvrtc-cu12==12.9.86 nvidia-cuda-nvdisasm==13.5.37

Exits with 77 where they are not installed.
"""

import collections
import ctypes
import glob
import os
import re
import subprocess
import sys
import sysconfig

# The last that knows compute capability 7.5 and machine code that drivers from 525 on take.
NVRTC = ("nvidia-cuda-nvrtc-cu12", "12.9.86", "cuda_nvrtc/lib/libnvrtc.so.12")
NVDISASM = ("nvidia-cuda-nvdisasm", "13.5.37", "cu13/bin/nvdisasm")

KERNELS = os.path.join(os.path.dirname(__file__), "..", "crates", "treewide-gpu", "kernels")
BUILT = os.path.join(KERNELS, "built")
MACHINE_CODE = ["sm_80", "sm_90", "sm_100", "sm_120"]
PTX = "compute_75"
# Each includes only what is before it; `module.rs` has the same order.
SHARED = ["params", "compress", "memory", "chunk", "reduce"]
STAGES = ["blobs", "parents", "tiles", "whole", "xof"]
SOURCES = [f"shared/{it}.cuh" for it in SHARED] + [f"cuda/{it}.cu" for it in STAGES]

# The loop in which one thread hashes a chunk, for each block of 64 bytes, on sm_90: the most instructions, the most
# of them on the ALU pipe (the bottleneck), and no spills.
HOT = ["blobs", "tiles", "tiles_by_four", "whole"]
LIMITS = {"instructions": 740, "alu": 570, "local": 0}

# Which pipe of sm_80 to sm_90 takes an instruction, as far as it is one of the two that count.
FMA = re.compile(r"^(IMAD|FFMA|FMUL|FADD|IDP)")
ALU = re.compile(
    r"^(LOP3|PRMT|SHF|IADD3?|VIADD|ISETP|SEL|LEA|IMNMX|VIMNMX|MOV|ICMP|VABSDIFF|SHL|SHR|PLOP3|R2P|P2R|IABS)\b"
)


def missing(package, version):
    print(f"SKIPPED: no {package} {version}: pip install {package}=={version}")
    sys.exit(77)


def find(tool):
    package, version, path = tool
    folder = sysconfig.get_paths()["purelib"]
    found = glob.glob(os.path.join(folder, package.replace("-", "_") + "-" + version + ".dist-info"))
    path = os.path.join(folder, "nvidia", path)
    if not found or not os.path.exists(path):
        missing(package, version)
    return path


def source():
    lines = []
    for name in SOURCES:
        with open(os.path.join(KERNELS, name)) as file:
            lines += [it for it in file.read().splitlines() if not it.startswith(("#include", "#pragma once"))]
    return "\n".join(lines) + "\n"


class Compiler:
    def __init__(self):
        self.nvrtc = ctypes.CDLL(find(NVRTC))

    def __call__(self, text, arch):
        nvrtc = self.nvrtc
        program = ctypes.c_void_p()
        options = [f"-arch={arch}", "-std=c++17"]
        array = (ctypes.c_char_p * len(options))(*[it.encode() for it in options])
        nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"treewide.cu", 0, None, None)
        status = nvrtc.nvrtcCompileProgram(program, len(options), array)
        log = self.get(program, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog)
        if log.strip(b"\0\n "):
            print(log.rstrip(b"\0").decode())
        if status != 0:
            sys.exit(f"NVRTC cannot compile for {arch}")
        if arch.startswith("compute"):
            result = self.get(program, nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX).rstrip(b"\0")
        else:
            result = self.get(program, nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN)
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
        return result

    @staticmethod
    def get(program, size_of, fill):
        size = ctypes.c_size_t()
        size_of(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        fill(program, buffer)
        return buffer.raw


def settle(path, data, check):
    """Writes a file, or says whether it is what would be written."""
    name = os.path.relpath(path)
    if not check:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)
        print(f"{name}: {len(data)} bytes")
        return True
    try:
        with open(path, "rb") as file:
            same = file.read() == data
    except OSError:
        same = False
    print(f"{name}: " + ("is what the sources give" if same else "DIFFERS from the result"))
    return same


def build(check):
    compile = Compiler()
    text = source()
    good = [settle(os.path.join(BUILT, arch + ".cubin"), compile(text, arch), check) for arch in MACHINE_CODE]
    good.append(settle(os.path.join(BUILT, PTX + ".ptx"), compile(text, PTX), check))
    return all(good)


def functions(cubin):
    """Returns for each kernel its instructions and labels in order."""
    text = subprocess.run(
        [find(NVDISASM), "-c", cubin], check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ).stdout
    result, current = {}, None
    for line in text.splitlines():
        if section := re.match(r"\s*\.section\s+(\S+?)[,\s]", line):
            name = section[1]
            current = result.setdefault(name[6:], []) if name.startswith(".text.") else None
        elif current is None:
            continue
        elif label := re.match(r"(\.L_x_\d+):", line):
            current.append((label[1], None))
        elif instruction := re.match(r"\s*/\*[0-9a-f]{4,}\*/\s+(?:\{\s*)?(.*?)\s*;", line):
            current.append((None, instruction[1]))
    return result


def operation(instruction):
    return re.sub(r"^@!?U?P\w+\s+", "", instruction).split()[0].split(".")[0]


def loops(body):
    """The instructions of loops in which there is at least one compression."""
    at = {label: i for i, (label, _) in enumerate(body) if label}
    for i, (_, instruction) in enumerate(body):
        target = re.search(r"BRA\S*\s.*`\((\.L_x_\d+)\)", instruction or "")
        if target and at.get(target[1], i) < i:
            inside = [it for _, it in body[at[target[1]] : i + 1] if it]
            if sum(operation(it) == "PRMT" for it in inside) >= 112:
                yield inside


def count(instructions):
    counts = collections.Counter(map(operation, instructions))
    alu = sum(n for it, n in counts.items() if ALU.match(it))
    fma = sum(n for it, n in counts.items() if FMA.match(it))
    total = sum(counts.values())
    local = counts["LDL"] + counts["STL"]
    return counts, {"instructions": total, "alu": alu, "fma": fma, "local": local}


def census(check):
    """Counts instructions of the files that `build` has written."""
    lines = ["# Written by scripts/cuda.py census: what the loops with a compression in them consist of."]
    good, hot = True, set(HOT)
    for arch in MACHINE_CODE:
        for name, body in sorted(functions(os.path.join(BUILT, arch + ".cubin")).items()):
            instructions = [it for _, it in body if it]
            registers = {int(it) for line in instructions for it in re.findall(r"\bR(\d+)\b", line)}
            lines.append(f"{arch} {name}: {len(instructions)} instructions, {max(registers) + 1} registers")
            found = sorted(map(count, loops(body)), key=lambda it: it[1]["instructions"])
            for number, (counts, sums) in enumerate(found):
                most = ", ".join(f"{it} {n}" for it, n in counts.most_common(8))
                lines.append(
                    f"  loop {number}: {sums['instructions']} instructions, {sums['alu']} ALU, "
                    f"{sums['fma']} FMA, {sums['local']} local memory: {most}"
                )
            if arch == "sm_90" and name in HOT and found:
                hot.remove(name)
                for what, limit in LIMITS.items():
                    number = found[0][1][what]
                    print(f"{arch} {name}: {number} {what} for a block of 64 bytes, limit {limit}")
                    good = good and number <= limit
    if hot:
        sys.exit(f"there is no such loop in {', '.join(sorted(hot))}")
    return settle(os.path.join(BUILT, "census.txt"), ("\n".join(lines) + "\n").encode(), check) and good


def main():
    words = sys.argv[1:]
    if words in (["build"], ["build", "--check"]):
        good = build("--check" in words)
    elif words in (["census"], ["census", "--check"]):
        good = census("--check" in words)
    elif words == ["where"]:
        print(os.path.dirname(find(NVRTC)))
        good = True
    else:
        sys.exit(__doc__)
    sys.exit(0 if good else 1)


main()
