"""What formulas refuse: each argument of each public function in turn is made wrong."""

import math
from typing import Any

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from wrong import (
    Call,
    Given,
    among,
    array,
    check_right,
    check_wrong,
    count,
    fixed,
    not_negative,
    positive,
    probability,
    public,
)

from sketchbench.theory import (
    compressed_sensing,
    convergence,
    corollaries,
    descent,
    double_blind,
    inner_product,
    isometry,
    leakage,
    local_steps,
    norm,
    second_moment,
    semi_smooth,
    tail,
    weight_sketch,
)
from sketchbench.theory.convergence import THEOREMS, Assumptions
from sketchbench.theory.known import Known
from sketchbench.theory.local_steps import ClientAverages

MODULES = [one for one in globals().values() if getattr(one, "__package__", "") == "sketchbench.theory"]
OPEN = {"inner_product.count_sketch", "leakage.semi_smoothness", "leakage.semi_smoothness_printed"} | {
    "leakage.non_critical",
    "leakage.non_critical_printed",
    "descent.first_gradients",
}  # no arguments, or one object that was checked when it was made
CONSTANTS: dict[str, Any] = {
    "smoothness": 2.0,
    "convexity": 0.5,
    "gradient_bound": 3.0,
    "gap": 1.0,
    "squared_distance": 1.5,
    "heterogeneity": 0.25,
    "alpha": 4.0,
    "local_steps": 2,
}
P = Assumptions(**CONSTANTS)
AT = ClientAverages(0.1, 0.2, 0.3, 0.4, 0.5)
P_, FLAT = Given(P, st.nothing()), Assumptions(**{**CONSTANTS, "convexity": 0.0})
STRONG = among(P, FLAT)
BUMPY = among(P, Assumptions(**{**CONSTANTS, "convexity": -math.inf}))
BOUNDED = among(P, Assumptions(**{**CONSTANTS, "gradient_bound": math.inf}))
TIMES = among(np.array([1, 5]), np.array([-1]), np.array([0.5]), np.array([], int), "x", np.array([math.nan]))
AVERAGES = among(
    AT, AT._replace(spread=math.nan), AT._replace(squared_distance=-1.0), AT._replace(excess=np.array([1.0, math.inf]))
)
PATH = among([AT, AT], [], [AT, AT._replace(progress=math.inf)])
MATRIX = np.arange(6.0).reshape(2, 3) + 1
ROWS = array(MATRIX, MATRIX[0], MATRIX[:, :2], MATRIX[:0])
V = np.array([1.0, 2.0, 4.0])
NUMBERS = among(V, V * math.nan, V * math.inf, V + 1j, "x")
SIZES = {"d": count(8), "b": count(4)}

CALLS: dict[str, Call] = {
    "compressed_sensing.orthogonal_constants": (
        compressed_sensing.orthogonal_constants,
        {"k": count(3), "d": count(8)},
    ),
    "compressed_sensing.sparsity_limit": (
        compressed_sensing.sparsity_limit,
        {"k": among(3, 0, 9, 2.0, None), "d": count(8), "tail": not_negative(1.0), "gamma": probability(0.5)},
    ),
    "convergence.noise_floor": (
        convergence.noise_floor,
        {"p": STRONG, "eta": positive(0.1), "t": TIMES, "variance": not_negative(1.0)},
    ),
    "convergence.noisy_strongly_convex": (
        convergence.noisy_strongly_convex,
        {"p": STRONG, "eta": positive(0.1), "t": TIMES, "variance": not_negative(1.0)},
    ),
    "corollaries.threshold": (corollaries.threshold, {"p": STRONG}),
    "corollaries.step": (corollaries.step, {"p": STRONG, "target": positive(0.1)}),
    "corollaries.rounds": (corollaries.rounds, {"p": STRONG, "target": positive(0.1)}),
    "corollaries.most_change": (
        corollaries.most_change,
        {"p": BOUNDED, "eta": positive(0.1), "squared_gradient": not_negative(1.0), "printed": among(True, 1, None)},
    ),
    "corollaries.convex_threshold": (corollaries.convex_threshold, {"p": BUMPY}),
    "corollaries.convex_step": (corollaries.convex_step, {"p": BUMPY, "target": positive(0.1)}),
    "corollaries.convex_rounds": (corollaries.convex_rounds, {"p": BUMPY, "target": positive(0.1)}),
    "descent.largest_step": (descent.largest_step, {"constants": fixed(descent.Rippled.constants)}),
    "descent.printed": (descent.printed, {"constants": fixed(descent.Rippled.constants), "eta": positive(0.1)}),
    "descent.proven": (descent.proven, {"constants": fixed(descent.Rippled.constants), "eta": positive(0.1)}),
    "descent.Constants": (
        descent.DescentConstants,
        {
            "c": among(0.0625, -1.0, 9.0, math.nan, None),
            "d": positive(1.0),
            "alpha": among(0.75, -1.0, 1.5, math.inf, "x"),
            "beta": positive(2.05),
            "theta_1": among(1.94, 0.0, 3.0, math.nan),
            "theta_2": among(2.05, 1.0, math.inf),
        },
    ),
    "descent.with_momentum": (
        descent.with_momentum,
        {"momentum": not_negative(0.9), "eta": positive(0.1), "alpha": not_negative(4.0)},
    ),
    "descent.beside_sgd": (
        descent.beside_sgd,
        {"alpha": positive(4.0), "rounds": count(2), "quieter": positive(4.0)},
    ),
    "compressed_sensing.feedback_limit": (
        compressed_sensing.feedback_limit,
        {"share": among(0.5, 0.0, 1.5, math.nan, None)},
    ),
    "double_blind.unreachable_share": (
        double_blind.unreachable_share,
        {"before": array(MATRIX, MATRIX[:1]), "after": array(MATRIX, V), "update": array(MATRIX, 0 * MATRIX)},
    ),
    "double_blind.penalty": (
        double_blind.penalty,
        {
            "features": array(MATRIX, V),
            "weights": array(V, V[:2], MATRIX),
            "second_moment": fixed(second_moment.gaussian),
            "size": count(2),
        },
    ),
    "double_blind.dropout_penalty": (
        double_blind.dropout_penalty,
        {"features": array(MATRIX, V), "weights": array(V, V[:2]), "kept": among(0.5, 0.0, -1.0, 1.5, math.nan)},
    ),
    "isometry.proposition_1": (isometry.proposition_1, {**SIZES, "k": count(2)}),
    "leakage.condition_7_5": (leakage.condition_7_5, {"low": array(V, 0 * V), "high": array(V, -V), "a": array(V, -V)}),
    "leakage.step_7_5": (
        leakage.step_7_5,
        {
            "low": array(V, -V),
            "high": array(V, 0 * V),
            "a": among(0.0, -1.0, math.nan, "x", None),
            "b": array(V, 0 * V),
        },
    ),
    "leakage.rate_7_5": (
        leakage.rate_7_5,
        {
            "low": array(V, -V),
            "high": array(V, 0 * V),
            "a": among(0.0, -1.0, math.nan, "x", None),
            "step": array(V, -V),
        },
    ),
    **{
        f"leakage.{name}_spectrum": (getattr(leakage, f"{name}_spectrum"), {"d": count(8), "b": count(4)})
        for name in ("gaussian", "orthogonal", "hadamard", "count_sketch")
    },
    "local_steps.most_gradient": (local_steps.most_gradient, {"p": P_, "at": AVERAGES}),
    "local_steps.least_progress": (local_steps.least_progress, {"p": BUMPY, "at": AVERAGES}),
    "local_steps.most_spread": (local_steps.most_spread, {"p": P_, "eta": positive(0.1), "path": PATH}),
    "local_steps.most_distance": (local_steps.most_distance, {"p": BUMPY, "eta": positive(0.1), "before": AVERAGES}),
    "local_steps.most_distance_after_sketch": (
        local_steps.most_distance_after_sketch,
        {"p": BUMPY, "eta": positive(0.1), "path": PATH},
    ),
    "semi_smooth.remainder": (
        semi_smooth.remainder,
        {"function": fixed(semi_smooth.FUNCTIONS["logarithm"]), "x": array(V, 0 * V, -V), "y": array(V, -V)},
    ),
    **{
        f"semi_smooth.{column.__name__}": (
            column,
            {
                "function": fixed(semi_smooth.ROWS["tanh"]),
                "x": NUMBERS,
                "y": among(V + 1, V * math.nan, "x"),
                "p": not_negative(0.5),
            },
        )
        for column in semi_smooth.COLUMNS.values()
    },
    "semi_smooth.fact_c_4": (semi_smooth.fact_c_4, {"case": among("square", "cube"), "x": array(V), "y": array(V + 1)}),
    "semi_smooth.fact_c_5": (semi_smooth.fact_c_5, {"case": among("cosh", "cube"), "x": NUMBERS}),
    "semi_smooth.allowed_by_lemma_i_9": (semi_smooth.allowed_by_lemma_i_9, {"x": array(V), "y": array(V)}),
    "weight_sketch.product_error": (weight_sketch.product_error, {"a": ROWS, "b": ROWS, "size": count(2)}),
    "weight_sketch.product_variance": (
        weight_sketch.product_variance,
        {"a": ROWS, "b": ROWS, "second_moment": fixed(second_moment.gaussian), "size": count(2)},
    ),
    "weight_sketch.update_error": (weight_sketch.update_error, {"old": ROWS, "new": ROWS, "v": ROWS, "size": count(2)}),
    "weight_sketch.update_error_plain": (
        weight_sketch.update_error_plain,
        {"old": ROWS, "new": ROWS, "size": count(2)},
    ),
    **{
        f"{module.__name__.rpartition('.')[2]}.{name}": (getattr(module, name), arguments)
        for module, arguments in (
            (norm, {"h": array(V, np.array([]), 1.0, [1.0, 2.0]), "b": count(2)}),
            (second_moment, {"g": array(V, V[:2]), "h": array(V, V[:2]), "b": count(2)}),
        )
        for name in ("gaussian", "hashed", "sampled_hadamard", "sampled_cosine", "uniform_sampling", "balanced")
    },
    **{
        f"{module.__name__.rpartition('.')[2]}.{name}": (getattr(module, name), {"h": array(V), **more})
        for module, more in ((norm, {"b": count(2)}), (second_moment, {"g": array(V), "b": count(2)}))
        for name in ("identity", "nothing")
    },
    **{
        f"{module.__name__.rpartition('.')[2]}.bound": (
            module.bound,
            {"h": array(V), **more, "b": count(2), "embedding_constant": not_negative(2.0)},
        )
        for module, more in ((norm, {}), (second_moment, {"g": array(V)}))
    },
    **{
        name: (getattr(module, name.partition(".")[2]), {"delta": probability(0.1), **SIZES, **more})
        for module, names in (
            (tail, ("dense", "count_sketch", "count_sketch_chebyshev", "sparse", "uniform_sampling")),
            (
                inner_product,
                ("printed", "printed_sparse", "derived_gaussian", "derived_hadamard", "derived_ams", "derived_sparse"),
            ),
        )
        for name, more in (
            (f"{module.__name__.rpartition('.')[2]}.{one}", {"s": count(2)} if "sparse" in one else {}) for one in names
        )
    },
    "Assumptions": (
        Assumptions,
        {
            **{name: not_negative(CONSTANTS[name]) for name in ("squared_distance", "heterogeneity", "alpha")},
            "smoothness": positive(2.0),
            "convexity": among(0.5, math.nan, math.inf, "x", None, True),
            "gradient_bound": among(3.0, math.nan, -1.0, "x", None, True),
            "gap": among(1.0, math.nan, math.inf, "x"),
            "local_steps": count(2),
        },
    ),
    "Constants": (
        leakage.LeakageConstants,
        {
            "theta_1": array(V, 9 * V),
            "theta_2": array(V, V / 9, -V),
            "lipschitz": array(V, -V),
            "gamma_1": array(V, 9 * V),
            "gamma_2": array(V, V / 9),
        },
    ),
    "claimed_alpha": (Known(embedding_constant=2.0).claimed_alpha, SIZES),
    "exact_alpha": (Known(norm=norm.gaussian).exact_alpha, SIZES),
    **{name: (theorem.bound, {"p": fixed(P), "eta": positive(0.1), "t": TIMES}) for name, theorem in THEOREMS.items()},
}


def test_every_function_has_a_door() -> None:
    assert set(public(*MODULES)) - OPEN <= CALLS.keys()


@pytest.mark.parametrize("name", CALLS)
def test_right_arguments(name: str) -> None:
    check_right(CALLS[name])


@pytest.mark.parametrize("name", CALLS)
@examples(10)
@given(data=st.data())
def test_wrong_arguments(name: str, data: st.DataObject) -> None:
    check_wrong(CALLS[name], data)


@pytest.mark.parametrize("name", THEOREMS)
def test_theorems_need_their_convexity(name: str) -> None:
    theorem = THEOREMS[name]
    for p in (FLAT, Assumptions(**{**CONSTANTS, "convexity": -math.inf})):
        if theorem.needs.holds(p.convexity):
            assert np.isfinite(theorem.bound(p, theorem.rate(p), np.array([3]))).all()
        else:
            with pytest.raises(ValueError, match=f"Theorem {name} needs"):
                theorem.rate(p)
            with pytest.raises(ValueError, match=f"Theorem {name} needs"):
                theorem.bound(p, 0.1, np.array([3]))


def test_a_start_within_the_target_needs_one_round() -> None:
    assert corollaries.rounds(Assumptions(**{**CONSTANTS, "squared_distance": 0.0}), 0.1) == 1
