"""What `import sqlrank` costs and what it must not touch."""

import subprocess
import sys

import pytest

HEAVY = ("pandas", "matplotlib", "optuna", "fastapi", "ray", "pyarrow", "duckdb", "implicit", "sklearn")

SIDE_EFFECTS = """
import os, sys, threading, warnings
import ctypes, mmap

def mxcsr():
    code = bytes([0x0F, 0xAE, 0x1F, 0xC3])  # stmxcsr [rdi]; ret
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    word = ctypes.c_uint32(0)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)(ctypes.addressof(word))
    return word.value

import numpy, polars
before = (mxcsr() & 0xFFC0, list(warnings.filters), len(os.listdir("/proc/self/task")), dict(os.environ))
from sqlrank import *  # the package gives its names out on demand: this loads them all, and the compiled core
assert "sqlrank._core" in sys.modules
after = (mxcsr() & 0xFFC0, list(warnings.filters), len(os.listdir("/proc/self/task")), dict(os.environ))
assert before == after, (before, after)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc and runs x86 code")
def test_import_has_no_side_effects():
    subprocess.run([sys.executable, "-c", SIDE_EFFECTS], check=True)


def test_import_brings_nothing_heavy():
    code = f"import sys; from sqlrank import *; print([m for m in {HEAVY} if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
