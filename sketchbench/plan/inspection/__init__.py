"""Checking a user's folder before anything runs: its file names, what its YAML says, and what its code does."""
