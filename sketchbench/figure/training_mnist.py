"""The same figure as `training`, of the convolutional network for MNIST."""

from sketchbench.figure.training import draw

__all__ = ["draw"]
