"""The tasks of gradient inversion: what they count, what they keep, and what they refuse."""

import base64
import dataclasses
import functools
from typing import Any

import numpy as np
import pytest
import torch
from selecting import select

from sketchbench import kernels
from sketchbench.attack import double_blind, sketched_gradient
from sketchbench.attack.attempt import Attempt, draw_victim
from sketchbench.attack.inversion import LBFGS
from sketchbench.attack.victim import Victim
from sketchbench.learning.dataset import digits
from sketchbench.learning.model.networks import sigmoid_cnn
from sketchbench.measure.image import likeness
from sketchbench.measure.row import Row
from sketchbench.sketch import CountSketch, Identity, SubsampledHadamard
from sketchbench.task.inversion import sketched_inversion
from sketchbench.task.inversion.inversion import Assessment, ImageInversion
from sketchbench.task.inversion.private_inversion import PrivateInversion
from sketchbench.task.inversion.sketched_inversion import SketchedInversion

D = 2538
SHARED: dict[str, Any] = {
    "kernels": kernels.load("numba"),
    "seed": 0,
    "dataset": digits.load,
    "model": functools.partial(sigmoid_cnn, filters=(8, 8, 8), kernel=3, strides=(1, 2, 1), width=0.5),
    "attack": LBFGS(evaluations=60, starts=1, goal=1e-8, label="read", history=50),
    "control": double_blind.undefended,
    "trials": 3,
    "assessment": Assessment(level=30.0, gain=3.0, allowed_effort=4.0, matched=1e-4, pictures=2),
}
BLIND = ImageInversion(
    family=CountSketch(2, 1),
    views={"paper": double_blind.server_paper},
    **SHARED,
)


ATTEMPT = Attempt(np.zeros((1, 8, 8)), 1, 1, 0.0, likeness(np.zeros((1, 8, 8)), np.ones((1, 8, 8))), 0.0)


def of(quantity: str, found: list[Row], **values: Any) -> list[Row]:
    return select(found, quantity=quantity, **values)


def victim(trial: int) -> Victim:
    return draw_victim(digits.load(), BLIND.model, BLIND.kernels, BLIND.seed, trial=trial)


@functools.cache
def blind() -> list[Row]:
    return BLIND.run()


def test_the_control_succeeds_and_the_defence_stands() -> None:
    for case, failures, better in (("control", 0, 3), ("paper", 3, 0)):
        (failure,), (gain,) = (of(name, blind(), case=case) for name in ("failure", "better"))
        assert (failure["count"], gain["count"]) == (failures, better)
        for row in (failure, gain):
            assert (row["positive_control"], row["trials"], row["bound"]) == (3, 3, 0.5)
    assert of("psnr", blind(), case="control")[0]["minimum"] > 30
    assert of("evaluations", blind(), case="control")[0]["maximum"] <= 85


def test_what_an_attack_is_compared_with() -> None:
    """The mean training image, which the attack has no part in."""
    data = digits.load()
    mean = data.features(data.train).mean(axis=0).reshape(data.shape)
    (guess,) = of("mse", blind(), case="mean image")
    errors = []
    for trial in range(3):
        truth = victim(trial).samples.images[0].numpy()
        assert any(np.array_equal(truth * data.white, image) for image in data.test.images)
        errors.append(likeness(mean, truth).mse)
    assert guess["mean"] == pytest.approx(np.mean(errors))


def test_pictures() -> None:
    """Of the first trials, as bytes; the control's are the originals, but for rounding."""
    shown = of("picture", blind())
    assert [row["case"] for row in shown] == [
        case for case in ("original", "mean image", "control", "paper") for _ in range(2)
    ]
    pixels = [np.frombuffer(base64.b64decode(row["picture"]), np.uint8).astype(int) for row in shown]
    assert all(row["shape"] == "1x8x8" and picture.size == 64 for row, picture in zip(shown, pixels, strict=True))
    for trial in range(2):
        assert abs(pixels[4 + trial] - pixels[trial]).max() <= 255 * 8 * 10**-1.5  # of 30 dB, all in one
        assert abs(pixels[6 + trial] - pixels[trial]).max() > 50


def test_trials_have_weights_of_their_own_and_views_share_them() -> None:
    first, second = (victim(trial) for trial in (0, 1))
    weights = [
        torch.nn.utils.parameters_to_vector(model.parameters())
        for model in (first.network(None), first.network(CountSketch(2, 1)), second.network(None))
    ]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_effort_is_relative_to_the_control() -> None:
    """The attack on a sketch takes more evaluations than the control, and one that fails always counts as more."""
    (row,) = of("effort", blind(), case="paper")
    assert row["count"] == 3
    assert of("effort", blind(), case="control")[0]["count"] == 0
    judge = Assessment(30.0, 3.0, 1.0, 1e-4, 2)
    plain, slow, failed = (
        attempt._replace(evaluations=count, likeness=attempt.likeness._replace(psnr=psnr))
        for attempt, count, psnr in ((ATTEMPT, 10, 40.0), (ATTEMPT, 11, 40.0), (ATTEMPT, 1, 29.0))
    )
    assert [judge.laborious(one, plain) for one in (plain, slow, failed)] == [False, True, True]
    assert judge.better([plain, failed], [plain.likeness, failed.likeness._replace(psnr=26.0)]) == 1


SIZES = SketchedInversion(
    family=CountSketch(D, D),
    views={"R": sketched_gradient.iterative_sketching},
    compressions=[10.0, 60.0],
    examples=2,
    **{**SHARED, "trials": 2},
)


def test_sizes() -> None:
    found = SIZES.run()
    for compression, measured, failures in ((10.0, "more", 0), (60.0, "fewer", 2)):
        (still,) = of("unmatched", found, case="standing still", compression=compression)
        assert still["count"] == still["trials"] == 2
        assert of("unmatched", found, case="R", compression=compression)[0]["count"] == 0
        (row,) = of("failure", found, case="R", compression=compression)
        assert (row["measurements"], row["count"]) == (measured, failures)
        assert row["observed"] == round(D / compression)
        assert row["bytes_seen"] == 8 * row["observed"]
        (whole,), (restricted,) = (of(name, found, compression=compression) for name in ("gamma", "restricted"))
        assert (restricted["mean"] > 0.2) == (measured == "more")
        assert (restricted["mean"] == 0) == (measured == "fewer")
        assert whole["minimum"] >= 0


@pytest.mark.parametrize("family", [CountSketch(40, 10), SubsampledHadamard(64, 20)], ids=lambda f: type(f).__name__)
def test_singular_values(family: Any) -> None:
    """Of a matrix that is formed, against its eigenvalues."""
    R = torch.from_numpy(family.draw(3, kernels="numpy").materialize())
    expected = torch.linalg.eigvalsh(R @ R.T)[0].clamp(min=0).sqrt()
    assert sketched_inversion._smallest(R.T) == pytest.approx(float(expected), abs=1e-7)
    assert sketched_inversion._smallest(R) == 0.0


def test_noise() -> None:
    private = functools.partial(sketched_gradient.private, clip=1.0, delta=1e-5)
    task = PrivateInversion(
        family=Identity(D, D),
        views={"private": functools.partial(private, epsilon=10)},
        epsilons=[10.0, 1e9],
        **{
            **SHARED,
            "control": functools.partial(private, epsilon=None),
            "trials": 2,
            "attack": dataclasses.replace(SHARED["attack"], evaluations=150),
        },
    )
    found = task.run()
    strong, weak = (of("failure", found, epsilon=epsilon)[0] for epsilon in (10.0, 1e9))
    assert (strong["count"], weak["count"], strong["positive_control"]) == (2, 0, 2)
    assert (strong["accountant"], strong["delta"], strong["sensitivity"]) == ("exact", 1e-5, 2.0)
    assert strong["sigma"] > 1e3 * weak["sigma"] > 0
    assert of("failure", found, case="control")[0]["sigma"] == 0


@pytest.mark.parametrize(
    ("task", "change", "message"),
    [
        (BLIND, {"trials": 2, "assessment": Assessment(30.0, 3.0, 4.0, 1e-4, 3)}, "pictures=3 must be <= trials=2"),
        (SIZES, {"compressions": [0.5]}, "compression=0.5 must satisfy 1 <= compression <= d=2538"),
        (SIZES, {"compressions": [1e4]}, r"compression=10000.0 must satisfy"),
        (
            SIZES,
            {"family": CountSketch(100, 10), "compressions": [4.0]},
            "d=100 must be the number",
        ),
    ],
)
def test_bad_settings(task: ImageInversion, change: dict[str, Any], message: str) -> None:
    quick = dataclasses.replace(task.attack, evaluations=1)
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(task, attack=quick, **change).run()
