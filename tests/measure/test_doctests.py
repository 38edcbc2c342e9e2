"""The examples in docstrings are true."""

import doctest
import importlib

import pytest


@pytest.mark.parametrize(
    "name",
    [
        "sketchbench.seeds",
        "sketchbench.kernels",
        "sketchbench.measure.audit",
        "sketchbench.measure.power",
        "sketchbench.measure.row",
        "sketchbench.model.sketched",
        "sketchbench.parameters",
        "sketchbench.privacy.gaussian",
        "sketchbench.theory.privacy",
    ],
)
def test_examples(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0
