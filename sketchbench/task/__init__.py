"""Atomic tasks: a frozen dataclass of parameters each, whose `run` returns tidy rows."""
