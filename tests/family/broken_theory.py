"""Broken: the operators are as they should be, and what the config claims of them is false."""

from building import Array, Signed
from specimen import NORMAL, SIGNED, broken

from sketchbench.sketch.draws import ENTRIES, Draws
from sketchbench.sketch.family import Family
from sketchbench.theory import leakage, norm, second_moment
from sketchbench.theory.known import Known


def two_percent(g: Array, h: Array, *, b: int) -> Array:
    """The exact moment, its variance 2 % too large."""
    inner = (g * h).sum(axis=-1) ** 2
    return inner + 1.02 * (second_moment.hashed(g, h, b=b) - inner)


def half_a_percent(g: Array, h: Array, *, b: int) -> Array:
    """The exact moment, its variance 0.5 % too large."""
    inner = (g * h).sum(axis=-1) ** 2
    return inner + 1.005 * (second_moment.hashed(g, h, b=b) - inner)


def two_percent_norm(h: Array, *, b: int) -> Array:
    """The exact norm, 2 % too large."""
    return 1.02 * norm.hashed(h, b=b)


def _tenth(delta: float, *, d: int, b: int) -> float:
    return 0.1


def _with(**parts: object) -> Known:
    return Known(SIGNED.embedding_constant, SIGNED.second_moment, SIGNED.norm, **parts)  # type: ignore[arg-type]


def _always() -> float:
    return 0.1


class Normal(Signed):
    """Honest: independent normal entries over √b."""

    def matrix(self, draws: Draws) -> Array:
        return draws.gaussian_rows(ENTRIES, 0, self.b, self.d) * self.b**-0.5


def claiming(name: str, claims: str, effect: str, known: Known, family: type[Family] = Signed) -> None:
    """A family of which `known` is falsely claimed."""
    false = type(name, (family,), {"__module__": __name__})
    globals()[name] = broken("false theory", *claims.split(), effect=effect, known=known)(false)


claiming("FalseMoment", "S2x", "second_moment, its variance by 2 %", Known(3, two_percent))
# The interval of 200,000 trials is wider than that.
claiming("SlightlyFalseMoment", "", "second_moment, its variance by 0.5 %", Known(3, half_a_percent))
claiming("FalseNorm", "S3x", "norm, by 2 %", Known(2, second_moment.hashed, two_percent_norm))
claiming("ConstantTooSmall", "S2", "embedding constant 1.5, where it is 2", Known(1.5))
# At d = 16 it is 1.875; at d = 640 the excess is too small for the trials.
claiming("ConstantSlightlyTooSmall", "S2?", "embedding constant 1.9, where it is 2 - 2/d", Known(1.9))
claiming("NormalInThePlaceOfSigns", "S2x S3x", "the moments of signs for normal entries", SIGNED, Normal)
claiming("SignsInThePlaceOfNormal", "S2x S3x", "the moments of normal entries for signs", NORMAL)
claiming("FalseTails", "S6", "tails: the error is below 0.1 but for 2δ", _with(tails={"Lemma D.23": _tenth}))
claiming("FalseAlways", "S6", "always: the error is below 0.1", _with(always={"Lemma D.28": _tenth}))
PRODUCTS, ALWAYS = _with(inner_products={"derived": _tenth}), _with(inner_products={"always": _always})
claiming("FalseInnerProducts", "S5-corrected", "inner_products: below 0.1 but for 2δ", PRODUCTS)
claiming("FalseInnerProductsAlways", "S5b", "inner_products: always below 0.1", ALWAYS)
SPECTRUM = _with(spectrum=leakage.orthogonal_spectrum)
claiming("FalseSpectrum", "S27-derived", "spectrum: that of orthogonal rows", SPECTRUM)
