"""A run: from a resolved config to its record, and the signature of what decides it."""
