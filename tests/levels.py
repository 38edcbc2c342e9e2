"""The error rate of a single comparison that tests of power and of mutants assume: that of a quick run."""

from sketchbench.claim.evaluate import FAMILY_WISE_ERROR

# The largest number of comparisons that a quick run may make: it makes about 4,500, and studies to come need room.
COMPARISONS = 5000
LEVEL = FAMILY_WISE_ERROR / COMPARISONS
