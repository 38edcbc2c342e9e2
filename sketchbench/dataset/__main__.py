"""`python -m sketchbench.dataset` is `sketchbench data`.

It is what messages of the data sets name: their code is part of the signature of every run that uses them, and another
spelling is no reason to do these again.
"""

import runpy
import sys

sys.argv[1:1] = ["data"]
runpy.run_module("sketchbench", run_name="__main__")
