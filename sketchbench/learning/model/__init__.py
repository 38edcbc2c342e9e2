"""Neural networks, and layers that are trained through sketches."""
