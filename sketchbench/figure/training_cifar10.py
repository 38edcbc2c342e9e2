"""The same figure as `training`, of the convolutional network for CIFAR-10."""

from sketchbench.figure.training import draw

__all__ = ["draw"]
