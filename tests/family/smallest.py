"""The smallest effects that the claims see at quick size.

    PYTHONPATH=.:tests:tests/mutant python tests/family/smallest.py [FAMILY ...]

prints a line of a Markdown table for each effect of `EFFECTS`, or for those of the families named. An amount is seen
where at least nine of ten seeds make the claim fail. From an amount that is seen down, by factors
of √2, the last one that is seen is the smallest. The amounts to start from follow from the standard deviations.
"""

import sys
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import grades
import yaml
from grades import Graded
from judging import shared, verdicts

from sketchbench.base import seeds
from sketchbench.base.project import CONF
from sketchbench.measure.row import Row
from sketchbench.sketch.contract.independence import Independence
from sketchbench.sketch.contract.probes import Subject
from sketchbench.task.sketches import contract
from sketchbench.task.sketches.contract import Contract
from sketchbench.task.sketches.moments import Moments
from sketchbench.theory.known import Known

SEEDS, MISSES = 10, 1
OPERATORS = 20_000  # of a quick run, at the first size
Measure = Callable[[Graded, int], Iterable[Row]]


def _contract(family: Graded, seed: int) -> Contract:
    text = (CONF / "task" / "contract.yaml").read_text().replace("${scale.trials}", str(OPERATORS))
    settings = yaml.safe_load(text)
    del settings["_target_"]
    common: dict[str, Any] = shared(family, 2)
    return Contract(family, common["kernels"], seed, **settings)


def operators(family: Graded, seed: int) -> Iterable[Row]:
    """The rows of C1, C2, C3, C4 and C8."""
    task = _contract(family, seed)
    return task._operators(list(task._subjects()))


def unbiased(family: Graded, seed: int) -> Iterable[Row]:
    """The rows of S1-sizes."""
    task = _contract(family, seed)
    return task._gram(list(task._subjects()))


def stacks(family: Graded, seed: int) -> Iterable[Row]:
    """The row of C6 that is a correlation."""
    kernels = shared(family, 2)["kernels"]
    subject = Subject(type(family)(12, 4, family.amount), kernels, seeds.key(seed, smallest="effect"))
    return [contract._dependence("stack", Independence(subject, OPERATORS // 5).in_stack())]


def moments(family: Graded, seed: int) -> Iterable[Row]:
    """The rows of S1, of study `embedding` at b = 4."""
    pairs = ["spike", "flat", "random"]
    return Moments(**{**shared(family, 200_000), "seed": seed}, known=Known(), pairs=pairs).run()


class Effect(NamedTuple):
    """An effect: the family, the claim that must see it, what is measured, and the amount to start from."""

    family: type[Graded]
    claim: str
    measure: Measure
    largest: float


EFFECTS = (
    Effect(grades.Scale, "S1-sizes", unbiased, 0.014),
    Effect(grades.Scale, "S1", moments, 0.015),
    Effect(grades.FlatDirection, "S1-sizes", unbiased, 0.1),
    Effect(grades.FlatDirection, "S1", moments, 0.015),
    Effect(grades.SkewDirection, "S1-sizes", unbiased, 0.1),
    Effect(grades.OneEntry, "S1-sizes", unbiased, 0.07),
    Effect(grades.SharedEntries, "C6", stacks, 0.15),
    Effect(grades.SharedOperators, "C6", stacks, 0.15),
    Effect(grades.SharedNorms, "C6", stacks, 0.15),
    Effect(grades.RarelyZero, "S1-sizes", unbiased, 0.016),
    Effect(grades.RarelyScaled, "S1-sizes", unbiased, 0.08),
    Effect(grades.RarelyNotLinear, "C1", operators, 1.5e-4),
    Effect(grades.RarelyNoTranspose, "C2", operators, 1.5e-4),
    Effect(grades.NotLinear, "C1", operators, 1e-11),
    Effect(grades.NoTranspose, "C2", operators, 1e-11),
)


def seen(effect: Effect, amount: float) -> bool:
    """Whether all of the seeds but MISSES see this amount."""
    missed = 0
    for seed in range(1, SEEDS + 1):
        rows = effect.measure(effect.family(16, 4, amount), seed)
        missed += "fails" not in verdicts(effect.claim, rows)
        if missed > MISSES:
            return False
    return True


def smallest(effect: Effect) -> float:
    """The smallest amount on the way down that is seen; infinite if the largest is not."""
    last, amount = float("inf"), effect.largest
    while seen(effect, amount):
        last, amount = amount, amount / 2**0.5
    return last


def main(names: list[str]) -> None:
    """A line for each effect."""
    for effect in EFFECTS:
        if not names or effect.family.__name__ in names:
            doc = (effect.family.__doc__ or "").split("\n")[0]
            print(f"| {doc} | {effect.claim} | {smallest(effect):.2g} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
