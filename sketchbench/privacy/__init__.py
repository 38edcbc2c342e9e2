"""Differential privacy: what is released, as data; accountants that interpret it; calibration."""
