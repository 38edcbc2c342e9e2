"""Mechanisms for other accountants, and other libraries' runs for the project's accountants."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from sketchbench.privacy import accountant
from sketchbench.privacy.mechanism import Composed, GaussianRelease, Mechanism, SampledGaussian, steps
from sketchbench.privacy.sampling import Sampling

if TYPE_CHECKING:
    from dp_accounting import DpEvent

LARGEST = 10**9  # largest denominator of a sample rate


def dp_event(mechanism: Mechanism) -> "DpEvent":
    """Convert all that a mechanism releases of one record to an event of dp-accounting.

    The event doesn't define neighbours: give dp-accounting's accountant the mechanism's relation, which its sensitivity
    assumes. Raises ValueError for clients of several kinds, as a record has only one, and for batches with replacement:
    no event describes either.
    """
    import dp_accounting as dp

    kinds = sorted(steps(mechanism), key=repr)
    if len(kinds) > 1:
        raise ValueError(
            f"{len(kinds)} kinds of clients have no event together, as a record belongs to one of them; "
            "take the event of each client's mechanism, and the largest ε"
        )
    (own,) = kinds
    return dp.SelfComposedDpEvent(accountant.event(own), own.count)


def opacus_run(history: Sequence[tuple[float, float, int]]) -> Composed:
    """The mechanism of a run of Opacus, for `epsilon` and `calibrated_sigma`. `history` is
    `privacy_engine.accountant.history`: noise multiplier, sample rate and number of steps of each setting. Raises
    ValueError for a history without steps or of several settings, a rate outside (0, 1], or steps that are no whole
    number."""
    if len(history) != 1:
        raise ValueError(
            f"a history of {len(history)} settings must have one, as the project's accountants compose equal steps; "
            "train with the same noise and sample rate throughout, or take the accountant of Opacus"
        )
    noise, rate, count = history[0]
    if isinstance(count, bool) or not math.isfinite(count) or count != int(count):
        raise ValueError(f"{count} steps must be a whole number; take the history of Opacus as it is")
    rate = float(rate)
    share = Fraction(rate).limit_denominator(LARGEST) if 0 < rate <= 1 else Fraction(0)
    if not (share and math.isclose(float(share), rate, rel_tol=1e-6)):
        raise ValueError(f"sample rate {rate} must be from {1 / LARGEST:g} to 1")
    sampling = Sampling("poisson", share.numerator, share.denominator)
    release = GaussianRelease(sensitivity=1.0, sigma=float(noise))
    return Composed(SampledGaussian(release, sampling, "add_remove"), int(count))
