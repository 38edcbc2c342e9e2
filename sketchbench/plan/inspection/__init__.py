"""Checking a user's folder before anything runs: its file names, its YAML files, and its code."""
