"""Events and runs of others come to the same ε by both sides' accountants."""

import functools
import math
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from sketchbench.integrations.accounting import dp_event, opacus_run
from sketchbench.integrations.scikit_learn import SketchTransformer
from sketchbench.privacy.accountant import epsilon
from sketchbench.privacy.mechanism import Composed, GaussianRelease, Parallel, PostProcessed, SampledGaussian
from sketchbench.privacy.sampling import Sampling
from sketchbench.sketch.count_sketch import CountSketch
from sketchbench.sketch.family import SizeError
from sketchbench.sketch.gaussian import Gaussian
from sketchbench.sketch.sparse import BlockSparseEmbedding
from sketchbench.sketch.transform import SubsampledHadamard

DELTA = 1e-5


def sampled(kind: Any, neighbours: Any) -> Composed:
    release = GaussianRelease(sensitivity=0.5, sigma=0.6)
    return Composed(SampledGaussian(release, Sampling(kind, 10, 1000), neighbours), 200)


def theirs(event: Any, neighbours: str) -> float:
    from dp_accounting import NeighboringRelation, rdp

    relation = {"add_remove": NeighboringRelation.ADD_OR_REMOVE_ONE, "replace_one": NeighboringRelation.REPLACE_ONE}[
        neighbours
    ]
    found: float = rdp.RdpAccountant(neighboring_relation=relation).compose(event).get_epsilon(DELTA)
    return found


@pytest.mark.parametrize(("kind", "neighbours"), [("poisson", "add_remove"), ("without_replacement", "replace_one")])
def test_an_event_has_the_epsilon_of_its_mechanism(kind: str, neighbours: str) -> None:
    mechanism = sampled(kind, neighbours)
    ours = epsilon("rdp", PostProcessed(mechanism, "a sketch"), DELTA)
    assert theirs(dp_event(mechanism), neighbours) == pytest.approx(ours, rel=0.03)
    more = Composed(mechanism.mechanism, 2000)
    assert theirs(dp_event(more), neighbours) > 1.3 * ours


def test_an_event_of_full_batches() -> None:
    from dp_accounting import GaussianDpEvent, SelfComposedDpEvent

    event = dp_event(Composed(Composed(GaussianRelease(2.0, 3.0), 4), 5))
    assert event == SelfComposedDpEvent(GaussianDpEvent(1.5), 20)


def test_what_has_no_event() -> None:
    with pytest.raises(ValueError, match="batches with replacement"):
        dp_event(sampled("with_replacement", "replace_one"))
    two = (GaussianRelease(1.0, 1.0), GaussianRelease(1.0, 2.0))
    with pytest.raises(ValueError, match="2 kinds of clients"):
        dp_event(Parallel(two, (frozenset({0}), frozenset({1}))))


def test_a_run_of_opacus() -> None:
    opacus = pytest.importorskip("opacus", reason="opacus is an extra: pip install 'sketchbench[opacus]'")
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(400, 3), torch.randint(0, 2, (400,)))
    model = nn.Linear(3, 2)
    engine = opacus.PrivacyEngine(accountant="rdp")
    private, optimizer, loader = engine.make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        data_loader=DataLoader(data, batch_size=20),
        noise_multiplier=1.1,
        max_grad_norm=1.0,
    )
    for inputs, labels in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(private(inputs), labels).backward()
        optimizer.step()
    run = opacus_run(engine.accountant.history)
    assert run.times == 20
    assert run.mechanism.sampling.rate == pytest.approx(1 / 20)
    ours = epsilon("rdp", run, DELTA)
    assert ours <= engine.get_epsilon(DELTA) * 1.001
    assert ours >= engine.get_epsilon(DELTA) * 0.8
    assert epsilon("pld", run, DELTA) <= ours * 1.001


def test_steps_are_whole() -> None:
    history = [(1.0, 0.1, 5)]
    for count in (5.0, np.int64(5)):
        assert opacus_run([(np.float32(1.0), np.float64(0.1), count)]) == opacus_run(history)
    for count in (100.7, math.nan, math.inf, True, np.float64(0.5)):
        with pytest.raises(ValueError, match="steps must be a whole number"):
            opacus_run([(1.0, 0.1, count)])


@pytest.mark.parametrize("history", [[], [(1.0, 0.1, 5), (2.0, 0.1, 5)], [(1.0, 0.0, 5)], [(1.0, math.nan, 5)]])
def test_a_history_that_cannot_be_accounted_for(history: Any) -> None:
    with pytest.raises(ValueError, match=r"settings must have one|sample rate"):
        opacus_run(history)


# The transformer keeps scikit-learn's contract, and gives what the operator gives


FAMILIES = [CountSketch, SubsampledHadamard, Gaussian, functools.partial(BlockSparseEmbedding, s=2)]


@parametrize_with_checks([SketchTransformer(family, n_components=2) for family in FAMILIES[:2]])
def test_scikit_learn_s_own_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_sketched_by_one_operator(family: Any, dtype: type) -> None:
    x = np.random.default_rng(0).standard_normal((50, 30)).astype(dtype)
    fitted = SketchTransformer(family, n_components=8, random_state=1).fit(x)
    matrix = fitted.operator_.materialize()
    sketched = fitted.transform(x)
    assert sketched.dtype == dtype
    np.testing.assert_allclose(sketched, x @ matrix.T, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(fitted.inverse_transform(sketched), sketched @ matrix, rtol=1e-4, atol=1e-5)
    again = SketchTransformer(family, n_components=8, random_state=1).fit(x)
    np.testing.assert_array_equal(again.transform(x), sketched)
    assert (SketchTransformer(family, n_components=8, random_state=2).fit_transform(x) != sketched).any()


def test_a_search_over_sizes() -> None:
    random = np.random.default_rng(0)
    labels = random.integers(0, 2, 120)
    x = random.standard_normal((120, 64)) + 4 * labels[:, None]
    model = make_pipeline(SketchTransformer(random_state=0), RidgeClassifier())
    search = GridSearchCV(model, {"sketchtransformer__n_components": np.arange(4, 17, 12)}).fit(x, labels)
    assert search.best_score_ > 0.9


def test_a_size_that_the_family_cannot_have() -> None:
    with pytest.raises(SizeError, match="b=9"):
        SketchTransformer(SubsampledHadamard, n_components=9).fit(np.ones((3, 4)))
