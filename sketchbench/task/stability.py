"""How the error of a recovery grows with noise in the measurements and with the signal's tail."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sketchbench import seeds
from sketchbench.kernels import Kernels
from sketchbench.measure.sparsity import tail_constants
from sketchbench.measure.summary import summarize
from sketchbench.recovery.recovery import MakeRecovery
from sketchbench.sketch.family import Family
from sketchbench.task import signals, trials


@dataclass(frozen=True)
class Stability:
    """For signals of norm 1 with k nonzeros, y = Φ(x + tail) + w, and one operator for all, rows

    `noise_error`: ‖x - x̂‖₂ for noise w of norm `amount` in a random direction, without a tail;
    `noise_ratio`: that error over ‖w‖₂: its largest value is the smallest C_n of tang2021 Lemma 2;
    `tail_error`, `tail_ratio`: the same for a tail of that norm in a random direction, without noise;
    `tail_constant`: the smallest C with error <= (C + 1)‖x - x^[k]‖₂ + C/√k ‖x - x^[k]‖₁.
    The bound of an error is its shape only: the amount.
    """

    family: Family
    recovery: MakeRecovery
    kernels: Kernels
    seed: int
    trials: int
    k: int
    amounts: list[float]

    def run(self) -> list[dict[str, Any]]:
        for amount in self.amounts:
            if not amount > 0:
                raise ValueError(f"amount={amount} must be > 0")
        d, b = self.family.d, self.family.b
        sketch = trials.fixed_operator(self.family, self.kernels, self.seed, "stability")
        recovery = self.recovery(k=self.k)
        x = _unit(signals.sparse(d, self.k, self.trials, self.seed))
        random = seeds.generator(self.seed, data="stability", d=d, b=b)
        noise = _unit(random.standard_normal((self.trials, b)))
        tail = _unit(random.standard_normal((self.trials, d)))
        rows: list[dict[str, Any]] = []
        for amount in self.amounts:
            for name, whole, w in (
                ("noise", x, amount * noise),
                ("tail", x + amount * tail, 0 * noise),
            ):
                y = sketch.sketch(self.kernels.asarray(whole)) + self.kernels.asarray(w)
                found = self.kernels.to_numpy(recovery.recover(sketch, y).x)
                errors = np.linalg.norm(whole - found, axis=-1)
                shared = {"amount": amount}
                rows += [
                    {"quantity": f"{name}_error", **shared, "bound": amount, **summarize(errors)},
                    {"quantity": f"{name}_ratio", **shared, **summarize(errors / amount)},
                ]
                if name == "tail":
                    constants = tail_constants(errors, whole, self.k)
                    rows.append({"quantity": "tail_constant", **shared, **summarize(constants)})
        return rows


def _unit(v: signals.Signals) -> signals.Signals:
    """Rows of norm 1."""
    return np.asarray(v / np.linalg.norm(v, axis=-1, keepdims=True))
