"""Image data sets, and partitions of their samples among clients."""
