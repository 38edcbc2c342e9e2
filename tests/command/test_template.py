"""What `sketchbench new` writes works as it is (a task: tests/workflow), and no file is overwritten."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from sketchbench.base import project
from sketchbench.command import new
from sketchbench.command.main import main
from sketchbench.command.plan import plan_of
from sketchbench.plan.inspection.check import check_folder
from sketchbench.run.config.composition import METHODS


def test_a_new_sketch_and_a_new_recovery(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    main(["new", "sketch", "new_family"])
    main(["new", "recovery", "new_recovery"])
    assert "sketchbench run --folder mine task=moments sketch=new_family" in capsys.readouterr().out
    monkeypatch.syspath_prepend(str(tmp_path / "mine"))
    check_folder(tmp_path / "mine")

    from new_family import NewFamily, norm, second_moment  # type: ignore[import-not-found]
    from new_recovery import NewRecovery  # type: ignore[import-not-found]

    for s in (1, 3, 5):
        R = NewFamily(6, 4, s).draw(7, operators=100_000, kernels="numba").materialize()
        gram = R.swapaxes(-1, -2) @ R
        g, h = np.random.default_rng(0).standard_normal((2, 6))
        squares = (gram @ h @ g) ** 2
        norms = ((gram @ h) ** 2).sum(-1)
        for found, exact in ((squares, second_moment(g, h, b=4, s=s)), (norms, norm(h, b=4, s=s))):
            assert abs(found.mean() - exact) < 6 * found.std() / len(found) ** 0.5  # 2e-9 by chance

    from sketchbench.sketch import SubsampledHadamard

    x = np.zeros((2, 256))
    x[:, [3, 80, 200]] = [1.0, -2.0, 3.0]
    phi = SubsampledHadamard(256, 128, signs=False).draw(7, kernels="numpy")
    assert np.allclose(NewRecovery(3).recover(phi, phi.sketch(x)).x, x, atol=1e-2)


@pytest.mark.parametrize("kind", METHODS)
def test_a_folder_of_any_kind_can_be_planned(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"planned_{kind}"
    new.write(kind, name, tmp_path / "mine")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "mine"), *sys.path])
    study = {"sketch": "moments", "recovery": "reconstruction", "compressor": "compressor_contract"}[kind]
    plan = plan_of({"scale": "smoke", "studies": study, "folder": str(tmp_path / "mine"), "only": "mine"})
    assert name in {run.columns["method"] for run in plan.runs[study].values()}


def test_a_task_is_of_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project, "HOME", tmp_path)
    with pytest.raises(SystemExit, match=r"a new task, which is a part of the project, .* `git clone` the project"):
        main(["new", "task", "lengths"])
    with pytest.raises(ValueError, match=r"is taken by .*conf/task/moments\.yaml"):
        new.write("task", "moments", tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_page_on_tasks_shows_these_files(tmp_path: Path) -> None:
    module, *configs = new.write("task", "lengths", tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "howto" / "task.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert module.read_text(encoding="utf-8").endswith(shown)
    blocks = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert [yaml.safe_load(block) for block in blocks] == [yaml.safe_load(path.read_text()) for path in configs]


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    config, _ = new.write("sketch", "first", tmp_path)
    config.write_text("mine")
    with pytest.raises(ValueError, match="exists; choose another name, or remove it"):
        new.write("sketch", "first", tmp_path)
    assert config.read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Upper", "must have lower-case letters, digits and _"),
        ("a-b", "must have lower-case letters"),
        ("../x", "must have lower-case letters"),
        ("", "must have lower-case letters"),
        ("class", "not be a word of Python"),
        ("all", "not be a word of Python"),
        ("srht", "is taken by .*conf/sketch/srht.yaml"),
        ("numpy", "is taken by an installed Python module"),
        ("json", "is taken by an installed Python module"),
    ],
)
def test_bad_names(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        new.write("sketch", name, tmp_path)
    assert not list(tmp_path.iterdir())
