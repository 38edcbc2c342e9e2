"""The studies that the frontier is joined from."""

TRAINING, LEAKAGE, COST, CONTRACT = "frontier", "frontier_leakage", "frontier_cost", "compressor_contract"
STUDIES = (TRAINING, LEAKAGE, COST, CONTRACT)
