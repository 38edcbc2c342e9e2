"""Recoveries: estimates of sparse vectors x from their sketches y = Φx + noise.

>>> import numpy as np
>>> from sketchbench.sketch import SubsampledHadamard
>>> x = np.zeros(1024)
>>> x[[3, 500, 900]] = 1.0, -2.0, 3.0
>>> phi = SubsampledHadamard(1024, 128, signs=False).draw(key=7)
>>> estimate = FIHT(k=3).recover(phi, phi.sketch(x)).x
>>> bool(np.allclose(estimate, x))
True
"""

from sketchbench.sketch.recovery.count_sketch import CountSketchMedian
from sketchbench.sketch.recovery.desketch import Desketch
from sketchbench.sketch.recovery.fiht import FIHT
from sketchbench.sketch.recovery.iht import IHT
from sketchbench.sketch.recovery.recovery import Recovered, Recovery

__all__ = ["FIHT", "IHT", "CountSketchMedian", "Desketch", "Recovered", "Recovery"]
