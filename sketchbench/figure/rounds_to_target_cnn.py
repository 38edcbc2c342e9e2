"""The same figure as `rounds_to_target`, of the convolutional network."""

from sketchbench.figure.rounds_to_target import draw

__all__ = ["draw"]
