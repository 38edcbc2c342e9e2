"""The runs, their jobs, and their cost."""
