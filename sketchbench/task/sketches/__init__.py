"""Sketches: moments, norms, tails, inner products, hashing, and the contracts of families."""
