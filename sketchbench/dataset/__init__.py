"""Image data sets, and how their samples are dealt out to clients."""
