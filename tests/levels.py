"""The error rates of one comparison that tests of power and of mutants assume: those of a run at the two scales."""

from sketchbench.base.project import CONF
from sketchbench.report.claim import error_rate
from sketchbench.report.claim.error_rate import ErrorLevels

# The most comparisons that a run may make; studies to come need room. Of studies with few trials the quick scale makes
# 560, of others 4,800; the papers' sizes 800 and 8,800.
FEW, OTHERS = 603, 6000
PAPER_FEW, PAPER_OTHERS = 1161, 16_000


def levels(few: int, others: int) -> ErrorLevels:
    rate = error_rate.read(CONF)
    return rate.levels([{min(rate.studies): few, "another": others}])


QUICK, PAPER = levels(FEW, OTHERS), levels(PAPER_FEW, PAPER_OTHERS)
LEVEL, PAPER_LEVEL = QUICK.others.level, PAPER.others.level
# What is held against a bound can be wrong on one side only, so its interval has twice the rate.
FEW_LEVEL, PAPER_FEW_LEVEL = 2 * QUICK.few_trials.level, 2 * PAPER.few_trials.level
