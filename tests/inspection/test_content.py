"""What a user's YAML says and its code does: one line for each mistake, which names file, key, value and condition."""

from pathlib import Path

import pytest
from own import CONFIG, MODULE, SKETCH, replaced, write

from sketchbench.inspection.method import Method, mistakes
from sketchbench.project import CONF

DRAW = MODULE[MODULE.index("        def rows_of") : MODULE.index("def second_moment")]
MOMENT = MODULE[MODULE.index('    """E[(g') :]
FORMULA = "{_target_: my_sketches.extra, _partial_: true}"


def drawing(body: str) -> str:
    """The module with another body of `_draw`."""
    return replaced(MODULE, DRAW.strip(), body) + "\n"


def claiming(theory: str) -> str:
    """The config with another `theory`."""
    return CONFIG[: CONFIG.index("theory:")] + f"theory: {theory}\n"


def extra(code: str) -> str:
    """The module with one more definition."""
    return f"import numpy as np\n{MODULE}\n\n{code}\n"


def constant(value: str) -> tuple[str, str]:
    return MODULE, claiming(f"{{embedding_constant: {value}}}")


def moment(code: str) -> tuple[str, str]:
    """Another second moment."""
    return extra(f"def extra{code}"), claiming(f"{{second_moment: {FORMULA}}}")


def tail(code: str) -> tuple[str, str]:
    return extra(f"def extra{code}"), claiming(f"{{tails: {{own: {FORMULA}}}}}")


def config(old: str, new: str) -> tuple[str, str]:
    return MODULE, replaced(CONFIG, old, new)


def with_field(field: str, value: str = "") -> tuple[str, str]:
    """A field of the class, and a parameter in the file."""
    module = replaced(MODULE, "    def _draw", f"    {field}\n\n    def _draw")
    return module, replaced(CONFIG, "theory:", f"  {value}\ntheory:") if value else CONFIG


def entries(code: str) -> tuple[str, str]:
    """Rows of other entries."""
    return replaced(MODULE, "return signs * kept", f"return {code}"), CONFIG


def checking(body: str) -> tuple[str, str]:
    """A family with a `check` of its own."""
    return replaced(MODULE, "    def _draw", f"    def check(self):\n        {body}\n\n    def _draw"), CONFIG


# What is wrong: the module and the config, the key at which it is told, and words of the line.
CASES: dict[str, tuple[tuple[str, str], str, list[str]]] = {
    "a constant in words": (constant("two"), "theory.embedding_constant", ["'two' must be a finite number >= 0"]),
    "a computation": (
        constant('"2*${d}"'),
        "theory.embedding_constant",
        ["'2*16' must be a finite number >= 0", "YAML computes nothing"],
    ),
    "a negative constant": (constant("-1"), "theory.embedding_constant", ["-1 must be a finite number >= 0"]),
    "a constant nan": (constant(".nan"), "theory.embedding_constant", ["nan must be a finite number >= 0"]),
    "an infinite constant": (constant(".inf"), "theory.embedding_constant", ["inf must be a finite number"]),
    "a list": (constant("[2]"), "theory.embedding_constant", ["[2] must be a finite number >= 0"]),
    "a truth value": (constant("yes"), "theory.embedding_constant", ["must be a finite number >= 0"]),
    "no mapping of theory": ((MODULE, claiming("2")), "theory", ["2 must map some of the keys embedding_constant"]),
    "an unknown key": (config("label:", "lable:"), "lable", ["is unknown", "did you mean label?"]),
    "an unknown claim": (
        config("embedding_constant:", "embeding_constant:"),
        "theory.embeding_constant",
        ["is unknown", "did you mean embedding_constant?"],
    ),
    "an interpolation": (
        config("embedding_constant: 2", "embedding_constant: ${q}"),
        "theory.embedding_constant",
        ["q"],
    ),
    "a missing value": (
        config("embedding_constant: 2", "embedding_constant: ???"),
        "theory.embedding_constant",
        ["must"],
    ),
    "an unknown model": (
        (MODULE, f"defaults: [/sketch/srth@_here_, _self_]\n{CONFIG}"),
        "defaults or overrides",
        ["srth"],
    ),
    "the label of another": (config("Half signs", "SRHT"), "label", ["'SRHT' is that of ", "conf/sketch/srht.yaml"]),
    "no label": (config("Half signs", "[1]"), "label", ["[1] must be a text of one line"]),
    "a size": (config("label:", "size: large\nlabel:"), "size", ["'large' must be an integer >= 1"]),
    "a size below 1": (config("label:", "size: 0\nlabel:"), "size", ["0 must be an integer >= 1"]),
    "no family": (config("family:\n  _target_: my_sketches.HalfSigns\n", ""), "family", ["there is none", "_target_"]),
    "a family in words": (config("family:\n  _target_:", "family:"), "family", ["must be a mapping with a _target_"]),
    "no target": (config("  _target_: my_sketches.HalfSigns", "  s: 1"), "family", ["there is no _target_"]),
    "a target without module": (
        config("my_sketches.HalfSigns", "HalfSigns"),
        "family",
        ["it must be the name of"],
    ),
    "another module": (
        config("my_sketches.HalfSigns", "my_sketch.HalfSigns"),
        "family._target_",
        ["there is no module my_sketch in ", "did you mean my_sketches?"],
    ),
    "another class": (
        config("my_sketches.HalfSigns", "my_sketches.HalfSign"),
        "family._target_",
        ["there is no HalfSign in my_sketches; did you mean HalfSigns?"],
    ),
    "a function": (
        config("my_sketches.HalfSigns", "my_sketches.second_moment"),
        "family._target_",
        ["of the type function"],
    ),
    "no Family": (
        config("my_sketches.HalfSigns", "my_sketches.Dense"),
        "family._target_",
        ["a class derived from Sketch; it must be a class derived from Family"],
    ),
    "no dataclass": (
        (replaced(MODULE, "@dataclass(frozen=True)\n", ""), CONFIG),
        "family._target_",
        ["must be a dataclass: write @dataclass(frozen=True)"],
    ),
    "a dataclass that is not frozen": (
        (replaced(MODULE, "(frozen=True)", ""), CONFIG),
        "family._target_",
        ["my_sketches.py, line ", "TypeError", "frozen"],
    ),
    "no _draw": (
        (replaced(MODULE, "def _draw", "def draws"), CONFIG),
        "family._target_",
        ["my_sketches.HalfSigns must define _draw"],
    ),
    "an unknown parameter": (
        (
            replaced(MODULE, "    def _draw", "    rows: int = 2\n\n    def _draw"),
            replaced(CONFIG, "theory:", "  row: 3\ntheory:"),
        ),
        "family.row",
        ["HalfSigns has no parameter row; it has rows; did you mean rows?"],
    ),
    "no parameter": (config("theory:", "  s: 3\ntheory:"), "family.s", ["has no parameter s; it has none"]),
    "a missing parameter": (
        with_field("rows: int"),
        "family",
        ["the parameter rows of HalfSigns is missing; write rows: VALUE"],
    ),
    "a parameter of another type": (
        (
            replaced(MODULE, "    def _draw", "    rows: int = 2\n\n    def _draw"),
            replaced(CONFIG, "theory:", "  rows: two\ntheory:"),
        ),
        "family",
        ["rows='two' must be an integer"],
    ),
    "d in the file": (config("theory:", "  d: 3\ntheory:"), "family.d", ["3 must be left out, since the run sets it"]),
    "a parameter that is an object": (
        with_field("thing: object = object()"),
        "family",
        ["names a place in memory"],
    ),
    "no size at all": (
        checking("from sketchbench.sketch.family import SizeError; raise SizeError('never')"),
        "family",
        ["takes none of the sizes d=16 b=4, ", "it says: never"],
    ),
    "an error in check": (
        checking("1 / 0"),
        "family",
        ["my_sketches.py, line 13, in check: ZeroDivisionError: division by zero"],
    ),
    "an error in _draw": (
        (drawing("        return 1 / 0"), CONFIG),
        "family",
        ["my_sketches.py, line 13, in _draw: ZeroDivisionError: division by zero"],
    ),
    "None": ((drawing("        return None"), CONFIG), "family", ["_draw returned None; it must return a Sketch"]),
    "an array": (
        (drawing("        return draws.signs(0, self.d)"), CONFIG),
        "family",
        ["_draw returned a ndarray; it must return a Sketch"],
    ),
    "SystemExit": ((drawing("        raise SystemExit(0)"), CONFIG), "family", ["in _draw: SystemExit: 0"]),
    "KeyboardInterrupt": (
        (drawing("        raise KeyboardInterrupt"), CONFIG),
        "family",
        ["in _draw: KeyboardInterrupt"],
    ),
    "no end of calls": ((drawing("        return self._draw(draws)"), CONFIG), "family", ["in _draw: RecursionError"]),
    "another d": (
        (replaced(MODULE, "return Dense(draws.kernels, self.d,", "return Dense(draws.kernels, self.d + 1,"), CONFIG),
        "family",
        ["returned a sketch with d=17, b=4; it must have the family's d and b"],
    ),
    "no axis of the stack": (
        entries("(signs * kept)[0]"),
        "family",
        ["rows_of(0, 4) returned an array of shape (4, 16); it must be of shape (operators, rows, d) = (4, 4, 16)"],
    ),
    "one matrix for all": (
        entries("(signs * kept)[:1] + 0 * signs"),
        "family",
        ["all 4 operators of a stack are the same matrix; operators must differ"],
    ),
    "complex entries": (
        entries("1j * signs * kept"),
        "family",
        ["entries of dtype complex128; they must be real"],
    ),
    "entries that are not finite": (
        entries("signs / kept"),
        "family",
        ["among its entries; every one must be finite"],
    ),
    "numpy.random": (
        (extra("").replace("return signs * kept", "return signs * np.random.standard_normal(signs.shape)"), CONFIG),
        "family",
        ["two draws with one key differ; all randomness must come from `draws`"],
    ),
    "the time": (
        entries("signs * float(__import__('time').time_ns() % 997 + 1)"),
        "family",
        ["two draws with one key differ"],
    ),
    "the key left out": (
        entries("Draws(7, 0, draws.operators, draws.kernels).gaussian_rows(ENTRIES, row, rows, self.d)"),
        "family",
        ["two keys give the same operators"],
    ),
    "float64 for float32": (
        (
            extra(
                "class Wide(Dense):\n    def _sketch(self, x):\n        return super()._sketch(x.astype(np.float64))"
            ).replace("return Dense(", "return Wide("),
            CONFIG,
        ),
        "family",
        ["_sketch of float32 of shape (4, 3, 16)", "returned float64 of shape (4, 3, 4); it must be float32"],
    ),
    "a result of another shape": (
        (
            extra("class Flat(Dense):\n    def _desketch(self, y):\n        return super()._desketch(y)[:, 0]").replace(
                "return Dense(", "return Flat("
            ),
            CONFIG,
        ),
        "family",
        ["_desketch of float64 of shape (4, 3, 4)", "returned float64 of shape (4, 16); it must be"],
    ),
    "an error of import": (
        (f"{MODULE}\nimport no_such_module\n", CONFIG),
        "family._target_",
        ["can't be imported: my_sketches.py, line ", "No module named 'no_such_module'"],
    ),
    "an error of syntax": (
        (f"{MODULE}\ndef f(:\n", CONFIG),
        "family._target_",
        ["can't be imported: my_sketches.py, line ", "invalid syntax"],
    ),
    "the end of all while imported": (
        (f"{MODULE}\nraise SystemExit(0)\n", CONFIG),
        "family._target_",
        ["can't be imported: my_sketches.py, line ", "SystemExit: 0"],
    ),
    "no function": (
        (MODULE, claiming("{second_moment: 2}")),
        "theory.second_moment",
        ["2 must be a mapping with a _target_"],
    ),
    "not partial": (
        (MODULE, claiming("{second_moment: {_target_: my_sketches.second_moment}}")),
        "theory.second_moment",
        ["it must have `_partial_: true`"],
    ),
    "nothing to call": (
        (extra("extra = 3"), claiming(f"{{second_moment: {FORMULA}}}")),
        "theory.second_moment._target_",
        ["is of the type int; it must be a function"],
    ),
    "another signature": (
        moment("(g, h, d):\n    return g"),
        "theory.second_moment",
        ["my_sketches.extra(g, h, d) is called as extra(g, h, b=...)"],
    ),
    "one axis too few": (
        moment("(g, h, *, b):\n    return ((g * h).sum()) ** 2"),
        "theory.second_moment",
        ["second_moment of vectors of shape (5, 16) is of shape (); it must be of shape (5,)"],
    ),
    "one axis too many": (
        moment("(g, h, *, b):\n    return g * g"),
        "theory.second_moment",
        ["of shape (5, 16); it must be of shape (5,)"],
    ),
    "the first axis": (
        moment("(g, h, *, b):\n    return 1.0 + 0 * g.sum(-1) + (g**2).sum()"),
        "theory.second_moment",
        ["is not that of each alone"],
    ),
    "a negative moment": (
        moment("(g, h, *, b):\n    return -1.0 - (g * h).sum(-1) ** 2"),
        "theory.second_moment",
        ["it must be finite and >= 0"],
    ),
    "a moment nan": (
        moment("(g, h, *, b):\n    return (g * h).sum(-1) * np.nan"),
        "theory.second_moment",
        ["is nan; it must be finite and >= 0"],
    ),
    "a text": (moment("(g, h, *, b):\n    return 'much'"), "theory.second_moment", ["is 'much'; it must be numbers"]),
    "None for a moment": (moment("(g, h, *, b):\n    pass"), "theory.second_moment", ["is None; it must be numbers"]),
    "vectors changed": (
        moment("(g, h, *, b):\n    g *= 2\n    return (g * h).sum(-1) ** 2"),
        "theory.second_moment",
        ["changes the vectors that it is given"],
    ),
    "an error in a moment": (
        moment("(g, h, *, b):\n    return g.total()"),
        "theory.second_moment",
        ["my_sketches.py, line ", "in extra: AttributeError"],
    ),
    "moments that differ": (
        (extra("def extra(h, *, b):\n    return (h**2).sum(-1)"), CONFIG.rstrip() + f"\n  norm: {FORMULA}\n"),
        "theory.norm",
        ["for d=16, b=4 and one h it is ", "; the two must be equal"],
    ),
    "a tail of other arguments": (
        tail("(delta, n):\n    return 1.0"),
        "theory.tails.own",
        ["my_sketches.extra(delta, n) is called as extra(delta, d=..., b=...)"],
    ),
    "a tail of 0": (
        tail("(delta, d, b):\n    return 0.0"),
        "theory.tails.own",
        ["is 0.0; it must be a finite number > 0"],
    ),
    "a tail of many": (tail("(delta, d, b):\n    return [1.0]"), "theory.tails.own", ["is [1.0]; it must be a finite"]),
    "a tail without a name": (
        (MODULE, claiming("{tails: {_target_: my_sketches.second_moment, _partial_: true}}")),
        "theory.tails",
        ["must map names to functions: write `own:` above"],
    ),
    "always of no function": (
        (MODULE, claiming("{always: [3]}")),
        "theory.always",
        ["[3] must map names to functions"],
    ),
    "an inner product that takes δ": (
        (extra("def extra(delta, d, b):\n    return 1.0"), claiming(f"{{inner_products: {{always: {FORMULA}}}}}")),
        "theory.inner_products.always",
        ["my_sketches.extra(delta, d, b) is called as extra()"],
    ),
    "a spectrum of numbers": (
        (extra("def extra(d, b):\n    return [1.0] * b"), claiming(f"{{spectrum: {FORMULA}}}")),
        "theory.spectrum",
        ["it must be a sketchbench.theory.leakage.ExpectedSpectrum"],
    ),
    "a spectrum that can't be": (
        (
            extra(
                "from sketchbench.theory.leakage import ExpectedSpectrum\n\n\n"
                "def extra(d, b):\n    return ExpectedSpectrum(1.0, 1.0, b, 2.0, exact=True)"
            ),
            claiming(f"{{spectrum: {FORMULA}}}"),
        ),
        "theory.spectrum",
        ["deficient is 2.0; it must be"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_one_line_for_each(folder: Path, case: str) -> None:
    (module, text), key, words = CASES[case]
    write(folder, {"my_sketches.py": module, SKETCH: text})
    (line,) = mistakes(Method("sketch", "half_signs"), folder, CONF)
    assert line.startswith(f"mine/sketch/half_signs.yaml: {key}: "), line
    assert "\n" not in line
    assert all(word in line for word in words), line


RECOVERING = """\
from dataclasses import dataclass

import numpy as np

from sketchbench.recovery.recovery import Recovered, Recovery, keep_largest


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
    "no sensing": (RECOVERING, RECOVERY[: RECOVERY.index("sensing")], "sensing", ["there is none; write sensing:"]),
    "no algorithm": (
        RECOVERING,
        RECOVERY.replace("algorithm: {_target_: my_recoveries.Mine}\n", ""),
        "algorithm",
        ["none"],
    ),
    "no Recovery": (
        RECOVERING,
        RECOVERY.replace("my_recoveries.Mine", "my_recoveries.Recovered"),
        "algorithm._target_",
        ["must be a class derived from Recovery"],
    ),
    "a theory": (RECOVERING, RECOVERY + "theory: {}\n", "theory", ["is unknown; it must be one of name, algorithm"]),
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
        ["returned x of float64 and shape (3, 4); it must be float64 of shape (3, 16)"],
    ),
    "iterations of another kind": (
        RECOVERING.replace(RESULT, f"{RESULT[:-1]})._replace(iterations=np.zeros(3))"),
        RECOVERY,
        "algorithm",
        ["returned iterations of float64", "it must be integers"],
    ),
    "an error": (RECOVERING.replace(RESULT, "return y[9]"), RECOVERY, "algorithm", ["in _recover: IndexError"]),
}


@pytest.mark.parametrize("case", RECOVERIES)
def test_recoveries(folder: Path, case: str) -> None:
    module, text, key, words = RECOVERIES[case]
    write(folder, {"my_recoveries.py": module, "recovery/mine.yaml": text})
    (line,) = mistakes(Method("recovery", "mine"), folder, CONF)
    assert line.startswith(f"mine/recovery/mine.yaml: {key}: "), line
    assert all(word in line for word in words), line


def test_sound_ones(folder: Path) -> None:
    """The documented family, as it is and with its name; one made from one of ours; and a recovery."""
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
        "recovery/mine.yaml": RECOVERY,
    }
    write(folder, files)
    for name in ("half_signs", "named", "derived", "fixed"):
        assert mistakes(Method("sketch", name), folder, CONF) == []
    assert mistakes(Method("recovery", "mine"), folder, CONF) == []


def test_all_mistakes_are_told(folder: Path) -> None:
    """Of the file and of the code, each once."""
    text = CONFIG.replace("embedding_constant: 2", "embedding_constant: two").replace("label:", "labl:")
    write(folder, {"my_sketches.py": drawing("        return None"), SKETCH: text + "  tails: 3\n"})
    lines = mistakes(Method("sketch", "half_signs"), folder, CONF)
    keys = [line.split(": ")[1] for line in lines]
    assert keys == ["labl", "family", "theory.embedding_constant", "theory.tails"]


def test_overrides_are_checked(folder: Path) -> None:
    write(folder, {"my_sketches.py": MODULE, SKETCH: CONFIG})
    method = Method("sketch", "half_signs")
    (line,) = mistakes(method, folder, CONF, ("sketch.theory.embedding_constant=two",))
    assert "'two' must be a finite number" in line
