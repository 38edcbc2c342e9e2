"""Rules in folders of their own: a Snakefile that ends with `shell = isolated.shell` gives each job the sources, its
inputs and what its parameters name, and fails a job that writes anything that its rule does not name.

A data set that lies elsewhere is none of these: its checksum is in the name of what carries it."""

import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from snakemake.utils import format as filled

SOURCES = ("conf", "workflow", "sketchbench", "environment.yml")  # of the archive that Snakemake makes; no reports
ONE_AT_A_TIME = threading.Lock()  # of the jobs of a process: each takes home the folders that it has found
RAN = Path("isolated.txt")  # the names of the rules that ran
RULE = re.compile(r"^ *(?:use rule \w+ as|rule) (\w+)", re.MULTILINE)


def shell(command: str, **_: object) -> None:
    """Run the command of a job in an empty folder, and take home what its rule names. Raises AssertionError where the
    command fails, and for other files that it wrote."""
    job = sys._getframe(1).f_locals
    text = filled(command, stepout=2)
    given = [one for value in job["params"] for one in (value if isinstance(value, list) else [value])]
    named = {Path(one) for one in given if isinstance(one, (str, Path)) and len(str(one)) < 255 and str(one)}
    uses = {Path(path) for path in getattr(job["params"], "uses", ())}
    made = {Path(path) for path in (*job["output"], *job["log"])}
    with ONE_AT_A_TIME, TemporaryDirectory() as name:
        place = Path(name)
        read = [*map(Path, [*SOURCES, *job["input"]]), *uses, *(path for path in named if path.is_file())]
        for path in read:
            copy(path, place / path)
        for path in made:
            (place / path).parent.mkdir(parents=True, exist_ok=True)
        before = state(place)
        code = subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=place, check=False).returncode
        allowed = uses | made
        for path in allowed if code == 0 else map(Path, job["log"]):
            copy(place / path, path)
        assert code == 0, f"{job['rule']} lacks something, or fails"
        other = [path for path in state(place).items() - before.items() if not is_below(path[0], allowed)]
        assert not other, f"{job['rule']} wrote what it does not name: {sorted(str(path) for path, _ in other)}"
    with RAN.open("a") as file:
        file.write(f"{job['rule']}\n")


def is_below(path: Path, folders: Iterable[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def copy(source: Path, target: Path) -> None:
    """Copy a file or a folder in place of what is there; nothing if there is no source."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target)
    elif source.exists():
        shutil.copy2(source, target)


def state(folder: Path) -> dict[Path, tuple[int, int]]:
    """The size and time of every file below a folder, without what Python compiled."""
    files = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder): (path.stat().st_size, path.stat().st_mtime_ns) for path in files}


def rules(*files: Path) -> set[str]:
    """The names of the rules in files."""
    return {name for file in files for name in RULE.findall(file.read_text(encoding="utf-8"))}


def isolate(project: Any) -> None:
    """Let each rule of a project run in a folder of its own."""
    lines = f"import sys\n\nsys.path.append({str(Path(__file__).parent)!r})\nimport isolated\n\n"
    project.edit("workflow/Snakefile", lambda text: f"{text}\n\n{lines}shell = isolated.shell\n")
