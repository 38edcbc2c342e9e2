"""One arithmetic for all processors: what is set before libraries are loaded is what they compute with."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sketchbench.base import arithmetic
from sketchbench.base.arithmetic import CHOICE, LEVEL, NATIVE, THREADS, VARIABLES, WAITING

HERE = Path(__file__).parent
needs_level = pytest.mark.skipif(not arithmetic.has_level(), reason=f"this processor lacks {LEVEL}")

# What each library says that it computes with.
ASK = """
import json
from sketchbench import arithmetic
{before}
held = arithmetic.hold()
import numpy, scipy.linalg, torch, threadpoolctl
from numpy._core._multiarray_umath import __cpu_features__
from numba.core.registry import cpu_target
code = cpu_target.target_context.codegen()
print(json.dumps({{
    "held": held,
    "numpy": __cpu_features__["X86_V4"],
    "openblas": [one["architecture"] for one in threadpoolctl.threadpool_info() if one["internal_api"] == "openblas"],
    "torch": torch.backends.cpu.get_cpu_capability(),
    "numba": code._get_host_cpu_name(),
    "threads": torch.get_num_threads(),
}}))
"""


def clean(**variables: str) -> dict[str, str]:
    mine = {*VARIABLES, *THREADS, *WAITING, CHOICE}
    return {**{key: value for key, value in os.environ.items() if key not in mine}, **variables}


def asked(before: str = "", **variables: str) -> dict[str, object]:
    command = [sys.executable, "-W", "error::ImportWarning", "-c", ASK.format(before=before)]
    done = subprocess.run(command, env=clean(**variables), capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


@needs_level
def test_every_library_computes_at_the_level() -> None:
    found = asked()
    assert found == {
        "held": LEVEL,
        "numpy": False,
        "openblas": ["Haswell", "Haswell"],
        "torch": "AVX2",
        "numba": LEVEL,
        "threads": 1,
    }


@needs_level
def test_mkl_has_the_branch_that_all_processors_share() -> None:
    code = "from sketchbench import arithmetic; arithmetic.hold(); import torch; a = torch.ones(9, 9); a @ a"
    done = subprocess.run(
        [sys.executable, "-c", code], env=clean(MKL_VERBOSE="1"), capture_output=True, text=True, check=True
    )
    assert "CNR:COMPATIBLE" in done.stdout


@needs_level
def test_threads_and_the_native_arithmetic_are_the_users_choice() -> None:
    assert asked(OMP_NUM_THREADS="2")["held"] == f"{LEVEL}, 2 threads"
    native = asked(**{CHOICE: NATIVE})
    assert native["held"] == f"{NATIVE}, all threads"


@needs_level
def test_what_was_loaded_before_is_not_held() -> None:
    """NumPy has chosen its code by then; the name says that nothing is held."""
    found = asked(before="import numpy")
    assert found["held"] == f"{NATIVE}, all threads"
    assert found["numba"] != LEVEL


def test_another_choice_is_refused() -> None:
    with pytest.raises(ValueError, match="SKETCHBENCH_ARITHMETIC=fast must be x86-64-v3 or native"):
        arithmetic.hold({CHOICE: "fast"})


@pytest.mark.parametrize(
    ("flags", "has"),
    [("avx avx2 bmi1 bmi2 f16c fma abm movbe avx512f", True), ("avx bmi1 bmi2 f16c fma abm movbe", False), ("", False)],
)
def test_the_level_is_read_from_the_processor(tmp_path: Path, flags: str, has: bool) -> None:
    (tmp_path / "cpuinfo").write_text(f"processor\t: 0\nflags\t\t: fpu {flags} sse\n\nprocessor\t: 1\n")
    assert arithmetic.has_level(tmp_path / "cpuinfo") is has
    assert not arithmetic.has_level(tmp_path / "elsewhere")


@needs_level
def test_tests_are_held() -> None:
    assert arithmetic.is_held()


@needs_level
def test_short_computations_have_the_same_bits_as_elsewhere() -> None:
    """A run of each task. Other code differs (`--write` then), or another processor than docs/howto/ci.md lists."""
    program = HERE / "short_computations.py"
    done = subprocess.run(
        [sys.executable, str(program)], env=clean(), capture_output=True, text=True, check=False, timeout=1200
    )
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
