"""What objectives refuse: each argument of constructors, and weights that NumPy would broadcast."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from wrong import Call, among, array, check_right, check_wrong, count, fixed, integer, not_negative, positive, public

from sketchbench import kernels
from sketchbench.learning.model.networks import mlp
from sketchbench.learning.objective import logistic, stacked
from sketchbench.learning.objective.canary import Canary
from sketchbench.learning.objective.logistic import Logistic
from sketchbench.learning.objective.problem import AXES, Problem
from sketchbench.learning.objective.quadratic import Quadratic
from sketchbench.learning.objective.saturating import Saturating
from sketchbench.learning.objective.sparse_gradients import SparseGradients
from sketchbench.learning.objective.stacked import Batches, StackedPerceptron, perceptron

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
