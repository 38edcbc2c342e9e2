"""Records to tidy tables."""
