"""One arithmetic on all processors with the instructions of x86-64-v3: the same bits from each of them.
NumPy, OpenBLAS, MKL, oneDNN, torch and Numba choose code for the processor, and so sum in different orders. A training
or an attack amplifies the last bit of a sum until a verdict may change. The libraries read environment variables when
they are loaded; `hold` sets these variables before."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

LEVEL, NATIVE = "x86-64-v3", "native"
CHOICE = "SKETCHBENCH_ARITHMETIC"  # a user sets this variable to `native`
INSTRUCTIONS = {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"}  # the level's, as Linux names them
LIBRARIES = ("numpy", "scipy", "numba", "torch")  # they read the variables

VARIABLES = {
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    "OPENBLAS_CORETYPE": "Haswell",
    "MKL_CBWR": "COMPATIBLE",  # MKL's other branches sum differently on Intel's processors
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "ATEN_CPU_CAPABILITY": "avx2",
    "NUMBA_CPU_NAME": LEVEL,
    "NUMBA_CPU_FEATURES": "",  # only the level's
    "NUMBA_DISABLE_INTEL_SVML": "1",
}
# Sums depend on the number of threads. These are defaults: the workflow sets the number for each job.
THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
WAITING = {"OMP_WAIT_POLICY": "passive"}  # spinning threads take cores from working threads


def hold(environment: Mapping[str, str] = os.environ) -> str:
    """Hold this process and its children to `LEVEL` if the processor has it, unless `CHOICE` asks for `NATIVE` or one
    of `LIBRARIES` was imported before. Returns `name()`. Raises ValueError for another value of `CHOICE`."""
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
    """Return whether Linux reports the instructions of `LEVEL`; False on other systems."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    flags = next((line for line in lines if line.startswith("flags")), "")
    return set(flags.split()) >= INSTRUCTIONS


def is_held() -> bool:
    """Return whether the variables of `LEVEL` are set in this process."""
    return all(os.environ.get(key) == value for key, value in VARIABLES.items())


def name() -> str:
    """The arithmetic of this process: its level, and the number of threads of a sum unless that is 1."""
    threads = os.environ.get("OMP_NUM_THREADS", "")
    level = LEVEL if is_held() else NATIVE
    return level if threads == "1" else f"{level}, {threads or 'all'} threads"
