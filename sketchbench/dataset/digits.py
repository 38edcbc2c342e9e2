"""scikit-learn's handwritten digits: shipped with the library, so always there."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np

from sketchbench import seeds
from sketchbench.dataset.dataset import Dataset, Split

TEST = 360  # the last fifth, in the library's order: mostly by other writers
FILE = "datasets/data/digits.csv.gz"  # in scikit-learn: on every line the pixels of an image, and its class


def load() -> Dataset:
    """1,797 images of 8 × 8 pixels from 0 to 16, in 10 classes.

    The same as `sklearn.datasets.load_digits` gives, without two seconds for importing that.

    Raises:
        FileNotFoundError: where scikit-learn is not installed, or comes without the file.
    """
    numbers = np.loadtxt(_place(), delimiter=",", dtype=np.int64)
    images, labels = numbers[:, :-1].astype(np.uint8).reshape(-1, 1, 8, 8), numbers[:, -1].copy()
    train, test = Split(images[:-TEST], labels[:-TEST]), Split(images[-TEST:], labels[-TEST:])
    return Dataset("digits", 10, 16, train, test)


def mixed() -> Dataset:
    """The same images, in one random order before the last fifth is taken: all writers are in both parts.

    A small network knows the digits of other writers 3 to 5 % less well, and not equally well from one training to the
    next; so this is for differences of a percent between trainings.

    Raises:
        FileNotFoundError: as `load`.
    """
    images, labels = load().whole
    order = seeds.generator(0, data="digits", order="mixed").permutation(len(labels))
    train, test = (Split(images[part], labels[part]) for part in np.split(order, [len(order) - TEST]))
    return Dataset("digits, writers mixed", 10, 16, train, test)


def _place() -> Path:
    found = find_spec("sklearn")
    folders = found.submodule_search_locations if found else None
    places = [Path(folder) / FILE for folder in folders or ()]
    place = next((place for place in places if place.is_file()), None)
    if place is None:
        raise FileNotFoundError(f"dataset digits: scikit-learn's {FILE} is not there; install scikit-learn again")
    return place
