"""What a hostile or careless folder says: one line each, before anything hangs or runs."""

import os
from pathlib import Path

import pytest
from own import CONFIG, MODULE, SKETCH, replaced, write

from sketchbench.base.errors import ConfigError, FolderError
from sketchbench.base.project import CONF
from sketchbench.command.main import main
from sketchbench.plan.inspection.check import OwnMethod, mistakes
from sketchbench.run.config.composition import Composer, compose, frozen, user_folder
from sketchbench.run.config.overrides import groups
from sketchbench.run.config.targets import ANY_TARGET

BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join(9 * [f'*{before}'])}]\n" for before, name in zip("abcdefghi", "bcdefghij", strict=True)
)
FILES = {
    "a bomb": (BOMB, "more than 10000 values"),
    "a bomb of merges": (
        "a: &a {x: 1, y: 2, z: 3}\n"
        + "".join(
            f"{n}: &{n} {{<<: [{','.join(9 * [f'*{m}'])}]}}\n" for m, n in zip("abcdefg", "bcdefgh", strict=True)
        ),
        "more than 10000 values, by merges",
    ),
    "a blank letter": (CONFIG.replace("Half signs", "\u3164"), "must have printable"),
    "a tower of accents": (CONFIG.replace("Half signs", f"a{20 * chr(0x301)}"), "must have printable"),
    "a loop": ("a: &a [*a]", "contains itself"),
    "a header": (f"# @package _global_\n{CONFIG}", "the header '# @package _global_' fills another section; remove it"),
    "a late header": (f"# mine\n\n  #@package foo\n{CONFIG}", "fills another section"),
    "an escape sequence": (CONFIG.replace("Half signs", '"\\e[31mred"'), r"'\x1b[31mred' must have printable"),
    "another direction": (CONFIG.replace("Half signs", "a\u202eb"), r"'a\u202eb' must have printable"),
    "a hidden key": (f'{CONFIG}  tails: {{"a\\0b": 1}}\n', r"'a\x00b' must have printable"),
    "a long string": (CONFIG.replace("Half signs", 5000 * "x"), "and at most 1000; change it"),
    "a long file": (f"# {2**20 * 'x'}\n{CONFIG}", "and the most is 1048576; shorten it"),
    "another folder": (f"defaults: [/photos/x@_here_, _self_]\n{CONFIG}", "'/photos/x@_here_' is in none of"),
    "a parent": (f"defaults: [override /../x: y]\n{CONFIG}", "is in none of"),
}


@pytest.mark.parametrize("case", FILES)
def test_files(folder: Path, case: str, capsys: pytest.CaptureFixture[str]) -> None:
    """By a command, with the exit code of a user's mistake."""
    text, words = FILES[case]
    write(folder, {"my_sketches.py": MODULE, SKETCH: text})
    with pytest.raises(SystemExit) as end:
        main(["run", "--folder", "mine", "--cfg", "job", "sketch=half_signs"])
    (line,) = str(end.value.code).splitlines()
    assert line.startswith("sketchbench: error: mine/sketch/half_signs.yaml: "), line
    assert words in line


@pytest.mark.parametrize("group", groups(CONF))
def test_each_group(folder: Path, group: str) -> None:
    write(folder, {"my_sketches.py": MODULE, SKETCH: CONFIG, f"{group}/x.yaml": BOMB})
    with pytest.raises(FolderError, match=f"mine/{group}/x.yaml: .*more than 10000 values"):
        user_folder(folder)


def test_what_is_no_file(folder: Path) -> None:
    write(folder, {SKETCH: CONFIG})
    os.mkfifo(folder / "sketch" / "pipe.yaml")
    (folder / "sketch" / "zero.yaml").symlink_to("/dev/zero")
    with pytest.raises(FolderError) as caught:
        user_folder(folder)
    assert str(caught.value).count("is no plain file; rename it") == 2


@pytest.mark.parametrize("name", ["a\x1b[31m", "a\u202eb", "a\udcff"])
def test_names_of_files(folder: Path, name: str) -> None:
    """Which --help lists."""
    write(folder, {f"sketch/{name}.yaml": CONFIG})
    with pytest.raises(FolderError, match="the name must have printable characters; rename it") as caught:
        user_folder(folder)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("label", [81 * "x", "a\tb", "a\nb", " "])
def test_labels(folder: Path, label: str) -> None:
    text = replaced(CONFIG, "label: Half signs", f"label: {label!r}".replace("'", '"'))
    (line,) = mistakes(OwnMethod("sketch", "half_signs"), write(folder, {"my_sketches.py": MODULE, SKETCH: text}))
    assert "must be one line of at most 80 printable characters" in line


QUOTED = '"${..a%d}"'
REFERENCES = {
    "of strings": [f"a{n}: '{9 * f'${{sketch.a{n - 1}}}'}'" for n in range(1, 9)],
    "of lists": [f"a{n}: [{','.join(9 * [QUOTED % (n - 1)])}]" for n in range(1, 9)],
    "in a section": [f"a{n}: {{b: '{9 * f'${{..a{n - 1}.b}}'}'}}" for n in range(1, 9)],
    "of a key": ["key: a0", "a1: '${sketch.${sketch.key}}'"],
}


@pytest.mark.parametrize("kind", REFERENCES)
def test_references_that_multiply(folder: Path, kind: str) -> None:
    first = "a0: {b: x}" if kind == "in a section" else "a0: x"
    text = "\n".join([CONFIG.rstrip(), first, *REFERENCES[kind], ""])
    (line,) = mistakes(OwnMethod("sketch", "half_signs"), write(folder, {"my_sketches.py": MODULE, SKETCH: text}))
    words = "has a reference in a reference" if kind == "of a key" else "references repeat more than 10000 values"
    assert words in line


def test_references_that_multiply_in_a_part(folder: Path) -> None:
    text = "\n".join(["_target_: own_parts.f", "_partial_: true", "a0: x", *REFERENCES["of strings"]])
    write(folder, {"own_parts.py": "def f(**own):\n    pass\n", "dataset/x.yaml": text.replace("sketch.", "dataset.")})
    (line,) = mistakes(OwnMethod("dataset", "x"), folder)
    assert "references repeat more than 10000 values" in line


def test_a_section_that_stays_empty(folder: Path) -> None:
    """One line without the check of files, too."""
    write(folder, {"sketch/x.yaml": "# @package _global_\nscale: {trials: 3}\n"})
    with pytest.raises(ConfigError, match="sketch=x fills no section sketch"):
        frozen(compose(["sketch=x"], folder=folder), folder)


# Targets: what Hydra would call, in the place of a parameter

HOSTILE = {
    "touch": "{_target_: pathlib.Path.touch, self: {_target_: pathlib.Path, _args_: [seen]}}",
    "in a list": "[[{_target_: pathlib.Path.touch}]]",
    "a builtin": "{_target_: builtins.eval, _args_: ['1']}",
    "a package": "{_target_: numpy.load, file: x.npy, allow_pickle: true}",
    "the project's writer": "{_target_: sketchbench.base.files.write_text, path: seen, text: x}",
    "its earlier name": "{_target_: sketchbench.files.write_text, path: seen, text: x}",
    "the project's git": "{_target_: sketchbench.base.project.git, _args_: [status]}",
    "what a public module imports": "{_target_: sketchbench.learning.dataset.own.Path, _args_: [seen]}",
    "a private function": "{_target_: sketchbench.learning.dataset.own._files, _args_: [seen]}",
    "through torch.nn": "{_target_: torch.nn.modules.torch.load, f: x.pt}",
    "no layer": "{_target_: torch.nn.functional.torch.load, f: x.pt}",
    "through one's own module": "{_target_: my_sketches.os.system, _args_: ['touch seen']}",
    "a lookup": "{_target_: hydra.utils.get_method, path: os.system}",
    "a lookup by position": "{_target_: hydra.utils.get_object, _args_: [os.environ]}",
    "a call": "{_target_: hydra.utils.instantiate, config: {}}",
    "what one's own module imports": "{_target_: my_sketches.getcwd}",
    "under a name of one's own": "{_target_: my_sketches.joined, _args_: [a, b]}",
    "what it imports by a star": "{_target_: my_sketches.expanduser, path: '~'}",
    "by a module between": "{_target_: between.getcwd}",
    "an import alone": "{_target_: antigravity}",
    "the program": "{_target_: __main__.main}",
    "an interpolation": "{_target_: '${sketch.label}'}",
    "a mapping that is made": "${oc.create:{_target_:pathlib.Path.touch}}",
}


def hostile(folder: Path, value: str) -> Path:
    label = "Half signs" if "sketch.label" not in value else "os.system"
    code = f"import os\n{IMPORTS}" + replaced(MODULE, "    def _draw", "    s: object = 1\n\n    def _draw")
    text = replaced(CONFIG, "theory:", f"  s: {value}\ntheory:").replace("Half signs", label)
    return write(folder, {"my_sketches.py": code, SKETCH: text, "between.py": "from my_sketches import *\n"})


IMPORTS = "from os import getcwd\nfrom os.path import *\nfrom os.path import join as joined\n"


@pytest.mark.parametrize("case", HOSTILE)
def test_targets(folder: Path, case: str) -> None:
    hostile(folder, HOSTILE[case])
    (line,) = mistakes(OwnMethod("sketch", "half_signs"), folder)
    assert line.startswith("mine/sketch/half_signs.yaml: _target_: "), line
    assert f"set {ANY_TARGET}=1 to allow it" in line
    assert not Path("seen").exists()


@pytest.mark.parametrize("target", ["3", "null", "[a.b]", "{_target_: os.getcwd}"])
@pytest.mark.parametrize("allowed", [False, True])
def test_targets_that_are_no_names(folder: Path, target: str, allowed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ANY_TARGET, str(int(allowed)))
    hostile(folder, f"{{_target_: {target}}}")
    (line,) = mistakes(OwnMethod("sketch", "half_signs"), folder)
    assert "must be the name of a class, with its module" in line


@pytest.mark.parametrize("kind", ["dataset", "model", "partition"])
def test_targets_of_parts(folder: Path, kind: str) -> None:
    text = f"_target_: my_parts.f\n_partial_: true\nx: {HOSTILE['touch']}\n"
    write(folder, {"my_parts.py": "def f(x, **others):\n    pass\n", f"{kind}/x.yaml": text})
    (line,) = mistakes(OwnMethod(kind, "x"), folder)
    assert "_target_: pathlib.Path.touch is outside of the folder's modules" in line
    assert not Path("seen").exists()


def test_another_package_beside_a_folder_of_its_name(folder: Path) -> None:
    """A folder `numpy` without an `__init__` hides nothing, so that `numpy.load` is NumPy's."""
    hostile(folder, HOSTILE["a package"])
    write(folder, {"numpy/load.py": ""})
    (line,) = mistakes(OwnMethod("sketch", "half_signs"), folder)
    assert "_target_: numpy.load is outside" in line


@pytest.mark.parametrize(
    "value",
    [
        "{_target_: torch.nn.ReLU}",
        "{_target_: hydra.utils.get_method, path: my_sketches.second_moment}",
        "{_target_: hydra.utils.get_method, _args_: null, path: my_sketches.second_moment}",
        "{_target_: between.second_moment, _partial_: true}",
        "{_target_: sketchbench.CountSketch, d: 8, b: 4}",
        "{_target_: sketchbench.sketch.sparse.SparseEmbedding, d: 8, b: 4, s: 2}",
        "{_target_: my_sketches.second_moment, _partial_: true}",
    ],
)
def test_targets_that_are_allowed(folder: Path, value: str) -> None:
    hostile(folder, value)
    frozen(compose(["sketch=half_signs"], folder=folder), folder)


def test_all_targets_of_the_project_are_allowed(folder: Path) -> None:
    """As parts of a composition with a folder: each task, on a method of its own."""
    write(folder, {SKETCH: CONFIG})
    for path in sorted((CONF / "task").glob("*.yaml")):
        frozen(compose([f"task={path.stem}"], folder=folder), folder)


def test_all_targets_by_wish(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And no memory of compositions lifts the limit later."""
    hostile(folder, "{_target_: pathlib.PurePath, _args_: [x]}")
    user = user_folder(folder)
    monkeypatch.setenv(ANY_TARGET, "1")
    allowing = Composer(folder=user)
    allowing.resolved(("sketch=half_signs",), {}, "")
    allowing.remember()
    monkeypatch.delenv(ANY_TARGET)
    with pytest.raises(ConfigError, match=r"_target_: pathlib\.PurePath is outside"):
        Composer(folder=user).resolved(("sketch=half_signs",), {}, "")
