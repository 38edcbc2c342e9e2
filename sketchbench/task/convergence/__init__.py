"""Convergence: iterative sketching, local steps, communication, gossip."""
