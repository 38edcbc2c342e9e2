"""Handwritten digits that come with scikit-learn, so that no download is needed."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np

from sketchbench.base import seeds
from sketchbench.learning.dataset.dataset import Dataset, Split

TEST = 360  # test images: the last fifth in the library's order, mostly by other writers
FILE = "datasets/data/digits.csv.gz"  # in scikit-learn's folder; a line has the pixels of an image and its class


def load() -> Dataset:
    """1,797 images of 8 × 8 pixels from 0 to 16, in 10 classes. `sklearn.datasets.load_digits` returns the same images,
    but its import takes two seconds. Raises FileNotFoundError if scikit-learn or its file is missing."""
    numbers = np.loadtxt(_place(), delimiter=",", dtype=np.int64)
    images, labels = numbers[:, :-1].astype(np.uint8).reshape(-1, 1, 8, 8), numbers[:, -1].copy()
    train, test = Split(images[:-TEST], labels[:-TEST]), Split(images[-TEST:], labels[-TEST:])
    return Dataset("digits", 10, 16, train, test)


def mixed() -> Dataset:
    """The images of `load` in a fixed random order, so that training and test images are by the same writers. The
    accuracy of small networks is 3 to 5 % lower for other writers, and varies more between trainings; use these to
    compare trainings that differ by a percent. Raises FileNotFoundError as `load` does."""
    images, labels = load().whole
    order = seeds.generator(0, data="digits", order="mixed").permutation(len(labels))
    train, test = (Split(images[part], labels[part]) for part in np.split(order, [len(order) - TEST]))
    return Dataset("digits, writers mixed", 10, 16, train, test)


def _place() -> Path:
    spec = find_spec("sklearn")
    folders = spec.submodule_search_locations if spec else None
    places = [Path(folder) / FILE for folder in folders or ()]
    place = next((place for place in places if place.is_file()), None)
    if place is None:
        raise FileNotFoundError(f"dataset digits: scikit-learn's {FILE} is not there; install scikit-learn again")
    return place
