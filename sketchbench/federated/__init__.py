"""Federated optimisation with compressed communication."""
