"""Recovering sparse vectors from their sketches."""

from sketchbench.recovery.count_sketch import CountSketchMedian
from sketchbench.recovery.desketch import Desketch
from sketchbench.recovery.fiht import FIHT
from sketchbench.recovery.iht import IHT
from sketchbench.recovery.recovery import Recovered, Recovery

__all__ = ["FIHT", "IHT", "CountSketchMedian", "Desketch", "Recovered", "Recovery"]
