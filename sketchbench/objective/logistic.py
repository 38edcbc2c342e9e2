"""Multinomial logistic regression with ridge penalty on real data, split among clients."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchbench import seeds
from sketchbench.dataset import digits, mnist
from sketchbench.kernels import Array, Kernels
from sketchbench.objective.objective import Objective

DATASETS = {"digits": digits.load, "mnist": mnist.load}
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


class Logistic(Objective):
    """f_c(w) = mean cross-entropy over the client's samples + ridge/2 ‖w‖².

    Features are scaled to norm at most 1 and have a constant appended (unit norm together); d is the number
    of features, with the constant, times that of classes. The samples are dealt out at random in equal
    shares, or sorted by class (`sorted`), which makes the clients as different as they can be; what is
    left over is dropped. μ is the ridge; L the ridge plus half the largest eigenvalue of any client's
    second moment of features, because a softmax's Hessian is at most 1/2. w* is found by Newton's method.
    """

    def __init__(
        self,
        kernels: Kernels,
        clients: int,
        seed: int,
        data: str = "digits",
        ridge: float = 0.01,
        sorted: bool = False,
    ) -> None:
        if data not in DATASETS:
            raise ValueError(f"data={data} is unknown; choose one of {', '.join(DATASETS)}")
        if not ridge > 0:
            raise ValueError(f"ridge={ridge} must be > 0")
        dataset = DATASETS[data]()
        labels = dataset.whole.labels
        features = _normalised(dataset.features(dataset.whole))
        classes = int(labels.max()) + 1
        super().__init__(kernels, features.shape[1] * classes, clients)
        if clients > len(labels):
            raise ValueError(f"clients={clients} must be <= {len(labels)}, the samples of {data}")
        order = seeds.generator(seed, data="split", name=data).permutation(len(labels))
        if sorted:
            order = order[np.argsort(labels[order], kind="stable")]
        share = len(labels) // clients
        chosen = order[: share * clients].reshape(clients, share)
        self._classes, self._ridge = classes, ridge
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

    def gradients(self, w: Array) -> Array:
        slopes = _softmax(self._scores(w), self.kernels.xp) - self._targets
        share = self._features.shape[1]
        inner = self._features.swapaxes(-1, -2) @ slopes / share
        return inner.reshape(w.shape) + self._ridge * w

    def _scores(self, w: Array) -> Array:
        """(..., N, samples, classes) for weights (..., N or 1, d)."""
        matrices = w.reshape(*w.shape[:-1], self._features.shape[-1], self._classes)
        return self._features @ matrices

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
