"""The command line: a module for each command of `sketchbench`, and their shared parts.

All commands, and so all records, use one arithmetic. It is fixed here, before any library that chooses its code when it
is loaded.
"""

from sketchbench.base import arithmetic

arithmetic.hold()
