"""Inversion of gradients: matching, and the properties that updates reveal."""
