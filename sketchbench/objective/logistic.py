"""Multinomial logistic regression with ridge penalty on real data, split among clients."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchbench import seeds
from sketchbench.dataset import digits, mnist
from sketchbench.kernels import Array, Kernels
from sketchbench.objective.empirical import EmpiricalRisk

DATASETS = {"digits": digits.load, "mnist": mnist.load}
SPLIT = ("mnist",)  # officially, into training and test images: those are left alone
SOLVED = 1e-10  # norm of the gradient at the minimiser


def gradient(
    weights: NDArray[np.float64], features: NDArray[np.float64], labels: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Gradient of the mean cross-entropy loss, as a flat vector of length p * classes.

    weights: flat, (p * classes,); features: (samples, p); labels: (samples,) in 0..classes-1.
    O(samples p classes).
    """
    samples, p = features.shape
    slopes = _softmax(features @ weights.reshape(p, -1), np)
    slopes[np.arange(samples), labels] -= 1.0
    return (features.T @ slopes / samples).reshape(-1)


class Logistic(EmpiricalRisk):
    """f_c(w) = mean cross-entropy over the client's samples + ridge/2 ‖w‖².

    Features are scaled to norm at most 1 and have a constant appended (unit norm together); d is the number
    of features, with the constant, times that of classes. The samples are dealt out at random in equal
    shares, or sorted by class (`sorted`), which makes the clients as different as they can be; what is
    left over is dropped. μ is the ridge; L the ridge plus half the largest eigenvalue of any client's
    second moment of features, because a softmax's Hessian is at most 1/2. w* is found by Newton's method.
    A record's own gradient is its features times a difference of two distributions over the classes, so
    its norm is at most √2. `held_out` samples go to no client; they are for `accuracy`.
    """

    record_bound = 2**0.5

    def __init__(
        self,
        kernels: Kernels,
        clients: int,
        seed: int,
        data: str = "digits",
        ridge: float = 0.01,
        sorted: bool = False,
        held_out: int = 0,
    ) -> None:
        if data not in DATASETS:
            raise ValueError(f"data={data} is unknown; choose one of {', '.join(DATASETS)}")
        if not ridge > 0:
            raise ValueError(f"ridge={ridge} must be > 0")
        dataset = DATASETS[data]()
        samples = dataset.train if data in SPLIT else dataset.whole
        labels = samples.labels
        features = _normalised(dataset.features(samples))
        classes = int(labels.max()) + 1
        super().__init__(kernels, features.shape[1] * classes, clients)
        if held_out < 0:
            raise ValueError(f"held_out={held_out} must be >= 0")
        left = len(labels) - held_out
        if clients > left:
            raise ValueError(f"clients={clients} must be <= {left}, the samples of {data} to deal out")
        order = seeds.generator(seed, data="split", name=data).permutation(len(labels))
        held, order = order[:held_out], order[held_out:]
        if sorted:
            order = order[np.argsort(labels[order], kind="stable")]
        share = len(order) // clients
        chosen = order[: share * clients].reshape(clients, share)
        self.records = chosen
        self._classes, self._ridge = classes, ridge
        self._held = kernels.asarray(features[held]), kernels.asarray(labels[held])
        own = features[chosen]
        self._features = kernels.asarray(own)
        self._targets = kernels.asarray(np.eye(classes)[labels[chosen]])
        moments = own.swapaxes(1, 2) @ own / share
        self.convexity = ridge
        self.smoothness = ridge + 0.5 * float(np.linalg.eigvalsh(moments)[:, -1].max())
        self.start = np.zeros(self.d)
        self.minimiser = self._minimised()
        self.minimum = float(self.loss(kernels.asarray(self.minimiser)))

    def loss(self, w: Array) -> Array:
        xp = self.kernels.xp
        scores = self._scores(w[..., None, :])
        highest = scores.max(axis=-1, keepdims=True)
        total = xp.log(xp.exp(scores - highest).sum(axis=-1)) + highest[..., 0]
        entropy = (total - (scores * self._targets).sum(axis=-1)).mean(axis=(-1, -2))
        return entropy + 0.5 * self._ridge * (w**2).sum(axis=-1)

    def batch_gradients(self, w: Array, shares: Array, bound: float = np.inf) -> Array:
        xp = self.kernels.xp
        features, targets, shares = self._taking_part(shares)
        slopes = _softmax(features @ self._matrices(w), xp) - targets
        if bound < self.record_bound:  # features have norm 1, so a gradient's norm is its slopes'
            norms = xp.sqrt((slopes**2).sum(axis=-1))
            shares = shares * xp.minimum(1.0, bound / xp.maximum(norms, 1e-300))
        inner = features.swapaxes(-1, -2) @ (slopes * shares[..., None])
        return inner.reshape(w.shape) + self._ridge * w

    def _taking_part(self, shares: Array) -> tuple[Array, Array, Array]:
        """Features and targets of the records in the batches, and their shares; all where most are."""
        xp, count = self.kernels.xp, shares.shape[-1]
        most = int((shares != 0).sum(axis=-1).max())
        if 2 * most > count:
            return self._features, self._targets, shares
        at = xp.argsort(-shares, axis=-1)[..., :most]
        clients = xp.arange(self.clients)[:, None]
        found = xp.take_along_axis(shares, at, axis=-1)
        return self._features[clients, at], self._targets[clients, at], found

    def accuracy(self, w: Array) -> Array:
        """The share of the samples held out whose class has the highest score: (..., d) to (...)."""
        features, labels = self._held
        if not len(labels):
            raise ValueError("held_out=0 leaves no samples for an accuracy; hold some out")
        scores = features @ self._matrices(w)
        return (scores.argmax(axis=-1) == labels).mean(axis=-1)

    def _scores(self, w: Array) -> Array:
        """(..., N, samples, classes) for weights (..., N or 1, d)."""
        return self._features @ self._matrices(w)

    def _matrices(self, w: Array) -> Array:
        """Weights as matrices of features by classes."""
        return w.reshape(*w.shape[:-1], self._features.shape[-1], self._classes)

    def _minimised(self) -> NDArray[np.float64]:
        """The minimiser, to a gradient of norm SOLVED: a quasi-Newton method, then Newton's."""
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
            at = _softmax(self._scores(kernels.asarray(w)[None]), xp)

            def curved(v: NDArray[np.float64], at: Array = at) -> Any:
                moved = self._scores(kernels.asarray(v.reshape(1, -1)))
                moved = at * (moved - (at * moved).sum(axis=-1, keepdims=True))
                inner = (features.swapaxes(-1, -2) @ moved).mean(axis=0) / features.shape[1]
                return kernels.to_numpy(inner).reshape(-1) + self._ridge * v.reshape(-1)

            operator = LinearOperator((w.size, w.size), matvec=curved)
            w = w - cg(operator, slope(w), rtol=1e-4, maxiter=500)[0]
        raise FloatingPointError(
            f"the minimum was not found: the gradient's norm is {np.linalg.norm(slope(w)):.1e} after "
            f"20 Newton steps, and should be {SOLVED:.0e}; use a larger ridge"
        )


def _normalised(features: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows of norm 1: the features, scaled by the largest norm, and a constant, of equal weight at most."""
    scaled = features / np.linalg.norm(features, axis=1).max()
    rest = np.sqrt(2 - (scaled**2).sum(axis=1, keepdims=True))
    return np.hstack([scaled, rest]) / np.sqrt(2)


def _softmax(scores: Any, xp: Any) -> Any:
    """Probabilities along the last axis."""
    weights = xp.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)
