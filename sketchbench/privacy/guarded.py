"""Accounts of `sketchbench.epsilon` and `sketchbench.calibrated_sigma`: they refuse an ε that is known to be too small.

song2023 Theorem 6.2 is false for long trainings, see docs/findings.md. The claims measure by how much, so
`privacy.accountant` has the theorem as printed. A user who promises an ε to people must not get this ε.
"""

from sketchbench.privacy import accountant as plain
from sketchbench.privacy import calibration
from sketchbench.privacy.accountant import RefusedError
from sketchbench.privacy.mechanism import Mechanism, with_sigma

PRINTED = "paper"  # the accountant of a theorem that is false for some mechanisms


def epsilon(accountant: str, mechanism: Mechanism, delta: float) -> float:
    """As `privacy.accountant.epsilon`. Raises RefusedError, too, if accountant=paper gives an ε below the exact ε of a
    record that takes part in every step."""
    told = plain.epsilon(accountant, mechanism, delta)
    _refuse_if_false(accountant, mechanism, told, delta)
    return told


def calibrated_sigma(accountant: str, mechanism: Mechanism, goal: float, delta: float) -> float:
    """As `privacy.calibration.calibrated_sigma`. Raises RefusedError, too, if the σ of accountant=paper spends more
    than `goal`, by the exact ε of a record that takes part in every step."""
    sigma = calibration.calibrated_sigma(accountant, mechanism, goal, delta)
    _refuse_if_false(accountant, with_sigma(mechanism, sigma), goal, delta)
    return sigma


def _refuse_if_false(accountant: str, mechanism: Mechanism, told: float, delta: float) -> None:
    if accountant != PRINTED:
        return
    try:
        spent = plain.epsilon("exact", mechanism, delta)
    except RefusedError:  # random batches, for which no exact curve shows the theorem false
        return
    if spent > told:
        raise RefusedError(
            f"accountant=paper promises ε={told:.4g}, but the mechanism spends ε={spent:.4g} at delta={delta:g}: "
            "song2023 Theorem 6.2 is false for a training of this length; take accountant=exact"
        )
