"""Checking a user's own folder before anything is run: names and files, what its YAML says, and what its code does."""
