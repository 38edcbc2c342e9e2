"""Measurements: rows of results, summaries of trials, confidence intervals, and numbers of trials for a given power."""
