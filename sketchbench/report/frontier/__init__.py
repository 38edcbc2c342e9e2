"""Which compressor at N bytes: the tables of the frontier's studies joined, shown and asked."""

# The studies that the frontier is joined from.
TRAINING, LEAKAGE, COST, CONTRACT = "frontier", "frontier_leakage", "frontier_cost", "compressor_contract"
SAMPLED, IMAGES = "frontier_sampled", "frontier_cifar10"
TRAININGS = (TRAINING, SAMPLED, IMAGES)
STUDIES = (*TRAININGS, LEAKAGE, COST, CONTRACT)
