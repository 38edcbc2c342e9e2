"""Which runs exist, in which jobs, and what they cost."""
