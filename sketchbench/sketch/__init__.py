"""Sketch families (distributions over b × d matrices) and the operators that are drawn from them.

>>> import numpy as np
>>> R = CountSketch(d=1000, b=50).draw(key=7)
>>> y = R.sketch(np.ones(1000))
>>> y.shape, R.desketch(y).shape
((50,), (1000,))
"""

from sketchbench.sketch.ams import AMS
from sketchbench.sketch.balanced import BalancedCountSketch
from sketchbench.sketch.count_sketch import CountSketch
from sketchbench.sketch.family import Family
from sketchbench.sketch.gaussian import Gaussian
from sketchbench.sketch.identity import Identity
from sketchbench.sketch.operator import Sketch
from sketchbench.sketch.sparse import BlockSparseEmbedding, SparseEmbedding
from sketchbench.sketch.transform import SubsampledCosine, SubsampledHadamard
from sketchbench.sketch.uniform import UniformSampling

__all__ = [
    "AMS",
    "BalancedCountSketch",
    "BlockSparseEmbedding",
    "CountSketch",
    "Family",
    "Gaussian",
    "Identity",
    "Sketch",
    "SparseEmbedding",
    "SubsampledCosine",
    "SubsampledHadamard",
    "UniformSampling",
]
