"""Double-blind learning: sketched layers, DBCL, rounds to a target."""
