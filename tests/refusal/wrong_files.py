"""Wrong YAML files of users, by group of conf: the text to replace in a right file, its replacement, and words of the
error message. A text of None stands for the whole file. Each kind of message has one edit or two."""

from pathlib import Path

from all_claims import entry_text

CONF = Path(__file__).parents[2] / "conf"
Edit = tuple[str | None, str | bytes, str]

AXES, SET = "axes: {d: [8], b: [4]}", "set: {task.trials: 3}"
STUDY = f"task: moments\nsketch: [ams]\n{AXES}\n{SET}\n"
CLAIM = entry_text("claim", "S1")
ERRATUM = entry_text("erratum", "song2023-D.20")
FIGURE = (CONF / "figure" / "sketches" / "tails.yaml").read_text(encoding="utf-8")
SETTINGS = (CONF / "workflow.yaml").read_text(encoding="utf-8")
LAUGHS = "\n".join(["x0: &x0 [1, 1]", *(f"x{i}: &x{i} [{', '.join([f'*x{i - 1}'] * 9)}]" for i in range(1, 12))])

# What is wrong in any YAML file, since all groups are read by the same function; tried on a figure.
ANY: list[Edit] = [
    (None, "", "is not of type 'object'"),
    (None, "a: [", "while parsing a flow"),
    (None, "a: b: c", "mapping values are not allowed"),
    (None, "\ta: 1", "cannot start any token"),
    (None, "a: 'x", "while scanning a quoted scalar"),
    (None, "a: 1\na: 2", "line 2: duplicate key a; remove one"),
    (None, "a: *nothing", "found undefined alias"),
    (None, "a: &a [*a]", "nested too deeply, or contains itself"),
    (None, "[" * 1500, "nested too deeply"),
    (None, "- " * 100_000, "nested too deeply"),
    (None, LAUGHS, "more than 10000 values"),
    (None, "1: a", "key 1 must be a string"),
    (None, "[1, 2]: a", "unhashable key"),
    (None, "? {a: 1}\n: b", "unhashable key"),
    (None, "a: .nan", "nan is not a number"),
    (None, "a: !!python/object/apply:os.getcwd []", "could not determine a constructor"),
    (None, "a: !mine 3", "could not determine a constructor"),
    (None, "a: !!binary aGVsbG8=", "a value of type bytes"),
    (None, "a: 1\n---\nb: 2", "expected a single document"),
    (None, bytes(range(256)), "can't decode"),
    (None, "a: 1".encode("utf-16"), "can't decode"),
    (None, "a: caf\xe9".encode("latin-1"), "can't decode"),
    (None, "a: \x00", "characters are not allowed"),
]
STUDIES: list[Edit] = [
    (None, "3", "is not of type 'object'"),
    ("task: moments", "tsk: moments", "did you mean task?"),
    ("task: moments", "task: momnets", "did you mean moments?"),
    ("task: moments", "task: 3", "at task: 3 is not of type 'string'"),
    ("task: moments", "task: 2020-01-01", "2020-01-01"),
    ("task: moments\n", "", "'task' is a required property"),
    ("[ams]", "[]", "at sketch"),
    ("[ams]", "[../sketch/ams]", "must be the name of one file"),
    ("sketch: [ams]", "sketch: [ams]\nrecovery: [fiht]", "should not be valid under"),
    (AXES, "axes: {d: [8], b: []}", "at axes/b"),
    (AXES, "axes: [d]", "at axes: ['d'] is not of type 'object'"),
    (AXES, "axes: {d: [8], b: [0]}", "sketch size b=0 must satisfy 1 <= b"),
    (AXES, "axes: {d: [8], b: [4], dd: [3]}", "axis dd has no column"),
    (AXES, "axes: {attack: [newton]}", "attack"),
    (AXES, "share: 2", "at share: 2 is greater than the maximum of 1"),
    (SET, "set: {task.trails: 3}", "did you mean task.trials?"),
    (SET, "set: {sketch.family.hashing: sha}", "hashing=sha is unknown"),
    (SET, "set: {task.trials: '${nope}'}", "Interpolation key 'nope' not found"),
    (SET, f"{SET}\nlike: other", "like=other is unknown"),
    (SET, f"{SET}\nlike: one", "is itself like"),
    (SET, "scales: {quik: {}}", "at scales"),
    (SET, "scales: {quick: {axis: {}}}", "did you mean axes?"),
    (SET, "only: [qick]", "did you mean quick?"),
    (SET, "together: 0", "at together"),
    (SET, "with: {objective: 3}", "at with/objective"),
    (SET, "with: {objektive: digits}", "objektive"),
]
CHECK = "criterion: equality\n  where: {quantity: inner_product}\n  margin: 0.05"
WHERE = "where: {quantity: inner_product}\n  margin: 0.05"
CONTROL = "method: control/equal_signs"
CLAIMS: list[Edit] = [
    ("id: S1", "id: S2", "id S2 must be the file's name"),
    ("id: S1\n", "id: S1\nmargin: 3\n", "'margin' was unexpected"),
    ("paper: song2023", "paper: song2024", "did you mean song2023?"),
    ("studies: [embedding, moments]", "studies: []", "at studies"),
    ("margin: 0.05", "margin: 0", "at checks/0/margin"),
    ("margin: 0.05", "margin: .nan", "nan is not a number"),
    ("margin: 0.05", "margin: .inf", "margin=inf must be finite"),
    ("margin: 0.05", "margn: 0.05", "did you mean margin?"),
    (CHECK, "criterion: equal\n  where: {}", "equality?"),
    (CHECK, "criterion: equality", "'where' is a required"),
    (WHERE, "where: {quantty: x}", "did you mean quantity?"),
    (CHECK, "criterion: growth\n  where: {quantity: x}\n  over: dd", "over=dd is unknown; did you mean d?"),
    (WHERE, "where: {quantity: {a: 1}}", "at checks/0/where/quantity"),
    ("predicted: holds", "predicted: hold", "at predicted"),
    ("predicted_on: '2", "predicted_on: 'the 2", "at predicted_on"),
    (CONTROL, "method: 3", "at negative_control"),
    (CONTROL, "where: {quantty: x}", "did you mean quantity?"),
]
ERRATA: list[Edit] = [
    ("id: song2023-D.20", "id: other", "id other must be the file's name"),
    ("kind:", "kid:", "did you mean kind?"),
    ("claims: [", "claims: [S999, ", "claim=S999 is unknown"),
    ("claims: [", "claims: 3 #", "at claims"),
    ("relation: at most", "relation: at mots", "did you mean at most?"),
]
FIGURES: list[Edit] = [
    ("function: tails.plot", "function: tials.plot", "did you mean tails.plot?"),
    ("function: tails.plot", "function: os.plot", "function=os.plot is unknown"),
    ("function: tails.plot", "function: 3", "at function"),
    ("studies: [tails]", "studies: []", "at studies"),
    ("data: chosen pairs of vectors", "data: ''", "at data"),
    ("bars: proportions", "bars: proportion", "did you mean proportions?"),
    ("bars: proportions", "scales: {quick: {caption: x}}", "at scales/quick"),
]
WORKFLOW: list[Edit] = [
    ("scale: quick", "scal: quick", "did you mean scale?"),
    ("scale: quick", "scale: huge", "'huge' is not one of"),
    ("kernels: auto", "kernels: nunba", "did you mean numba?"),
    ("seed: 0", "seed: -1", "-1 is less than the minimum of 0"),
    ("seed: 0", "seed: 1.5", "1.5 is not of type 'integer'"),
    ("studies: all", "studies: tials", "did you mean tails?"),
    ("studies: all", "studies: ''", "study= is unknown"),
    ('folder: ""', "folder: /nonexistent", "needs a folder `sketch`"),
    ("quick: short", "quick: 0", "at together/quick"),
    ("quick: short", "quik: 8", "at together"),
]
GROUPS: dict[str, tuple[str, list[Edit]]] = {
    "study": (STUDY, STUDIES),
    "claim": (CLAIM, CLAIMS),
    "erratum": (ERRATUM, ERRATA),
    "figure": (FIGURE, FIGURES),
    "workflow": (SETTINGS, WORKFLOW),
}
