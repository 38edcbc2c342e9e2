"""A new family is one config entry and one class, outside the project."""

import re
from pathlib import Path

import pandas as pd
import pytest
from conftest import ROOT, Project

pytestmark = pytest.mark.workflow
README = (ROOT / "README.md").read_text()


def example(language: str, marker: str) -> str:
    """The one code block of the README in this language with this text in it."""
    blocks = re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)
    (block,) = (block for block in blocks if marker in block)
    return block


MODULE = example("python", "class HalfSigns")
CONFIG = example("yaml", "_target_: my_sketches.HalfSigns")


def write_folder(path: Path) -> Path:
    (path / "sketch").mkdir(parents=True)
    (path / "sketch" / "half_signs.yaml").write_text(CONFIG)
    (path / "my_sketches.py").write_text(MODULE)
    return path


def test_a_family_of_ones_own(project: Project, tmp_path: Path) -> None:
    """It runs through every `sketch: all` study beside the others, and gets verdicts of its own."""
    folder = write_folder(tmp_path / "my (sketches), 8")  # not a plain name
    study = "conf/study/tiny.yaml"
    project.edit(study, lambda text: text.replace("trials: 40", "trials: 20000"))
    project.succeed()
    assert project.rerun(f"folder={folder}") == {"half_signs/d12-b4"}
    verdicts = pd.read_csv(project.path / "reports" / "smoke" / "claims.csv")
    mine = verdicts[verdicts["method"] == "half_signs"].set_index("claim")["verdict"]
    assert dict(mine) == {"S1": "holds", "S2x": "holds"}

    module = folder / "my_sketches.py"
    module.write_text(module.read_text().replace("(2 / self.b)", "(3 / self.b)"))
    assert project.rerun(f"folder={folder}") == {"half_signs/d12-b4"}
    verdicts = pd.read_csv(project.path / "reports" / "smoke" / "claims.csv")
    mine = verdicts[verdicts["method"] == "half_signs"].set_index("claim")["verdict"]
    assert dict(mine) == {"S1": "fails", "S2x": "fails"}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("my_sketches.py", "import no_such_module\n", "No module named 'no_such_module'"),
        ("my_sketches.py", "def f(:\n", "my_sketches.py, line 1: invalid syntax"),
        ("my_sketches.py", "x = 1\n", "HalfSigns"),
        ("sketch/half_signs.yaml", CONFIG.replace("my_sketches", "nobodys"), "nobodys"),
    ],
)
def test_a_module_that_cannot_be_imported(project: Project, tmp_path: Path, name: str, text: str, message: str) -> None:
    folder = write_folder(tmp_path / "mine")
    (folder / name).write_text(text)
    code, output = project.run(f"folder={folder}")
    assert code != 0
    assert message in output
    assert "Traceback" not in output
    assert not (project.path / "results").exists()
