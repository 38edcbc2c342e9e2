"""The remaining claims reject broken sketches too: tails, inner products, growth, weights."""

import pytest
from judging import shared, verdicts
from operators import (
    BucketsShared,
    CountSketchGrowing,
    CountSketchTwice,
    DesketchNotAdjoint,
    OperatorReused,
    SamplingTwice,
)

from sketchbench.sketch import AMS, BlockSparseEmbedding, CountSketch, Family, UniformSampling
from sketchbench.sketch.control import EqualSigns
from sketchbench.task.inner_products import InnerProducts
from sketchbench.task.moments import Moments
from sketchbench.task.tails import Tails
from sketchbench.task.weight_sketch import WeightSketch
from sketchbench.theory import inner_product, tail
from sketchbench.theory.known import Known

COUNT_SKETCH = Known(tails={"D.25": tail.count_sketch, "D.26": tail.count_sketch_chebyshev})
SAMPLING = Known(always={"D.28": tail.uniform_sampling})


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("family", "known", "expected"),
    [
        (CountSketch(240, 8), COUNT_SKETCH, False),
        (EqualSigns(240, 8), COUNT_SKETCH, True),
        (UniformSampling(240, 8), SAMPLING, False),
        (SamplingTwice(240, 8), SAMPLING, True),
    ],
    ids=lambda value: type(value).__name__,
)
def test_tails(family: Family, known: Known, expected: bool) -> None:
    task = Tails(
        **shared(family, 9000),
        known=known,
        pairs=["flat", "spike"],
        deltas=[0.1, 0.01, 0.001],
        points=4,
    )
    assert ("fails" in verdicts("S6", task.run())) is expected


@pytest.mark.statistical
@pytest.mark.parametrize("family", [BlockSparseEmbedding, BucketsShared])
def test_inner_products(family: type[BlockSparseEmbedding]) -> None:
    def derived(delta: float, *, d: int, b: int) -> float:
        return inner_product.derived_sparse(delta, d=d, b=b, s=32)

    known = Known(inner_products={"derived": derived})
    task = InnerProducts(**shared(family(64, 128, s=32), 800), known=known, deltas=[0.1, 0.01])
    rows = [{**row, "d": 64, "b": 128} for row in task.run()]
    assert ("fails" in verdicts("S5-corrected", rows)) is (family is BucketsShared)


@pytest.mark.parametrize("family", [CountSketch, CountSketchTwice])
def test_largest_inner_product_of_count_sketch(family: type[CountSketch]) -> None:
    known = Known(inner_products={"always": inner_product.count_sketch})
    rows = InnerProducts(**shared(family(64, 16), 20), known=known, deltas=[0.1]).run()
    assert ("fails" in verdicts("S5b", rows)) is (family is CountSketchTwice)


@pytest.mark.statistical
@pytest.mark.parametrize("family", [AMS, CountSketch])
def test_decay_with_the_sketch_size(family: type[Family]) -> None:
    """The largest inner product falls like 1/√b for AMS, not for CountSketch."""
    rows = []
    for b in (32, 128):
        for row in InnerProducts(**shared(family(64, b), 200), known=Known(), deltas=[0.1]).run():
            rows.append({"case": None, **row, "d": 64, "b": b})
    assert verdicts("S5-corrected", rows) == ({"holds"} if family is AMS else {"fails"})


@pytest.mark.statistical
@pytest.mark.parametrize("case", ["centred", "uncentred"])
def test_growth_of_the_relative_error(case: str) -> None:
    """A scale of √s in the sketch undoes the decay over s that Z3 claims."""
    for family, expected in ((CountSketch, {"holds"}), (CountSketchGrowing, {"fails"})):
        rows = []
        for d in (32, 128):
            for b in (4, 16):
                task = WeightSketch(**shared(family(d, b), 2000), cases=[case], outputs=16, features=16)
                rows += [{**row, "d": d, "b": b} for row in task.run()]
        found = verdicts(f"Z3-{case}", rows)
        assert ("fails" in found) is (expected == {"fails"} or case == "uncentred")


@pytest.mark.statistical
@pytest.mark.parametrize("constant", ["d", "2"])
def test_growth(constant: str) -> None:
    """Uniform sampling passes with a = d, and fails where a constant a is claimed of it."""
    rows = []
    for d in (32, 128, 512):
        known = Known(embedding_constant=d if constant == "d" else 2)
        task = Moments(**shared(UniformSampling(d, 8), 10_000), known=known, pairs=["spike", "flat"])
        rows += [{**row, "d": d, "b": 8} for row in task.run()]
    assert verdicts("S4", rows) == ({"holds"} if constant == "d" else {"fails"})


@pytest.mark.statistical
@pytest.mark.parametrize("claim", ["Z1", "Z2"])
@pytest.mark.parametrize("family", [CountSketch, EqualSigns, DesketchNotAdjoint, OperatorReused, CountSketchTwice])
def test_weights(family: type[CountSketch], claim: str) -> None:
    task = WeightSketch(
        **shared(family(24, 8), 10_000),
        cases=["centred", "structured"],
        outputs=4,
        features=3,
    )
    assert ("fails" in verdicts(claim, task.run())) is (family is not CountSketch)
