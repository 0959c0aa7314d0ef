"""Runs the labs as other machines would, and compares what they give with the stored outputs.

The rule: a stand-in takes vector instructions from PyTorch, MKL, OpenBLAS, oneDNN and NumPy together, since each moves
the last bits of other functions, or gives the labs two threads. What this machine cannot do is "not run". With a
number, as in `portable.py 05`, one lab is run. The table at the end has the cells that differ by more than rounding.
"""

import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import check_outputs
import notebooks
import safe_files

ROOT = Path(__file__).resolve().parents[1]
# What PyTorch says it can do, then the switches of PyTorch, MKL, OpenBLAS and oneDNN; x86 only.
VECTORS = {
    "no vector code": ("DEFAULT", "default", "SSE4_2", "Nehalem", "SSE41"),
    "AVX2": ("AVX2", "avx2", "AVX2", "Haswell", "AVX2"),
    "AVX-512": ("AVX512", "avx512", "AVX512", "SkylakeX", "AVX512_CORE"),
}
IS_X86 = platform.machine() in ("x86_64", "AMD64")
SWITCHES = ("ATEN_CPU_CAPABILITY", "MKL_ENABLE_INSTRUCTIONS", "OPENBLAS_CORETYPE", "ONEDNN_MAX_CPU_ISA")
# IPython runs this before the first cell. A lab asks for one thread when it reads its switches; it does not get it.
TWO_THREADS = """import torch
torch.set_num_threads(2)
torch.set_num_threads = lambda number: None
"""


def numpy_features(stand_in: str) -> str:
    """Return what NumPy must not use: its own names for all that it chooses at run time, or for AVX-512 alone."""
    from numpy._core._multiarray_umath import __cpu_dispatch__ as chosen

    beyond = ("X86_V4", "AVX512") if stand_in == "AVX2" else ("",)
    return " ".join(name for name in chosen if name.startswith(beyond)) if stand_in != "AVX-512" else ""


def stand_ins(environment: dict[str, str], ipython: Path) -> dict[str, dict[str, str]]:
    """Return the environments by their names; an empty one stands for a machine that cannot be had here."""
    found = {"as it is, one thread": environment, "two threads": two_threads(environment, ipython)}
    for name, (capability, *values) in VECTORS.items():
        other = environment | dict(zip(SWITCHES, values, strict=True))
        other |= {"NPY_DISABLE_CPU_FEATURES": numpy_features(name)}
        found[name] = other if IS_X86 and capability_in(other) == capability else {}
    return found


def two_threads(environment: dict[str, str], ipython: Path) -> dict[str, str]:
    """Return an environment in which kernels have two threads and no cell can change that."""
    startup = ipython / "profile_default/startup/two_threads.py"
    startup.parent.mkdir(parents=True)
    startup.write_text(TWO_THREADS)
    threads = {name: "2" for name in environment if name.endswith("_NUM_THREADS")}
    return environment | threads | {"IPYTHONDIR": str(ipython)}


def capability_in(environment: dict[str, str]) -> str:
    """Return the vector instructions that PyTorch and NumPy find in an environment; "" where they do not start."""
    code = "import numpy, torch; print(torch.backends.cpu.get_cpu_capability())"
    answer = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    return answer.stdout.strip()


def main(root: Path, numbers: list[str]) -> int:
    """Run all labs below `root`, or one, under each stand-in; print the table and return the exit status."""
    labs = notebooks.numbered(root, numbers)
    stale = [lab.stem for lab in labs if notebooks.why_stale(lab)]
    if stale:
        print(f"Stale, so there is nothing to compare with: {', '.join(stale)}. Run `make labs` first.")
        return 1
    lines, wrong = [], False
    with tempfile.TemporaryDirectory() as folder:
        for name, environment in stand_ins(notebooks.kernel_environment(root), Path(folder) / "ipython").items():
            print(f"== {name}", flush=True)
            if not environment:
                lines.append((name, "", "not run", ""))
                continue
            status, cells = check_outputs.run(root, labs, environment, int(environment["OMP_NUM_THREADS"]))
            for lab in labs:
                own = cells[lab.stem]
                red = [str(place) for place, outcome in enumerate(own) if outcome]
                lines.append((name, lab.stem, str(len(own)), ", ".join(red) or "none"))
            wrong |= bool(status)
    print(f"\n{platform.machine()}, {os.cpu_count()} processors: {capability_in(dict(os.environ))}")
    for line in [("machine", "lab", "cells", "red cells, counted from 0"), *lines]:
        print("{:<22}{:<28}{:>8}  {}".format(*line))
    return int(wrong)


if __name__ == "__main__":
    safe_files.run(main, ROOT, sys.argv[1:])
