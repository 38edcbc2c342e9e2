"""Downloads of data sets from their publishers, on request only, with published checksums."""

import hashlib
import logging
from dataclasses import dataclass
from pathlib import Path

from sketchbench.base.files import write_text
from sketchbench.base.parameters import choose
from sketchbench.learning.dataset import checksums, cifar10, lfw
from sketchbench.learning.dataset.dataset import VARIABLE, data_root, how_to_fetch, missing_file

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class File:
    """A file to download from `url` into a folder of the data root. The checksum is `md5:...`; None if none is
    published. An `archive`, a tar file, is unpacked in that folder."""

    url: str
    checksum: str | None
    folder: str = "."
    archive: bool = False


MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist"
SOURCES = {
    "mnist": [
        File(f"{MNIST}/{name}-ubyte.gz", f"md5:{checksum}", "mnist")
        for name, checksum in {
            "train-images-idx3": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
            "train-labels-idx1": "d53e105ee54ea40749a09fcbcd1e9432",
            "t10k-images-idx3": "9fb629c4189551a2d022fa330f9573f3",
            "t10k-labels-idx1": "ec29112dd5afa0611ce80d1b7f02629c",
        }.items()
    ],
    "cifar10": [
        File(
            "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
            "md5:c58f30108f718f92721af3b95e74349a",
            archive=True,
        )
    ],
    "lfw": [File("https://www.cs.columbia.edu/CAVE/databases/pubfig/download/lfw_attributes.txt", None, "lfw_home")],
}
VOUCHED = {"cifar10": "cifar-10-batches-bin", "lfw": "lfw_home"}


def fetch(name: str, root: str | None = None) -> Path:
    """Download the missing files of a data set, a key of SOURCES, into the data root (`data_root`), and return the
    root. scikit-learn downloads and checks LFW's images. Their attributes have no published checksum, so `fetch` lists
    checksums of all files (`vouch`). Raises ValueError for an unknown name or a wrong checksum, OSError without
    internet."""
    choose("dataset", name, SOURCES)
    base = data_root(root)
    for file in SOURCES[name]:
        _get(file, base / file.folder)
    if name == "lfw":
        _faces(base)
        vouch(name, root)
    return base


def vouch(name: str, root: str | None = None) -> Path:
    """Write the list of checksums of a copy of a data set, which is verified from then on, and return its path. The
    name is `lfw`, or `cifar10` for a binary version that is not the official one. Raises ValueError for another name,
    OSError if a file is missing, or the list cannot be written."""
    choose("dataset", name, VOUCHED)
    folder = data_root(root) / VOUCHED[name]
    files = lfw.files(folder) if name == "lfw" else [folder / file for file in cifar10.BINARY]
    if absent := next((file for file in files if not file.is_file()), None):
        raise missing_file(f"{name}: {absent.name}", folder, how_to_fetch(name))
    sums = folder / checksums.NAME
    write_text(sums, "".join(f"{_sum(path)}  {path.relative_to(folder).as_posix()}\n" for path in sorted(files)))
    return sums


def _sum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _get(file: File, folder: Path) -> None:
    import pooch  # an import of 0.3 s, for downloads only

    processor = pooch.Untar(extract_dir=".") if file.archive else None
    log.info("%s to %s", file.url, folder)
    name = file.url.rpartition("/")[2]
    try:
        pooch.retrieve(file.url, file.checksum, fname=name, path=folder, processor=processor)
    except OSError as error:
        raise _offline(file.url, folder, error) from None


def _faces(base: Path) -> None:
    from sklearn.datasets import fetch_lfw_people

    log.info("images of LFW (230 MB) to %s", base / "lfw_home")
    try:
        fetch_lfw_people(data_home=str(base), min_faces_per_person=500)  # loads one person only
    except OSError as error:
        raise _offline("the images of LFW", base / "lfw_home", error) from None


def _offline(what: str, folder: Path, error: OSError) -> OSError:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return OSError(
        f"can't get {what} ({reason}); with internet, run this again, or put it into {folder} by hand. The data root "
        f"is --root, or {VARIABLE}"
    )
