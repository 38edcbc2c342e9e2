"""Broken: desketching is not the transpose of sketching, or a shortcut is another map."""

from dataclasses import replace
from typing import Any

import numpy as np
from building import Altered, Array, Signed, chosen, dense, numbers
from specimen import broken, variants

from sketchbench.sketch.draws import Draws
from sketchbench.sketch.operator import Sketch


class _Back(Signed):
    """Something is done to what desketching returns."""

    def after(self, x: Array, draws: Draws) -> Array:
        raise NotImplementedError

    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        return Altered(sketch, back=lambda inner, y: self.after(inner._desketch(y), draws))


untransposed = variants(_Back, "after", "no transpose")
untransposed("BackScaledMuch", "C2", "scale 1.001", lambda self, x, draws: x * x.dtype.type(1.001))
untransposed("BackScaled", "C2", "scale 1 + 1e-6", lambda self, x, draws: x * x.dtype.type(1 + 1e-6))
untransposed("BackScaledLittle", "C2", "scale 1 + 1e-11", lambda self, x, draws: x * x.dtype.type(1 + 1e-11))


@broken("no transpose", "C2", effect="two rows exchanged")
class RowsExchanged(Signed):
    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        order = np.roll(np.arange(self.b), self.b // 2)
        return Altered(sketch, back=lambda inner, y: inner._desketch(np.ascontiguousarray(y[..., order])))


@broken("no transpose", "C2", effect="the sign of the last column")
class LastColumnFlipped(_Back):
    def after(self, x: Array, draws: Draws) -> Array:
        x = x.copy()
        x[..., -1] *= -1
        return x


@broken("no transpose", "C2", effect="the pseudo-inverse")
class PseudoInverse(Signed):
    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        inverse = np.linalg.pinv(self.matrix(draws)).swapaxes(-1, -2)
        return Altered(sketch, back=lambda inner, y: y @ inverse.astype(y.dtype))


untransposed(
    "BackRarelyScaled",
    "C2",
    "one operator in 100, scaled by 1.1",
    lambda self, x, draws: x * np.where(chosen(draws, 100), 1.1, 1)[:, None, None].astype(x.dtype),
)
untransposed(
    "BackRarelyZero",
    "C2",
    "one operator in 2,000, zero",
    lambda self, x, draws: x * (numbers(draws) % 2000 != 1234)[:, None, None].astype(x.dtype),
)


@broken("no transpose", "C2", effect="1e-8 relative, where R is rounded to float32")
class BackInSinglePrecision(Signed):
    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        rounded = dense(draws, self.matrix(draws).astype(np.float32).astype(float))
        return Altered(sketch, back=lambda inner, y: rounded._desketch(y))


untransposed(
    "BackWrongInSinglePrecision",
    "C2 C8",
    "1.01 in float32 only",
    lambda self, x, draws: x * x.dtype.type(1.01) if x.dtype == np.float32 else x,
)
untransposed(
    "BackWrongForBatches",
    "C1 C2",
    "1.01 for several vectors, none for one",
    lambda self, x, draws: x if x.shape[1] == 1 else x * x.dtype.type(1.01),
)
untransposed(
    "BackWrongForLarge", "C2", "1.01 for d > 500", lambda self, x, draws: x if self.d <= 500 else x * x.dtype.type(1.01)
)


@broken("no transpose", "C2", effect="another independent operator's transpose")
class OtherOperator(Signed):
    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        other = dense(draws, self.matrix(replace(draws, key=draws.key ^ 1)))
        return Altered(sketch, back=lambda inner, y: other._desketch(y))


class _Materialised(Altered):
    def materialize(self, dtype: Any = np.float64) -> Array:
        return super().materialize(dtype) * 1.01


shortcut = variants(Signed, "alter", "wrong shortcut")
shortcut("MaterializeWrong", "C2", "materialize, by 1 %", lambda self, sketch, draws: _Materialised(sketch))


class _Linear(Altered):
    def as_linear_operator(self, dtype: Any = np.float64) -> Any:
        return super().as_linear_operator(dtype) * 1.01


shortcut("LinearOperatorWrong", "C2", "as_linear_operator, by 1 %", lambda self, sketch, draws: _Linear(sketch))


@broken("wrong shortcut", "C3", effect="project of another operator")
class ProjectsAnother(Signed):
    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        other = dense(draws, self.matrix(replace(draws, key=draws.key ^ 1)))
        return Altered(sketch, project=lambda inner, x: other._project(x))


shortcut(
    "ProjectsToItself",
    "C3",
    "project returns x",
    lambda self, sketch, draws: Altered(
        sketch, project=lambda inner, x: np.repeat(x, draws.operators // len(x), axis=0)
    ),
)
shortcut(
    "ProjectsNearly",
    "C3",
    "project, by 1e-7",
    lambda self, sketch, draws: Altered(sketch, project=lambda inner, x: inner._project(x) * x.dtype.type(1 + 1e-7)),
)


@broken("wrong shortcut", "C3", effect="project, for more than 8 vectors")
class ProjectsFew(Signed):
    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        def project(inner: Sketch, x: Array) -> Array:
            result = inner._project(x)
            result[:, 8:] = 0
            return result

        return Altered(sketch, project=project)


class _SparseWrong(Altered):
    def sketch_sparse(self, *terms: tuple[Array, Array]) -> Array:
        return super().sketch_sparse(terms[0])


shortcut(
    "SketchesFirstTerm",
    "C3",
    "sketch_sparse takes the first term only",
    lambda self, sketch, draws: _SparseWrong(sketch),
)


class _WorkspaceWrong(Altered):
    def with_workspace(self) -> Sketch:
        return self.altered(forward=lambda inner, x: inner._sketch(x) * x.dtype.type(1.01))


shortcut("WorkspaceWrong", "C3", "with_workspace, by 1 %", lambda self, sketch, draws: _WorkspaceWrong(sketch))


class _PaddedWrong(Altered):
    def padded(self) -> Sketch:
        return self.altered(forward=lambda inner, x: inner._sketch(-x))


shortcut("PaddedWrong", "C3", "padded, of another sign", lambda self, sketch, draws: _PaddedWrong(sketch))
