"""Multinomial logistic regression with ridge penalty, on real data divided among clients."""

import functools
import operator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sketchbench.base import seeds
from sketchbench.base.parameters import Natural, Positive, checked
from sketchbench.kernels import Array, Kernels
from sketchbench.learning.dataset import digits, mnist, thumbnails
from sketchbench.learning.dataset.arrays import check_array, check_range
from sketchbench.learning.objective.empirical import EmpiricalRisk
from sketchbench.measure.numbers import check_finite, check_matrix

Data = Literal["digits", "mnist", "thumbnails"]
LOADERS = {"digits": digits.load, "mnist": mnist.load, "thumbnails": thumbnails.load}
SPLIT = ("mnist",)  # data sets with official test images, which are not used
SOLVED = 1e-10  # largest ℓ2 norm of the gradient at the minimiser


def gradient(
    weights: NDArray[np.float64], features: NDArray[np.float64], labels: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The gradient (p * classes,) of the mean cross-entropy of a linear model. O(samples p classes).
    `weights`: flat (p * classes,); `features`: (samples, p); `labels`: classes from 0, (samples,). Raises ValueError
    for features, labels and weights that don't fit together, or that are not finite."""
    check_matrix("features", features)
    check_array("labels", labels, np.int64, "samples")
    check_finite("weights", weights)
    samples, p = features.shape
    if len(labels) != samples or weights.ndim != 1 or len(weights) % p:
        raise ValueError(
            f"weights {weights.shape}, features {features.shape} and labels {labels.shape} must be (p * classes,), "
            "(samples, p) and (samples,)"
        )
    check_range("labels", labels, 0, len(weights) // p - 1, "classes of the weights")
    slopes = _softmax(features @ weights.reshape(p, -1), np)
    slopes[np.arange(samples), labels] -= 1.0
    return (features.T @ slopes / samples).reshape(-1)


class Logistic(EmpiricalRisk):
    """f_c(w) = mean cross-entropy over client c's samples + ridge/2 ‖w‖².

    Feature vectors are scaled, and extended by one entry, to norm 1; d is the number of features, with that entry,
    times the number of classes. μ is the ridge. L is the ridge plus half the largest eigenvalue of any client's second
    moment of features, because the Hessian of a softmax is at most 1/2. w* is computed by Newton's method. The gradient
    of a record's loss is its features times a difference of two distributions over the classes, so its norm is at most
    √2.

    Arguments:
        clients: number of clients, with equally many samples; the remaining samples are dropped.
        seed: root of the random order of the samples.
        sorted: whether samples are divided sorted by class, for the largest difference of clients, not at random.
        held_out: number of samples that no client has, for `accuracy`.

    Raises ValueError for a parameter out of its range, or more clients than samples; FloatingPointError if Newton's
    method does not converge.
    """

    record_bound = 2**0.5

    @checked
    def __init__(
        self,
        kernels: Kernels,
        clients: int,
        seed: int,
        data: Data = "digits",
        ridge: Positive = 0.01,
        sorted: bool = False,
        held_out: Natural = 0,
    ) -> None:
        dataset = LOADERS[data]()
        samples = dataset.train if data in SPLIT else dataset.whole
        labels = samples.labels
        features = _normalise(dataset.features(samples))
        classes = int(labels.max()) + 1
        super().__init__(kernels, features.shape[1] * classes, clients)
        available = len(labels) - held_out
        if clients > available:
            raise ValueError(f"clients={clients} must be <= {available}, the samples of {data} without held_out")
        order = seeds.generator(seed, data="split", name=data).permutation(len(labels))
        held, order = order[:held_out], order[held_out:]
        if sorted:
            order = order[np.argsort(labels[order], kind="stable")]
        share = len(order) // clients
        self.records = order[: share * clients].reshape(clients, share)
        self._classes, self._ridge = classes, ridge
        self._held = kernels.asarray(features[held]), kernels.asarray(labels[held])
        by_client = features[self.records]
        self._features = kernels.asarray(by_client)
        self._targets = kernels.asarray(np.eye(classes)[labels[self.records]])
        moments = by_client.swapaxes(1, 2) @ by_client / share
        self.convexity = ridge
        self.smoothness = ridge + 0.5 * float(np.linalg.eigvalsh(moments)[:, -1].max())
        self.start = np.zeros(self.d)
        self.minimiser = self._minimise()
        self.minimum = float(self.loss(kernels.asarray(self.minimiser)))

    def loss(self, w: Array) -> Array:
        xp = self.kernels.xp
        scores = self._scores(w[..., None, :])
        right = _sum(scores * self._targets)
        highest = _take_highest(scores, xp)
        total = xp.log(_sum(xp.exp(scores, out=scores))) + highest
        entropy = (total - right).mean(axis=(-1, -2))
        return entropy + 0.5 * self._ridge * (w**2).sum(axis=-1)

    def batch_gradients(self, w: Array, shares: Array, bound: float = np.inf) -> Array:
        self.check_batches(w, shares, bound)
        xp = self.kernels.xp
        features, targets, shares = self._batches(shares)
        slopes = _softmax(features @ self._matrices(w), xp)
        slopes -= targets
        if bound < self.record_bound:  # features have norm 1, so the gradient's norm is that of its slopes
            norms = xp.sqrt(_sum(slopes**2))
            shares = shares * xp.minimum(1.0, bound / xp.maximum(norms, 1e-300))
        for column in _columns(slopes):
            xp.multiply(column, shares, out=column)
        inner = features.swapaxes(-1, -2) @ slopes
        return inner.reshape(w.shape) + self._ridge * w

    def _batches(self, shares: Array) -> tuple[Array, Array, Array]:
        """Features, targets and shares of the records with a share; of all records if most have one."""
        xp, count = self.kernels.xp, shares.shape[-1]
        largest = int((shares != 0).sum(axis=-1).max())
        if 2 * largest > count:
            return self._features, self._targets, shares
        places = xp.argsort(-shares, axis=-1)[..., :largest]
        clients = xp.arange(self.clients)[:, None]
        return self._features[clients, places], self._targets[clients, places], xp.take_along_axis(shares, places, -1)

    def accuracy(self, w: Array) -> Array:
        """The accuracy on the held-out samples, for weights (..., d): (...). Raises ValueError for held_out=0."""
        features, labels = self._held
        if not len(labels):
            raise ValueError("held_out=0 leaves no samples for an accuracy; hold some out")
        scores = features @ self._matrices(w)
        return (scores.argmax(axis=-1) == labels).mean(axis=-1)

    def _scores(self, w: Array) -> Array:
        """Scores (..., N, samples, classes) of the clients' samples, for weights (..., N or 1, d)."""
        return self._features @ self._matrices(w)

    def _matrices(self, w: Array) -> Array:
        return w.reshape(*w.shape[:-1], self._features.shape[-1], self._classes)

    def _minimise(self) -> NDArray[np.float64]:
        """Compute the minimiser, to a gradient of norm SOLVED, by L-BFGS and then Newton's method."""
        from scipy.optimize import minimize
        from scipy.sparse.linalg import LinearOperator, cg

        kernels, xp, features = self.kernels, self.kernels.xp, self._features

        def slope(w: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.asarray(kernels.to_numpy(self.gradient(kernels.asarray(w))))

        def value(w: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            return float(self.loss(kernels.asarray(w))), slope(w)

        w = minimize(value, self.start, jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
        for _ in range(20):
            if np.linalg.norm(slope(w)) <= SOLVED:
                return np.asarray(w)
            probabilities = _softmax(self._scores(kernels.asarray(w)[None]), xp)

            def hessian(v: NDArray[np.float64], p: Array = probabilities) -> Any:
                change = self._scores(kernels.asarray(v.reshape(1, -1)))
                change = p * (change - (p * change).sum(axis=-1, keepdims=True))
                inner = (features.swapaxes(-1, -2) @ change).mean(axis=0) / features.shape[1]
                return kernels.to_numpy(inner).reshape(-1) + self._ridge * v.reshape(-1)

            curvature = LinearOperator((w.size, w.size), matvec=hessian)
            w = w - cg(curvature, slope(w), rtol=1e-4, maxiter=500)[0]
        raise FloatingPointError(
            f"the minimum was not found: the gradient's norm is {np.linalg.norm(slope(w)):.1e} after "
            f"20 Newton steps, and should be {SOLVED:.0e}; use a larger ridge"
        )


def _normalise(features: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows of norm 1: features divided by √2 times their largest norm, and an entry that completes the norm."""
    scaled = features / np.linalg.norm(features, axis=1).max()
    rest = np.sqrt(2 - (scaled**2).sum(axis=1, keepdims=True))
    return np.hstack([scaled, rest]) / np.sqrt(2)


def _softmax(scores: Any, xp: Any) -> Any:
    """Probabilities along the last axis, in the memory of the scores."""
    _take_highest(scores, xp)
    xp.exp(scores, out=scores)
    total = _sum(scores)
    for column in _columns(scores):
        xp.divide(column, total, out=column)
    return scores


def _take_highest(scores: Any, xp: Any) -> Any:
    """Subtract the maximum over the last axis in place, and return it; by columns, as NumPy is slow on short axes."""
    first, *others = _columns(scores)
    highest = functools.reduce(xp.maximum, others, first.copy())
    for column in _columns(scores):
        xp.subtract(column, highest, out=column)
    return highest


def _sum(terms: Any) -> Any:
    """The sum over the last axis: for fewer than eight terms in NumPy's order, but much faster."""
    return functools.reduce(operator.add, _columns(terms)) if terms.shape[-1] < 8 else terms.sum(axis=-1)


def _columns(array: Any) -> list[Any]:
    return [array[..., column] for column in range(array.shape[-1])]
