"""`make .venv/ready` takes what locks have, or a build of torch that pip's own settings offer; pip is a stand-in."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCKED = "install --no-deps --no-build-isolation --no-compile --require-hashes --use-pep517 --requirement"
# Notes its arguments, makes an environment with itself as Python, and knows the versions of torch.
PYTHON = """#!/bin/sh
echo "$*" >> "$LOG"
case "$*" in
  "-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
  "-m pip index versions torch") echo "Available versions: $VERSIONS" ;;
esac
"""


def calls(folder: Path, versions: str) -> list[str]:
    """What pip is asked for, where the index has these versions of torch."""
    for path in [*ROOT.glob("requirements*.lock"), ROOT / "Makefile", ROOT / "pyproject.toml"]:
        shutil.copy(path, folder)
    python, log = folder / "stand-in", folder / "log"
    python.write_text(PYTHON)
    python.chmod(0o755)
    environment = {**os.environ, "LOG": str(log), "VERSIONS": versions, "MAKEFLAGS": "", "MAKELEVEL": "0"}
    command = ["make", ".venv/ready", f"PYTHON={python}"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (folder / ".venv" / "ready").exists()
    installs = [line.partition(" install ") for line in log.read_text().splitlines() if " install " in line]
    return [f"install {rest}" for _, _, rest in installs]


@pytest.mark.parametrize(
    ("versions", "torch"),
    [
        ("2.14.1, 2.13.0, 2.12.0", f"{LOCKED} requirements-torch.lock"),
        ("2.14.1, 2.13.0+cpu, 2.13.0", f"{LOCKED.partition(' --require-hashes')[0]} torch==2.13.0+cpu"),
        ("2.14.1+cpu, 2.13.0, 12.13.0+cpu", f"{LOCKED} requirements-torch.lock"),
        ("", f"{LOCKED} requirements-torch.lock"),
    ],
)
def test_torch_is_the_locked_one_or_a_build_of_it_that_is_offered(tmp_path: Path, versions: str, torch: str) -> None:
    assert calls(tmp_path, versions) == [
        f"{LOCKED} requirements-build.lock",
        f"{LOCKED} requirements.lock",
        torch,
        f"{LOCKED.partition(' --require-hashes')[0]} --editable .",
    ]
