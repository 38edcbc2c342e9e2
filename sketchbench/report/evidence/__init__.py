"""The evidence behind verdicts, for the terminal and the site: their rows, statistics in words, and commits."""
