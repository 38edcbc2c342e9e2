"""What a user's YAML says and its code does: one line for each mistake, which names file, key, value and condition."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from own import CONFIG, MODULE, ROOT, SKETCH, replaced, write

from sketchbench.base.errors import FolderError
from sketchbench.base.project import CONF
from sketchbench.plan.inspection.check import OwnMethod, check_folder, mistakes

DRAW = MODULE[MODULE.index("        def rows_of") : MODULE.index("def second_moment")]
FORMULA = "{_target_: my_sketches.extra, _partial_: true}"
RETURNED = "return Dense("


def module(old: str, new: str) -> tuple[str, str]:
    return replaced(MODULE, old, new), CONFIG


def config(old: str, new: str) -> tuple[str, str]:
    return MODULE, replaced(CONFIG, old, new)


def drawing(body: str) -> tuple[str, str]:
    """Another body of `_draw`."""
    return module(DRAW.strip(), f"{body}\n")


def claiming(theory: str, code: str = "") -> tuple[str, str]:
    """Another `theory`, and one more definition in the module."""
    return f"import numpy as np\n{MODULE}\n\n{code}\n", CONFIG[: CONFIG.index("theory:")] + f"theory: {theory}\n"


def field(declared: str, value: str = "") -> tuple[str, str]:
    """A field of the class, and a parameter in the file."""
    return module("    def _draw", f"    {declared}\n\n    def _draw")[0], CONFIG.replace("theory:", f"{value}theory:")


def operator(method: str) -> tuple[str, str]:
    """An operator that does something of its own."""
    text = f"import numpy as np\n{MODULE}\n\nclass Other(Dense):\n    {method}\n"
    return replaced(text, RETURNED, "return Other("), CONFIG


# What is wrong: the module and the config, and words of the line, the first of which follow the file's name.
CASES: dict[str, tuple[tuple[str, str], list[str]]] = {
    # YAML, and keys
    "no YAML": ((MODULE, "a: 1\nb: [1,\nc: 2\n"), ["while parsing a flow sequence", "line 2, column 4"]),
    "a list": ((MODULE, "- 1\n"), ["[1] must map the keys name, family, theory to values"]),
    "another name": ((MODULE, f"name: x\n{CONFIG}"), ["name: 'x' must be the file's name, half_signs; correct it"]),
    "an unknown key": (config("label:", "lable:"), ["sketch half_signs: key=lable is unknown", "did you mean label?"]),
    "an unknown claim": (
        config("embedding_constant:", "embeding_constant:"),
        ["sketch half_signs: theory: key=embeding_constant is unknown", "did you mean embedding_constant?"],
    ),
    "a missing value": (config("_constant: 2", "_constant: ???"), ["sketch.theory.embedding_constant: Missing"]),
    "an unknown model": ((MODULE, f"defaults: [/sketch/srth@_here_, _self_]\n{CONFIG}"), ["sketch/srth is unknown"]),
    "no mapping of theory": (claiming("2"), ["sketch.theory=2 must map keys to values"]),
    "the label of another": (
        config("Half signs", "SRHT"),
        ["label: 'SRHT' is that of ", "conf/sketch/srht.yaml; choose another"],
    ),
    "a size": (config("label:", "size: large\nlabel:"), ["size: 'large' must be an integer >= 1"]),
    # what a `_target_` names
    "no family": (config("family:\n  _target_: my_sketches.HalfSigns\n", ""), ["family=None must map keys to values"]),
    "no module": (config("my_sketches.HalfSigns", "HalfSigns"), ["family: ", "must have a _target_, the name of"]),
    "another module": (
        config("my_sketches.HalfSigns", "my_sketch.HalfSigns"),
        ["family._target_: my_sketch.HalfSigns: there is no module my_sketch in ", "did you mean my_sketches?"],
    ),
    "another class": (
        config("my_sketches.HalfSigns", "my_sketches.HalfSign"),
        ["family._target_: my_sketches.HalfSign: there is no HalfSign in my_sketches; did you mean HalfSigns?"],
    ),
    "no Family": (
        config("HalfSigns", "Dense"),
        ["family._target_: my_sketches.Dense is a class derived from Sketch; it must be a class derived from Family"],
    ),
    "no dataclass": (module("@dataclass(frozen=True)\n", ""), ["family._target_: ", "write @dataclass(frozen=True)"]),
    "no _draw": (module("def _draw", "def draws"), ["family._target_: my_sketches.HalfSigns must define _draw"]),
    "an error of import": (
        (f"{MODULE}\nimport no_such_module\n", CONFIG),
        ["family._target_: ", "can't be imported: my_sketches.py, line ", "No module named 'no_such_module'"],
    ),
    "an end": ((f"{MODULE}\nraise SystemExit(0)\n", CONFIG), ["family._target_: ", "line ", "SystemExit: 0"]),
    # parameters
    "an unknown parameter": (
        field("rows: int = 2", "  row: 3\n"),
        ["family.row: HalfSigns has no parameter row; it has rows; did you mean rows?"],
    ),
    "a missing parameter": (field("rows: int"), ["family: the parameter rows of HalfSigns is missing; write rows: "]),
    "another type": (field("rows: int = 2", "  rows: two\n"), ["family: ", "rows='two' must be an integer"]),
    "d in the file": (config("theory:", "  d: 3\ntheory:"), ["family.d: 3 must be left out, since the run sets it"]),
    "an object": (field("thing: object = object()"), ["family: ", "contains a memory address"]),
    # what a family does
    "no size at all": (
        module(
            "    def _draw",
            "    def check(self):\n        from sketchbench.sketch.family import SizeError\n"
            "        raise SizeError('never')\n\n    def _draw",
        ),
        ["family: HalfSigns takes none of the sizes d=16 b=4, ", "it says: never"],
    ),
    "an error in check": (
        module("    def _draw", "    def check(self):\n        1 / 0\n\n    def _draw"),
        ["family: my_sketches.py, line 13, in check: ZeroDivisionError: division by zero"],
    ),
    "an error in _draw": (drawing("return 1 / 0"), ["family: my_sketches.py, line 13, in _draw: ZeroDivisionError"]),
    "None": (drawing("return None"), ["family: HalfSigns._draw returned a NoneType; it must return a Sketch"]),
    "another d": (
        module("self.d, self.b, draws.operators", "self.d + 1, self.b, draws.operators"),
        ["family: an array of shape (4, 3, 16) must end in d=17"],
    ),
    "float64 for float32": (
        operator("def _sketch(self, x):\n        return super()._sketch(x.astype(np.float64))"),
        ["family: with d=16, b=4: _sketch returned float64 of shape (4, 3, 4); it must be float32 of shape (4, 3, 4)"],
    ),
    "writing into its argument": (
        operator("def _sketch(self, x):\n        x *= 0.5\n        return 2 * super()._sketch(x)"),
        ["family: it changes the vectors that it is given, which are the caller's; work on a copy of them"],
    ),
    # claims
    **{
        f"a constant {value}": (claiming(f"{{embedding_constant: {value}}}"), ["theory.embedding_constant: ", "finite"])
        for value in ("-1", ".inf", "'2*${d}'")
    },
    "no number": (claiming("{embedding_constant: .nan}"), ["at embedding_constant: nan is not a number"]),
    "no function": (claiming("{second_moment: 2}"), ["theory.second_moment: 2 must have a _target_"]),
    "not partial": (
        claiming("{second_moment: {_target_: my_sketches.second_moment}}"),
        ["theory.second_moment: it must have `_partial_: true`"],
    ),
    "nothing to call": (
        claiming(f"{{norm: {FORMULA}}}", "extra = 3"),
        ["theory.norm._target_: my_sketches.extra is of the type int; it must be a function"],
    ),
    "a tail of other arguments": (
        claiming(f"{{tails: {{own: {FORMULA}}}}}", "def extra(delta, n):\n    return 1.0"),
        ["theory.tails.own: my_sketches.extra(delta, n) is called as extra(delta, d=..., b=...)"],
    ),
    "a tail without a name": (claiming(f"{{tails: {FORMULA}}}"), ["theory.tails: ", "write `own:` above"]),
    "an inner product that takes δ": (
        claiming(f"{{inner_products: {{always: {FORMULA}}}}}", "def extra(delta, d, b):\n    return 1.0"),
        ["theory.inner_products.always: my_sketches.extra(delta, d, b) is called as extra()"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_one_line_for_each(folder: Path, case: str) -> None:
    (code, text), words = CASES[case]
    write(folder, {"my_sketches.py": code, SKETCH: text})
    (line,) = mistakes(OwnMethod("sketch", "half_signs"), folder)
    assert line.startswith(f"mine/sketch/half_signs.yaml: {words[0]}"), line
    assert "\n" not in line
    assert all(word in line for word in words), line


RECOVERING = """\
from dataclasses import dataclass

from sketchbench.sketch.recovery.recovery import Recovered, Recovery, keep_largest


@dataclass(frozen=True)
class Mine(Recovery):
    def _recover(self, sketch, y):
        return keep_largest(sketch.kernels, sketch.desketch(y), self.k)
"""
RECOVERY = """\
label: Mine
algorithm: {_target_: my_recoveries.Mine}
sensing: {_target_: sketchbench.sketch.count_sketch.CountSketch}
"""
RESULT = "return keep_largest(sketch.kernels, sketch.desketch(y), self.k)"
RECOVERIES: dict[str, tuple[str, str, str, list[str]]] = {
    "no sensing": (RECOVERING, RECOVERY[: RECOVERY.index("sensing")], "sensing", ["None must have a _target_"]),
    "no Recovery": (
        RECOVERING,
        RECOVERY.replace("my_recoveries.Mine", "my_recoveries.Recovered"),
        "algorithm._target_",
        ["must be a class derived from Recovery"],
    ),
    "a theory": (RECOVERING, RECOVERY + "theory: {}\n", "recovery mine", ["key=theory is unknown"]),
    "no Recovered": (
        RECOVERING.replace(RESULT, "return sketch.desketch(y)"),
        RECOVERY,
        "algorithm",
        ["_recover returned a ndarray; it must return a Recovered"],
    ),
    "x of another shape": (
        RECOVERING.replace(RESULT, f"{RESULT[:-1]})._replace(x=y)"),
        RECOVERY,
        "algorithm",
        ["could not broadcast input array from shape (3,4) into shape (3,16)"],
    ),
    "writing into its argument": (
        RECOVERING.replace(RESULT, f"y[:] = 0; {RESULT}"),
        RECOVERY,
        "algorithm",
        ["it changes the measurements that it is given"],
    ),
    "an error": (RECOVERING.replace(RESULT, "return y[9]"), RECOVERY, "algorithm", ["in _recover: IndexError"]),
}


@pytest.mark.parametrize("case", RECOVERIES)
def test_recoveries(folder: Path, case: str) -> None:
    code, text, key, words = RECOVERIES[case]
    write(folder, {"my_recoveries.py": code, "recovery/mine.yaml": text})
    (line,) = mistakes(OwnMethod("recovery", "mine"), folder)
    assert line.startswith(f"mine/recovery/mine.yaml: {key}: "), line
    assert all(word in line for word in words), line


def test_sound_ones(folder: Path) -> None:
    """The documented family, as it is and with its name; two made from ones of ours; and a recovery."""
    derived = (
        "defaults: [/sketch/srht@_here_, _self_]\nlabel: Ours\nfamily: {replacement: true}\ntheory: {spectrum: null}\n"
    )
    constant = (
        "label: Fixed\nsize: ${d}\nfamily: {_target_: sketchbench.sketch.identity.Identity}\n"
        "theory: {embedding_constant: '${d}'}\n"
    )
    files = {
        "my_sketches.py": MODULE,
        SKETCH: CONFIG,
        "sketch/named.yaml": f"name: named\n{replaced(CONFIG, 'Half signs', 'Named')}",
        "sketch/derived.yaml": derived,
        "sketch/fixed.yaml": constant,
        "my_recoveries.py": RECOVERING,
        "recovery/own.yaml": RECOVERY,
    }
    check_folder(write(folder, files))


@pytest.mark.parametrize("name", sorted(path.stem for path in (CONF / "sketch").glob("*.yaml")))
def test_families_of_the_project_are_sound(folder: Path, name: str) -> None:
    """As a user's that are made from them."""
    write(folder, {"sketch/own.yaml": f"defaults: [/sketch/{name}@_here_, _self_]\nlabel: My own\n"})
    assert mistakes(OwnMethod("sketch", "own"), folder) == []


def test_all_mistakes_are_listed(folder: Path) -> None:
    """Those of the code and of the claims of one file, and of other files."""
    text = CONFIG.replace("embedding_constant: 2", "embedding_constant: two")
    files = {"my_sketches.py": drawing("return None")[0], SKETCH: text + "  tails: 3\n", "sketch/x.yaml": "family: 3\n"}
    with pytest.raises(FolderError) as error:
        check_folder(write(folder, files))
    keys = [line.split(": ")[1] for line in str(error.value).splitlines()]
    assert keys == [
        "family",
        "theory.embedding_constant",
        "theory.tails",
        "family=3 must map keys to values; --help lists them",
    ]


def test_by_hand(tmp_path: Path) -> None:
    """One task of one method: only that one is checked, with what was said on the command line; no traceback."""
    folder = write(tmp_path / "mine", {"my_sketches.py": MODULE, SKETCH: CONFIG, "sketch/other.yaml": "family: 3\n"})
    command = [sys.executable, "-m", "sketchbench", "run", "--folder", str(folder), "sketch=half_signs"]

    def run(*more: str) -> "subprocess.CompletedProcess[str]":
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        arguments = [*command, "kernels=numpy", *more]
        return subprocess.run(arguments, check=False, env=environment, capture_output=True, text=True)

    sound = run("task.trials=4", "task.pairs=[flat]")
    assert sound.returncode == 0, sound.stderr
    wrong = run("+sketch.family.s=4")
    assert wrong.returncode == 1
    assert wrong.stderr.splitlines() == [
        f"sketchbench: error: {folder}/sketch/half_signs.yaml: family.s: HalfSigns has no parameter s; it has none"
    ]
    row = "            signs ="
    write(
        folder, {"my_sketches.py": replaced(MODULE, row, f"            if self.d == 641: raise SystemExit(0)\n{row}")}
    )
    ended = run("d=641")
    assert ended.returncode == 1
    assert "my_sketches.py, line 14, in rows_of: SystemExit: 0" in ended.stderr
    assert "Traceback" not in ended.stderr
