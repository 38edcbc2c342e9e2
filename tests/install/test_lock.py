"""`make resolve` asks an index as anybody has it, and sees whatever a lock has that is not what its extras need."""

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
_SPEC = importlib.util.spec_from_file_location("lock", ROOT / ".ci" / "lock.py")
lock = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(lock)

TEXT = """one==1.0 \\
    --hash=sha256:aa \\
    --hash=sha256:bb
two==2.0 ; python_full_version < '3.12' \\
    --hash=sha256:cc
"""
EVERYWHERE = " and ".join(sorted(lock.EVERYWHERE))


def test_what_is_written_is_what_is_read() -> None:
    assert set(lock.LOCKS) == {path.name for path in ROOT.glob("requirements*.lock")}
    for name in lock.LOCKS:
        text = (ROOT / name).read_text(encoding="utf-8")
        assert lock.written(lock.read(text)) == text, name


def test_only_markers_that_tell_something_are_kept() -> None:
    given = TEXT.replace("one==1.0", f"one==1.0 ; {EVERYWHERE}").replace("'3.12'", f"'3.12' and {EVERYWHERE}")
    assert lock.read(given) == lock.read(TEXT)
    assert lock.written(lock.read(TEXT)) == TEXT


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("one==1.0", "one==1.1"), ["one==1.0 is missing", "one==1.1 is not needed by its extras"]),
        (("sha256:bb", "sha256:dd"), ["one==1.0 has a hash that is of no file of the index, or none"]),
        ((" \\\n    --hash=sha256:cc", ""), ["'3.12' has a hash that is of no file of the index, or none"]),
        (("two==2.0 ; python_full_version < '3.12'", "two==2.0"), ["'3.12' is missing", "two==2.0 is not needed"]),
    ],
)
def test_a_lock_that_is_wrong(change: tuple[str, str], said: list[str]) -> None:
    found = lock.differences("a.lock", lock.read(TEXT.replace(*change)), lock.read(TEXT))
    assert len(found) == len(said)
    assert all(words in line for words, line in zip(said, found, strict=True))


def test_a_new_file_of_a_locked_version_is_no_mistake() -> None:
    """As wheels for another processor, which are uploaded later."""
    found = lock.read(TEXT.replace("sha256:bb", "sha256:bb \\\n    --hash=sha256:ee"))
    assert lock.differences("a.lock", lock.read(TEXT), found) == []


def test_no_setting_of_the_machine_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    def run(command: list[str], **options: Any) -> SimpleNamespace:
        seen.update(options["env"], command=command)
        return SimpleNamespace(returncode=0, stdout=TEXT, stderr="")

    monkeypatch.setattr(subprocess, "run", run)
    for name in ("PIP_FIND_LINKS", "PIP_CONFIG_FILE", "UV_FIND_LINKS", "UV_INDEX", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.setenv(name, "/somewhere")
    monkeypatch.setenv("PIP_INDEX_URL", "/mirror")
    assert lock.compiled(["one==1.0"], ["test"]) == lock.read(TEXT)
    assert {name for name in seen if name.startswith(("PIP_", "UV_"))} == {"UV_DEFAULT_INDEX"}
    assert seen["UV_DEFAULT_INDEX"] == "/mirror"
    assert seen["XDG_CONFIG_HOME"] == "/nonexistent"


def test_a_resolution_that_fails_ends_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    failing = SimpleNamespace(returncode=1, stdout="", stderr="No solution found: torch==2.13.0")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failing)
    with pytest.raises(SystemExit, match=r"torch==2\.13\.0"):
        lock.compiled(["one==1.0"])


# `make .venv/ready` takes what locks have, or a build of torch that pip's own settings offer; pip is a stand-in


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
