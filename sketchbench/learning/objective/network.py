"""The cross-entropy of a network on clients' images, as a function of flat weights."""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils import dlpack

from sketchbench.base import seeds
from sketchbench.base.parameters import Count, Share, checked
from sketchbench.kernels import Array, Kernels
from sketchbench.learning.dataset.dataset import Dataset
from sketchbench.learning.dataset.partition import MakeParts, deal
from sketchbench.learning.model import classification
from sketchbench.learning.model.autograd import device_of
from sketchbench.learning.model.classification import Samples
from sketchbench.learning.model.client_norm import normalise_by_client
from sketchbench.learning.model.dense import is_perceptron
from sketchbench.learning.model.networks import MakeModel, initialise
from sketchbench.learning.model.precision import Precision, precision_context
from sketchbench.learning.objective import stacked
from sketchbench.learning.objective.problem import Problem

Inputs = Literal["unit", "centred"]
POOLED = 200  # images per pass through the network
MEASURED = 100  # largest number of batches for the means and variances of evaluation
DROPOUTS = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout)
KEPT = 2**24  # largest number of pixels of all training images for which network inputs are stored

Batches = Sequence[NDArray[np.int64]]  # for every client, the numbers of its samples


class Network(Problem):
    """A problem in which f_c(w) is a network's mean cross-entropy on all samples of client c, without dropout.

    Smoothness, convexity, gradient bounds and minimum are unknown, so no theorem about steps or rounds applies. A
    stochastic gradient uses dropout and a batch of every participating client, drawn without replacement in each round.
    Without dropout and batch normalisation its mean is ∇f.

    Batch normalisation uses the mean and variance of each client's batch in training. In evaluation it uses averages of
    the means and variances of a fixed set of at most 100 clients' training batches at the current weights: a function
    of w, so nothing is sent or stored. Weights and gradients are float64; the model computes in float32 or less. For a
    perceptron in float32, the scores and the mean stochastic gradients of several trials are computed at once
    (`StackedPerceptron`).

    Arguments:
        seed: root of the initial weights, of the partition, and of the batches for evaluation.
        data: data set, whose training samples are divided among clients.
        model: function of `shape` and `classes` that makes the network.
        partition: function of `labels` and `seed`, and perhaps `users`, that returns every client's samples.
        batch: samples in a client's batch.
        participation: share of the clients in a round, drawn uniformly; at least one client participates.
        inputs: `unit` scales pixels to [0, 1]; `centred` subtracts each channel's mean over the training images.
        precision: see `model.precision`.

    Raises ValueError for a parameter out of its range, or a batch larger than the samples of some client.
    """

    @checked
    def __init__(
        self,
        kernels: Kernels,
        seed: int,
        *,
        data: Dataset,
        model: MakeModel,
        partition: MakeParts,
        batch: Count,
        participation: Share = 1.0,
        inputs: Inputs = "unit",
        precision: Precision = "float32",
    ) -> None:
        self._device = device_of(kernels)
        initial = initialise(lambda: model(shape=data.shape, classes=data.classes), seeds.key(seed), data.shape)
        perceptron = precision == "float32" and is_perceptron(initial)
        self._stacked = stacked.of_model(kernels, initial) if perceptron else None
        self._norms = normalise_by_client(initial)
        self._model = initial.to(self._device)
        self._dropouts = [part for part in initial.modules() if isinstance(part, DROPOUTS)]
        self._slots = _slots(self._model)
        parameters = list(self._model.parameters())
        self._shapes = [value.shape for value in parameters]
        self._sizes = [value.numel() for value in parameters]
        flat = torch.cat([value.detach().flatten() for value in parameters])
        parts = deal(partition, data.train.labels, seed, data.users)
        super().__init__(kernels, len(flat), len(parts))
        self.start = flat.double().cpu().numpy()
        fewest = min(len(part) for part in parts)
        if batch > fewest:
            raise ValueError(f"batch={batch} must be <= {fewest}, the samples of a client")
        self.batch = batch
        self.participants = max(1, round(participation * self.clients))
        self._parts = parts
        self._table = np.full((self.clients, max(len(part) for part in parts)), -1)
        for row, part in zip(self._table, parts, strict=True):
            row[: len(part)] = part
        self._precision = precision
        self._train = Samples(*(torch.tensor(part, device=self._device) for part in data.train))
        self._scale, self._mean = 1.0 / data.white, torch.zeros(1, device=self._device)
        if inputs == "centred":
            means = data.train.images.mean(axis=(0, 2, 3), dtype=np.float64)
            self._scale = 1.0
            self._mean = torch.tensor(means, device=self._device).float()[:, None, None]
        few = self._train.images.numel() <= KEPT
        self._train_inputs = self._inputs(self._train.images) if few else None
        random = seeds.generator(seed, data="measured")
        measured = random.choice(np.arange(self.clients), min(self.clients, MEASURED), replace=False)
        self._measured = self._draw_batches(np.sort(measured), random)
        self._check_chance()

    def loss(self, w: Array) -> Array:
        return self._rows(w, lambda row, _: self._value(row)[None]).reshape(w.shape[:-1])

    def gradients(self, w: Array) -> Array:
        parts = self._parts
        return self._rows(w, lambda row, i: self._slope(row, [parts[i % self.clients]]))

    def gradient(self, w: Array) -> Array:
        return self._rows(w, lambda row, _: self._slope(row, self._parts))

    def stochastic_gradients(self, w: Array, random: np.random.Generator) -> Array:
        """Raises FloatingPointError for a gradient that is not finite, after a divergence."""
        gradients = []
        for weights in w:
            clients, batches, dropout = self._draw(random)

            def slope(row: Tensor, i: int, batches: Batches = batches, seed: int = dropout) -> Tensor:
                return self._slope(row, [batches[i]], seed + i)

            gradients.append(self._rows(weights[clients], slope))
        return self._finite(self.kernels.xp.stack(gradients))

    def stochastic_gradient(self, w: Array, random: np.random.Generator) -> Array:
        """Uses the same batches as `stochastic_gradients` and other dropout; raises as `stochastic_gradients` does."""

        if self._stacked:
            return self._finite(self.slopes(w, self.stack([self.draw(random) for _ in w])))

        def slope(row: Tensor, trial: int) -> Tensor:
            _, batches, dropout = self._draw(random)
            return self._slope(row, batches, dropout)

        return self._finite(self._rows(w, slope))

    @property
    def stacks(self) -> bool:
        """Return whether the network is one for `slopes`: a perceptron in float32."""
        return self._stacked is not None

    def draw(self, random: np.random.Generator) -> NDArray[np.int64]:
        """Draw the batches of a round: the numbers of all participants' samples, (n,)."""
        return np.concatenate(self._draw(random)[1])

    def stack(self, numbers: Sequence[NDArray[np.int64]]) -> list[stacked.Batches]:
        """The samples with these numbers, n for each of T perceptrons, for `slopes`."""
        xp, every = self.kernels.xp, np.array(numbers)
        shares = xp.full((*every.shape[:1], 1, every.shape[1]), 1 / every.shape[1], dtype="float32")
        pools = []
        for first in range(0, every.shape[1], POOLED):
            pool = every[:, None, first : first + POOLED]
            inputs = xp.from_dlpack(self._images(pool.ravel())).reshape(*pool.shape, -1)
            labels = xp.from_dlpack(self._train.labels)[self.kernels.asarray(pool)]
            pools.append(stacked.Batches(inputs, labels, shares[..., first : first + POOLED]))
        return pools

    def slopes(self, w: Array, pools: Sequence[stacked.Batches]) -> Array:
        """The gradients (T, d), finite or not, of perceptrons' mean losses at weights (T, d), each over its samples."""
        assert self._stacked, "for perceptrons only"
        with np.errstate(over="ignore", invalid="ignore"):  # of a training that has diverged
            weights = w.astype("float32")
            total = sum(self._stacked.gradients(weights, pool)[:, 0] for pool in pools)
        return self.kernels.xp.asarray(total, dtype="float64")

    def scores(self, w: Array, images: Tensor) -> Tensor:
        """The scores in evaluation, float32 (n, classes), of images, uint8 (n, channels, height, width), at weights
        w."""
        if self._stacked:
            vectors = self.kernels.xp.from_dlpack(self._inputs(images)).reshape(len(images), -1)
            with np.errstate(over="ignore", invalid="ignore"):  # of a training that has diverged
                return dlpack.from_dlpack(self._stacked.scores(w[None].astype("float32"), vectors)[0])
        weights = self._split(self._tensor(w))
        if self._norms:
            self._mode(training=True, measuring=True, batch=self.batch)
            with torch.no_grad():
                self._score(weights, self._images(np.concatenate(self._measured)))
        self._mode(training=False)
        with torch.no_grad():
            parts = [self._score(weights, self._inputs(part)) for part in torch.split(images, POOLED)]
        return torch.cat(parts)

    def samples(self, images: NDArray[np.uint8], labels: NDArray[np.int64]) -> Samples:
        """Images and labels as tensors on the device of the network."""
        return Samples(torch.tensor(images, device=self._device), torch.tensor(labels, device=self._device))

    def _check_chance(self) -> None:
        """Raise ValueError if scores depend on chance without dropout layers, as a training has no seed for it."""
        weights, batch = self._split(self._tensor(self.kernels.asarray(self.start))), [self._measured[0]]
        self._mode(training=True)
        with torch.random.fork_rng(), torch.no_grad():
            once, again = self._mean_loss(weights, batch), self._mean_loss(weights, batch)
        if not torch.allclose(once, again, rtol=1e-4, equal_nan=True):
            raise ValueError(
                f"{type(self._model).__name__}: scores depend on chance that no dropout layer makes; draw it by "
                "nn.Dropout, or leave it out"
            )

    def _draw(self, random: np.random.Generator) -> tuple[NDArray[np.int64], Batches, int]:
        """Draw a round: participating clients in ascending order, their batches, and a seed of dropout."""
        clients = np.arange(self.clients)
        if self.participants < self.clients:
            clients = np.sort(random.choice(clients, self.participants, replace=False))
        return clients, self._draw_batches(clients, random), int(random.integers(2**62))

    def _draw_batches(self, clients: NDArray[np.int64], random: np.random.Generator) -> Batches:
        """Draw a batch of each of these clients, without replacement."""
        samples = self._table[clients]
        keys = np.where(samples < 0, np.inf, random.random(samples.shape))
        places = keys.argsort(axis=1)[:, : self.batch]
        return list(np.take_along_axis(samples, places, axis=1))

    def _value(self, w: Tensor) -> Tensor:
        self._mode(training=True)
        with torch.no_grad():
            weights = self._split(w)
            terms = [self._mean_loss(weights, pool) * len(pool) for pool in _pools(self._parts)]
        return torch.stack(terms).sum() / len(self._parts)

    def _slope(self, w: Tensor, batches: Batches, dropout: int | None = None) -> Tensor:
        """The gradient of the mean loss over clients' batches, float32 (d,); `dropout` is a seed, or None."""
        if dropout is None or not self._dropouts:  # setting a seed takes as long as a pass of a small network
            return self._sum_of_slopes(w, batches)
        with torch.random.fork_rng():
            torch.manual_seed(dropout)
            return self._sum_of_slopes(w, batches, dropping=True)

    def _sum_of_slopes(self, w: Tensor, batches: Batches, dropping: bool = False) -> Tensor:
        """The gradient of `_slope`, summed over pools of batches of equal size."""
        total = torch.zeros_like(w)
        self._mode(training=True, dropping=dropping)
        weights = [part.requires_grad_() for part in self._split(w)]
        for pool in _pools(batches):
            # a parameter that `forward` does not use has the gradient 0
            slopes = torch.autograd.grad(self._mean_loss(weights, pool), weights, materialize_grads=True)
            flat = torch.cat([slope.flatten() for slope in slopes])
            total += flat * (len(pool) / len(batches))
        return total

    def _mean_loss(self, weights: Sequence[Tensor], pool: Batches) -> Tensor:
        """The mean loss over batches of equal size, each with its own normalisation."""
        for norm in self._norms:
            norm.batch = len(pool[0])
        numbers = np.concatenate(pool)
        labels = self._train.labels[torch.from_numpy(numbers).to(self._device)]
        return classification.loss(self._score(weights, self._images(numbers)), labels)

    def _score(self, weights: Sequence[Tensor], inputs: Tensor) -> Tensor:
        """The model's scores of inputs, float32 (n, classes)."""
        for places, value in zip(self._slots, weights, strict=True):
            for part, name in places:
                part._parameters[name] = value  # type: ignore[assignment]  # functional_call without its many checks
        with precision_context(self._precision, self._device):
            scores: Tensor = self._model(inputs)
        return scores.float()

    def _images(self, numbers: NDArray[np.int64]) -> Tensor:
        places = torch.from_numpy(numbers).to(self._device)
        if self._train_inputs is not None:
            return self._train_inputs[places].contiguous(memory_format=torch.channels_last)
        return self._inputs(self._train.images[places])

    def _inputs(self, images: Tensor) -> Tensor:
        """The network's inputs for uint8 images: float32, centred and scaled."""
        scaled = (images.float() - self._mean) * self._scale
        return scaled.contiguous(memory_format=torch.channels_last)

    def _mode(self, *, training: bool, dropping: bool = False, measuring: bool = False, batch: int = 1) -> None:
        if self._model.training != training:  # since `train` visits all parts
            self._model.train(training)
        for part in self._dropouts:
            part.train(training and dropping)
        for norm in self._norms:
            norm.measuring, norm.batch = measuring, batch

    def _split(self, w: Tensor) -> list[Tensor]:
        """The model's parameters as views of flat weights; filters have the images' layout."""
        parts = zip(torch.split(w, self._sizes), self._shapes, strict=True)
        views = (part.view(shape) for part, shape in parts)
        return [view.contiguous(memory_format=torch.channels_last) if view.ndim == 4 else view for view in views]

    def _tensor(self, w: Array) -> Tensor:
        """A float32 copy of weights (d,), because the array may be shared or read-only."""
        with np.errstate(over="ignore"):  # gradients at infinite weights are not finite
            tensor: Tensor = dlpack.from_dlpack(self.kernels.xp.array(w, dtype="float32"))
        return tensor

    def _rows(self, w: Array, function: Callable[[Tensor, int], Tensor]) -> Array:
        """Apply a function of weights (d,) and their number, with values (n,), to all w (..., d): float64 (..., n)."""
        flat = w.reshape(-1, self.d)
        values = torch.stack([function(self._tensor(row), i) for i, row in enumerate(flat)])
        return self.kernels.xp.from_dlpack(values.double()).reshape(*w.shape[:-1], -1)

    def _finite(self, gradients: Array) -> Array:
        if not bool(self.kernels.xp.isfinite(gradients).all()):
            raise FloatingPointError("a stochastic gradient is not finite: the training has diverged; lower its rate")
        return gradients


def _slots(model: nn.Module) -> list[list[tuple[nn.Module, str]]]:
    """The modules that have each of a model's parameters, and the name in them, in the order of the parameters."""
    slots: dict[int, list[tuple[nn.Module, str]]] = {id(value): [] for value in model.parameters()}
    for part in model.modules():
        for name, value in part._parameters.items():
            if value is not None:
                slots[id(value)].append((part, name))
    return list(slots.values())


def _pools(batches: Batches) -> Iterator[Batches]:
    """Groups of consecutive batches of equal size, each with at most POOLED images (or one batch)."""
    first = 0
    while first < len(batches):
        size, last = len(batches[first]), first + 1
        most = first + max(1, POOLED // size)
        while last < min(most, len(batches)) and len(batches[last]) == size:
            last += 1
        yield batches[first:last]
        first = last
