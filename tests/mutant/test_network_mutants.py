"""Broken layers and protocols are rejected by the claims that pass the sound ones."""

from typing import Any

import pytest
from operators import DesketchNotAdjoint
from test_other_claims import shared, verdicts

from sketchbench.model import sketched
from sketchbench.sketch import CountSketch
from sketchbench.task import sketched_layers
from sketchbench.task.sketched_layers import SketchedLayers
from sketchbench.theory.known import Known


def layers(family: type[CountSketch]) -> set[str]:
    """The verdicts of Z5."""
    return verdicts(
        "Z5", SketchedLayers(**shared(family(24, 8), Known(), 3), batch=4, outputs=6).run()
    )


def test_sound_layers() -> None:
    assert layers(CountSketch) == {"holds"}


def test_a_desketch_that_is_no_adjoint() -> None:
    assert "fails" in layers(DesketchNotAdjoint)


def test_a_layer_that_sketches_both_factors_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """S Sᵀ twice, as where someone sketches the inputs and the weights."""
    project = sketched.project
    monkeypatch.setattr(sketched, "project", lambda op, x: project(op, project(op, x)))
    assert "fails" in layers(CountSketch)


def test_gradients_that_stop_at_the_sketch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gradient of the plain layer, passed straight through."""

    class Straight(sketched_layers.SketchedLinear):
        def forward(self, x: Any) -> Any:
            z = super().forward(x)
            plain = x @ self.weight.T + self.bias
            return z.detach() + plain - plain.detach()

    monkeypatch.setattr(sketched_layers, "SketchedLinear", Straight)
    assert "fails" in layers(CountSketch)
