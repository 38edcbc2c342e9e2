"""`python -m sketchbench.dataset`, the same as `sketchbench data`; error messages of the data sets name it."""

import runpy
import sys

sys.argv[1:1] = ["data"]
runpy.run_module("sketchbench", run_name="__main__")
