"""Neural networks, and layers of them that are trained through sketches."""
