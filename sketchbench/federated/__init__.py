"""Federated optimisation with compressed communication: algorithms, and trainings that use them."""
