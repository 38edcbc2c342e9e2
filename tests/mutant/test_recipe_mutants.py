"""Recoveries and trainings that are not what T1-residual, T7-less-sparse, T9-compression, T18-rows-lower, T20-momentum,
Z2-order, Z6-total, Z7-cnn-others and Z7-tuning say are rejected by them, at the level of a quick run."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from judging import shared, verdict
from recoveries import SmallestKept

from sketchbench.federated.compressed_sensing import CompressedSensingSGD
from sketchbench.federated.peers import Table
from sketchbench.learning.objective.sparse_gradients import SparseGradients
from sketchbench.measure.row import Row
from sketchbench.sketch import BlockSparseEmbedding, CountSketch, SubsampledHadamard
from sketchbench.sketch.recovery import FIHT, CountSketchMedian
from sketchbench.task.double_blind.weight_sketch import WeightSketch
from sketchbench.task.error_feedback.compressed_sensing import CompressedSensingTask
from sketchbench.task.recovery.reconstruction import Reconstruction
from sketchbench.theory.known import Known

RANDOM = np.random.default_rng(0)
RESIDUAL = partial(FIHT, stopping="residual", support="padded")


def recovered(family: Any, recovery: Any, noise: float = 0.05) -> list[Row]:
    return Reconstruction(**shared(family, 50), recovery=recovery, k=29, noise=noise, rows=5).run()


def around(mean: float) -> np.ndarray:
    return mean * (1 + 0.1 * RANDOM.standard_normal(50))


@pytest.mark.parametrize("keep", [FIHT, SmallestKept])
def test_the_published_stopping_rule(keep: type[FIHT]) -> None:
    kind = partial(keep, stopping="residual", support="padded")
    rows = [row for b in (520, 130) for row in recovered(SubsampledHadamard(652, b, signs=False), kind)]
    assert verdict("T1-residual", rows) == ("holds" if keep is FIHT else "fails")


@pytest.mark.parametrize("keep", [FIHT, SmallestKept])
def test_signals_that_are_less_sparse(keep: type[FIHT]) -> None:
    rows = recovered(SubsampledHadamard(652, 520, signs=False), partial(keep, stopping="paper"), noise=0.2)
    assert verdict("T7-less-sparse", rows) == ("holds" if keep is FIHT else "fails")


@pytest.mark.parametrize(("middle", "b", "expected"), [("lower", 500, "holds"), ("mean", 1000, "fails")])
def test_the_lower_median(middle: Any, b: int, expected: str) -> None:
    family = BlockSparseEmbedding(5222, b, s=10)
    rows = Reconstruction(
        **shared(family, 50), recovery=partial(CountSketchMedian, middle=middle), k=235, noise=0.05, rows=5
    ).run()
    assert verdict("T18-rows-lower", rows) == expected


@pytest.mark.parametrize(
    ("claim", "price", "share", "expected"),
    [
        ("T9-compression", (0.2, 0.8), 0.3, "holds"),
        ("T9-compression", (0.2, 0.2), 0.3, "fails"),  # as much at every compression
        ("T9-compression", (0.2, 0.8), 0.7, "fails"),  # which does not converge
        ("T20-momentum", (), 0.3, "holds"),
        ("T20-momentum", (), 0.7, "fails"),
    ],
)
def test_gradual_decline_and_momentum(claim: str, price: Any, share: float, expected: str) -> None:
    rows = [Row("price", compression=c, bound=c).mean(around(m)) for c, m in zip((2.0, 5.0), price, strict=False)]
    assert verdict(claim, [*rows, Row("share", case="recovery", bound=0.5).mean(around(share))]) == expected


def test_the_order_of_theorem_1() -> None:
    """Of sketches whose size grows with d, and of the estimate of zero, errors don't grow."""

    def rows(sizes: dict[int, int]) -> list[Row]:
        made = (
            WeightSketch(
                **shared(CountSketch(d, b), 400), known=Known(), cases=["centred"], outputs=2, features=2
            ).run()
            for d, b in sizes.items()
        )
        return [row.replace(d=d, b=8) for d, own in zip(sizes, made, strict=True) for row in own]

    right = rows({32: 8, 128: 8})
    assert verdict("Z2-order", right) == "holds"
    assert verdict(
        "Z2-order", [row.replace(bound=row["d"] / 8) for row in rows({32: 8, 128: 32}) if "bound" in row]
    ) == ("fails")
    zero = [row.replace(case="centred") for row in right if row.get("case") == "zero"]
    assert verdict("Z2-order", zero) == "fails"


@pytest.mark.parametrize(("much", "expected"), [(0, "holds"), (24, "fails")])
def test_bytes_to_the_target(much: int, expected: str) -> None:
    row = Row("bytes_excess", case="sketched", participation=0.2, threshold=2.0, bound=0.5).counted(much, 24)
    assert verdict("Z6-total", [row]) == expected


@pytest.mark.parametrize(("factor", "expected"), [(1.9, "holds"), (2.1, "fails")])
def test_ratios_of_the_convolutional_network(factor: float, expected: str) -> None:
    row = Row("ratio_excess", case="sketched", participation=0.2).exceedances([factor], 2.0)
    assert verdict("Z7-cnn-others", [row]) == expected


@pytest.mark.parametrize(("cost", "expected"), [(1.2, "holds"), (1.3, "fails")])
def test_tuning(cost: float, expected: str) -> None:
    row = Row("tuning", case="plain's rate: optimiser sgd").exceedances([1.0, cost], 1.25)
    assert verdict("Z7-tuning", [row]) == expected


def test_the_price_of_compression() -> None:
    """The last loss less that of the uncompressed runs, of the same task."""
    rows = CompressedSensingTask(
        **shared(SubsampledHadamard(256, 64, signs=False), 3),
        recovery=partial(FIHT, stopping="paper", support="padded"),
        objective=partial(SparseGradients, d=256, clients=4, decay=4.7),
        rounds=8,
        k=8,
        algorithm=partial(CompressedSensingSGD, clients="mean"),
        peers=["uncompressed"],
        problem="one",
        table=Table(4, 4),
        points=2,
    ).run()
    loss = {row["case"]: row["mean"] for row in rows if row["quantity"] == "loss" and row["round"] == 8}
    (price,) = (row for row in rows if row["quantity"] == "price")
    assert price["mean"] == pytest.approx(loss["recovery"] - loss["uncompressed"], rel=1e-9)
    assert (price["compression"], price["bound"], price["round"]) == (4.0, 4.0, 8)
