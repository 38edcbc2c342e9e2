"""Stacks of perceptrons: gradients of T networks on batches of C clients each, all at once. Backpropagation is written
as products of matrices. For a small network it takes half the time of `torch.func.vmap` on a CPU, and a fortieth with
clipping of every record's gradient: norms need no gradients."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from torch import nn

from sketchbench.base.parameters import Count, checked
from sketchbench.kernels import Array, Kernels
from sketchbench.learning.model.dense import is_perceptron
from sketchbench.learning.model.networks import MakeModel, Shape, initialise

EVALUATED = 1000  # images per batch in evaluation

Shapes = tuple[tuple[int, ...], ...]
Projections = Sequence[Array | None]


class Batches(NamedTuple):
    """Batches of B records with p features, of C clients in each of T trials: inputs, float32 (T, C, B, p); labels,
    classes, integers (T, C, B); and each record's share in the client's gradient, float32 (T, C, B), 0 for padding."""

    inputs: Array
    labels: Array
    shares: Array

    def merge(self) -> "Batches":
        """A single client with all records, whose gradient is the mean of the clients' gradients."""
        inputs, labels, shares = (part.reshape(len(part), 1, -1, *part.shape[3:]) for part in self)
        return Batches(inputs, labels, shares / self.shares.dtype.type(self.shares.shape[1]))


class _Pass(NamedTuple):
    """Results of a forward and a backward pass, with the clients' records one after another: the inputs of each layer,
    after its projection, (T, C B, inputs), and the records' loss slopes by its outputs, (T, C B, outputs)."""

    inputs: list[Array]
    slopes: list[Array]


@dataclass(frozen=True)
class StackedPerceptron:
    """The cross-entropy of dense layers with ReLU between them, as a function of flat weights in float32. Shapes are of
    the parameters: a matrix (outputs, inputs) and its biases (outputs,), layer by layer."""

    kernels: Kernels
    shapes: Shapes

    @property
    def d(self) -> int:
        """The number of parameters."""
        return sum(int(np.prod(shape)) for shape in self.shapes)

    def gradients(
        self, w: Array, batches: Batches, clip: float | None = None, projections: Projections | None = None
    ) -> Array:
        """Sums of the gradients of a client's records, each times its share, at weights float32 (T, d): float32 (T, C,
        d), in new memory. O(T C B d). `clip` is the ℓ2 norm to which a record's gradient is clipped, before its share
        is applied; None: no clipping. `projections` has for each of `shapes` a matrix P, float32 (T, inputs, inputs),
        by which the layer's input x becomes Px, or None; None: no projections."""
        self._check(w, batches.inputs, batches.labels)
        if batches.labels.ndim != 3 or batches.shares.shape != batches.labels.shape or len(w) != len(batches.labels):
            raise ValueError(
                f"labels {batches.labels.shape} and shares {batches.shares.shape} must be (T, C, B), with T={len(w)}"
            )
        if clip is not None and not clip > 0:
            raise ValueError(f"clip={clip} must be > 0; None for no clipping")
        xp, (trials, clients, batch) = self.kernels.xp, batches.labels.shape
        layers = list(self._layers(w))
        both = self._run(layers, batches, projections or [None] * len(self.shapes))
        shares = batches.shares.reshape(trials, -1)
        if clip is not None:
            shares = shares * xp.minimum(1.0, clip / xp.maximum(self._norms(both), np.float32(1e-30)))
        gradients = xp.empty((trials, clients, self.d), dtype=w.dtype)
        parts = self._layers(gradients)
        for inputs, slopes, (matrices, biases) in zip(both.inputs, both.slopes, parts, strict=True):
            weighted = (slopes * shares[..., None]).reshape(trials, clients, batch, -1)
            of_clients = inputs.reshape(trials, clients, batch, -1)
            xp.matmul(weighted.swapaxes(-1, -2), of_clients, out=matrices)
            weighted.sum(axis=2, out=biases)
        return gradients

    def scores(self, w: Array, inputs: Array) -> Array:
        """The scores of records (n, p) without projections, by T networks (T, d): float32 (T, n, classes)."""
        *hidden, last = self._layers(w)
        outputs = inputs[None]
        for matrices, biases in hidden:
            outputs = self.kernels.xp.maximum(_scores(outputs, matrices, biases), 0)
        return _scores(outputs, *last)

    def accuracy(self, w: Array, inputs: Array, labels: Array) -> Array:
        """The accuracy without projections, float64 (T,): the share of records, float32 (n, p), whose class, an integer
        of (n,), has the highest score at weights float32 (T, d)."""
        self._check(w, inputs, labels)
        right = 0
        for first in range(0, len(labels), EVALUATED):
            part = slice(first, first + EVALUATED)
            right = right + (self.scores(w, inputs[part]).argmax(axis=-1) == labels[part]).sum(axis=1)
        return right / len(labels)

    def _check(self, w: Array, inputs: Array, labels: Array) -> None:
        """Raise ValueError unless weights, inputs and labels fit the network, and there is a record."""
        features, classes = self.shapes[0][1], self.shapes[-1][0]
        if w.ndim != 2 or w.shape[1] != self.d:
            raise ValueError(f"weights of shape {w.shape} must be (T, d={self.d})")
        if inputs.shape != (*labels.shape, features) or not labels.size:
            raise ValueError(
                f"inputs {inputs.shape} must be {features} features for each of the labels {labels.shape}, one at least"
            )
        if labels.dtype.kind not in "iu" or int(labels.min()) < 0 or int(labels.max()) >= classes:
            raise ValueError(f"labels of type {labels.dtype} must be integers, classes from 0 to {classes - 1}")

    def _layers(self, flat: Array) -> Iterator[tuple[Array, Array]]:
        """Matrices (..., outputs, inputs) and biases (..., outputs) as views of flat weights or gradients (..., d)."""
        first = 0
        for (outputs, inputs), _ in zip(self.shapes[::2], self.shapes[1::2], strict=True):
            last = first + outputs * inputs
            matrices = flat[..., first:last].reshape(*flat.shape[:-1], outputs, inputs)
            yield matrices, flat[..., last : last + outputs]
            first = last + outputs

    def _run(self, layers: Sequence[tuple[Array, Array]], batches: Batches, projections: Projections) -> _Pass:
        """Run a forward and a backward pass. Raises ValueError for the projection of a bias."""
        xp, trials = self.kernels.xp, len(batches.labels)
        if any(projection is not None for projection in projections[1::2]):
            raise ValueError("a bias has no inputs, so its projection must be None; project matrices only")
        before = projections[::2]
        inputs: list[Array] = []
        active: list[Array] = []  # for each layer but the first, which of its inputs are positive
        outputs = batches.inputs.reshape(trials, -1, batches.inputs.shape[-1])
        for number, ((matrices, biases), projection) in enumerate(zip(layers, before, strict=True)):
            if number:
                outputs = xp.maximum(outputs, 0)
                active.append(outputs > 0)
            inputs.append(outputs if projection is None else outputs @ projection.swapaxes(-1, -2))
            outputs = _scores(inputs[-1], matrices, biases)
        slopes = [self._output_slopes(outputs, batches.labels.reshape(trials, -1))]
        for (matrices, _), projection, units in reversed(list(zip(layers[1:], before[1:], active, strict=True))):
            back = slopes[0] @ matrices
            slopes.insert(0, (back if projection is None else back @ projection) * units)
        return _Pass(inputs, slopes)

    def _output_slopes(self, scores: Array, labels: Array) -> Array:
        """Derivatives of the cross-entropy by scores (T, n, classes): probabilities, minus 1 for the class."""
        xp = self.kernels.xp
        probabilities = xp.exp(scores - scores.max(axis=-1, keepdims=True))
        probabilities /= probabilities.sum(axis=-1, keepdims=True)
        probabilities -= labels[..., None] == xp.arange(scores.shape[-1])
        return probabilities

    def _norms(self, both: _Pass) -> Array:
        """Norms of records' gradients, (T, C B); a layer's gradient is the outer product of slopes and (inputs, 1)."""
        xp = self.kernels.xp

        def squared(vectors: Array) -> Array:
            return xp.einsum("tni,tni->tn", vectors, vectors)

        layers = zip(both.inputs, both.slopes, strict=True)
        return xp.sqrt(sum(squared(slopes) * (squared(inputs) + 1) for inputs, slopes in layers))


@checked
def perceptron(kernels: Kernels, make: MakeModel, shape: Shape, classes: Count) -> StackedPerceptron:
    """The stacked form of the network that `make` makes; ValueError unless dense layers with ReLU between them."""
    model = make(shape=shape, classes=classes)
    if not is_perceptron(model):
        raise ValueError(
            f"a stack of networks needs dense layers with ReLU between them, and this is {type(model).__name__} of "
            f"{', '.join(type(part).__name__ for part in model.children())}; choose a perceptron, such as model=mlp"
        )
    return of_model(kernels, model)


def of_model(kernels: Kernels, model: nn.Module) -> StackedPerceptron:
    """The stacked form of a network for which `is_perceptron`."""
    return StackedPerceptron(kernels, tuple(tuple(value.shape) for value in model.parameters()))


def initial_weights(make: Callable[[], nn.Module], seeds: Sequence[int]) -> np.ndarray:
    """Flat initial weights of a network for each of T seeds of 64 bits: float32 (T, d)."""
    if not len(seeds):
        raise ValueError("seeds is empty, and must have one for each network")
    models = (initialise(make, seed) for seed in seeds)
    flat = [[value.detach().numpy().ravel() for value in model.parameters()] for model in models]
    return np.stack([np.concatenate(values) for values in flat])


def _scores(inputs: Array, matrices: Array, biases: Array) -> Array:
    return inputs @ matrices.swapaxes(-1, -2) + biases[:, None]
