"""Compressors at equal bytes: contracts, frontiers, leaks through messages. No paper makes this comparison."""
