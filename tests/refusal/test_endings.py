"""How programs end: interrupted, out of memory, with a bug, without a reader; and without a place for Numba's cache."""

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ending import ending

from sketchbench.base.errors import message
from sketchbench.command.program import BUG, program
from sketchbench.run.config.schema import SCALES

ROOT = Path(__file__).parents[2]


def ended(error: BaseException) -> Any:
    """The ending of a program in which this error is raised."""

    @program
    def main(_: list[str] | None = None) -> None:
        raise error

    return ending(main, [])


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("two\nlines"), "two lines"),
        (TypeError("\x1b[31mred"), "[31mred"),
        (ValueError(), "ValueError"),
        (OSError(28, "No space left on device", "x"), "No space left on device"),
        (MemoryError("Unable to allocate 7 TiB"), "not enough memory (Unable to allocate 7 TiB); lower d, b"),
        (MemoryError(), "not enough memory (no size is known)"),
        (RecursionError("maximum recursion depth exceeded"), "nested too deeply"),
        (FloatingPointError("no number"), "no number"),
        (ModuleNotFoundError("No module named 'x'"), "No module named 'x'"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), "invalid start byte"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_mistake_is_one_line(error: BaseException, words: str) -> None:
    end = ended(error)
    assert not end.faults(words)
    assert "\n" not in message(error)


def test_an_interruption() -> None:
    end = ended(KeyboardInterrupt())
    assert (end.code, end.err) == (130, "sketchbench: interrupted\n")


@pytest.mark.parametrize("error", [KeyError("x"), AttributeError("x"), AssertionError(), IndexError(3)])
def test_a_bug_says_that_it_is_one(error: Exception) -> None:
    end = ended(error)
    assert end.code == BUG
    assert end.err.startswith("Traceback")
    assert end.err.splitlines()[-1] == "sketchbench: this is a bug; please report it with the lines above"


def test_exit_codes_are_kept() -> None:
    assert ended(SystemExit(3)).code == 3


def run(*command: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120)


def test_a_closed_pipe_is_silent() -> None:
    done = run(
        "sh",
        "-c",
        f"{shlex.quote(sys.executable)} -m sketchbench plan --runs --scale smoke --kernels numba | head -n 1",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 1


def test_no_standard_input() -> None:
    done = run("sh", "-c", f"{shlex.quote(sys.executable)} -m sketchbench step job --receipt none.done <&-")
    assert done.returncode == 1
    assert done.stderr == "sketchbench: error: the batch must come as JSON on standard input, which is empty\n"


SMALL = ["-m", "sketchbench", "run", "d=12", "b=4", "task.trials=3"]


def test_numba_without_its_compiler() -> None:
    done = run(sys.executable, *SMALL, "kernels=numba", NUMBA_DISABLE_JIT="1")
    assert done.returncode == 1
    assert done.stderr == (
        "sketchbench: error: kernels=numba can't run here: NUMBA_DISABLE_JIT takes its compiler away; unset it, or use "
        "kernels=numpy\n"
    )
    assert run(sys.executable, *SMALL, "kernels=numpy", NUMBA_DISABLE_JIT="1").returncode == 0


def test_numba_without_a_place_for_its_cache() -> None:
    """Neither that of the variable, nor that beside the source, nor one in the user's home."""
    code = (
        "import numba.core.caching as c; c.CacheImpl._locator_classes = []\n"
        "from sketchbench.command.main import main; main(['run', 'd=12', 'b=4', 'task.trials=3', 'kernels=numba'])"
    )
    done = run(sys.executable, "-c", code)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "set NUMBA_CACHE_DIR to a folder that you can write to" in done.stderr


def test_a_user_without_a_home(tmp_path: Path) -> None:
    done = run(sys.executable, *SMALL, "kernels=numpy", HOME=str(tmp_path / "none"))
    assert done.returncode == 0, done.stderr


def test_the_scales_are_those_of_conf() -> None:
    assert sorted(path.stem for path in (ROOT / "conf" / "scale").glob("*.yaml")) == sorted(SCALES)
