"""The smallest effects that the claims see at quick size.

    PYTHONPATH=.:tests:tests/mutant python tests/family/smallest.py [EFFECT ...]

prints a line of a Markdown table for each effect of `grades.EFFECTS`, or for those named.

An amount is seen where at least nine of ten seeds make one of the claims fail. From a large amount down, by factors of
√2, the last one that is seen is the smallest.
"""

import sys

import judged
from grades import EFFECTS, Effect, graded, ladder

SEEDS, MISSES = 10, 1


def seen(effect: Effect, amount: float) -> int:
    """How many of the seeds see this amount; fewer seeds where too many have missed it already."""
    found = missed = 0
    for seed in range(1, SEEDS + 1):
        outcome = judged.outcome(graded(effect.family, amount), effect.studies, seed)
        hit = bool(set(outcome.caught) & set(effect.claims))
        found, missed = found + hit, missed + (not hit)
        if missed > MISSES:
            break
    return found


def coarse(effect: Effect, amounts: list[float]) -> int:
    """The place of the first amount that one seed does not see, less two: where to start in earnest."""
    for place, amount in enumerate(amounts[::4]):
        outcome = judged.outcome(graded(effect.family, amount), effect.studies, 0)
        if not set(outcome.caught) & set(effect.claims):
            return max(0, 4 * place - 5)
    return len(amounts) - 1


def smallest(effect: Effect) -> float:
    """The smallest amount on the ladder that is seen, after which one is not; infinite if the largest is not seen."""
    amounts, last = list(ladder(effect.largest)), float("inf")
    for amount in amounts[coarse(effect, amounts) :]:
        if seen(effect, amount) < SEEDS - MISSES:
            break
        last = amount
    return last


def main(names: list[str]) -> None:
    """A line for each effect."""
    for effect in EFFECTS:
        if not names or effect.family.__name__ in names:
            doc = (effect.family.__doc__ or "").split("\n")[0]
            print(f"| {doc} | {' or '.join(effect.claims)} | {smallest(effect):.2g} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
