"""Whatever a user's code does to its process is one line, and the other methods are checked all the same."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from own import CONFIG, MODULE, SKETCH, replaced, write

from sketchbench.inspection.check import FolderError, check_folder
from sketchbench.project import CONF

LIMIT = 3.0  # seconds; a sound family takes 0.1 of them
ROWS = "            signs ="
# What a family does when it is drawn from, and the words that tell it.
DEEDS = {
    "loops": ("while True: pass", f"did not end within {LIMIT:g} s; it was at loops.py, line 14, in rows_of"),
    "exits": (
        "import os; os._exit(0)",
        "exits.py, line 14, in rows_of: SystemExit: os._exit(0)",
    ),
    "leaves": ("import ctypes; ctypes.CDLL(None)._exit(3)", "its code ended the process with status 3"),
    "crashes": ("import ctypes; ctypes.string_at(0)", "crashed with SIGSEGV at crashes.py, line 14, in rows_of"),
    "killed": ("import os; os.kill(os.getpid(), 9)", "was killed, perhaps since it took too much memory"),
    "prints": ("print('{\"done\": 0}', flush=True)", None),
    "threads": ("import threading, time; threading.Thread(target=time.sleep, args=(60,)).start()", None),
}


def test_whatever_it_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = write(tmp_path / "mine", {"my_sketches.py": MODULE, SKETCH: CONFIG})
    for name, (deed, _) in DEEDS.items():
        module = replaced(MODULE, ROWS, f"            {deed}\n{ROWS}")
        config = replaced(CONFIG, "Half signs", name).replace("my_sketches", name)
        write(folder, {f"{name}.py": module, f"sketch/{name}.yaml": config})
    with pytest.raises(FolderError) as told:
        check_folder(folder, CONF, limit=LIMIT)
    lines = str(told.value).splitlines()
    expected = {name: words for name, (_, words) in sorted(DEEDS.items()) if words}
    assert len(lines) == len(expected), lines
    for line, (name, words) in zip(lines, expected.items(), strict=True):
        assert line.startswith(f"mine/sketch/{name}.yaml: "), line
        assert words in line, line


def test_by_hand(tmp_path: Path) -> None:
    """One task of one method: only that one is checked, with what was said on the command line; no traceback."""
    folder = write(tmp_path / "mine", {"my_sketches.py": MODULE, SKETCH: CONFIG, "sketch/other.yaml": "family: 3\n"})
    command = [
        sys.executable,
        "-m",
        "sketchbench",
        "run",
        "--folder",
        str(folder),
        "sketch=half_signs",
        "kernels=numpy",
    ]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}

    def run(*more: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([*command, *more], check=False, env=environment, capture_output=True, text=True)

    sound = run("task.trials=4", "task.pairs=[flat]")
    assert sound.returncode == 0, sound.stderr
    wrong = run("+sketch.family.s=4")
    assert wrong.returncode == 1
    assert wrong.stderr.splitlines() == [
        f"sketchbench: error: {folder}/sketch/half_signs.yaml: family.s: HalfSigns has no parameter s; it has none"
    ]
    late = replaced(MODULE, ROWS, f"            if self.d == 640: raise SystemExit(0)\n{ROWS}")
    write(folder, {"my_sketches.py": late.replace("if self.d == 640", "if self.d == 641")})
    ended = run("d=641")
    assert ended.returncode == 1
    assert "my_sketches.py, line 14, in rows_of: SystemExit: 0" in ended.stderr
    assert "Traceback" not in ended.stderr
