"""A new family is one config entry and one class, outside the project."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from conftest import ROOT, Project, copied

from sketchbench.base.errors import ConfigError
from sketchbench.plan import making as plan
from sketchbench.run.config.schema import SchemaError

CAPTURED: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
pytestmark = pytest.mark.workflow
PAGE = (ROOT / "docs" / "howto" / "family.md").read_text()


def example(language: str, marker: str) -> str:
    """The one code block of the page on families in this language with this text in it."""
    blocks = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    (block,) = (block for block in blocks if marker in block)
    return block


MODULE = example("python", "class HalfSigns")
CONFIG = example("yaml", "_target_: my_sketches.HalfSigns")


def write_folder(path: Path) -> Path:
    (path / "sketch").mkdir(parents=True)
    (path / "sketch" / "half_signs.yaml").write_text(CONFIG)
    (path / "my_sketches.py").write_text(MODULE)
    return path


ODD = "-a  b'c\"d$e%f#g: h,i*k é~[1]!&;|<>?`(l) #m\\'"


def test_a_family_of_ones_own(small: Path, tmp_path: Path) -> None:
    """It runs through every `sketch: all` study beside the others, and gets verdicts of its own; also in folders whose
    names have all letters that mean something to a shell, to YAML, to Hydra or to Snakemake."""
    project = copied(small, tmp_path / ODD.replace(":", "\n"))  # PYTHONPATH takes no colon
    folder = write_folder(tmp_path / ODD)
    study = "conf/study/tiny.yaml"
    project.edit(study, lambda text: text.replace("trials: 40", "trials: 20000"))
    project.succeed()
    reports = project.reports()
    assert project.rerun(f"folder={folder}") == {"half_signs/d12-b4"}
    assert project.reports() == reports
    verdicts = pd.read_csv(folder / "reports" / "smoke" / "claims.csv")
    mine = verdicts[verdicts["method"] == "half_signs"].set_index("claim")["verdict"]
    assert dict(mine) == {"S1": "holds", "S2x": "holds"}

    module = folder / "my_sketches.py"
    module.write_text(module.read_text().replace("(2 / self.b)", "(3 / self.b)"))
    reports = project.reports()
    assert project.rerun(f"folder={folder}") == {"half_signs/d12-b4"}
    assert project.reports() == reports
    verdicts = pd.read_csv(folder / "reports" / "smoke" / "claims.csv")
    mine = verdicts[verdicts["method"] == "half_signs"].set_index("claim")["verdict"]
    assert dict(mine) == {"S1": "fails", "S2x": "fails"}


def test_only_ones_own(project: Project, tmp_path: Path) -> None:
    """One's own family beside those asked for, in a folder of its own; what a config claims in vain is listed."""
    folder = write_folder(tmp_path / "mine")
    config = folder / "sketch" / "half_signs.yaml"
    config.write_text(config.read_text() + "  tails:\n    mine: {_target_: my_sketches.tail, _partial_: true}\n")
    module = folder / "my_sketches.py"
    module.write_text(module.read_text() + "\n\ndef tail(delta, d, b):\n    return 1 / delta\n")
    project.succeed(f"folder={folder}", "only=mine", "beside={sketch: [count_sketch]}")
    assert not (project.path / "reports").exists()
    assert {path.name for path in (project.path / "results").iterdir()} == {"composed.txt"}
    table = pd.read_csv(folder / "reports" / "smoke" / "tables" / "tiny.csv")
    assert set(table["method"]) == {"half_signs", "count_sketch"}
    records = (folder / "results" / "smoke" / "tiny").rglob("*.parquet")
    assert {path.parent.name for path in records} == {"half_signs", "count_sketch"}
    page = (folder / "reports" / "smoke" / "claims.md").read_text()
    assert "tails: half_signs: theory.tails.mine: no claim reads this name" in page


def test_a_checkout_that_snakemake_cannot_take(small: Path, tmp_path: Path) -> None:
    project = copied(small, tmp_path / "a{n}")
    code, output = project.run()
    assert code != 0
    assert f"{project.path}: Snakemake takes no path with braces; rename the folder" in output
    assert not (project.path / "results").exists()


def test_only_needs_a_folder() -> None:
    settings = yaml.safe_load((ROOT / "conf" / "workflow.yaml").read_text())
    with pytest.raises(SchemaError, match=r"settings: at only: 'own' is not one of \['', 'mine'\]"):
        plan.check_settings({**settings, "only": "own"})
    with pytest.raises(ConfigError, match="--only mine needs --folder DIR"):
        plan.check_settings({**settings, "only": "mine"})


def test_all_that_is_wrong_is_told_before_anything_is_run(project: Project, tmp_path: Path) -> None:
    """A line for each mistake, of YAML, of code and of a module that can't be imported, and no traceback."""
    folder = write_folder(tmp_path / "mine")
    config, module = folder / "sketch" / "half_signs.yaml", folder / "my_sketches.py"
    config.write_text(CONFIG.replace("embedding_constant: 2", "embedding_constant: two"))
    module.write_text(MODULE.replace("return Dense(", "return print("))
    other = CONFIG.replace("my_sketches", "others").replace("Half signs", "Other")
    (folder / "sketch" / "other.yaml").write_text(other)
    (folder / "others.py").write_text("def f(:\n")
    code, output = project.run(f"folder={folder}")
    assert code != 0
    lines = [line.strip() for line in output.splitlines() if "half_signs.yaml: " in line]
    assert len(lines) == 2, output
    assert lines[0].endswith("_draw returned a NoneType; it must return a Sketch")
    assert "theory.embedding_constant: 'two' must be a finite number" in lines[1]
    assert "others.py, line 1: SyntaxError: invalid syntax" in output
    assert "Traceback" not in output
    assert not (project.path / "results").exists()


EXPECTING = f"{CONFIG}expected: {{S1: holds, S2x: fails}}\n"


def steps_of_the_page() -> list[str]:
    """The commands of the workflow that the page shows, without the installation."""
    page = (ROOT / "docs" / "howto" / "gate.md").read_text(encoding="utf-8")
    (text,) = (block for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if "check --folder" in block)
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {"contents": "read"}
    (job,) = workflow["jobs"].values()
    commands = [step["run"] for step in job["steps"] if "run" in step]
    assert commands[0].startswith('pip install "sketchbench[torch,workflow] @ git+https://github.com/OWNER/')
    assert len(text.splitlines()) <= 16
    return commands[1:]


@pytest.mark.weekly
def test_a_repository_of_ones_own_in_ci(small: Path, tmp_path: Path) -> None:
    """The steps of the page pass if each verdict is the expected one, and fail if one is another."""
    project = Project(copied(small, tmp_path).path.rename(tmp_path / "sketchbench"))
    project.edit("conf/study/tiny.yaml", lambda text: text.replace("trials: 40", "trials: 20000"))
    project.edit("conf/workflow.yaml", lambda text: text.replace("srht", "uniform_sampling"))
    program = tmp_path / "bin" / "sketchbench"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m sketchbench "$@"\n')
    program.chmod(0o755)
    config = write_folder(tmp_path / "mine") / "sketch" / "half_signs.yaml"
    environment = {**project.environment(), "SCALE": "smoke"}
    environment["PATH"] = f"{program.parent}:{environment['PATH']}"

    def run() -> tuple[int, str]:
        for step in steps_of_the_page():
            done = subprocess.run(["bash", "-e", "-c", step], check=False, cwd=tmp_path, env=environment, **CAPTURED)
            if done.returncode:
                break
        return done.returncode, done.stdout

    config.write_text(EXPECTING.replace("fails", "holds"))
    code, said = run()
    assert (code, "2 of 2 as your files expect" in said) == (0, True), said
    config.write_text(EXPECTING)
    code, said = run()
    assert code == 1, said
    assert "S2x Half signs: holds; sketch/half_signs.yaml expects: fails" in said
    config.write_text(EXPECTING.replace("holds", "hold").replace("S2x", "S2y"))
    code, said = run()
    assert code == 1, said
    assert "expected: S1=hold is unknown; choose one of holds, " in said
    assert "expected: claim=S2y is unknown; choose one of S1, S2x" in said
