"""The stand-in for NVIDIA's driver, whose devices are the CPU."""

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

KERNELS = Path(__file__).parents[3] / "crates" / "treewide-gpu" / "kernels"


def has_driver():
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def standin_driver(folder):
    """The path of a library that is late: work is done when a caller waits for it."""
    compiler = shutil.which(os.environ.get("CXX", "g++"))
    if sys.platform != "linux" or compiler is None:
        pytest.skip("the stand-in for the driver is made for Linux, by g++")
    if has_driver():
        pytest.skip("this machine has NVIDIA's driver")
    library = folder / "libcuda.so"
    sources = [KERNELS / "cuda" / "host" / name for name in ("stages.cpp", "driver.cpp")]
    flags = ["-std=c++17", "-O1", "-w", "-U_FORTIFY_SOURCE", "-shared", "-fPIC", "-Wl,-soname,libcuda.so"]
    subprocess.run([compiler, *flags, "-o", library, *sources, "-ldl"], check=True)
    return str(library)
