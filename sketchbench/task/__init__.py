"""Atomic tasks: each is a frozen dataclass of parameters, whose `run` returns tidy rows."""
