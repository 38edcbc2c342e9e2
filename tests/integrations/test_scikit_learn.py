"""The transformer keeps scikit-learn's contract, and gives what the operator gives."""

import functools
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from sketchbench.integrations.scikit_learn import SketchTransformer
from sketchbench.sketch.count_sketch import CountSketch
from sketchbench.sketch.family import SizeError
from sketchbench.sketch.gaussian import Gaussian
from sketchbench.sketch.sparse import BlockSparseEmbedding
from sketchbench.sketch.transform import SubsampledHadamard

FAMILIES = [CountSketch, SubsampledHadamard, Gaussian, functools.partial(BlockSparseEmbedding, s=2)]


@parametrize_with_checks([SketchTransformer(family, n_components=2) for family in FAMILIES[:2]])
def test_scikit_learn_s_own_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_sketched_by_one_operator(family: Any, dtype: type) -> None:
    x = np.random.default_rng(0).standard_normal((50, 30)).astype(dtype)
    fitted = SketchTransformer(family, n_components=8, random_state=1).fit(x)
    matrix = fitted.operator_.materialize()
    sketched = fitted.transform(x)
    assert sketched.dtype == dtype
    np.testing.assert_allclose(sketched, x @ matrix.T, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(fitted.inverse_transform(sketched), sketched @ matrix, rtol=1e-4, atol=1e-5)
    again = SketchTransformer(family, n_components=8, random_state=1).fit(x)
    np.testing.assert_array_equal(again.transform(x), sketched)
    assert (SketchTransformer(family, n_components=8, random_state=2).fit_transform(x) != sketched).any()


def test_a_search_over_sizes() -> None:
    random = np.random.default_rng(0)
    labels = random.integers(0, 2, 120)
    x = random.standard_normal((120, 64)) + 4 * labels[:, None]
    model = make_pipeline(SketchTransformer(random_state=0), RidgeClassifier())
    search = GridSearchCV(model, {"sketchtransformer__n_components": [4, 16]}).fit(x, labels)
    assert search.best_score_ > 0.9


def test_a_size_that_the_family_cannot_have() -> None:
    with pytest.raises(SizeError, match="b=9"):
        SketchTransformer(SubsampledHadamard, n_components=9).fit(np.ones((3, 4)))
