"""Stacked perceptrons against torch's autograd, one network and one record at a time."""

import functools
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from sketchbench.kernels import Kernels
from sketchbench.learning.model import classification
from sketchbench.learning.model.networks import cnn, initialise, mlp
from sketchbench.learning.objective import stacked
from sketchbench.learning.objective.stacked import Batches, StackedPerceptron, initial_weights, perceptron

TRIALS, CLIENTS, BATCH, CLASSES = 3, 2, 4, 5
MAKE = functools.partial(mlp, hidden=(7, 6))
SHAPE = (1, 3, 3)
INPUTS = 9


class Case:
    def __init__(self, kernels: Kernels) -> None:
        random = np.random.default_rng(0)
        self.kernels = kernels
        self.network = perceptron(kernels, MAKE, SHAPE, CLASSES)
        self.w = initial_weights(lambda: MAKE(shape=SHAPE, classes=CLASSES), [5, 6, 7])
        each = (TRIALS, CLIENTS, BATCH)
        self.inputs = random.standard_normal((*each, INPUTS), dtype=np.float32)
        self.labels = random.integers(0, CLASSES, each)
        self.shares = random.random(each, dtype=np.float32)
        self.shares[0, 0, 0] = 0  # of a record that only fills up

    def gradients(self, **options: Any) -> np.ndarray:
        asarray = self.kernels.asarray
        batches = Batches(asarray(self.inputs), asarray(self.labels), asarray(self.shares))
        return np.asarray(self.kernels.to_numpy(self.network.gradients(asarray(self.w), batches, **options)))

    def by_autograd(self, clip: float | None = None, projections: Any = None) -> np.ndarray:
        found = np.zeros((TRIALS, CLIENTS, self.network.d))
        for t in range(TRIALS):
            layers = self._layers(t, projections)
            model = nn.Sequential(*layers).double()
            trained = [value for layer in layers for value in layer.parameters() if value.requires_grad]
            for c, i in np.ndindex(CLIENTS, BATCH):
                scores = model(torch.from_numpy(self.inputs[t, c, i][None]).double())
                loss = classification.loss(scores, torch.tensor([self.labels[t, c, i]]))
                flat = torch.cat([part.flatten() for part in torch.autograd.grad(loss, trained)]).numpy()
                length = np.linalg.norm(flat)
                found[t, c] += self.shares[t, c, i] * flat * (1 if clip is None else min(1, clip / length))
        return found

    def _layers(self, t: int, projections: Any) -> list[nn.Module]:
        model = MAKE(shape=SHAPE, classes=CLASSES)
        nn.utils.vector_to_parameters(torch.from_numpy(self.w[t]), model.parameters())
        layers: list[nn.Module] = []
        number = 0
        for part in model.children():
            if isinstance(part, nn.Linear):
                if projections is not None and projections[2 * number] is not None:
                    fixed = nn.Linear(part.in_features, part.in_features, bias=False)
                    fixed.weight = nn.Parameter(torch.from_numpy(projections[2 * number][t]), requires_grad=False)
                    layers.append(fixed)
                number += 1
            layers.append(part)
        return layers


@pytest.fixture
def case(kernels: Kernels) -> Case:
    return Case(kernels)


def test_gradients(case: Case) -> None:
    np.testing.assert_allclose(case.gradients(), case.by_autograd(), rtol=1e-4, atol=1e-6)


def test_gradients_of_records_are_clipped(case: Case) -> None:
    lengths = np.linalg.norm(case.by_autograd().reshape(-1, case.network.d), axis=1)
    clip = float(np.median(lengths))
    found = case.gradients(clip=clip)
    np.testing.assert_allclose(found, case.by_autograd(clip=clip), rtol=1e-4, atol=1e-6)
    assert not np.allclose(found, case.gradients(), rtol=1e-2)
    assert not np.allclose(found, case.gradients(clip=clip / 2), rtol=1e-2)


@pytest.mark.parametrize("projected", [(True, True, False), (False, True, True)])
def test_projections_stand_before_their_layers(case: Case, projected: tuple[bool, ...]) -> None:
    random = np.random.default_rng(1)
    projections: list[Any] = []
    for inputs, is_there in zip((INPUTS, 7, 6), projected, strict=True):
        matrices = random.standard_normal((TRIALS, inputs, inputs), dtype=np.float32) if is_there else None
        projections += [matrices, None]
    given = [None if matrix is None else case.kernels.asarray(matrix) for matrix in projections]
    found = case.gradients(projections=given, clip=2.0)
    expected = case.by_autograd(projections=projections, clip=2.0)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)


def test_the_projection_of_a_bias_is_refused(case: Case) -> None:
    with pytest.raises(ValueError, match="bias has no inputs"):
        case.gradients(projections=[None, np.eye(7), None, None, None, None])


def test_accuracy(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stacked, "EVALUATED", 30)
    random = np.random.default_rng(2)
    inputs = random.standard_normal((100, INPUTS), dtype=np.float32)
    labels = random.integers(0, CLASSES, 100)
    asarray = case.kernels.asarray
    found = case.kernels.to_numpy(case.network.accuracy(asarray(case.w), asarray(inputs), asarray(labels)))
    expected = []
    for seed in (5, 6, 7):
        model = initialise(lambda: MAKE(shape=SHAPE, classes=CLASSES), seed)
        scores = model(torch.from_numpy(inputs))
        expected.append(classification.accuracy(scores, torch.from_numpy(labels)))
    assert found.tolist() == pytest.approx(expected)


def test_only_perceptrons_are_stacked(reference: Kernels) -> None:
    convolutional = functools.partial(cnn, filters=[2], kernel=3, pooled=[False], hidden=[4])
    with pytest.raises(ValueError, match=r"this is Sequential of Conv2d.*choose a perceptron"):
        perceptron(reference, convolutional, (1, 8, 8), 10)
    assert isinstance(perceptron(reference, MAKE, SHAPE, CLASSES), StackedPerceptron)
