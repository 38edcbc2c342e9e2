"""The examples in docstrings are true."""

import doctest
import importlib

import pytest


@pytest.mark.parametrize(
    "name",
    [
        "sketchbench.base.seeds",
        "sketchbench.kernels",
        "sketchbench.measure.audit",
        "sketchbench.measure.cost",
        "sketchbench.measure.power",
        "sketchbench.measure.row",
        "sketchbench.learning.model.sketched",
        "sketchbench.base.parameters",
        "sketchbench.privacy",
        "sketchbench.privacy.gaussian",
        "sketchbench.sketch.recovery",
        "sketchbench.sketch",
        "sketchbench.sketch.count_sketch",
        "sketchbench.theory.compressed_sensing",
        "sketchbench.theory.double_blind",
        "sketchbench.theory.leakage",
        "sketchbench.theory.privacy",
    ],
)
def test_examples(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0
