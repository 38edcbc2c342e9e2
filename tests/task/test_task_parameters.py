"""Unknown names and wrong values that tasks refuse when they are made, beside those of tests/contract/test_tasks.py."""

import re
from dataclasses import fields
from typing import Any

import pytest

from sketchbench.kernels import load
from sketchbench.sketch.count_sketch import CountSketch
from sketchbench.sketch.recovery.count_sketch import CountSketchMedian
from sketchbench.sketch.recovery.fiht import FIHT
from sketchbench.sketch.sparse import BlockSparseEmbedding
from sketchbench.task.convergence.consensus import Consensus
from sketchbench.task.double_blind.sketched_layers import SketchedLayersTask
from sketchbench.task.double_blind.weight_sketch import WeightSketch
from sketchbench.task.privacy.privacy_accounting import PrivacyAccounting
from sketchbench.task.recovery.padding import Padding
from sketchbench.task.sketches.inner_products import InnerProducts
from sketchbench.task.sketches.isometry import Isometry
from sketchbench.task.sketches.moments import Moments
from sketchbench.task.sketches.norms import Norms
from sketchbench.task.sketches.spectrum import Spectrum
from sketchbench.task.sketches.tails import Tails
from sketchbench.theory.known import Known
from sketchbench.theory.leakage import count_sketch_spectrum

SHARED: dict[str, Any] = {
    "family": CountSketch(16, 8),
    "known": Known(spectrum=count_sketch_spectrum),
    "recovery": FIHT,
    "kernels": load("numpy"),
    "seed": 0,
    "trials": 3,
    "k": 2,
}
SETTINGS: dict[Any, dict[str, Any]] = {
    Consensus: {"graphs": ["ring"], "nodes": [4], "tolerance": 0.1},
    InnerProducts: {"deltas": [0.1]},
    Isometry: {},
    Moments: {"pairs": ["flat", "roaming_spike"]},
    Norms: {"pairs": ["flat"]},
    Padding: {"signals": {"sparse": 1.0}},
    PrivacyAccounting: {
        "accountants": ["exact", "paper"],
        "multipliers": {"full": 40},
        "rounds": [1],
        "local_steps": 1,
        "batch": 1,
        "records": 2,
        "clients": 2,
        "bound": 1,
        "delta": 1e-5,
        "epsilons": [],
    },
    SketchedLayersTask: {"batch": 2, "outputs": 3},
    Spectrum: {},
    Tails: {"pairs": ["flat"], "deltas": [0.1], "points": 2},
    WeightSketch: {"cases": ["centred"], "outputs": 2, "features": 2},
}


def made(task: Any, **changed: Any) -> Any:
    asked = {field.name for field in fields(task)}
    shared = {name: value for name, value in SHARED.items() if name in asked}
    return task(**{**shared, **SETTINGS[task], **changed})


NAMES = [
    (task, name)
    for task, settings in SETTINGS.items()
    for name, value in settings.items()
    if isinstance(value, list | dict) and isinstance(next(iter(value), None), str)
]


@pytest.mark.parametrize(("task", "name"), NAMES)
def test_an_unknown_name_is_refused(task: Any, name: str) -> None:
    value = SETTINGS[task][name]
    known = next(iter(value))
    changed = [*value, "other"] if isinstance(value, list) else {"other": 1.0}
    with pytest.raises(ValueError, match=rf"^{name}=other is unknown; choose one of .*{known}"):
        made(task, **{name: changed})


WRONG = [
    (Norms, {"pairs": ["roaming_spike"]}, "pairs=roaming_spike is unknown; choose one of random, equal"),
    (Consensus, {"tolerance": 1}, "tolerance=1 must be > 0 and < 1"),
    (Consensus, {"nodes": [4, 5]}, "nodes=5 must be a square number, which a grid needs"),
    (Consensus, {"nodes": [1]}, "nodes=1 must be >= 4"),
    (InnerProducts, {"deltas": [0.1, 1.0]}, "deltas=1.0 must be > 0 and < 1"),
    (InnerProducts, {"family": CountSketch(1, 1)}, "inner products of two columns need d >= 2, not d=1"),
    (Isometry, {"k": 17}, "number of nonzeros k=17 must satisfy k <= d=16"),
    (Padding, {"recovery": CountSketchMedian}, "task padding needs a recovery with a `support`: FIHT or IHT"),
    (SketchedLayersTask, {"batch": 1}, "batch=1 must be >= 2"),
    (SketchedLayersTask, {"family": CountSketch(18, 8)}, "d=18 must be a multiple of 4, the pixels of a filter"),
    (Spectrum, {"known": Known()}, "the sketch's config needs a spectrum under `theory`"),
    (Spectrum, {"family": BlockSparseEmbedding(4, 8, 2)}, "sketch size b=8 must be <= d=4 for Rᵀ to have b singular"),
    (Tails, {"points": -1}, "points=-1 must be >= 0"),
    (Tails, {"trials": 1}, "trials=1 must be >= 2"),
]


@pytest.mark.parametrize(("task", "changed", "message"), WRONG)
def test_a_wrong_value_is_refused(task: Any, changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        made(task, **changed)
