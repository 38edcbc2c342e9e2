"""Whether verdicts are reproduced: a word for each pair of rows."""

import inspect
import math
from typing import Any, get_args

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sketchbench.report.claim import reproduction
from sketchbench.report.claim.criteria import CRITERIA
from sketchbench.report.claim.reproduction import compare, last_line
from sketchbench.report.claim.verdict import Verdict

ROW = {"claim": "X1", "method": "a", "label": "A", "verdict": "holds", "predicted": "fails", "criterion": "upper_bound"}
ROW |= {"statistic": 1.0, "low": 0.5, "high": 1.5, "bound": 2.0, "slack": 0.25, "trials": 100, "case": "d=8"}
ROW |= {"study": "one"}
COMPUTED = {"criterion": "computed", "trials": 0, "low": 1.0, "high": 1.0, "slack": 0.5}
FAILS = {"verdict": "fails", "low": 2.5, "high": 3.5, "statistic": 3.0, "slack": -0.75}
OPEN = {"verdict": "inconclusive", "low": 1.0, "high": 3.0, "slack": -0.5}
SHARE = {"criterion": "probability", "trials": 24, "statistic": 1.0, "bound": 0.5, "low": 0.509, "high": 1.0}
Changes = dict[str, Any]


def table(*rows: Changes) -> pd.DataFrame:
    return pd.DataFrame([{**ROW, **row} for row in rows])


def words(published: pd.DataFrame, found: pd.DataFrame) -> list[str]:
    return [one.word for one in compare(published, found)]


def other_case(**numbers: float) -> Changes:
    return {"case": "d=16", **numbers}


CASES: list[tuple[Changes, Changes, str]] = [
    ({}, {}, "reproduced"),
    ({"comparisons": 9}, {"comparisons": 9}, "reproduced"),
    ({"comparisons": 9}, {"comparisons": 8}, "differs"),  # rows were lost
    ({"comparisons": 8}, {"comparisons": 9}, "reproduced"),
    ({"negative_control_rejected": "2 of 9"}, {"negative_control_rejected": "1 of 9"}, "reproduced"),
    ({"negative_control_rejected": "2 of 9"}, {"negative_control_rejected": "2 of 8"}, "differs"),
    ({}, {"low": 1.4, "high": 1.9, "statistic": 1.7}, "reproduced"),  # intervals that overlap
    ({}, {"low": 1.5, "high": 1.9}, "reproduced"),  # in one point
    ({}, {"low": 1.51, "high": 1.9}, "differs"),
    ({}, {"low": 0.1, "high": 0.49}, "differs"),
    ({}, {"low": 1.50001, "high": 1.9}, "reproduced"),  # one step of the sixth digit
    ({}, {"bound": 2.1}, "differs"),
    ({}, {"bound": 2.00002}, "reproduced"),
    ({}, OPEN, "weaker"),
    (OPEN, {}, "stronger"),
    (FAILS, OPEN, "weaker"),
    (OPEN, FAILS, "stronger"),
    (FAILS, {**OPEN, "low": 1.0, "high": 2.4}, "differs"),  # weaker, and of another quantity
    ({}, {**OPEN, "bound": 9.0, "low": 8.0, "high": 9.5}, "weaker"),  # another quantity decides in the same case
    ({**OPEN, "bound": 9.0, "low": 8.0, "high": 9.5}, {}, "stronger"),
    (OPEN, {**OPEN, "bound": 2.1}, "differs"),
    ({}, {"verdict": "holds, not sharp"}, "weaker"),
    ({"verdict": "holds, not sharp"}, {}, "stronger"),
    ({"verdict": "holds, not sharp"}, OPEN, "weaker"),
    ({"verdict": "not refuted"}, OPEN, "weaker"),
    (OPEN, {"verdict": "not refuted"}, "stronger"),
    ({"verdict": "not refuted"}, {"verdict": "fails"}, "differs"),
    ({}, {"verdict": "not refuted"}, "differs"),  # the claim was read otherwise
    ({}, {"verdict": "vacuous"}, "differs"),
    ({"verdict": "vacuous"}, {"verdict": "holds, not sharp"}, "differs"),
    ({}, {"verdict": "fails"}, "differs"),  # with overlapping intervals, too
    ({"verdict": "fails"}, {"verdict": "does not transfer"}, "differs"),
    ({}, {"verdict": "void"}, "differs"),
    (OPEN, {**OPEN, "verdict": "void"}, "differs"),
    ({"verdict": "void"}, OPEN, "differs"),
    (COMPUTED, COMPUTED, "reproduced"),
    (COMPUTED, {**COMPUTED, "statistic": 1.00001}, "reproduced"),
    (COMPUTED, {**COMPUTED, "statistic": 1.00003}, "differs"),
    (COMPUTED, {**COMPUTED, "statistic": math.inf}, "differs"),
    ({**COMPUTED, "statistic": 0.0}, {**COMPUTED, "statistic": -1.4e-13}, "reproduced"),  # rounding
    ({**COMPUTED, "statistic": 0.0}, {**COMPUTED, "statistic": 1e-8}, "differs"),
    (COMPUTED, {**COMPUTED, **other_case(statistic=5.0, bound=10.0)}, "reproduced"),  # a tie of two cases
    (COMPUTED, {**COMPUTED, **other_case(statistic=5.0, bound=10.0, slack=0.49)}, "differs"),
    ({}, other_case(bound=4.0, low=1.0, high=3.5), "reproduced"),  # in multiples of the bound
    ({}, other_case(bound=4.0, low=3.1, high=3.5), "differs"),
    ({}, other_case(bound=40.0, low=1.0, high=3.5), "differs"),
    ({"case": "d=8, largest 1.3 of 2"}, {"case": "d=8, largest 1.4 of 2", "bound": 2.1}, "differs"),  # one case
    ({"criterion": "equality"}, {"criterion": "equality", **other_case(low=5.0, high=6.0, bound=5.5)}, "reproduced"),
    (FAILS, {**FAILS, **other_case(low=9.0, high=9.5)}, "reproduced"),  # of another case that fails
]


@pytest.mark.parametrize(("was", "now", "word"), CASES)
def test_the_word_for_two_rows(was: Changes, now: Changes, word: str) -> None:
    assert words(table(was), table(now)) == [word]


@pytest.mark.parametrize(
    ("rule", "broken"),
    [
        ("RESOLUTION = 1e-5", "RESOLUTION = 1e-6"),
        ("RESOLUTION = 1e-5", "RESOLUTION = 1e-4"),
        ("ROUNDING * unit", "0"),
        ("ROUNDING * unit", "100 * ROUNDING * unit"),
        ("if gate.VOID in (was, now)", "if False"),
        ('now == "inconclusive" or', "False or"),
        ('was == "inconclusive" or', "False or"),
        ('or (was, now) == ("holds", "holds, not sharp")', ""),
        ('or (was, now) == ("holds, not sharp", "holds")', ""),
        ('"differs" if apart else', ""),
        ("_numbers(was, now)) if apart else", "_numbers(was, now)) if False else"),
        ("if _decided_by(was) != _decided_by(now)", "if False"),
        ("if _decided_by(was) != _decided_by(now)", "if True"),
        ("if undecided_once", "if False"),
        ("if undecided_once", "if True"),
        ("if not _close(was[Column.BOUND]", "if False and not _close(was[Column.BOUND]"),
        ("now[Column.TRIALS] == 0", "now[Column.TRIALS] == 1"),
        ('_close(was["statistic"], now["statistic"], unit)', "True"),
        ('_close(was["slack"], now["slack"])', "True"),
        ('_close(was["slack"], now["slack"])', '_close(was["statistic"], now["statistic"])'),
        ("/ row[Column.BOUND]", ""),
        ("((one[1], other[0]), (other[1], one[0]))", "((one[1], other[0]),)"),
        ("((one[1], other[0]), (other[1], one[0]))", "((other[1], one[0]),)"),
        ("if not hold or", "if"),
        ('or was["criterion"] not in BY_SLACK', ""),
        ("(, )?largest .*", "nothing"),
        ("if not (math.isfinite(one)", "if False and (math.isfinite(one)"),
        ("and not _close(high, low, unit)", ""),
    ],
)
def test_each_rule_decides_a_case(rule: str, broken: str) -> None:
    """A module without it gives another word for one of them."""
    source = inspect.getsource(reproduction)
    assert rule in source
    mutant: dict[str, Any] = {"__name__": "mutant"}
    exec(source.replace(rule, broken), mutant)
    found = [mutant["compare"](table(was), table(now))[0].word for was, now, _ in CASES]
    assert found != [word for _, _, word in CASES]


def test_rows_on_one_side_only() -> None:
    idle = {"verdict": "not run", "method": "", "label": "", "trials": math.nan}
    both = table({}, {"method": "b", "label": "B"})
    assert words(table({}), both) == words(both, table({})) == ["reproduced", "differs"]
    assert words(table(idle), both) == ["not run", "not run"]
    assert words(both, table(idle)) == ["differs", "differs"]  # a study that is left out
    assert words(table(idle), table(idle)) == ["not run"]
    assert words(both, table({"claim": "X2"})) == ["differs"] * 3
    (first, second) = compare(table({}), both)[1:], compare(both, table({}))[1:]
    assert [str(one) for one in (*first, *second)] == [
        "X1 B: differs: it is not published",
        "X1 B: differs: it is published, but missing here",
    ]


def test_times_are_left_out() -> None:
    old = table({}, {"claim": "X2"}).drop(columns="predicted")
    assert words(old, table({}, {**FAILS, "claim": "X2", "predicted": "any"})) == ["reproduced"]


def test_the_last_line() -> None:
    share = {"verdict": "fails", **SHARE, "claim": "F6", "label": "PowerSGD"}
    fewer = {**share, "verdict": "inconclusive", "statistic": 0.916667, "low": 0.4}
    compared = compare(table({}, share), table({}, fewer))
    last = "reproduced: 1 of 2 verdicts; weaker: F6 PowerSGD, 22 of 24 trials (published: 24)"
    assert last_line(compared) == last
    assert str(compared[1]) == ("F6 PowerSGD: weaker: inconclusive, published fails: 22 of 24 trials (published: 24)")
    (more,) = compare(table({**share, "trials": 30}), table(fewer))
    assert more.numbers == "22 of 24 trials (published: 30 of 30)"
    idle = {"claim": "X9", "verdict": "not run", "method": ""}
    assert last_line(compare(table({}, idle), table({}, idle))) == "reproduced: 1 of 1 verdicts; not run: 1"
    many = [{"claim": f"X{number}"} for number in range(5)]
    said = last_line(compare(table(*many), table(*({**one, **FAILS} for one in many))))
    assert said == "reproduced: 0 of 5 verdicts; differs: 5 (X0 A, X1 A, X2 A, ...)"
    said = last_line(compare(table({}), table(FAILS)))
    assert said.endswith("differs: X1 A, 3 in [2.5, 3.5], bound 2 (published: 1 in [0.5, 1.5], bound 2)")


FLOATS = st.floats()  # some are infinite, or none
ENDS = st.tuples(st.floats(allow_nan=False), st.floats(allow_nan=False)).map(sorted) | st.just([math.nan, math.nan])
DRAWN = {
    "verdict": st.sampled_from([one for one in get_args(Verdict) if one != "not run"]),
    "criterion": st.sampled_from(sorted(CRITERIA)),
    "trials": st.integers(0, 10**9),
    "case": st.sampled_from(["d=8", "d=16"]),
    **dict.fromkeys(("statistic", "bound", "slack"), FLOATS),
}
ROWS = st.builds(lambda ends, **row: {**row, "low": ends[0], "high": ends[1]}, ENDS, **DRAWN)


@given(st.lists(ROWS, min_size=1, max_size=4))
def test_a_table_is_reproduced_by_itself(rows: list[Changes]) -> None:
    whole = table(*({**row, "claim": f"X{number}"} for number, row in enumerate(rows)))
    assert words(whole, whole) == ["reproduced"] * len(rows)


@given(ROWS, ROWS)
def test_the_other_way_round_stronger_is_weaker(was: Changes, now: Changes) -> None:
    (there,), (back,) = words(table(was), table(now)), words(table(now), table(was))
    assert {"weaker": "stronger", "stronger": "weaker"}.get(there, there) == back
