"""The command line: a module for each command of `sketchbench`, and what they share."""
