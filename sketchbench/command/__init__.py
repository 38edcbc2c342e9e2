"""The command line: a module for each command of `sketchbench`, and what they share.

All that the command line computes, and so every record, is of one arithmetic. It is held here, before any library that
chooses its code when it is loaded.
"""

from sketchbench.base import arithmetic

arithmetic.hold()
