"""What objectives refuse, argument by argument; and that gradients, constants and minima are what they say."""

import functools
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from examples import examples
from hydra.utils import instantiate
from hypothesis import given
from hypothesis import strategies as st
from wrong import Call, among, array, check_right, check_wrong, count, fixed, integer, not_negative, positive, public

from sketchbench import kernels
from sketchbench import kernels as backends
from sketchbench.kernels import Kernels, load
from sketchbench.learning.model.networks import mlp
from sketchbench.learning.objective import logistic, stacked
from sketchbench.learning.objective.canary import Canary
from sketchbench.learning.objective.logistic import Logistic
from sketchbench.learning.objective.objective import Objective
from sketchbench.learning.objective.problem import AXES, Problem
from sketchbench.learning.objective.quadratic import Quadratic
from sketchbench.learning.objective.saturating import STEEPEST, Saturating
from sketchbench.learning.objective.sparse_gradients import SparseGradients
from sketchbench.learning.objective.stacked import Batches, StackedPerceptron, perceptron
from sketchbench.run.config import composition

NUMPY = kernels.load("numpy")
D, N = 6, 3
SIZES = {"kernels": fixed(NUMPY), "d": count(D), "clients": count(N), "seed": integer(0)}
MODEL = partial(mlp, hidden=[4])
STACK = perceptron(NUMPY, MODEL, (1, 2, 2), 3)
LABELS = np.array([[[0, 2]], [[1, 1]]])
INPUTS = np.ones((2, 1, 2, 4), np.float32)
SHARES = np.ones((2, 1, 2), np.float32)
W = np.zeros((2, STACK.d), np.float32)
FEATURES = np.arange(6.0).reshape(3, 2)

CALLS: dict[str, Call] = {
    "Quadratic": (
        Quadratic,
        {
            **SIZES,
            "condition": among(10.0, 0.5, math.nan, math.inf, 1e300, "x"),
            "heterogeneity": not_negative(1.0),
            "flat": among(0.5, 1.0, -0.1, math.nan),
        },
    ),
    "Saturating": (Saturating, {**SIZES, "heterogeneity": not_negative(1.0), "distance": positive(2.0)}),
    "SparseGradients": (
        SparseGradients,
        {
            **SIZES,
            **{name: positive(1.0) for name in ("decay", "floor")},
            **{name: not_negative(1.0) for name in ("smooth", "spikes")},
            "spike_rate": among(0.5, 1.5, -0.1, math.nan),
            "active": among(2, 0, 7, 1.5, "x"),
        },
    ),
    "Canary": (
        Canary,
        {
            "kernels": fixed(NUMPY),
            "canary": array(np.ones(D), np.ones((1, 1, D))),
            "clients": count(2),
            "records": count(2),
        },
    ),
    "Logistic": (
        Logistic,
        {
            "kernels": fixed(NUMPY),
            "clients": among(20, 0, -1, 1e9, 10**9, True),
            "seed": integer(0),
            "data": among("digits", "digit", None),
            "ridge": positive(1.0),
            "held_out": among(0, -1, 10**9, 1.5, None),
        },
    ),
    "logistic.gradient": (
        logistic.gradient,
        {
            "weights": array(np.zeros(4), np.zeros(5)),
            "features": array(FEATURES, FEATURES[0], FEATURES[:2]),
            "labels": among(
                np.array([0, 1, 1]), np.array([0, 1, 2]), np.array([0, -1, 1]), np.array([0.0, 1, 1]), [0, 1, 1]
            ),
        },
    ),
    "stacked.perceptron": (
        stacked.perceptron,
        {"kernels": fixed(NUMPY), "make": fixed(MODEL), "shape": fixed((1, 2, 2)), "classes": count(3)},
    ),
    "stacked.initial_weights": (
        stacked.initial_weights,
        {"make": fixed(partial(MODEL, shape=(1, 2, 2), classes=3)), "seeds": among([1, 2], [])},
    ),
    "StackedPerceptron.gradients": (
        lambda w, inputs, labels, shares, clip: STACK.gradients(w, Batches(inputs, labels, shares), clip),
        {
            "w": among(W, W[:, :-1], W[0], W[:1]),
            "inputs": among(INPUTS, INPUTS[..., :2], INPUTS[:, :, :1]),
            "labels": among(LABELS, LABELS - 1, LABELS + 1, LABELS * 1.0, LABELS[..., :1]),
            "shares": among(SHARES, SHARES[..., :1]),
            "clip": among(1.0, 0.0, -1.0, math.nan),
        },
    ),
    "StackedPerceptron.accuracy": (
        STACK.accuracy,
        {
            "w": among(W, W[0]),
            "inputs": among(INPUTS[0, 0], INPUTS[0, 0, :1], INPUTS[0, 0, :, :1]),
            "labels": among(LABELS[0, 0], LABELS[0, 0] + 1, LABELS[0, 0, :0]),
        },
    ),
}


def test_every_function_has_a_door() -> None:
    asked_before = {"stacked.is_perceptron", "stacked.of_model"}  # of a network that is one
    assert set(public(logistic, stacked)) - asked_before <= CALLS.keys()


@pytest.mark.parametrize("name", CALLS)
def test_right_arguments(name: str) -> None:
    check_right(CALLS[name])


@pytest.mark.parametrize("name", CALLS)
@examples(8, deadline=None)
@given(data=st.data())
def test_wrong_arguments(name: str, data: st.DataObject) -> None:
    check_wrong(CALLS[name], data)


def _problems() -> dict[str, Problem]:
    made: dict[str, Problem] = {
        kind.__name__: kind(NUMPY, D, N, 0) for kind in (Quadratic, Saturating, SparseGradients)
    }
    return made | {"Canary": Canary(NUMPY, np.ones(D), N, 2), "Logistic": Logistic(NUMPY, N, 0, ridge=1.0, held_out=9)}


PROBLEMS = _problems()
RIGHT: dict[str, Callable[[int, int], tuple[int, ...]]] = {
    "loss": lambda d, n: (2, d),
    "gradient": lambda d, n: (2, d),
    "accuracy": lambda d, n: (2, d),
    "gradients": lambda d, n: (2, n, d),
    "batch_gradients": lambda d, n: (2, n, d),
    "stochastic_gradients": lambda d, n: (2, n, d),
    "stochastic_gradient": lambda d, n: (2, d),
}


@pytest.mark.parametrize("method", AXES)
@pytest.mark.parametrize("name", PROBLEMS)
def test_weights_are_checked(name: str, method: str) -> None:
    problem = PROBLEMS[name]
    if not hasattr(problem, method):
        return
    more: tuple[Any, ...] = ()
    if method == "batch_gradients":
        more = (np.full((2, *problem.records.shape), 0.5),)  # type: ignore[attr-defined]
    if method.startswith("stochastic"):
        more = (np.random.default_rng(0),)
    shape = RIGHT[method](problem.d, problem.clients)
    call, w = getattr(problem, method), np.ones(shape)
    call(w, *more)
    for wrong in (
        w[..., :-1],
        w[..., :1],
        np.ones(()),
        np.ones((*shape[:-2], 2, problem.d)) if len(shape) == 3 else w.T,
    ):
        with pytest.raises(ValueError, match="must end in"):
            call(wrong, *more)
    for other in (w.tolist(), w.astype(int), w + 0j, np.ma.masked_array(w, mask=w > 0), None):
        with pytest.raises(TypeError, match="must be a floating-point array of the kernels"):
            call(other, *more)
    if method == "batch_gradients":
        for bound in (0.0, -1.0, math.nan):
            with pytest.raises(ValueError, match=f"bound={bound} must be > 0"):
                call(w, *more, bound)
        with pytest.raises(ValueError, match="must end in"):
            call(w, more[0][..., :1])


def test_a_problem_of_ones_own_has_the_same_door() -> None:
    class Own(Quadratic):
        def loss(self, w: Any) -> Any:
            return w.sum(axis=-1)

    with pytest.raises(ValueError, match=r"weights of shape \(1,\) must end in \(d=6\)"):
        Own(NUMPY, D, N, 0).loss(np.ones(1))


def test_a_stack_is_still_a_stack() -> None:
    assert isinstance(STACK, StackedPerceptron)
    assert STACK.gradients(W, Batches(INPUTS, LABELS, SHARES)).shape == (2, 1, STACK.d)


# Every objective config: gradients, constants and minima are what they say


NAMES = sorted(path.stem for path in (composition.CONF / "objective").glob("*.yaml"))
SMALL = [name for name in NAMES if name != "mnist"]  # whose minimum takes half a minute to find


@functools.cache
def made(name: str, kernels: str = "numpy", **change: Any) -> Objective:
    """The objective of a config, in 24 dimensions where that is free."""
    overrides = ["task=convergence", f"objective@task.objective={name}", "d=24", "b=8"]
    config = composition.frozen(composition.compose(overrides)).config
    make = instantiate(config["task"]["objective"], _convert_="all")
    try:
        objective: Objective = make(kernels=backends.load(kernels), seed=3, **change)
    except FileNotFoundError as error:
        pytest.skip(str(error))
    return objective


EACH = pytest.mark.parametrize("name", SMALL)


@EACH
def test_gradients_are_differences_of_the_loss(name: str) -> None:
    objective = made(name)
    random = np.random.default_rng(0)
    w, direction = random.standard_normal((2, objective.d)) * 0.3
    step = 1e-5
    difference = objective.loss(w + step * direction) - objective.loss(w - step * direction)
    slope = objective.gradient(w) @ direction
    assert slope == pytest.approx(difference / (2 * step), rel=1e-5, abs=1e-8)


@EACH
def test_every_client_has_its_own_weights(name: str) -> None:
    objective = made(name)
    w = np.random.default_rng(1).standard_normal((2, objective.clients, objective.d))
    gradients = objective.gradients(w)
    assert gradients.shape == w.shape
    for c in (0, objective.clients - 1):
        alone = objective.gradients(np.repeat(w[:, c : c + 1], objective.clients, axis=1))
        np.testing.assert_allclose(alone[:, c], gradients[:, c], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(objective.loss(w)[1, 0], objective.loss(w[1, 0]), rtol=1e-12)


@EACH
def test_the_minimiser_is_one(name: str) -> None:
    objective = made(name)
    assert np.linalg.norm(objective.gradient(objective.minimiser)) <= 1e-10
    assert objective.minimum == pytest.approx(float(objective.loss(objective.minimiser)), rel=1e-12)
    random = np.random.default_rng(2)
    for size in (1e-3, 0.1, 3.0):
        near = objective.minimiser + size * random.standard_normal((20, objective.d))
        assert (objective.loss(near) >= objective.minimum - 1e-12).all()
    assert objective.gap > 0
    away = objective.start - objective.minimiser
    assert objective.squared_distance == pytest.approx(float(away @ away))


@EACH
@given(seed=st.integers(0, 2**32), size=st.floats(0.01, 5), apart=st.floats(1e-3, 3))
def test_the_constants_hold(name: str, seed: int, size: float, apart: float) -> None:
    """Between any two points, for every client: L, and μ where the losses are convex; G."""
    objective = made(name)
    random = np.random.default_rng(seed)
    x = size * random.standard_normal((objective.clients, objective.d))
    y = x + apart * random.standard_normal((objective.clients, objective.d))
    change = objective.gradients(y) - objective.gradients(x)
    squared = ((y - x) ** 2).sum(axis=-1)
    rise = (change * (y - x)).sum(axis=-1)
    assert (np.linalg.norm(change, axis=-1) <= objective.smoothness * np.sqrt(squared) * (1 + 1e-9)).all()
    if np.isfinite(objective.convexity):
        assert (rise >= objective.convexity * squared * (1 - 1e-9) - 1e-12).all()
    assert (np.linalg.norm(objective.gradients(x), axis=-1) <= objective.gradient_bound).all()


@EACH
def test_heterogeneity_is_that_of_the_minimiser(name: str) -> None:
    objective = made(name)
    best = np.repeat(objective.minimiser[None], objective.clients, axis=0)
    exact = (objective.gradients(best) ** 2).sum() / objective.clients
    assert objective.heterogeneity == pytest.approx(float(exact), rel=1e-9)


def test_mnist_where_it_is_found() -> None:
    objective = made("mnist")
    assert (objective.d, objective.clients) == (7850, 100)
    assert np.linalg.norm(objective.gradient(objective.minimiser)) <= 1e-10
    assert 0 < objective.minimum < objective.minimum + objective.gap == pytest.approx(np.log(10))


def test_quadratic_constants_are_attained() -> None:
    objective = made("quadratic")
    curvature = objective.gradients(np.ones((8, 24))) - objective.gradients(np.zeros((8, 24)))
    assert curvature.max() == pytest.approx(objective.smoothness)
    assert curvature.min() == pytest.approx(objective.convexity)
    assert made("flat_quadratic").convexity == 0
    assert made("quadratic", heterogeneity=0.0).heterogeneity < 1e-30


def test_the_saturating_constants_are_attained() -> None:
    objective = made("saturating", clients=1, heterogeneity=0.0)
    r = 3**-0.5
    w = objective.minimiser + r
    norm = np.linalg.norm(objective.gradient(w))
    assert norm == pytest.approx(objective.gradient_bound, rel=1e-9)
    assert 2 * r / (1 + r**2) ** 2 == pytest.approx(STEEPEST)


def test_the_backends_agree(kernels: Kernels) -> None:
    for name in ("quadratic", "saturating", "digits"):
        ours, theirs = made(name, kernels.NAME), made(name)
        w = np.random.default_rng(4).standard_normal((3, ours.clients, ours.d))
        found = kernels.to_numpy(ours.gradients(kernels.asarray(w)))
        np.testing.assert_allclose(found, theirs.gradients(w), rtol=1e-10, atol=1e-12)
        assert ours.minimum == pytest.approx(theirs.minimum, rel=1e-12)


def test_more_than_there_is() -> None:
    numpy = backends.load("numpy")
    with pytest.raises(ValueError, match="clients=5000 must be <= 1797"):
        Logistic(numpy, 5000, 0)
    with pytest.raises(ValueError, match="clients=10 must be <= 7, the samples"):
        Logistic(numpy, 10, 0, held_out=1790)
    with pytest.raises(ValueError, match="active=25 must be <= d=24"):
        made("sparse_gradients", active=25)


def test_noise_of_sparse_gradients() -> None:
    """Mean 0, and the variance of each coordinate; the mean over clients is drawn with that of a mean.

    Variances of 20,000 values with spikes have relative standard deviations below 4 %; bounds are at 6 of them.
    """
    problem = made("sparse_gradients", decay=6.0, spike_rate=0.05, clients=4)
    amplitude = 12.5 * problem.gradients(np.tile(problem.minimiser + 1, (4, 1))).mean(axis=0)
    expected = amplitude**2 + 50.0**2 * 0.05
    every = problem.noise(np.random.default_rng(0), 5000)
    assert every.shape == (5000, 4, 24)
    flat = every.reshape(-1, 24)
    np.testing.assert_allclose((flat**2).mean(axis=0), expected, rtol=0.25)
    assert (abs(flat.mean(axis=0)) < 6 * np.sqrt(expected / len(flat))).all()
    mean = problem.mean_noise(np.random.default_rng(1), 20000)
    np.testing.assert_allclose((mean**2).mean(axis=0), expected / 4, rtol=0.25)
    energy = (mean**2).sum(axis=1).mean()
    assert energy == pytest.approx(problem.noise_energy, rel=0.05)
    assert (every.mean(axis=1) ** 2).sum(axis=1).mean() == pytest.approx(energy, rel=0.1)


def test_sparse_gradients_have_the_curvature_of_the_paper() -> None:
    problem = made("sparse_gradients", active=9)
    curvature = problem.gradients(np.tile(problem.minimiser + 1.0, (20, 1)))
    expected = np.exp(-np.arange(1, 25) / 300) + 0.001
    expected[9:] = 0
    np.testing.assert_allclose(curvature.mean(axis=0), expected, atol=1e-12)
    assert (curvature[:, 9:] == 0).all()
    assert problem.mean_smoothness == pytest.approx(expected.max())
    assert problem.mean_convexity == 0
    assert made("sparse_gradients").mean_convexity == pytest.approx(np.exp(-24 / 300) + 0.001)
    np.testing.assert_allclose(problem.gradient(problem.start), curvature.mean(0) * -problem.minimiser)


@given(seed=st.integers(0, 99), classes=st.integers(1, 12))
def test_reductions_over_classes_are_numpys(seed: int, classes: int) -> None:
    """To the last bit, so that training by them is the same."""
    scores = np.random.default_rng(seed).standard_normal((3, 50, classes))
    np.testing.assert_array_equal(logistic._sum(scores), scores.sum(axis=-1))
    below = scores.copy()
    np.testing.assert_array_equal(logistic._take_highest(below, np), scores.max(axis=-1))
    np.testing.assert_array_equal(below, scores - scores.max(axis=-1, keepdims=True))


# Gradients of batches, against those of single records; bounds on them; records and held-out samples


CLIENTS, SAMPLES = 4, 375  # records of a client


@functools.cache
def digits() -> Logistic:
    return Logistic(load("numpy"), CLIENTS, 0, ridge=0.1, held_out=297)


def weights(scale: float = 3.0) -> np.ndarray:
    return scale * np.random.default_rng(0).standard_normal((2, CLIENTS, 650))


def single(w: np.ndarray, record: int) -> np.ndarray:
    shares = np.zeros((2, CLIENTS, SAMPLES))
    shares[..., record] = 1.0
    return digits().batch_gradients(w, shares) - 0.1 * w


@pytest.mark.parametrize("taken", [3, SAMPLES])
def test_a_batch_is_the_sum_of_its_records(taken: int) -> None:
    random = np.random.default_rng(1)
    w, shares = weights(), np.zeros((2, CLIENTS, SAMPLES))
    for place in np.ndindex(2, CLIENTS):
        shares[place][random.permutation(SAMPLES)[:taken]] = random.random(taken)
    expected = 0.1 * w
    for record in np.flatnonzero(shares.any(axis=(0, 1))):
        expected = expected + shares[..., record, None] * single(w, int(record))
    np.testing.assert_allclose(digits().batch_gradients(w, shares), expected, atol=1e-12)


def test_all_records_in_equal_shares_are_the_gradient() -> None:
    w = weights()
    shares = np.full((2, CLIENTS, SAMPLES), 1 / SAMPLES)
    np.testing.assert_allclose(digits().batch_gradients(w, shares), digits().gradients(w))


@pytest.mark.parametrize("scale", [0.0, 3.0, 1000.0])
def test_no_record_exceeds_the_bound(scale: float) -> None:
    """√2, which weights that are sure of the wrong class come near to."""
    norms = [np.linalg.norm(single(weights(scale), i), axis=-1).max() for i in range(0, 375, 25)]
    assert max(norms) <= digits().record_bound + 1e-12
    if scale == 1000.0:
        assert max(norms) > 0.99 * digits().record_bound


@pytest.mark.parametrize("bound", [0.05, 0.5])
def test_clipping(bound: float) -> None:
    """Longer gradients get this norm and keep their direction; shorter ones stay."""
    w = weights()
    for record in (0, 7):
        free = single(w, record)
        shares = np.zeros((2, CLIENTS, SAMPLES))
        shares[..., record] = 1.0
        clipped = digits().batch_gradients(w, shares, bound) - 0.1 * w
        norm = np.linalg.norm(free, axis=-1, keepdims=True)
        np.testing.assert_allclose(clipped, free * np.minimum(1, bound / norm), atol=1e-12)


def test_records_are_dealt_out_once() -> None:
    objective = digits()
    assert objective.records.shape == (CLIENTS, SAMPLES)
    assert np.unique(objective.records).size == CLIENTS * SAMPLES


def test_accuracy_is_that_of_samples_held_out() -> None:
    objective = digits()
    assert 0.6 < float(objective.accuracy(objective.minimiser)) < 1
    assert float(objective.accuracy(np.zeros(650))) < 0.2
    assert objective.accuracy(weights()).shape == (2, CLIENTS)
    with pytest.raises(ValueError, match="held_out=0 leaves no samples"):
        Logistic(load("numpy"), 2, 0).accuracy(np.zeros(650))


def test_the_canary_alone_is_seen() -> None:
    canary = np.array([3.0, 0.0, 4.0])
    objective = Canary(load("numpy"), canary, clients=2, records=5)
    shares = np.zeros((1, 2, 5))
    shares[..., 0] = 2.0
    w = np.ones((1, 2, 3))
    found = objective.batch_gradients(w, shares)
    np.testing.assert_allclose(found[0], [[6.0, 0.0, 8.0], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(objective.batch_gradients(w, shares, 1.0), found / 5)
    step = objective.loss(w[0, 0] + np.array([1e-3, 0, 0])) - objective.loss(w[0, 0])
    assert step / 1e-3 == pytest.approx(3.0 / 10)
    np.testing.assert_allclose(objective.gradient(np.ones(3)), canary / 10)
