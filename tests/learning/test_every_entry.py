"""The contracts of data sets and of partitions, for every config of either, without downloads."""

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from copies import write_copies
from examples import examples
from hydra import compose, initialize_config_dir
from hydra.utils import instantiate
from hypothesis import given
from hypothesis import strategies as st

from sketchbench.learning.dataset import partition
from sketchbench.learning.dataset.dataset import VARIABLE
from sketchbench.run.config import composition

SHAPES = {"digits": (1, 8, 8), "mnist": (1, 28, 28), "cifar10": (3, 32, 32), "lfw": (3, 64, 47)}
SMALL = {"train": 40, "test": 20}  # of a data set that is made up


def entries(group: str) -> list[str]:
    return sorted(path.stem for path in (composition.CONF / group).glob("*.yaml"))


def made(group: str, name: str) -> Any:
    """The function that an entry makes, and its config."""
    with initialize_config_dir(str(composition.CONF), version_base="1.3"):
        return instantiate(compose(f"{group}/{name}")[group])


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data root with small copies of all data sets."""
    root = tmp_path_factory.mktemp("data")
    with pytest.MonkeyPatch.context() as patch:
        write_copies(root, patch)
        patch.setenv(VARIABLE, str(root))
        yield root


@pytest.mark.parametrize("name", entries("dataset"))
def test_a_data_set(name: str, root: Path) -> None:
    """Images and labels as announced, the same at every reading, and parts for every partition."""
    make = made("dataset", name)
    small = SMALL if name.startswith("synthetic") else {}
    data = make(**small)
    kind = name.removeprefix("synthetic_").removesuffix("_mixed").removesuffix("_property")
    assert data.shape == SHAPES[kind]
    for images, labels in (data.train, data.test):
        assert (images.dtype, labels.dtype) == (np.uint8, np.int64)
        assert len(images) == len(labels) > 0
        assert images.shape[1:] == data.shape
        assert 0 <= labels.min() <= labels.max() < data.classes
        assert images.max() <= data.white
    data.check_disjoint()
    assert make(**small).digest == data.digest
    for dealt in entries("partition"):
        fewer = {"samples": 1} if dealt == "one_class" else {}
        make = functools.partial(made("partition", dealt), clients=2, **fewer)
        parts = partition.deal(make, data.train.labels, 3, np.arange(len(data.train.labels)) % 3)
        assert len(parts) == 2


@pytest.mark.parametrize("name", entries("dataset"))
def test_a_data_root_that_is_nobodys(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the variable or the option; data sets that read no data root don't look at it."""
    monkeypatch.setenv(VARIABLE, "~nobody-of-this-name/x")
    make = made("dataset", name)
    if "root" not in make.keywords:
        make(**SMALL if name.startswith("synthetic") else {})
        return
    with pytest.raises(ValueError, match=f"{VARIABLE}=~nobody-of-this-name/x begins with a user without a home"):
        make()
    with pytest.raises(ValueError, match="the option root=~no-such-name begins with a user without a home"):
        make(root="~no-such-name")


@pytest.mark.parametrize("name", entries("partition"))
@examples(40)
@given(st.data())
def test_a_partition(name: str, data: st.DataObject) -> None:
    """Of any labels: samples of its own for every client, the same for the same seed, or an error in one line."""
    labels = np.array(data.draw(st.lists(st.integers(0, 4), max_size=40)), np.int64)
    clients, seed = data.draw(st.integers(1, 12)), data.draw(st.integers(0, 2**64))
    more = {"samples": data.draw(st.integers(1, 4))} if name == "one_class" else {}
    deal = functools.partial(PARTITIONS[name], clients=clients, **more)
    users = np.array(data.draw(st.lists(st.integers(0, 9), min_size=len(labels), max_size=len(labels))), np.int64)
    message = ""
    try:
        parts = partition.deal(deal, labels, seed, users)
    except ValueError as error:
        message = str(error)
    if message:
        assert message.startswith((f"clients={clients} ", "alpha=0.5 leaves"))
        assert "\n" not in message
        return
    assert len(parts) == clients
    again = partition.deal(deal, labels, seed, users)
    assert all(np.array_equal(one, other) for one, other in zip(parts, again, strict=True))


@pytest.mark.parametrize("name", entries("partition"))
@pytest.mark.parametrize(
    "labels",
    [
        np.array([0.0, 1.0]),
        np.array([True, False]),
        np.zeros((2, 2), int),
        np.ma.array([0, 1], mask=[0, 1]),
        np.array([0, 1], object),
        [0, 1],
    ],
    ids=["float", "bool", "two axes", "masked", "object", "list"],
)
def test_wrong_labels(name: str, labels: Any) -> None:
    with pytest.raises(TypeError, match="labels must be an array of integers of shape"):
        PARTITIONS[name](labels=labels, seed=0, clients=1)


PARTITIONS = {name: made("partition", name) for name in entries("partition")}
