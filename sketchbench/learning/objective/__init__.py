"""Objectives: losses and gradients on real and synthetic data."""
