"""One arithmetic on all processors that have the instructions of x86-64-v3: the same bits from each of them.

NumPy, OpenBLAS, MKL, oneDNN, torch and Numba each choose code for the processor that they find, and so add in another
order on another one. A training or an attack amplifies the last bit of a sum until a verdict may change. The libraries
read environment variables when they are loaded; `hold` sets these variables before.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

LEVEL, NATIVE = "x86-64-v3", "native"
CHOICE = "SKETCHBENCH_ARITHMETIC"  # the variable by which a user asks for `native`
INSTRUCTIONS = {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"}  # of the level, as Linux calls them
LIBRARIES = ("numpy", "scipy", "numba", "torch")  # that read the variables

VARIABLES = {
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    "OPENBLAS_CORETYPE": "Haswell",
    "MKL_CBWR": "COMPATIBLE",  # MKL's other branches give Intel's processors other sums than all others
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "ATEN_CPU_CAPABILITY": "avx2",
    "NUMBA_CPU_NAME": LEVEL,
    "NUMBA_CPU_FEATURES": "",  # none beside those of the level
    "NUMBA_DISABLE_INTEL_SVML": "1",
}
# Sums depend on how many threads share them. These are defaults: the workflow gives each job its number.
THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
WAITING = {"OMP_WAIT_POLICY": "passive"}  # threads that spin take the cores from those that work


def hold(environment: Mapping[str, str] = os.environ) -> str:
    """Hold this process and its children to `LEVEL`, where the processor has it and `CHOICE` does not ask for `NATIVE`.
    Where one of `LIBRARIES` was imported before, it has chosen its code, so nothing is held. Returns the name of the
    arithmetic, as of `name`. Raises ValueError for another value of `CHOICE`."""
    os.environ.update({key: value for key, value in WAITING.items() if key not in environment})
    chosen = environment.get(CHOICE, LEVEL)
    if chosen not in (LEVEL, NATIVE):
        raise ValueError(f"{CHOICE}={chosen} must be {LEVEL} or {NATIVE}; unset it for {LEVEL}")
    late = any(library in sys.modules for library in LIBRARIES)
    if chosen == LEVEL and has_level() and not is_held() and not late:
        os.environ.update(VARIABLES)
        os.environ.update({key: value for key, value in THREADS.items() if key not in environment})
    return name()


def has_level(cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Whether the processor has the instructions of `LEVEL`, as far as Linux says; False elsewhere."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    flags = next((line for line in lines if line.startswith("flags")), "")
    return set(flags.split()) >= INSTRUCTIONS


def is_held() -> bool:
    """Whether the variables of `LEVEL` are set in this process."""
    return all(os.environ.get(key) == value for key, value in VARIABLES.items())


def name() -> str:
    """The arithmetic of this process: its level, and the number of threads that share a sum where it is not one."""
    threads = os.environ.get("OMP_NUM_THREADS", "")
    level = LEVEL if is_held() else NATIVE
    return level if threads == "1" else f"{level}, {threads or 'all'} threads"
