"""A user's data set, model or partition: the function named in its file, and one call of it."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hydra.utils import instantiate
from torch import nn

from sketchbench.base.errors import message
from sketchbench.learning.dataset import digits
from sketchbench.learning.dataset.dataset import Dataset
from sketchbench.learning.dataset.partition import deal, takes_users
from sketchbench.learning.model.networks import initialise
from sketchbench.plan.inspection.data import doubts
from sketchbench.plan.inspection.dealing import is_fixed, order, shares
from sketchbench.plan.inspection.files import own_methods
from sketchbench.plan.inspection.forward import fault
from sketchbench.plan.inspection.methods import Findings, formula
from sketchbench.run.config.composition import load_part

SEED, IMAGES = 54321, 3


def check_part(findings: Findings, kind: str, conf: Path, overrides: Sequence[str] = ()) -> None:
    """Add the mistakes of a data set, a model or a partition. The latter two are tried on the folder's first data set,
    by default on digits.

    Arguments:
        findings: receives the mistakes.
        kind: `dataset`, `model` or `partition`.
        conf: the project's configs.
        overrides: Hydra's, of the methods' parameters.
    """
    try:
        node = load_part(kind, findings.path.stem, conf, findings.folder)
    except ValueError as error:
        findings.add("", message(error).removeprefix(f"{findings.path}: "))
        return
    given = {"dataset": (), "model": ("shape", "classes"), "partition": ("labels", "seed")}[kind]
    if formula(findings, "", node, (), given, ("users",) if kind == "partition" else ()) is None:
        return
    with findings.running(""):
        make = instantiate(node, _convert_="all")
        if kind == "dataset":
            _check_dataset(findings, make)
        elif kind == "model":
            _check_model(findings, make, _example(findings, conf))
        else:
            _check_partition(findings, make, _example(findings, conf, takes_users(make)))


def _example(findings: Findings, conf: Path, with_users: bool = False) -> Dataset:
    """Return the folder's first sound data set, with users if requested and available; by default digits."""
    sound = []
    for name in own_methods(findings.folder, ("dataset",))["dataset"]:
        with suppress(Exception):  # its mistakes are in lines of its own
            made = instantiate(load_part("dataset", name, conf, findings.folder), _convert_="all")()
            if isinstance(made, Dataset):
                sound.append(made)
                if made.users is not None or not with_users:
                    return made
    return sound[0] if sound else digits.load()


def _check_dataset(findings: Findings, make: Callable[[], Any]) -> None:
    """Check that a data set is reproducible, has two classes, and shares no image between its parts; note doubts."""
    made = make()
    if not isinstance(made, Dataset):
        findings.add("", f"it gave {_name(made)}; it must give a sketchbench.learning.dataset.dataset.Dataset")
        return
    present = np.unique(made.train.labels)
    if len(present) < 2:
        findings.add("", f"all training labels are {present[0]}; there must be two classes at least")
    if make().digest != made.digest:
        findings.add("", "a second reading gave other images or labels; draw random numbers from a seed")
    for note in doubts(made):
        findings.note(note)


def _check_model(findings: Findings, make: Callable[..., Any], data: Dataset) -> None:
    """Check that a network has parameters, depends on the seed only, gives one finite score for each class, and has no
    `fault`."""
    shape, classes = data.shape, data.classes
    models = [initialise(lambda: make(shape=shape, classes=classes), SEED) for _ in range(2)]
    at = f"for shape={shape}, classes={classes}, as of {data.label}, "
    if not isinstance(models[0], nn.Module):
        findings.add("", f"{at}it gave {_name(models[0])}; it must give a torch.nn.Module")
        return
    weights = [list(model.parameters()) for model in models]
    if not weights[0]:
        findings.add("", f"{at}the network has no parameters; there is nothing to train")
    elif not all(torch.equal(one, other) for one, other in zip(*weights, strict=True)):
        findings.add("", f"{at}initial weights differ at the same seed; draw them with torch's own generator")
    images = torch.rand(IMAGES, *shape)
    with torch.no_grad():
        for mode in (True, False):  # training last, as in a new network
            with findings.untouched("", images=images.numpy()):
                scores = models[0].train(not mode)(images)
    wanted = {(IMAGES, classes), (IMAGES, 1)} if classes == 2 else {(IMAGES, classes)}
    if not isinstance(scores, torch.Tensor) or tuple(scores.shape) not in wanted:
        shown = f"of shape {tuple(scores.shape)}" if isinstance(scores, torch.Tensor) else _name(scores)
        findings.add("", f"{at}scores of {IMAGES} images are {shown}; they must be of shape {max(wanted)}")
    elif not scores.is_floating_point() or not scores.isfinite().all():
        findings.add("", f"{at}scores of {IMAGES} images are {scores[0, 0]:g}, ...; they must be finite numbers")
    elif not findings.lines and (reason := fault(make, shape, classes)):
        findings.add("", f"{at}{reason}")


def _check_partition(findings: Findings, make: Callable[..., Any], data: Dataset) -> None:
    """Check that a partition depends on the seed, unless it is fixed, and on nothing else; note the order of the file.

    Seeds differ in their lowest and in a high bit, since a run's seed has 64 bits."""
    labels = data.train.labels
    parts, again, *others = (deal(make, labels, seed, data.users) for seed in (SEED, SEED, SEED + 1, SEED + 2**40))
    if len(parts) != len(again) or not all(map(np.array_equal, parts, again)):
        findings.add("", "clients have other samples at the same seed; draw random numbers from `seed`")
    elif len(parts) > 1 and not is_fixed(make) and any(shares(parts) == shares(other) for other in others):
        findings.add(
            "",
            "clients have the same samples at two seeds, so trainings repeat one division; draw random numbers from "
            "`seed`, or say that the partition is fixed: `NAME.fixed = True` below the function NAME",
        )
    if note := order(parts, data.train.labels, data.users if takes_users(make) else None):
        findings.note(note)


def _name(thing: Any) -> str:
    return "None" if thing is None else f"a {type(thing).__name__}"
