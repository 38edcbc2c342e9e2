"""Recovery of sparse vectors: FIHT, IHT, the median of CountSketch, restricted isometry, decoders."""
