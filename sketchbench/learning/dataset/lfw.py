"""Labelled Faces in the Wild with public attributes, for classification by gender (zhang2021 §6.2). The data root has
scikit-learn's folder `lfw_home`, with images `lfw_funneled/NAME/NAME_0001.jpg`, and `lfw_attributes.txt` of Kumar et
al. (2009). No checksums of single files are published: `fetch` writes `SHA256SUMS`, and `load` verifies them."""

import io
import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sketchbench.base import seeds
from sketchbench.learning.dataset.checksums import VerifiedFolder
from sketchbench.learning.dataset.dataset import Dataset, Split, data_root, how_to_fetch, missing_file

HEIGHT, WIDTH = 64, 47
CROP = (78, 70, 172, 195)  # left, upper, right, lower: the face, as scikit-learn cuts it out of 250 × 250
TRAIN, TEST = 8150, 3400  # images in the paper's subset
ATTRIBUTES, IMAGES = "lfw_attributes.txt", "lfw_funneled"
SIZE = (250, 250)  # width and height in pixels; other images are not decoded
LARGEST_LIST, LARGEST_IMAGE = 1 << 26, 1 << 20  # bytes; the published files have 15 million and 40,000
VOUCHING = "python -m sketchbench.dataset checksum lfw"


def load(root: str | None = None, seed: int = 0, attribute: str | None = None) -> Dataset:
    """8,150 training and 3,400 test faces of 3 × 64 × 47 pixels, in class 1 for male and 0 otherwise. A second
    attribute of the list, such as Black, makes classes 2 and 3 of its faces. The paper does not say which images it
    uses; these are a random sample. A smaller copy is divided in the same proportion. Raises FileNotFoundError for a
    missing file, with the folder and how to get the file; ValueError for a file that is damaged, or has no checksum."""
    folder = data_root(root) / "lfw_home"
    names = ["Male"] if attribute is None else ["Male", attribute]
    _require_files(folder)
    verified = VerifiedFolder(folder, "LFW", VOUCHING)
    faces = _faces(folder, verified, names)
    order = seeds.generator(seed, data="lfw").permutation(len(faces))
    count = min(len(faces), TRAIN + TEST)
    train = count * TRAIN // (TRAIN + TEST)
    parts = []
    for part in (order[:train], order[train:count]):
        images = np.stack([_image(faces[i][0], verified) for i in part])
        parts.append(Split(images, np.array([faces[i][1] for i in part], np.int64)))
    return Dataset("LFW", 2 ** len(names), 255, *parts)


def files(folder: Path) -> list[Path]:
    """The list of attributes and all images in the data set's folder. Raises FileNotFoundError if either is missing."""
    _require_files(folder)
    return [folder / ATTRIBUTES, *(folder / IMAGES).glob("*/*.jpg")]


def _require_files(folder: Path) -> None:
    if not (folder / ATTRIBUTES).is_file():
        raise missing_file(f"LFW: {ATTRIBUTES}", folder, how_to_fetch("lfw"))
    if not (folder / IMAGES).is_dir():
        raise missing_file(f"LFW: {IMAGES}", folder, how_to_fetch("lfw"))


def _faces(folder: Path, verified: VerifiedFolder, names: list[str]) -> list[tuple[Path, int]]:
    """The paths and classes of listed images whose files exist; a class has a bit for each named attribute."""
    attributes, images = folder / ATTRIBUTES, folder / IMAGES
    text = verified.read(attributes, LARGEST_LIST).decode("utf-8", "replace")
    lines = [line.split("\t") for line in text.splitlines()]
    header = next((line[1:] for line in lines if line[:2] == ["#", "person"]), [])
    if not {"imagenum", *names} <= set(header):
        keys = " and ".join(["imagenum", *names])
        raise ValueError(f"LFW: {attributes} has no header with person, {keys}")
    number, columns = header.index("imagenum"), [header.index(name) for name in names]
    faces = []
    for place, line in enumerate(lines, start=1):
        if not line[0] or line[0].startswith("#"):
            continue
        name = line[0].replace(" ", "_")
        try:
            path = images / name / f"{name}_{int(line[number]):04d}.jpg"
            values = [float(line[column]) for column in columns]
            if not all(map(math.isfinite, values)):
                raise ValueError
            bits = [2**k * (value > 0) for k, value in enumerate(values)]
        except (IndexError, ValueError):
            reason = f"line {place} has no number of an image, or no numbers for {names}"
            raise ValueError(f"LFW: {attributes}: {reason}; get the list again") from None
        if path.is_file():
            faces.append((path, int(sum(bits))))
    if len(faces) < 2:
        raise missing_file("LFW: the images that the list of attributes names", images, how_to_fetch("lfw"))
    return faces


def _image(path: Path, verified: VerifiedFolder) -> NDArray[np.uint8]:
    """Read the face in a JPEG: (3, 64, 47). The size in its header is checked before it is decoded."""
    from PIL import Image

    content = io.BytesIO(verified.read(path, LARGEST_IMAGE))
    try:
        with Image.open(content, formats=["JPEG"]) as picture:
            if picture.size != SIZE:
                raise ValueError(f"{picture.width} × {picture.height} pixels")
            face = picture.convert("RGB").crop(CROP).resize((WIDTH, HEIGHT))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise ValueError(f"LFW: {path} is not a JPEG of 250 × 250 pixels ({error}); get it again") from None
    return np.asarray(face, np.uint8).transpose(2, 0, 1)
