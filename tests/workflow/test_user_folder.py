"""A new family is one config entry and one class, outside the project."""

from pathlib import Path

import pandas as pd
import pytest
from conftest import ROOT, Project

pytestmark = pytest.mark.workflow
MODULE = '''\
from dataclasses import dataclass

from sketchbench.sketch.dense import Dense
from sketchbench.sketch.draws import ENTRIES, ROWS, Draws
from sketchbench.sketch.family import Family


@dataclass(frozen=True)
class Achlioptas(Family):
    """Entries √(3/b) times +1, 0, -1 with probabilities 1/6, 2/3, 1/6."""

    def _draw(self, draws: Draws) -> Dense:
        signs = draws.sign_rows(ENTRIES, 0, self.b, self.d)
        third = draws.integers(ROWS, self.b * self.d, 3).reshape(signs.shape) == 0
        matrix = signs * third * (3 / self.b) ** 0.5
        return Dense(
            draws.kernels, self.d, self.b, draws.operators, lambda row, rows: matrix[:, row : row + rows]
        )
'''
CONFIG = """\
name: achlioptas
label: Achlioptas
family:
  _target_: my_sketches.Achlioptas
theory:
  embedding_constant: {a}
  second_moment: {{_target_: sketchbench.theory.second_moment.gaussian, _partial_: true}}
"""


def write_folder(path: Path, a: float = 3) -> Path:
    (path / "sketch").mkdir(parents=True)
    (path / "sketch" / "achlioptas.yaml").write_text(CONFIG.format(a=a))
    (path / "my_sketches.py").write_text(MODULE)
    return path


def test_a_family_of_ones_own(project: Project, tmp_path: Path) -> None:
    """It runs through every `sketch: all` study beside the others, and gets verdicts of its own."""
    folder = write_folder(tmp_path / "mine")
    study = "conf/study/tiny.yaml"
    project.edit(study, lambda text: text.replace("trials: 40", "trials: 20000"))
    project.succeed()
    assert project.rerun(f"folder={folder}") == {"achlioptas/d12-b4"}
    verdicts = pd.read_csv(project.path / "reports" / "smoke" / "claims.csv")
    mine = verdicts[verdicts["subject"] == "Achlioptas"].set_index("claim")["verdict"]
    assert dict(mine) == {"S1": "holds", "S2x": "holds"}

    module = folder / "my_sketches.py"
    module.write_text(module.read_text().replace("(3 / self.b)", "(2 / self.b)"))
    assert project.rerun(f"folder={folder}") == {"achlioptas/d12-b4"}
    verdicts = pd.read_csv(project.path / "reports" / "smoke" / "claims.csv")
    mine = verdicts[verdicts["subject"] == "Achlioptas"].set_index("claim")["verdict"]
    assert dict(mine) == {"S1": "fails", "S2x": "fails"}


def test_the_readme_shows_this_example() -> None:
    readme = (ROOT / "README.md").read_text()
    assert MODULE in readme
    assert CONFIG.format(a=3) in readme


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("my_sketches.py", "import no_such_module\n", "No module named 'no_such_module'"),
        ("my_sketches.py", "x = 1\n", "Achlioptas"),
        ("sketch/achlioptas.yaml", CONFIG.replace("my_sketches", "nobodys"), "nobodys"),
    ],
)
def test_a_module_that_cannot_be_imported(
    project: Project, tmp_path: Path, name: str, text: str, message: str
) -> None:
    folder = write_folder(tmp_path / "mine")
    (folder / name).write_text(text.format(a=3) if name.endswith("yaml") else text)
    code, output = project.run(f"folder={folder}")
    assert code != 0
    assert message in output
    assert "Traceback" not in output
    assert not (project.path / "results").exists()
