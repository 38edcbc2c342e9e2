"""The factorial experiment on rounds: every number stands beside the levels that it was made at."""

import math
from collections.abc import Mapping
from typing import Any

import pytest

from sketchbench.measure.row import Row
from sketchbench.run import execution
from sketchbench.run.config import composition
from sketchbench.task.double_blind.rounds_factors import RoundsFactors

FACTORS: dict[str, list[Any]] = {
    "weights": ["torch", "listing"],
    "batch": [10, 20],
    "rate": [0.1, 0.4],
    "epochs": [1, 2],
    "local_step": ["sketch", "weights"],
    "momentum": [0, 0.9],
}
TIMES = {"rate": 2.0, "batch": 3.0, "local_step": 1.5}  # what the high level multiplies the rounds with
SKETCHED = 4.0


def task(factors: Mapping[str, list[Any]]) -> RoundsFactors:
    config = composition.frozen(composition.compose(["task=rounds_factors", "d=64", "b=32", "task.rounds=1000"])).config
    config["task"]["factors"] = dict(factors)
    made: RoundsFactors = execution.with_task(config, lambda task: task)
    return made


def rounds(case: str, levels: Mapping[str, Any]) -> int:
    high = [name for name in TIMES if levels[name] == FACTORS[name][1] and (case == "sketched" or name != "local_step")]
    return round(10 * math.prod(TIMES[name] for name in high) * (SKETCHED if case == "sketched" else 1))


@pytest.fixture(autouse=True)
def known_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The design is tested, and not training."""

    def known(self: RoundsFactors, case: str, levels: Mapping[str, Any], number: int, name: str) -> int:
        return rounds(case, levels)

    monkeypatch.setattr(RoundsFactors, "_rounds", known)


def told(row: Row) -> dict[str, Any]:
    """The levels that a row names."""
    words = dict(part.rsplit(" ", 1) for part in row["case"].partition(": ")[2].split(", "))
    return {name: next(level for level in FACTORS[name] if str(level) == word) for name, word in words.items()}


@pytest.mark.parametrize("trials_in", [1, -1])
@pytest.mark.parametrize("rows_in", [1, -1])
def test_levels_stand_beside_their_rounds(trials_in: int, rows_in: int) -> None:
    """Whatever the order of the factors in the config of a trial, and in that of the run which joins trials."""
    names = sorted(FACTORS)
    trial = task({name: FACTORS[name] for name in names[::trials_in]}).trial(0)
    rows = task({name: FACTORS[name] for name in names[::rows_in]}).rows([trial, trial])
    assert len({row["case"] for row in rows if row["quantity"] == "rounds_to_target"}) == 2 * 16
    for row in rows:
        if row["quantity"] == "rounds_to_target":
            assert row["mean"] == rounds(row["case"].partition(":")[0], told(row))
    effects = {row["case"]: math.exp(row["mean"]) for row in rows if row["quantity"] == "effect"}
    for name in FACTORS:
        on_plain = 1.0 if name == "local_step" else TIMES.get(name, 1.0)
        assert effects[f"{name} on plain"] == pytest.approx(on_plain)
        assert effects[f"{name} on sketched"] == pytest.approx(TIMES.get(name, 1.0))
        assert effects[f"{name} on ratio"] == pytest.approx(TIMES.get(name, 1.0) / on_plain)


def test_the_cost_of_a_rate_that_suits_plain_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The high rate takes half of the plain rounds, and twice the sketched ones; with Adam both prefer the high one."""

    def known(self: RoundsFactors, case: str, levels: Mapping[str, Any], number: int, name: str) -> int | None:
        faster = levels["rate"] == 0.4 and (case == "plain" or levels["optimiser"] == "adam")
        slower = levels["rate"] == 0.4 and not faster
        return 10 if faster else None if slower and number else 40 if slower else 20

    monkeypatch.setattr(RoundsFactors, "_rounds", known)
    made = task({"rate": [0.1, 0.4], "optimiser": ["sgd", "adam"]})
    rows = {row["case"]: row for row in made.rows([made.trial(0), made.trial(1)]) if row["quantity"] == "tuning"}
    costs = {case: (row["mean"], row["maximum"], row["count"], row["trials"]) for case, row in rows.items()}
    assert costs == {
        "plain's rate: optimiser sgd": (26.0, 50.0, 2, 2),  # 2, and 1,000 rounds, which is none of them, over 20
        "worse rate: optimiser sgd": (1.0, 1.0, 0, 2),
        "plain's rate: optimiser adam": (1.0, 1.0, 0, 2),
        "worse rate: optimiser adam": (2.0, 2.0, 2, 2),
    }
    assert made._learning_rate({"rate": 0.1, "optimiser": "adam"}) == pytest.approx(1e-3)


def test_fractions_of_a_design_have_no_runs_that_differ_by_the_rate_alone() -> None:
    made = task(FACTORS)
    assert not [row for row in made.rows([made.trial(0), made.trial(1)]) if row["quantity"] == "tuning"]


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ({"batch": [10, 1.5]}, "batch=1.5 must be an integer"),
        ({"epochs": [1, 0]}, "epochs=0 must be >= 1"),
        ({"momentum": [0, 1]}, "momentum=1 must be >= 0 and < 1"),
        ({"rate": [0.1, float("inf")]}, "rate=inf must be finite"),
        ({"rate": [-0.1, 0.1]}, "rate=-0.1 must be > 0"),
        ({"rate": [True, 0.1]}, "rate=True must be a number"),
        ({"local_step": ["sketch", "weight"]}, "local_step=weight is unknown; .* did you mean weights?"),
        ({"weights": ["torch", "listings"]}, "factors: weights=listings is unknown; .* did you mean listing?"),
    ],
)
def test_levels_are_checked_before_the_first_training(levels: dict[str, list[Any]], message: str) -> None:
    """Those of the last run of the design, too."""
    with pytest.raises((ValueError, TypeError), match=message):
        task({**FACTORS, **levels})
