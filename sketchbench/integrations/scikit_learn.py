"""Sketches as a transformer of scikit-learn, in pipelines and searches."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from sketchbench.base import seeds
from sketchbench.compressor.operators import MakeFamily
from sketchbench.sketch.count_sketch import CountSketch


class SketchTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Maps rows x of d features to sketches Rx of b, with a random operator R that is drawn in `fit`. For families with
    E[RᵀR] = I, inner products of rows are kept in the mean, as by scikit-learn's random projections.

    Parameters:
        family: a sketch family, called with d and b, such as `CountSketch`, `SubsampledHadamard`, or
            `partial(BlockSparseEmbedding, s=5)`.
        n_components: b.
        random_state: an integer, a RandomState, or None for another operator in every `fit`.

    Attributes:
        operator_: R, a `Sketch`; use `operator_.as_linear_operator()` in SciPy and `operator_.materialize()` in NumPy.
        n_features_in_: d.
    """

    def __init__(self, family: MakeFamily = CountSketch, *, n_components: int = 100, random_state: Any = None) -> None:
        self.family = family
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: Any = None) -> "SketchTransformer":
        """Draw the operator, for the number of features of X. Raises SizeError for a size that the family lacks, and
        scikit-learn's ValueError and TypeError."""
        X = validate_data(self, X, dtype=[np.float64, np.float32])
        root = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        b = int(self.n_components) if isinstance(self.n_components, np.integer) else self.n_components  # of a grid
        family = self.family(d=self.n_features_in_, b=b)
        self.operator_ = family.draw(seeds.key(root, transformer=type(family).__name__), kernels="numba")
        self._n_features_out = self.operator_.b
        return self

    def transform(self, X: ArrayLike) -> NDArray[Any]:
        """Sketch each row: (rows, n_components), in float32 for float32 X, else in float64."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        sketched: NDArray[Any] = self.operator_.sketch(np.ascontiguousarray(X))
        return sketched

    def inverse_transform(self, X: ArrayLike) -> NDArray[Any]:
        """Map sketches y back to Rᵀy: (rows, d), an unbiased estimate for families with E[RᵀR] = I."""
        check_is_fitted(self)
        X = np.asarray(X)
        back: NDArray[Any] = self.operator_.desketch(np.ascontiguousarray(X))
        return back
