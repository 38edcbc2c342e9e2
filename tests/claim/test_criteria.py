"""Each criterion gives each verdict where it should."""

import ast
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from sketchbench.measure.audit import epsilon_lower_bound
from sketchbench.measure.column import COLUMNS
from sketchbench.report.claim.claims import Check
from sketchbench.report.claim.criteria import CRITERIA, Comparison
from sketchbench.report.claim.judging import CheckedRows, decide
from sketchbench.report.claim.judging import compare as compare_checks
from sketchbench.report.claim.verdict import CriterionSettings

ERROR = 1e-6


def compare(criterion: str, *rows: dict[str, Any], **settings: Any) -> list[Comparison]:
    table = pd.DataFrame(rows)
    for column in ("exact", "bound"):
        if column not in table:
            table[column] = np.nan
    return CRITERIA[criterion](table, ERROR, CriterionSettings(**settings))


def verdict(criterion: str, *rows: dict[str, Any], **settings: Any) -> str:
    (comparison,) = compare(criterion, *rows, **settings)
    return comparison.verdict


def mean(value: float, **columns: Any) -> dict[str, Any]:
    """A mean of 10,000 trials with standard error 0.01: the interval is +-0.049."""
    return {"mean": value, "sd": 1.0, "skewness": 0.0, "trials": 10_000, **columns}


@pytest.mark.parametrize(
    ("value", "margin", "expected"),
    [(1.0, 0.1, "holds"), (1.04, 0.1, "holds"), (1.06, 0.1, "fails"), (1.0, 0.01, "inconclusive")],
)
def test_equality(value: float, margin: float, expected: str) -> None:
    assert verdict("equality", mean(value, exact=1.0), margin=margin) == expected


@pytest.mark.parametrize(("exact", "unit"), [(0.0, 1.0), (0.3, 1.0), (-1.0, 1.0), (3.0, 3.0), (-3.0, 3.0)])
def test_the_margin_counts_in_units_of_the_exact_value_or_of_one(exact: float, unit: float) -> None:
    """The interval's half-width of 0.049 decides a little below it, and no longer a little above."""
    assert verdict("equality", mean(exact, exact=exact), margin=0.048 / unit) == "inconclusive"
    assert verdict("equality", mean(exact, exact=exact), margin=0.05 / unit) == "holds"


def test_equality_of_what_never_varies() -> None:
    still = {"sd": 0.0, "skewness": 0.0, "trials": 10, "exact": 0.0}
    assert verdict("equality", {"mean": 1e-12, **still}) == "holds"
    assert verdict("equality", {"mean": 1e-6, **still}) == "fails"


@pytest.mark.parametrize("value", [1.0, 1.06])
def test_nothing_follows_from_an_attack_whose_control_failed(value: float) -> None:
    """Neither that a defence holds nor that it fails; an empty cell is no control."""
    row = mean(value, exact=1.0)
    assert verdict("equality", {**row, "positive_control": row["trials"] // 2}) == "inconclusive"
    sound = "holds" if value == 1 else "fails"
    for control in (row["trials"], np.nan, None):
        assert verdict("equality", {**row, "positive_control": control}) == sound


def test_a_bias_is_not_excused_by_a_wide_margin() -> None:
    assert verdict("equality", mean(1.06, exact=1.0), margin=100.0) == "fails"


@pytest.mark.parametrize(("value", "expected"), [(1.9, "holds"), (1.97, "inconclusive"), (2.1, "fails")])
def test_upper_bound(value: float, expected: str) -> None:
    assert verdict("upper_bound", mean(value, bound=2.0)) == expected


@pytest.mark.parametrize(
    ("count", "trials", "expected"),
    [(0, 1000, "holds"), (0, 100, "inconclusive"), (100, 1000, "fails"), (20, 1000, "inconclusive")],
)
def test_probability(count: int, trials: int, expected: str) -> None:
    assert verdict("probability", {"count": count, "trials": trials, "bound": 0.05}) == expected


@pytest.mark.parametrize(
    ("count", "control", "expected"),
    [
        (0, 24, "holds"),
        (24, 24, "fails"),
        (0, 23, "inconclusive"),  # whatever was counted
        (24, 12, "inconclusive"),
        (0, 0, "inconclusive"),
        (0, float("nan"), "holds"),  # no control asked for
    ],
)
def test_probability_with_a_positive_control(count: int, control: float, expected: str) -> None:
    """At 2e-7, 24 of 24 show that a probability is above a half, and 23 do not."""
    row = {"count": count, "trials": 24, "bound": 0.5, "positive_control": control}
    (comparison,) = CRITERIA["probability"](pd.DataFrame([row]), 2e-7, CriterionSettings())
    assert comparison.verdict == expected
    assert comparison.statistic == count / 24


@pytest.mark.parametrize(
    ("count", "trials", "expected"),
    [(0, 1, "inconclusive"), (1, 1, "fails"), (0, 3, "inconclusive"), (1, 3, "fails"), (0, 24, "holds")],
)
def test_few_trials_refute_and_never_confirm(count: int, trials: int, expected: str) -> None:
    """The rule for runs of one to three trainings: `probability`, and `always` of what one alone refutes by."""
    row = {"count": count, "trials": trials, "bound": 0.5, "maximum": float(count > 0)}
    assert decide(compare("probability", row) + compare("always", row)) == expected


def test_the_slack_is_relative_to_the_bound_or_to_the_statistic() -> None:
    """What is left of a bound of 4; of 0, in units of the statistic, or of one if both are 0."""
    assert compare("computed", {"value": 1.0, "bound": 4.0})[0].slack == 0.75
    assert compare("computed", {"value": -2.0, "bound": 0.0})[0].slack == 1
    (comparison,) = compare("probability", {"count": 0, "trials": 100, "bound": 0.0})
    assert comparison.slack == pytest.approx((ERROR / 2) ** 0.01 - 1)  # the exact upper end of no event


def test_a_criterion_of_one_side_has_the_whole_error_there() -> None:
    """No event of 100 has the upper end 1 - level^(1/100); an interval around an exact value shares the level."""
    rows = pd.DataFrame([{"count": 0, "trials": 100, "bound": 0.5, "exact": np.nan}])
    one, two = (Check(name, {}, ("study",), CriterionSettings(margin=0.1)) for name in ("probability", "equality"))
    (judgement,) = compare_checks([CheckedRows(one, "study", rows)], lambda study: 0.01)
    assert judgement.comparison.high == pytest.approx(1 - 0.01**0.01)
    rows = pd.DataFrame([mean(1.0, exact=1.0, bound=np.nan)])
    (judgement,) = compare_checks([CheckedRows(two, "study", rows)], lambda study: 0.01)
    assert judgement.comparison.high == pytest.approx(1 + 0.01 * stats.norm.isf(0.005), rel=1e-3)


def test_always() -> None:
    row = {"case": "x", "maximum": 0.9, "trials": 50, "bound": 1.0}
    (comparison,) = compare("always", {**row, "count": 0})
    assert comparison.verdict == "holds"
    assert comparison.case == "x, largest 0.9 of 1"
    assert (comparison.low, comparison.bound) == (0.0, 0.0)
    assert 0.2 < comparison.high < 0.3  # ln(2e6)/50: what 50 trials can't exclude
    assert verdict("always", {**row, "maximum": 1.001, "count": 1}) == "fails"


@pytest.mark.parametrize("criterion", ["equality", "upper_bound"])
def test_means_too_skewed_to_judge(criterion: str) -> None:
    row = mean(1.0, exact=1.0, bound=2.0)
    assert verdict(criterion, {**row, "skewness": 19.0}) == "holds"
    assert verdict(criterion, {**row, "skewness": 21.0}) == "inconclusive"
    assert verdict(criterion, {**row, "mean": 9.0, "skewness": 21.0}) == "inconclusive"


@pytest.mark.parametrize("criterion", ["equality", "upper_bound"])
@pytest.mark.parametrize(("minimum", "maximum", "expected"), [(-12, 14, "inconclusive"), (0, 14, "holds")])
def test_means_of_rare_values_on_both_sides(criterion: str, minimum: float, maximum: float, expected: str) -> None:
    """Extremes 13 standard deviations away on both sides, of 10,000 trials; 12 are allowed."""
    row = mean(1.0, exact=1.0, bound=2.0, skewness=0.1, minimum=minimum, maximum=maximum)
    assert verdict(criterion, row) == expected


def power_law(slope: float, claimed: float, sd: float = 0.01) -> list[dict[str, Any]]:
    return [
        {
            "d": d,
            "b": 8,
            "case": case,
            "mean": factor * d**slope,
            "sd": sd * d**slope,
            "trials": 100,
            "bound": d**claimed,
        }
        for d in (16, 64, 256)
        for case, factor in (("weak", 0.5), ("strong", 1.0))
    ]


@pytest.mark.parametrize(
    ("slope", "claimed", "sd", "expected"),
    [
        (1.0, 1.0, 0.01, "holds"),
        (0.1, 1.0, 0.01, "fails"),
        (0.0, 0.0, 0.01, "holds"),
        (0.9, 0.0, 0.01, "fails"),
        (0.5, 0.0, 1.0, "inconclusive"),
        (-1.0, -1.0, 0.01, "holds"),
        (-0.1, -1.0, 0.01, "fails"),
    ],
)
def test_growth(slope: float, claimed: float, sd: float, expected: str) -> None:
    (comparison,) = compare("growth", *power_law(slope, claimed, sd), over="d")
    assert comparison.verdict == expected
    assert math.isclose(comparison.statistic, slope, abs_tol=1e-9)
    assert comparison.case == "b=8"


def test_growth_of_nothing() -> None:
    rows = [{"d": d, "mean": 0.0, "sd": 0.0, "trials": 9, "bound": 2.0} for d in (2, 4)]
    assert verdict("growth", *rows, over="d") == "holds"
    assert compare("growth", rows[0], over="d") == []


@pytest.mark.parametrize("criterion", ["equality", "upper_bound"])
def test_a_single_trial_decides_nothing(criterion: str) -> None:
    row = {"mean": 0.0, "trials": 1, "exact": 1.0, "bound": 1.0}
    assert verdict(criterion, row) == "inconclusive"


def test_rows_without_a_reference_are_no_comparison() -> None:
    for criterion in ("equality", "upper_bound"):
        assert compare(criterion, mean(1.0)) == []


def test_growth_leaves_out_a_zero() -> None:
    rows = [{"d": d, "mean": m, "sd": 0.0, "trials": 9} for d, m in ((2, 0.0), (4, 1.0), (8, 1.0))]
    (comparison,) = compare("growth", *rows, over="d")
    assert (comparison.statistic, comparison.trials) == (0.0, 18)


COMPRESSIONS = (2, 4, 10)


def leads(slope: float, **columns: Any) -> list[dict[str, Any]]:
    """A mean that grows with the compression, which b follows."""
    return [
        {
            "d": 40,
            "b": 40 // c,
            "compression": c,
            "mean": c**slope,
            "sd": 0.01 * c**slope,
            "trials": 50,
            "bound": c,
            **columns,
        }
        for c in COMPRESSIONS
    ]


@pytest.mark.parametrize(("slope", "expected"), [(1.0, "holds"), (0.52, "holds"), (0.3, "fails"), (-0.5, "fails")])
def test_growth_over_what_another_column_follows(slope: float, expected: str) -> None:
    """b is no group of its own: it has one value at every compression. d is: it has one altogether."""
    (comparison,) = compare("growth", *leads(slope), over="compression")
    assert comparison.verdict == expected
    assert math.isclose(comparison.statistic, slope)
    assert math.isclose(comparison.bound, 0.5)
    assert (comparison.case, comparison.trials) == ("d=40", 150)


def test_growth_groups_by_what_does_not_follow() -> None:
    """Each seed is a comparison of its own; so is each s, and a column that isn't there is none."""
    rows = leads(1.0, seed=0) + leads(0.2, seed=1)
    found = compare("growth", *rows, over="compression")
    assert [(c.case, c.verdict) for c in found] == [("d=40, seed=0", "holds"), ("d=40, seed=1", "fails")]
    rows = leads(1.0, s=4.0) + leads(1.0, s=8.0)
    found = compare("growth", *rows, over="compression")
    assert [c.case for c in found] == ["d=40, s=4", "d=40, s=8"]
    # Where rows of one seed lack a size, what is left still is a line.
    found = compare("growth", *leads(1.0, seed=0), *leads(1.0, seed=1)[1:], over="compression")
    assert [c.trials for c in found] == [150, 100]


def test_growth_at_two_values_that_another_column_follows() -> None:
    """b is twice as large with d, and so no curve of its own; s, without a number in one of both, is one."""
    rows = [mean(1.0, d=10, b=1, bound=1.0), mean(2.0, d=20, b=2, bound=2.0)]
    assert [c.statistic for c in compare("growth", *rows, over="d")] == [pytest.approx(1)]
    found = compare("growth", *leads(1.0, s=np.nan), *leads(0.2, s=4.0), over="compression")
    assert [c.verdict for c in found] == ["fails", "holds"]  # s=4, and no s


def test_growth_along_b_when_the_compression_follows() -> None:
    rows = [{**row, "bound": 1 / row["b"], "mean": 1 / row["b"]} for row in leads(1.0)]
    (comparison,) = compare("growth", *rows, over="b")
    assert (comparison.verdict, comparison.case) == ("holds", "d=40")
    assert math.isclose(comparison.statistic, -1.0)


def test_growth_along_amounts() -> None:
    """What T3 asks: of errors, a slope nearer 1 than 0; of ratios, none, nearer 0 than 1/2."""
    for slope, bounded, expected in (
        (1.0, True, "holds"),
        (0.3, True, "fails"),
        (0.15, False, "holds"),
        (0.3, False, "fails"),
    ):
        rows = [
            {
                "d": 40,
                "b": 20,
                "amount": a,
                "mean": a**slope,
                "sd": 0.01 * a**slope,
                "trials": 50,
                "bound": a if bounded else np.nan,
            }
            for a in (0.01, 0.1, 1.0)
        ]
        (comparison,) = compare("growth", *rows, over="amount")
        assert math.isclose(comparison.bound, 0.5 if bounded else 0.25)
        assert (comparison.verdict, comparison.case) == (expected, "d=40, b=20")


def test_growth_over_the_compression_at_two_sizes() -> None:
    rows = leads(1.0) + [{**row, "d": 80, "b": 2 * row["b"]} for row in leads(1.0)]
    found = compare("growth", *rows, over="compression")
    assert [c.case for c in found] == ["d=40", "d=80"]


@pytest.mark.parametrize(
    ("value", "expected"), [(0.5, "holds"), (1.0, "holds"), (1.0 + 1e-12, "holds"), (1.001, "fails")]
)
def test_computed(value: float, expected: str) -> None:
    (found,) = compare("computed", {"value": value, "bound": 1.0})
    assert (found.verdict, found.trials) == (expected, 0)
    assert found.low == found.high == value


def audited(hits: int, alarms: int, bound: float) -> dict[str, Any]:
    counts = {"hits": hits, "false_alarms": alarms, "trials": 10_000, "delta": 1e-5}
    return {"case": "full", **counts, "bound": bound}


@pytest.mark.parametrize(
    ("hits", "alarms", "bound", "expected"),
    [
        (1000, 100, 4.0, "inconclusive"),  # proves 1.6: less than half
        (1000, 100, 2.5, "holds"),
        (1000, 100, 1.0, "fails"),
        (10_000, 0, 2.5, "fails"),
        (100, 1000, 2.5, "inconclusive"),  # proves nothing
    ],
)
def test_audit(hits: int, alarms: int, bound: float, expected: str) -> None:
    assert verdict("audit", audited(hits, alarms, bound), margin=0.5) == expected


def test_an_audit_is_at_the_error_of_its_comparison() -> None:
    """The rows' own number, at 99.9 %, is larger than what a run of many comparisons lets it be."""
    (found,) = compare("audit", audited(1000, 100, 3.0))
    assert found.statistic == epsilon_lower_bound(1000, 100, 10_000, delta=1e-5, error=ERROR)
    assert found.statistic < epsilon_lower_bound(1000, 100, 10_000, delta=1e-5, error=1e-3)


def test_tightness_is_the_bound_over_what_was_measured() -> None:
    (found,) = compare("upper_bound", mean(0.5, bound=2.0))
    assert found.tightness == 4.0
    (found,) = compare("upper_bound", {**mean(0.5, bound=2.0), "status": "diverged"})
    assert found.tightness == 0.0
    (found,) = compare("always", {"case": "x", "maximum": 0.5, "trials": 50, "bound": 1.0, "count": 0})
    assert found.tightness == 2.0
    (found,) = compare("computed", {"value": 3.0, "bound": 1.5})
    assert found.tightness == 0.5
    (found,) = compare("audit", audited(1000, 100, 3.0))
    assert found.tightness == 3.0 / found.statistic


def test_there_is_no_tightness_of_what_is_no_ratio() -> None:
    for row in (mean(-0.5, bound=2.0), mean(0.5, bound=0.0)):
        (found,) = compare("upper_bound", row)
        assert math.isnan(found.tightness)
    (found,) = compare("audit", audited(0, 0, 3.0))  # proves nothing
    assert math.isnan(found.tightness)
    others = [
        *compare("equality", mean(1.0, exact=1.0)),
        *compare("probability", {"count": 1, "trials": 10, "bound": 0.5}),
        *compare("growth", *power_law(1.0, 1.0), over="d"),
    ]
    assert all(math.isnan(comparison.tightness) for comparison in others)


# Claims, tables and figures take the names of columns from `measure.column.Column`, and write none by hand


PACKAGE = Path(__file__).parents[2] / "sketchbench"
# The table of `make bench` is no table of rows: it has columns of its own.
FILES = [
    path
    for folder in ("claim", "table", "figure")
    for path in sorted((PACKAGE / "report" / folder).glob("*.py"))
    if path.name != "benchmarks.py"
]
NAMES = {name for name in COLUMNS if len(name) > 2}  # shorter ones are also markers of matplotlib
# Mappings of a claim in YAML, of facts about a run, of tables by study; and the choices of a type.
NO_ROWS = {"content", "facts", "tables", "Literal"}
SELECTORS = {"get", "pop", "groupby", "sort_values", "drop_duplicates", "set_index", "pivot_table", "worst"}


def by_hand(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The column names that are written as strings or keywords, with their lines, wherever code selects by them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and not _is_no_row(node.value):
            yield from _literals(node.slice)
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
            yield from _literals(node.left)
        elif isinstance(node, ast.For | ast.comprehension):
            yield from _literals(node.iter)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not _is_no_row(node.func.value):
            if node.func.attr in SELECTORS:
                for argument in [*node.args, *(keyword.value for keyword in node.keywords)]:
                    yield from _literals(argument)
            if node.func.attr == "assign":
                yield from ((node.lineno, keyword.arg) for keyword in node.keywords if keyword.arg in NAMES)


def _literals(node: ast.expr) -> Iterator[tuple[int, str]]:
    """The column names that are written here, alone or as elements of a list or tuple, which a slice may contain."""
    for element in [node, *_elements(node), *(inner for outer in _elements(node) for inner in _listed(outer))]:
        if isinstance(element, ast.Constant) and element.value in NAMES:
            yield element.lineno, str(element.value)


def _elements(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.List | ast.Tuple) else []


def _listed(node: ast.expr) -> list[ast.expr]:
    """The elements of a list; those of a tuple in a tuple are no selection, but values that belong together."""
    return node.elts if isinstance(node, ast.List) else []


def _is_no_row(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in NO_ROWS


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_no_column_is_named_by_hand(path: Path) -> None:
    assert not sorted(set(by_hand(ast.parse(path.read_text()))))


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ('rows["mean"]', {"mean"}),
        ('rows[["method", "label"]]', {"method", "label"}),
        ('rows.loc[chosen, "mean"]', {"mean"}),
        ('rows.loc[chosen, ["mean", "sd"]]', {"mean"}),
        ("f\"{row['case']}\"", {"case"}),
        ('row.get("exact")', {"exact"}),
        ('"positive_control" in rows', {"positive_control"}),
        ('rows.groupby(["study", "case"])', {"case"}),
        ('rows.pivot_table(index="case")', {"case"}),
        ("rows.assign(compression=d / b, low=0)", {"compression"}),
        ('[row[name] for name in ("mean", "low")]', {"mean"}),
        ('rows[rows[Column.QUANTITY] == "share"]', set()),  # a quantity
        ('axes.set_xlabel("round")', set()),
        ('for axes, label in ((left, "round"), (right, "share")): pass', set()),
        ('content.get("reason")', set()),
        ('tables["channel_noise"]', set()),
        ('rows["b"]', set()),
        ('Role = Literal["ours", "control"]', set()),
    ],
)
def test_what_counts_as_by_hand(code: str, found: set[str]) -> None:
    assert {name for _, name in by_hand(ast.parse(code))} == found
