"""Sketches of gradients and weights for federated learning, and what is known of them.

>>> import numpy as np
>>> import sketchbench as sb
>>> R = sb.CountSketch(d=1000, b=100).draw(sb.seeds.key(7, round=3))
>>> R.sketch(np.ones(1000)).shape
(100,)

- Families: `CountSketch`, `SubsampledHadamard`, `SubsampledCosine`, `Gaussian`, `SparseEmbedding`,
  `BlockSparseEmbedding`, `AMS`, `BalancedCountSketch`, `UniformSampling`, `Identity`; one of your own is a `Family`
  that draws a `Sketch`.
- Recoveries of a sparse vector from its sketch: `FIHT`, `IHT`, `CountSketchMedian`, `Desketch`; base class `Recovery`.
- Compressors of updates: `Plain`, `TopK`, `RandomK`, `ShuffledRandomK`, `Sign`, `QSGD`, `Int8`, `Float16`, `PowerSGD`,
  `Desketched`, `CompressedSensing`, `FetchSGD`, `SketchedLayers`; base class `Compressor`.
- Privacy: `epsilon` and `calibrated_sigma` of the mechanisms `GaussianRelease`, `SampledGaussian`, `Composed`,
  `Parallel`, `PostProcessed`, on batches by a `Sampling`; `mean_step` is one private step.
- PyTorch layers: `SketchedLinear`, `SketchedConv2d`, `BlindLinear`, `BlindConv2d`.
- `seeds` for keys of operators, `kernels` for backends.

A name is imported when it is first used, so that `import sketchbench` takes milliseconds. The names are listed in
`__init__.pyi`.
"""

import lazy_loader

from sketchbench.base.moved import keep_names

keep_names()
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
