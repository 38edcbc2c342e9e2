"""Names in a user's folder: whatever would be ignored, hidden or mixed up is one line that says what to do."""

from pathlib import Path

import pytest
from own import CONFIG, MODULE, SKETCH, write

from sketchbench.base.project import CONF
from sketchbench.plan.inspection import files

SOUND = {SKETCH: CONFIG, "my_sketches.py": MODULE}
RECOVERY = "algorithm: {_target_: m.A}\nsensing: {_target_: m.B}\n"
CASES = {
    "the name of one of ours": (
        {"sketch/srht.yaml": "label: Mine\n"},
        ["mine/sketch/srht.yaml: has the name of ", "conf/sketch/srht.yaml, which takes precedence"],
    ),
    "that of a recovery of ours": ({"recovery/fiht.yaml": RECOVERY}, ["has the name of ", "conf/recovery/fiht.yaml"]),
    "that of an objective of ours": (
        {"objective/digits.yaml": "a: 1\n"},
        ["has the name of ", "objective/digits"],
    ),
    "a control": (
        {"sketch/control/own.yaml": "label: Mine\n"},
        ["sketch/control/own.yaml: would be ignored", "negative controls are the project's"],
    ),
    "a folder below": ({"sketch/new/own.yaml": "label: Mine\n"}, ["would be ignored", "move it up to"]),
    ".yml": ({"sketch/mine.yml": CONFIG}, ["sketch/mine.yml: would be ignored", "rename it to mine.yaml"]),
    ".YAML": ({"sketch/mine.YAML": CONFIG}, ["mine.YAML: would be ignored", "rename it to mine.yaml"]),
    ".json": ({"recovery/mine.json": "{}"}, ["mine.json: would be ignored", "rename it"]),
    "outside of groups": (
        {"own.yaml": CONFIG},
        ["own.yaml: would be ignored; move it into one of the folders sketch"],
    ),
    "a mistyped group": ({"sketches/own.yaml": CONFIG}, ["sketches: its YAML files", "call the folder sketch"]),
    "no group at all": ({"stuff/own.yaml": CONFIG}, ["stuff: its YAML files would be ignored"]),
    "a study": ({"study/own.yaml": "task: moments\n"}, ["study: its YAML", "belongs into conf/study of the project"]),
    "a space in the name": ({"sketch/my own.yaml": "label: Mine\n"}, ["the name 'my own' must have letters, digits"]),
    "a sign that Hydra reads": ({"sketch/a=b.yaml": "label: Mine\n"}, ["the name 'a=b' must have letters, digits"]),
    "the word all": ({"sketch/all.yaml": "label: Mine\n"}, ["the name 'all' is reserved by studies or YAML"]),
    "the word null": ({"sketch/null.yaml": "label: Mine\n"}, ["the name 'null' is reserved by studies or YAML"]),
    "a module of Python": ({"random.py": ""}, ["random.py: would hide Python's own module random; rename it"]),
    "an installed module": ({"numpy.py": ""}, ["numpy.py: would hide the module numpy in ", "rename it"]),
    "an installed package": ({"scipy/__init__.py": ""}, ["scipy: would hide the module scipy in "]),
    "sketchbench": ({"sketchbench/__init__.py": ""}, ["sketchbench: would hide sketchbench itself; rename it"]),
}


@pytest.mark.parametrize("case", CASES)
def test_one_line_for_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    monkeypatch.chdir(tmp_path)
    wrong, words = CASES[case]
    (line,) = files.mistakes(write(tmp_path / "mine", SOUND | wrong), CONF)
    assert all(word in line for word in words), line


def test_what_does_no_harm(tmp_path: Path) -> None:
    """Notes, hidden files, caches, data, and what runs write."""
    harmless = (
        *("README.md", "sketch/notes.txt", ".git/config.yaml", "__pycache__/a.yaml", "data/x.csv", "sketch/.x.yaml"),
        *(
            "results/quick/a.yaml",
            "reports/quick/b.yml",
            "logs/x.yaml",
            "sketch/half_signs.yaml~",
            "helpers/__init__.py",
        ),
    )
    assert files.mistakes(write(tmp_path, SOUND | dict.fromkeys(harmless, "")), CONF) == []


def test_all_mistakes_are_listed(tmp_path: Path) -> None:
    wrong = {"sketch/srht.yaml": "label: a\n", "sketch/mine.yml": "", "numpy.py": "", "x.yaml": ""}
    assert len(files.mistakes(write(tmp_path, SOUND | wrong), CONF)) == 4
