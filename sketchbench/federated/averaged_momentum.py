"""Momentum with a step that shrinks as the momentum grows."""

from typing import Any

from sketchbench.base.parameters import Positive, checked
from sketchbench.federated.compressed_sensing import CompressedSensingSGD, Momentum


@checked
def averaged_momentum(*, rate: Positive, momentum: Momentum, **settings: Any) -> CompressedSensingSGD:
    """`CompressedSensingSGD` with the rate (1 - m) η for momentum m. All steps that a gradient causes, (1 - m) η (1 + m
    + m² + ...), sum up to η, as without momentum."""
    return CompressedSensingSGD(rate=(1 - momentum) * rate, momentum=momentum, **settings)
