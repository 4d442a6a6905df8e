"""Checks and times the Python package on a GPU: python scripts/gpu.py QUICK, with the package installed.

First runs the programs for PyTorch in docs/gpu.md. Then hashes tensors of PyTorch, CuPy and JAX, and compares the digests
with those of copies on the CPU. Then times the 4,000 tensors of a model of 7 billion parameters against one tensor of
as many bytes. Exits with 1 if a digest is wrong, and with 77 if no library with a GPU is there.
"""

import re
import sys
import time
from pathlib import Path
from statistics import median

import treewide
from treewide import gpu

quick = len(sys.argv) > 1 and sys.argv[1] == "1"
checked = wrong = 0


def check(name, tensors, to_cpu, **options):
    global checked, wrong
    expected = treewide.hash_many([to_cpu(it) for it in tensors])
    for found in (gpu.hash_many(tensors, **options), [gpu.digest(it, **options) for it in tensors]):
        checked += 1
        if list(found) != list(expected):
            wrong += 1
            print(f"WRONG: {name}")
    print(f"{name}: {len(tensors)} tensors, {expected[0].hex()[:16]}...")


def of_torch():
    import torch

    torch.zeros(1, device="cuda")
    text = (Path(__file__).parents[1] / "docs" / "gpu.md").read_text()
    for program in re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        exec(program, {})
    tensors = [torch.randn(n, device="cuda") for n in (0, 1, 1_000_003)]
    tensors += [tensors[2].to(torch.bfloat16), torch.arange(70_001, dtype=torch.uint8, device="cuda")[1:]]
    check("torch", tensors, lambda it: it.cpu())
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    check("torch, a stream", tensors, lambda it: it.cpu(), stream=stream)
    out = torch.empty((len(tensors), 32), dtype=torch.uint8, device="cuda")
    gpu.hash_many_to(tensors, out, stream=torch.cuda.current_stream())
    check_out = out.cpu().numpy().tobytes() == treewide.hash_many([it.cpu() for it in tensors]).tobytes()
    print("hash_many_to:", "right" if check_out else "WRONG")
    return check_out, torch


def of_cupy():
    import cupy

    arrays = [cupy.random.rand(n) for n in (1, 1000, 1_000_003)]
    check("cupy", arrays, cupy.asnumpy)
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.get_current_stream().synchronize()
    check("cupy, a stream", arrays, cupy.asnumpy, stream=stream)


def of_jax():
    import jax
    import numpy

    if jax.devices()[0].platform != "gpu":
        raise RuntimeError("JAX has no GPU here")
    check("jax", [jax.numpy.arange(n, dtype="float32") for n in (1, 1000, 1_000_003)], numpy.asarray)


def time_model(torch):
    """Makes tensors of the sizes of a model of 7 billion parameters of two bytes each: 32 layers of 125 tensors."""
    items = 7_000_000 if quick else 7_000_000_000
    layer = [items // 32 // 8] * 7 + [items // 32 // 8 // 118] * 118
    one = torch.empty(32 * sum(layer), dtype=torch.bfloat16, device="cuda").normal_()
    many = list(one.split(layer * 32))
    times = {"many": [], "one": []}
    for _ in range(7):
        for name, call in (("many", lambda: gpu.hash_many(many)), ("one", lambda: gpu.digest(one))):
            torch.cuda.synchronize()
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    ratio = median(many / one for many, one in zip(times["many"], times["one"], strict=True))
    print(
        f"{len(many)} tensors of {one.nbytes / 1e9:.2f} GB: {median(times['many']) * 1e3:.2f} ms; one tensor: "
        f"{median(times['one']) * 1e3:.2f} ms; ratio {ratio:.3f} (bar 1.2)"
    )


for found in gpu.devices():
    print(found)
right, torch = True, None
for library in (of_torch, of_cupy, of_jax):
    try:
        result = library()
    except Exception as error:
        print(f"NOT RUN: {library.__name__}: {type(error).__name__}: {error}")
    else:
        if result is not None:
            right, torch = result
if torch is not None:
    time_model(torch)
if checked == 0:
    sys.exit(77)
sys.exit(1 if wrong or not right else 0)
