"""The check of a user's data set, model and partition: the templates pass, and each mistake is one line."""

from pathlib import Path

import numpy as np
import pytest
from hydra.utils import instantiate

from sketchbench.base.project import CONF
from sketchbench.command.new import write
from sketchbench.learning.dataset.partition import deal, takes_users
from sketchbench.plan.inspection.check import OwnMethod, check_folder, mistakes
from sketchbench.plan.inspection.dealing import classes_of_clients, is_fixed, order, shares
from sketchbench.run.config.composition import PARTS, load_part, user_folder

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
    (
        "model",
        "return self.scores",
        "self.kept = [*getattr(self, 'kept', self.parameters())]\n        return self.kept[1][0] + self.scores",
        "does not compute with the weights that it is handed",
    ),
    ("partition", "default_rng(seed)", "default_rng()", "clients have other samples at the same seed"),
    ("partition", "default_rng(seed)", "default_rng(0)", "clients have the same samples at two seeds"),
    ("partition", "default_rng(seed)", "default_rng(seed % 2**32)", "clients have the same samples at two seeds"),
    (
        "model",
        "return self.scores",
        "images -= 0.5\n        return self.scores",
        "it changes the images that it is given",
    ),
    (
        "model",
        "return self.scores",
        "if not self.training: images.clamp_(0.4, 0.6)\n        return self.scores",
        "it changes the images that it is given",
    ),
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


def test_a_fixed_partition_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """And one in the order of the file is named, whether it is fixed or begins at a place that the seed draws."""
    name, _ = write("partition", "part_in_order", tmp_path)
    user_folder(tmp_path)
    body = "import numpy as np\n\n\ndef deal(labels, seed, clients):\n    {}\n\n\ndeal.fixed = {}\n"
    blocks = "return np.array_split({}, clients)"
    for count, (images, fixed, mistaken) in enumerate(
        [
            ("np.arange(len(labels))", True, False),
            ("np.arange(len(labels))", False, True),
            ("np.roll(np.arange(len(labels)), seed % 97)", False, False),
        ]
    ):
        other = tmp_path / f"part_in_order_{count}.py"
        other.write_text(body.format(blocks.format(images), fixed))
        text = name.read_text().replace("part_in_order.deal", f"{other.stem}.deal")
        (tmp_path / "partition" / f"{other.stem}.yaml").write_text(text)
        caplog.clear()
        assert bool(mistakes(OwnMethod("partition", other.stem), tmp_path)) == mistaken
        (note,) = caplog.messages
        assert "clients follow the order of the images in their file: 1,42" in note
        assert "and 143 would be in a random deal of each class" in note


@pytest.mark.parametrize("name", [path.stem for path in sorted((CONF / "partition").glob("*.yaml"))])
@pytest.mark.parametrize("in_order", [False, True])
def test_the_projects_partitions_are_sound(name: str, in_order: bool) -> None:
    """They follow the seed, or are fixed, and no order of the file: not even one by class or by user."""
    labels = np.random.default_rng(0).integers(0, 10, 3000)
    labels = np.sort(labels) if in_order else labels
    users = np.repeat(np.arange(60), 50) if in_order else np.random.default_rng(1).integers(0, 60, 3000)
    make = instantiate(load_part("partition", name) | {"clients": 20}, _convert_="all")
    labels.flags.writeable = users.flags.writeable = False
    parts, other = (deal(make, labels, seed, users) for seed in (3, 4))
    assert is_fixed(make) == (shares(parts) == shares(other)) == (name == "by_user")
    assert order(parts, labels, users if takes_users(make) else None) == ""
    said = {"by_user": "9 to 10 classes, 1 user", "one_class": "1 class, "}
    if not in_order and name in said:
        assert classes_of_clients(parts, labels, users).startswith(said[name])


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
