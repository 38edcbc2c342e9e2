"""The ground floor: checks of values, errors, files, seeds, the arithmetic, and the course of a run."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["seeds"])
