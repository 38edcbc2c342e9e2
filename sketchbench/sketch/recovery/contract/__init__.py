"""The contract of recoveries, measured signal by signal: exactness, reports, sameness and equivariance."""
