"""Which compressor at N bytes: the tables of the frontier's studies joined, shown and asked."""

# The studies that the frontier is joined from.
TRAINING, LEAKAGE, COST, CONTRACT = "frontier", "frontier_leakage", "frontier_cost", "compressor_contract"
SAMPLED = "frontier_sampled"
STUDIES = (TRAINING, SAMPLED, LEAKAGE, COST, CONTRACT)
