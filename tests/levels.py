"""The error rate of a single comparison that tests of power and of mutants assume: that of a quick run."""

from sketchbench.report.claim.evaluate import FAMILY_WISE_ERROR

# The largest number of comparisons that a quick run may make: it makes about 4,500, and studies to come need room.
COMPARISONS = 5000
LEVEL = FAMILY_WISE_ERROR / COMPARISONS
# A run at the papers' sizes makes about 9,000, the frontier not among them.
PAPER_LEVEL = FAMILY_WISE_ERROR / 16_000
