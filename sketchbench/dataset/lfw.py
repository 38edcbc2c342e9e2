"""Labelled Faces in the Wild with the public attributes, for the classification of gender (zhang2021 §6.2).

The folder `lfw_home` of the data root, as scikit-learn lays it out: `lfw_funneled/NAME/NAME_0001.jpg`, and
beside it `lfw_attributes.txt` of Kumar et al. (2009).
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sketchbench import seeds
from sketchbench.dataset.dataset import Dataset, Split, data_root, fetching, missing

HEIGHT, WIDTH = 64, 47
CROP = (78, 70, 172, 195)  # left, upper, right, lower: the face, as scikit-learn cuts it out of 250 × 250
TRAIN, TEST = 8150, 3400  # images in the paper's subset
ATTRIBUTES = "lfw_attributes.txt"


def load(root: str | None = None, seed: int = 0, attribute: str | None = None) -> Dataset:
    """Faces of 3 × 64 × 47 pixels, class 1 for male; 8,150 to train and 3,400 to test.

    The paper does not say which images it took: these are drawn at random. Where there are fewer, they are divided
    in the same proportion.

    Arguments:
        root: the data root; see `data_root`.
        seed: root of the choice of images.
        attribute: a second attribute of the list, such as Black; faces that have it are of classes 2 and 3.

    Raises:
        FileNotFoundError: where a file is missing; the message says where it was looked for, and how to get it.
        ValueError: for a list of attributes that can't be read.
    """
    folder = data_root(root) / "lfw_home"
    names = ["Male"] if attribute is None else ["Male", attribute]
    faces = _faces(folder, names)
    order = seeds.generator(seed, data="lfw").permutation(len(faces))
    wanted = min(len(faces), TRAIN + TEST)
    train = wanted * TRAIN // (TRAIN + TEST)
    parts = []
    for chosen in (order[:train], order[train:wanted]):
        images = np.stack([_image(faces[i][0]) for i in chosen])
        parts.append(Split(images, np.array([faces[i][1] for i in chosen], np.int64)))
    return Dataset("LFW", 2 ** len(names), 255, *parts)


def _faces(folder: Path, names: list[str]) -> list[tuple[Path, int]]:
    """The listed images whose files exist, with their classes: a bit for each named attribute."""
    listed, images = folder / ATTRIBUTES, folder / "lfw_funneled"
    if not listed.is_file():
        raise missing(f"LFW: {ATTRIBUTES}", folder, fetching("lfw"))
    if not images.is_dir():
        raise missing("LFW: lfw_funneled", folder, fetching("lfw"))
    lines = [line.rstrip("\n").split("\t") for line in listed.read_text(encoding="utf-8").splitlines()]
    header = next((line[1:] for line in lines if line[:2] == ["#", "person"]), [])
    if not {"imagenum", *names} <= set(header):
        wanted = " and ".join(["imagenum", *names])
        raise ValueError(f"LFW: {listed} has no header with person, {wanted}")
    number, columns = header.index("imagenum"), [header.index(name) for name in names]
    faces = []
    for place, line in enumerate(lines, start=1):
        if not line[0] or line[0].startswith("#"):
            continue
        name = line[0].replace(" ", "_")
        try:
            path = images / name / f"{name}_{int(line[number]):04d}.jpg"
            bits = [2**k * (float(line[column]) > 0) for k, column in enumerate(columns)]
        except (IndexError, ValueError):
            wanted = f"line {place} has no number of an image, or no numbers for {names}"
            raise ValueError(f"LFW: {listed}: {wanted}; get the list again") from None
        if path.is_file():
            faces.append((path, int(sum(bits))))
    if len(faces) < 2:
        raise missing("LFW: the images that the list of attributes names", images, fetching("lfw"))
    return faces


def _image(path: Path) -> NDArray[np.uint8]:
    """The face of a picture: (3, 64, 47)."""
    from PIL import Image  # only here

    with Image.open(path) as picture:
        face = picture.convert("RGB").crop(CROP).resize((WIDTH, HEIGHT))
    return np.asarray(face, np.uint8).transpose(2, 0, 1)
