"""No shipped method or network writes into the arrays that it is given."""

import pytest
import torch
from hydra.utils import instantiate

from sketchbench.base.project import CONF
from sketchbench.learning.model.networks import initialise
from sketchbench.plan.inspection.check import OwnMethod, mistakes
from sketchbench.run.config.composition import METHODS, load_part

SHIPPED = [(kind, path.stem) for kind in METHODS for path in sorted((CONF / kind).glob("*.yaml"))]


@pytest.mark.parametrize(("kind", "name"), SHIPPED)
def test_methods_pass_the_door(kind: str, name: str) -> None:
    assert mistakes(OwnMethod(kind, name), CONF) == []


@pytest.mark.parametrize("name", [path.stem for path in sorted((CONF / "model").glob("*.yaml"))])
def test_networks_leave_their_images(name: str) -> None:
    make = instantiate(load_part("model", name), _convert_="all")
    shape = (3, 64, 47) if "lfw" in name else (3, 32, 32)
    model = initialise(lambda: make(shape=shape, classes=10), 0)
    images = torch.rand(3, *shape)
    before = images.clone()
    for mode in (True, False):
        model.train(mode)(images)
        assert torch.equal(images, before)
