"""What attacks refuse: images out of range, labels that are no classes, victims that don't fit, and other axes."""

import dataclasses
import math
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from wrong import Call, Given, among, array, check_right, check_wrong, count, fixed, integer, natural, positive, public

from sketchbench import kernels
from sketchbench.attack import (
    attempt,
    dense_networks,
    matching_problem,
    membership,
    messages,
    prior,
    property,
    property_batches,
    victim,
)
from sketchbench.attack.dense_networks import DenseNetworks
from sketchbench.attack.gradient_matching import GradientMatching
from sketchbench.attack.inversion import LBFGS
from sketchbench.attack.property_batches import Party, PropertyBatches
from sketchbench.attack.view import View
from sketchbench.compressor.message import Layout
from sketchbench.learning.model.classification import Samples
from sketchbench.learning.model.networks import initialise, mlp
from sketchbench.sketch import Gaussian

NUMBA = kernels.load("numba")
SHAPE, CLASSES = (1, 2, 2), 3
MODEL = partial(mlp, SHAPE, CLASSES, hidden=[4])


def network(family: Any = None) -> nn.Module:
    return initialise(MODEL, 0).double()


IMAGES = torch.full((2, *SHAPE), 0.5, dtype=torch.float64)
LABELS = torch.tensor([0, 2])
NETWORK = network()
DENSE = DenseNetworks([initialise(MODEL, seed) for seed in range(2)])
D = DENSE.layout.d
BATCH = torch.full((2, 1, 1, 4), 0.5)
CLASS = torch.tensor([[[0]], [[2]]])
UPDATE = DENSE.gradients(BATCH, CLASS)[:, 0].double()
PROBLEM = matching_problem.bilinear(torch.Generator().manual_seed(0), 2, 4, lipschitz=2.0)
OPERATORS = Gaussian(4, 2).draw(0, kernels=NUMBA, operators=2)
MATCHING = GradientMatching(PROBLEM, OPERATORS)
X = PROBLEM.start
STEPS = {"a": torch.ones(2), "b": torch.zeros(3)}
OWN, TRUTH = np.arange(12.0).reshape(6, 2).astype(np.float32), np.arange(6) % 2 == 0
PIXELS = np.random.default_rng(0).random((5, *SHAPE))


def spoilt(tensor: torch.Tensor, value: float) -> torch.Tensor:
    wrong = tensor.clone()
    wrong.view(-1)[-1] = value
    return wrong


def tensor(right: torch.Tensor, *wrong: Any) -> Given:
    """A finite tensor; arrays, integers and other axes are wrong, too."""
    values = [spoilt(right, value) for value in (math.nan, math.inf, -math.inf)]
    return among(right, *values, right.long(), right[None], right.numpy(), None, *wrong)


def images(right: torch.Tensor, *wrong: Any) -> Given:
    return tensor(right, spoilt(right, -0.1), spoilt(right, 255.0), *wrong)


def labels(right: torch.Tensor, *wrong: Any) -> Given:
    return among(right, right - 1, right + 1, right.double(), right[None], right.tolist(), *wrong)


def view(**change: Any) -> View:
    given: dict[str, Any] = {
        "observed": torch.ones(5).double(),
        "predicted": lambda x, y: (x.sum() + y[0, 0]) * torch.ones(5).double(),
    }
    return View(**{**given, "shape": SHAPE, "classes": CLASSES, "nbytes": 40, **change})


ROUNDS: Any = [SimpleNamespace(messages=np.ones((2, 1, 2)), operators=OPERATORS)] * 2
SEARCH = LBFGS(3, 1, 0.0, "soft", history=2)
CALLS: dict[str, Call] = {
    "Victim": (
        lambda pixels, classes, of, network: victim.Victim(network, Samples(pixels, classes), of),
        {
            "pixels": images(IMAGES, IMAGES[:1], IMAGES[..., :1], IMAGES.float()),
            "classes": labels(LABELS, LABELS[:1]),
            "of": among(CLASSES, 2, 4, 0),
            "network": among(network, lambda family: nn.Sequential(nn.Flatten(), nn.Linear(5, 3).double())),
        },
    ),
    "victim.gradient": (
        victim.gradient,
        {
            "network": fixed(NETWORK),
            "image": among(IMAGES[:1], IMAGES[:1, :, :1], IMAGES[:1].float()),
            "label": among(LABELS[:1], LABELS, torch.ones(1, 4).double()),
        },
    ),
    "victim.gradients": (
        victim.gradients,
        {"network": fixed(NETWORK), "image": fixed(IMAGES[:1]), "label": among(LABELS[:1], LABELS)},
    ),
    "victim.jacobian": (
        victim.jacobian,
        {
            "network": fixed(NETWORK),
            "image": tensor(IMAGES[:1], IMAGES),
            "label": among(LABELS[1:], LABELS, LABELS[1:] + 1, LABELS[1:] - 3, LABELS[1:].double()),
        },
    ),
    "victim.clip_norm": (
        victim.clip_norm,
        {"vector": among(torch.ones(3), torch.ones(3, 1), None), "bound": among(1.0, 0.0, -1.0, math.nan)},
    ),
    "View": (
        view,
        {
            "observed": among(torch.ones(5), torch.ones(1, 5), torch.ones(0), None),
            "shape": among(SHAPE, (2, 2), (1, 0, 2)),
            "classes": among(3, 0, -1),
            "nbytes": among(40, -1),
            "output": among(None, torch.ones(2), torch.ones(3, 1), 1.0),
            "noise": among(0.0, -1.0, math.nan, math.inf),
        },
    ),
    "Inversion.run": (
        SEARCH.run,
        {
            "view": among(
                view(),
                view(observed=torch.zeros(5)),
                view(observed=torch.full((5,), math.nan)),
                view(predicted=lambda x, y: x.sum()[None]),
            ),
            "seed": integer(0),
        },
    ),
    "DenseNetworks": (
        DenseNetworks,
        {"networks": among([initialise(MODEL, 0)], [], [nn.ReLU()], [initialise(MODEL, 0), mlp(SHAPE, 2, hidden=[4])])},
    ),
    "DenseNetworks.gradients": (
        DENSE.gradients,
        {
            "images": among(BATCH, BATCH[:1], BATCH[..., :2], BATCH[:, :, :0], BATCH.numpy()),
            "labels": labels(CLASS, CLASS[:1]),
        },
    ),
    "DenseNetworks.with_projections": (
        DENSE.with_projections,
        {
            "projections": among(
                [None] * 4, [None], [np.eye(4), None, None, None], [np.ones((2, 3, 3)), None, None, None]
            ),
            "kernels": fixed(NUMBA),
        },
    ),
    "dense_networks.estimate_first_inputs": (
        dense_networks.estimate_first_inputs,
        {
            "update": tensor(UPDATE, UPDATE[:, 1:]),
            "known": tensor(torch.ones_like(UPDATE), UPDATE[:1]),
            "layout": among(DENSE.layout, Layout(()), Layout(((2,),)), Layout(((4, 4), (3,)))),
        },
    ),
    "matching_problem.bilinear": (
        matching_problem.bilinear,
        {"random": fixed(torch.Generator()), "trials": count(2), "d": count(4), "lipschitz": positive(1.0)},
    ),
    "matching_problem.residual": (
        matching_problem.residual,
        {"random": fixed(torch.Generator()), "trials": count(2), "d": count(4), "variation": positive(0.1)},
    ),
    "matching_problem.perceptron": (
        matching_problem.perceptron,
        {"random": fixed(torch.Generator()), "trials": count(2), "d": among(8, 7, 0, 2, -4, 8.0), "samples": count(2)},
    ),
    "GradientMatching": (
        GradientMatching,
        {
            "problem": among(
                PROBLEM,
                PROBLEM._replace(w=PROBLEM.w[:1]),
                PROBLEM._replace(start=PROBLEM.private),
                PROBLEM._replace(private=spoilt(PROBLEM.private, math.nan)),
            ),
            "operators": among(
                OPERATORS, Gaussian(4, 2).draw(0, kernels=NUMBA), Gaussian(3, 2).draw(0, kernels=NUMBA, operators=2)
            ),
        },
    ),
    **{
        f"GradientMatching.{name}": (getattr(MATCHING, name), {"x": among(X, X[:1], X[:, :1], X[0], X.numpy())})
        for name in ("gradient", "view", "loss", "evaluate", "recovered_share")
    },
    "GradientMatching.descend": (
        lambda step, rounds: list(MATCHING.descend(step, rounds)),
        {"step": array(np.full(2, 0.1), np.ones(1), 0.1), "rounds": natural(2)},
    ),
    "GradientMatching.constants": (MATCHING.constants, {"evaluations": among([MATCHING.evaluate(X)], [])}),
    "membership.most_visible": (
        membership.most_visible,
        {
            "operators": among([OPERATORS], [], [OPERATORS, Gaussian(5, 2).draw(0, kernels=NUMBA, operators=2)]),
            "kernels": fixed(NUMBA),
        },
    ),
    "membership.worlds": (
        membership.worlds,
        {
            "direction": array(np.ones(3), np.ones((1, 1, 3))),
            "neighbours": among("add_remove", "none", None),
            "clients": count(2),
            "records": count(2),
            "kernels": fixed(NUMBA),
        },
    ),
    "membership.likelihood_ratio": (
        membership.likelihood_ratio,
        {
            "sent": among(ROUNDS, [], ROUNDS[:1]),
            "direction": array(np.ones(4), np.ones(3), np.ones((3, 4))),
            "kernels": fixed(NUMBA),
            "rounds": count(2),
        },
    ),
    "messages.step_of_other_client": (
        messages.step_of_other_client,
        {"update": fixed(STEPS), "own": among(STEPS, {}), "share": among(0.5, 1.0, -0.1, math.nan, math.inf)},
    ),
    "messages.flatten": (messages.flatten, {"steps": among(STEPS, {}), "names": among(["a", "b"], [], ["c"])}),
    "prior.uniform_prior": (prior.uniform_prior, {"shape": among(SHAPE, (2, 2), (1, 0, 1)), "like": fixed(IMAGES)}),
    "prior.learn_prior": (prior.learn_prior, {"images": array(PIXELS, PIXELS[:1], PIXELS[0]), "like": fixed(IMAGES)}),
    "RandomForest.area_under_roc": (
        property.RandomForest(2).area_under_roc,
        {
            "own": array(OWN, OWN[0], OWN[:5]),
            "labels": among(TRUTH, TRUTH[:5], TRUTH | True, TRUTH.astype(float), None),
            "seen": among([OWN], [OWN[:, :1]], [OWN * np.nan], [OWN[:2]]),
            "truth": among(TRUTH, TRUTH[:4], TRUTH & False, TRUTH.tolist()),
            "seed": integer(0),
        },
    ),
    "PropertyBatches.truth": (
        PropertyBatches([0], 3, 0.5, 2).truth,
        {"rounds": count(3), "random": fixed(np.random.default_rng(0))},
    ),
    "Party": (
        Party,
        {
            "images": tensor(torch.ones(4, *SHAPE), torch.ones(3, *SHAPE)),
            "classes": among(np.array([0, 0, 1, 1]), np.array([0.0, 0, 1, 1]), [0, 0, 1, 1], np.zeros(4, np.int64)),
            "batches": fixed(PropertyBatches([0], 3, 0.5, 2)),
            "random": fixed(np.random.default_rng(0)),
        },
    ),
}
SEEN_ELSEWHERE = {  # of a network or a data set, in the contract of views and in the tasks
    "attempt.attempt",
    "attempt.draw_victim",
    "attempt.pixels",
    "matching_problem.normal",
    "messages.full_steps",
    "messages.full_weights",
    "messages.estimate_update",
    "prior.learn_class_priors",
}


def test_every_function_has_a_door() -> None:
    modules = attempt, dense_networks, matching_problem, membership, messages, prior, property, property_batches, victim
    assert set(public(*modules)) - SEEN_ELSEWHERE <= CALLS.keys()


@pytest.mark.parametrize("name", sorted(CALLS))
def test_right_arguments(name: str) -> None:
    check_right(CALLS[name])


@pytest.mark.parametrize("name", CALLS)
@examples(8, deadline=None)
@given(data=st.data())
def test_wrong_arguments(name: str, data: st.DataObject) -> None:
    check_wrong(CALLS[name], data)


def test_what_a_wrong_image_says() -> None:
    with pytest.raises(ValueError, match=r"entry \(1, 0, 1, 1\) of images is 255.0; every entry must be in \[0, 1\]"):
        victim.Victim(network, Samples(spoilt(IMAGES, 255.0), LABELS), CLASSES)
    with pytest.raises(
        ValueError, match=r"the network's scores of an image are \(1, 3\), and must be \(1, classes=4\)"
    ):
        victim.Victim(network, Samples(IMAGES, LABELS), 4)
    with pytest.raises(ValueError, match=r"the network takes no images of shape \(1, 1, 2, 1\)"):
        victim.Victim(network, Samples(IMAGES[..., :1], LABELS), CLASSES)


def test_a_view_is_checked_after_replacement() -> None:
    with pytest.raises(ValueError, match=r"noise=-1\.0 must be >= 0"):
        dataclasses.replace(view(), noise=-1.0)
