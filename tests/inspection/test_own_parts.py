"""The check of a user's data set, model and partition: the templates pass, and each mistake is one line."""

from pathlib import Path

import numpy as np
import pytest

from sketchbench.command.new import write
from sketchbench.plan.inspection.check import OwnMethod, check_folder, mistakes
from sketchbench.run.config.composition import PARTS, user_folder

MISTAKES = [
    (
        "dataset",
        "return Dataset(",
        "return (lambda *parts: parts)(",
        "it gave a tuple; it must give a sketchbench.learning.dataset.dataset",
    ),
    ("dataset", "default_rng(0)", "default_rng()", "a second reading gave other images or labels"),
    ("dataset", "integers(0, 4, count)", "integers(2, 3, count)", "all training labels are 2; there must be two"),
    ("dataset", "integers(0, 4, count)", "integers(0, 5, count) % 5", "IndexError"),
    ("dataset", "def load(train: int,", "def load(training: int,", "missing a required argument: 'training'"),
    ("model", "nn.Linear(filters * (height // 2) * (width // 2), classes)", "nn.Identity()", "are of shape (3, 128)"),
    ("model", "return self.scores(self.body(images))", "return self.scores(self.body(images)) / 0", "finite numbers"),
    ("model", "class Templated(nn.Module)", "class Templated(dict)", "must give a torch.nn.Module"),
    ("partition", "default_rng(seed)", "default_rng()", "clients have other samples at the same seed"),
    ("partition", "return list(", "return set(map(len, [])), list(", "client 0: a set must be a NumPy array (n,)"),
]


def written(kind: str, folder: Path, old: str = "", new: str = "") -> list[str]:
    """The mistakes of the template with one of its parts replaced."""
    name = f"part_{abs(hash((kind, old, new, str(folder)))) % 10**8}"
    _, module = write(kind, name, folder)
    text = module.read_text()
    old = old.replace("Templated", f"Part{name.removeprefix('part_')}").replace('label"', f'Part {name[5:]}"')
    new = new.replace("Templated", f"Part{name.removeprefix('part_')}").replace('label"', f'Part {name[5:]}"')
    assert old in text
    module.write_text(text.replace(old, new) if old else text)
    user_folder(folder)
    return mistakes(OwnMethod(kind, name), folder)


def test_the_templates_are_sound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in PARTS:
        assert written(kind, tmp_path) == []
    check_folder(tmp_path)


@pytest.mark.parametrize(("kind", "old", "new", "words"), MISTAKES)
def test_mistakes_are_listed(tmp_path: Path, kind: str, old: str, new: str, words: str) -> None:
    lines = written(kind, tmp_path, old, new)
    assert len(lines) == 1, lines
    assert words in lines[0]
    assert lines[0].startswith(str(tmp_path / kind))


def test_a_partition_by_users_is_tried_on_data_with_users(tmp_path: Path) -> None:
    """Whichever of the folder's data sets that is; without one, the mistake says so."""
    name, module = write("partition", "part_of_users", tmp_path)
    module.write_text(module.read_text().replace("seed: int,", "seed: int, users: np.ndarray,"))
    module.write_text(module.read_text().replace("len(labels)", "len(users)"))
    user_folder(tmp_path)
    assert "has no len()" in " ".join(mistakes(OwnMethod("partition", name.stem), tmp_path))
    (tmp_path / "dataset").mkdir()
    for number, users in enumerate([{}, {"users": np.arange(60) % 6}]):
        path = tmp_path / f"{number}.npz"
        np.savez(path, images=np.arange(60, dtype=np.uint8).reshape(60, 1, 1), labels=np.arange(60) % 3, **users)
        text = f"_target_: sketchbench.learning.dataset.own.arrays\n_partial_: true\npath: {path}\nwhite: 59\n"
        (tmp_path / "dataset" / f"data_{number}.yaml").write_text(text)
    check_folder(tmp_path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("_partial_: true", "must have a _target_, the name of a module"),
        ("_target_: sketchbench.learning.dataset.own.arrays\n_partial_: true\npth: x", "pth"),
        ("_target_: sketchbench.learning.dataset.own.arrays\n_partial_: true\npath: x.npz", "file not found in"),
        ("[1]", "at.yaml"),
    ],
)
def test_mistakes_of_the_file(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "dataset").mkdir()
    (tmp_path / "dataset" / "at.yaml").write_text(text)
    lines = mistakes(OwnMethod("dataset", "at"), tmp_path)
    assert len(lines) == 1, lines
    assert words in lines[0]
