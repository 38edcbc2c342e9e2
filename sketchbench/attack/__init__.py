"""Leakage attacks."""
