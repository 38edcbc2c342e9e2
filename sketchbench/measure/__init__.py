"""Summaries of trials, intervals around them, and the power behind trial counts."""
