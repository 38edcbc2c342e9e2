"""Reconstruction, stability, units and padding: every row, computed again by hand."""

import math
from functools import partial
from typing import Any

import numpy as np
import pytest

from sketchbench.base import seeds
from sketchbench.kernels import Kernels
from sketchbench.measure.row import Row
from sketchbench.measure.summary import summarize
from sketchbench.sketch import BlockSparseEmbedding, Family, Sketch, SubsampledHadamard
from sketchbench.sketch.recovery import FIHT, IHT, CountSketchMedian, Desketch, Recovery
from sketchbench.sketch.recovery.control import Nothing
from sketchbench.task.recovery import signals
from sketchbench.task.recovery.padding import Padding
from sketchbench.task.recovery.reconstruction import Reconstruction
from sketchbench.task.recovery.stability import Stability
from sketchbench.task.recovery.units import Units
from sketchbench.task.sketches import trials

D, B, K, TRIALS = 60, 40, 5, 7
SENSING = SubsampledHadamard(D, B, signs=False)


def shared(kernels: Kernels, recovery: Any, family: Family = SENSING) -> dict[str, Any]:
    return {
        "family": family,
        "recovery": recovery,
        "kernels": kernels,
        "seed": 3,
        "trials": TRIALS,
        "k": K,
    }


def one(rows: list[Row], **wanted: Any) -> Row:
    (row,) = (row for row in rows if wanted.items() <= row.items())
    return row


def numbers(row: Row) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "quantity"}


def check_values(row: Row, values: Any) -> None:
    """A row summarizes just these values."""
    assert {key: row[key] for key in summarize(values)} == pytest.approx(summarize(values), rel=1e-7, abs=1e-12)


def operator(kernels: Kernels, task: str, family: Family = SENSING) -> Sketch:
    return family.draw(seeds.key(3, task=task, family=repr(family)), kernels=kernels)


def recovered(kernels: Kernels, recovery: Recovery, sketch: Sketch, x: Any, w: Any = 0) -> Any:
    y = sketch.sketch(kernels.asarray(x)) + kernels.asarray(np.asarray(w + np.zeros(sketch.b)))
    return kernels.to_numpy(recovery.recover(sketch, y).x)


# Reconstruction


def reconstruction(kernels: Kernels, recovery: Any = FIHT, **options: Any) -> Reconstruction:
    return Reconstruction(**{**shared(kernels, recovery), "noise": 0.05, "rows": 5, **options})


def test_reconstruction(kernels: Kernels) -> None:
    rows = reconstruction(kernels).run()
    x = signals.draw_sparse(D, K, TRIALS, 3, noise=0.05)
    cells = BlockSparseEmbedding(D, B, 5)
    found = recovered(kernels, FIHT(K), operator(kernels, "reconstruction"), x)
    table = recovered(kernels, CountSketchMedian(K), operator(kernels, "reconstruction", cells), x)
    errors, peers = signals.relative_error(x, found), signals.relative_error(x, table)
    rest = np.sort(x**2, axis=1)[:, : D - K].sum(axis=1) / (x**2).sum(axis=1)
    check_values(one(rows, quantity="relative_error"), errors)
    check_values(one(rows, quantity="floor"), rest)
    check_values(one(rows, quantity="difference", bound=0.0), errors - peers)
    check_values(one(rows, quantity="lead", bound=D / B), peers - errors)
    assert (errors >= rest).all()
    iterations = one(rows, quantity="iterations")
    assert 3 <= iterations["minimum"] <= iterations["maximum"] <= 25
    assert one(rows, quantity="seconds")["mean"] > 0
    assert {row["compression"] for row in rows} == {D / B}


def test_reconstruction_in_blocks(monkeypatch: pytest.MonkeyPatch, kernels: Kernels) -> None:
    """Three signals at a time give what all give at once."""
    whole = reconstruction(kernels).run()
    monkeypatch.setattr(trials, "WORKSPACE", 3 * 4 * D)
    for row, other in zip(whole, reconstruction(kernels).run(), strict=True):
        assert row["quantity"] == other["quantity"]
        if row["quantity"] != "seconds":
            assert numbers(row) == pytest.approx(numbers(other), rel=1e-9, abs=1e-12)


def test_no_difference_from_itself(kernels: Kernels) -> None:
    """CountSketch with the same rows is the same operator, on the same signals."""
    family = BlockSparseEmbedding(D, B, 5)
    rows = reconstruction(kernels, CountSketchMedian, family=family).run()
    for quantity in ("difference", "lead"):
        row = one(rows, quantity=quantity)
        assert (row["mean"], row["sd"]) == (0, 0)
    assert one(rows, quantity="iterations")["maximum"] == 0


def test_signals_do_not_depend_on_the_recovery(kernels: Kernels) -> None:
    floors = {
        one(reconstruction(kernels, kind, family=family).run(), quantity="floor")["mean"]
        for kind, family in ((FIHT, SENSING), (Desketch, BlockSparseEmbedding(D, B, 4)))
    }
    assert len(floors) == 1


def test_rows_that_do_not_divide_b(kernels: Kernels) -> None:
    with pytest.raises(ValueError, match="b=40 must be a multiple of the number of blocks s=7"):
        reconstruction(kernels, rows=7).run()


# Stability


def test_stability(kernels: Kernels) -> None:
    amounts = [0.1, 2.0]
    rows = Stability(**shared(kernels, FIHT), amounts=amounts).run()
    x = signals.draw_sparse(D, K, TRIALS, 3)
    x /= np.sqrt((x**2).sum(axis=1))[:, None]
    random = seeds.generator(3, data="stability", d=D, b=B)
    noise, tail = random.standard_normal((TRIALS, B)), random.standard_normal((TRIALS, D))
    noise /= np.sqrt((noise**2).sum(axis=1))[:, None]
    tail /= np.sqrt((tail**2).sum(axis=1))[:, None]
    sketch = operator(kernels, "stability")
    for amount in amounts:
        found = recovered(kernels, FIHT(K), sketch, x, amount * noise)
        errors = np.sqrt(((x - found) ** 2).sum(axis=1))
        usual = [row for row in rows if "case" not in row]
        check_values(one(usual, quantity="noise_error", amount=amount, bound=amount), errors)
        check_values(one(usual, quantity="noise_ratio", amount=amount), errors / amount)
        whole = x + amount * tail
        found = recovered(kernels, FIHT(K), sketch, whole)
        errors = np.sqrt(((whole - found) ** 2).sum(axis=1))
        check_values(one(usual, quantity="tail_error", amount=amount, bound=amount), errors)
        check_values(one(usual, quantity="tail_ratio", amount=amount), errors / amount)
        rest = np.sort(abs(whole), axis=1)[:, : D - K]
        two, ones = np.sqrt((rest**2).sum(axis=1)), rest.sum(axis=1)
        constant = one(usual, quantity="tail_constant", amount=amount)
        least = (errors - two) / (two + ones / math.sqrt(K))
        check_values(constant, least)
        C = constant["maximum"]
        assert (errors <= (C + 1) * two + C / math.sqrt(K) * ones + 1e-12).all()
    assert len(rows) == 21


def test_stability_in_the_worst_directions(kernels: Kernels) -> None:
    """Noise that looks like an error in the entries of x cannot be told from one: FIHT makes that error."""
    rows = Stability(**shared(kernels, FIHT), amounts=[0.001]).run()
    worst = [row for row in rows if row.get("case") == "worst"]
    ratio = one(worst, quantity="noise_ratio")
    assert 0.7 < ratio["minimum"] <= ratio["maximum"] < 1.5
    sketch = operator(kernels, "stability").materialize()
    columns = kernels.to_numpy(sketch)
    delta = one(rows, quantity="isometry")
    assert 0 < delta["maximum"] <= abs(np.linalg.eigvalsh(columns.T @ columns) - 1).max() + 1e-9


def test_stability_of_nothing(kernels: Kernels) -> None:
    """Recovering zero, the error is the norm of the signal: 1 without a tail."""
    rows = Stability(**shared(kernels, Nothing), amounts=[0.25, 4.0]).run()
    for amount in (0.25, 4.0):
        usual = [row for row in rows if "case" not in row]
        error = one(usual, quantity="noise_error", amount=amount)
        assert (error["minimum"], error["maximum"]) == pytest.approx((1, 1))
        assert one(usual, quantity="noise_ratio", amount=amount)["mean"] == pytest.approx(1 / amount)
        tail = one(usual, quantity="tail_error", amount=amount)
        assert abs(1 - amount) < tail["minimum"] <= tail["maximum"] < 1 + amount


# Units


@pytest.mark.parametrize(
    ("recovery", "changed"),
    [
        (FIHT, []),
        (partial(FIHT, stopping="paper"), [-30]),
        (partial(IHT, stopping="paper"), [-30]),
        (Desketch, []),
    ],
)
def test_units(kernels: Kernels, recovery: Any, changed: list[int]) -> None:
    rows = Units(**shared(kernels, recovery), noise=0.05, exponents=[-30, 30]).run()
    x = signals.draw_sparse(D, K, TRIALS, 3, noise=0.05)
    sketch = operator(kernels, "units")
    base = signals.relative_error(x, recovered(kernels, recovery(K), sketch, x))
    check_values(one(rows, quantity="relative_error", unit=1.0), base)
    for exponent in (-30, 30):
        unit = 2.0**exponent
        found = recovered(kernels, recovery(K), sketch, unit * x)
        errors = signals.relative_error(x, found / unit)
        check_values(one(rows, quantity="relative_error", unit=unit), errors)
        change = one(rows, quantity="change", case=f"unit 2^{exponent}", unit=unit, bound=1e-9)
        assert change["maximum"] == pytest.approx(abs(errors - base).max(), abs=1e-12)
        assert change["count"] == (TRIALS if exponent in changed else 0)
    assert len(rows) == 5


# Padding


@pytest.mark.parametrize("kind", [FIHT, IHT])
def test_padding(kernels: Kernels, kind: type[FIHT]) -> None:
    bounds = {"sparse": 1.01, "heavy_tail": 0.99}
    family = SubsampledHadamard(70, 40, signs=False)
    rows = Padding(**shared(kernels, kind, family), signals=bounds).run()
    sketch = operator(kernels, "padding", family)
    for case, bound in bounds.items():
        x = signals.draw(case, 70, K, TRIALS, 3)
        errors = {}
        for support in ("padded", "true"):
            recovery = kind(K, support=support)  # type: ignore[arg-type]
            found = recovered(kernels, recovery, sketch, x)
            errors[support] = signals.relative_error(x, found)
            picked = {"case": case, "support": support}
            check_values(one(rows, quantity="relative_error", **picked), errors[support])
            wasted = one(rows, quantity="wasted", **picked)
            check_values(wasted, (K - (found != 0).sum(axis=1)) / K)
            if support == "true":
                assert wasted["maximum"] == 0
            elif case == "heavy_tail":
                assert wasted["mean"] > 0
        ratio = one(rows, quantity="ratio", case=case, bound=bound)
        check_values(ratio, errors["true"] / errors["padded"])
    assert len(rows) == 10


def test_padding_of_nothing(kernels: Kernels) -> None:
    """At a power of two, both supports are the same."""
    family = SubsampledHadamard(64, 30, signs=False)
    rows = Padding(**shared(kernels, FIHT, family), signals={"heavy_tail": 1.0}).run()
    ratio = one(rows, quantity="ratio")
    assert (ratio["minimum"], ratio["maximum"], ratio["case"]) == (1, 1, "heavy_tail")
    assert one(rows, quantity="wasted", support="padded")["maximum"] == 0


# What all refuse


@pytest.mark.parametrize("task", ["reconstruction", "stability", "units", "padding"])
def test_more_nonzeros_than_coordinates(kernels: Kernels, task: str) -> None:
    given = {**shared(kernels, FIHT), "k": D + 1}
    made: Any = {
        "reconstruction": partial(Reconstruction, noise=0.05, rows=5),
        "stability": partial(Stability, amounts=[0.1]),
        "units": partial(Units, noise=0.05, exponents=[1]),
        "padding": partial(Padding, signals={"sparse": 1.0}),
    }[task]
    with pytest.raises(ValueError, match=f"k={D + 1} must"):
        made(**given).run()
