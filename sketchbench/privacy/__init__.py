"""Differential privacy: mechanisms as data, accountants that compute their ε, and calibration of noise.

>>> from sketchbench.privacy.accountant import epsilon
>>> from sketchbench.privacy.mechanism import Composed, GaussianRelease
>>> release = GaussianRelease(sensitivity=1.0, sigma=10.0)
>>> round(epsilon("exact", Composed(release, times=100), delta=1e-5), 4)
4.3772
"""
