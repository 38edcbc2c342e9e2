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
    """A file to download from `url` into a folder of the data root. The checksum is `sha256:...`; None if none is
    published. An `archive`, a tar file, is unpacked in that folder."""

    url: str
    checksum: str | None
    folder: str = "."
    archive: bool = False


MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist"
SOURCES = {
    "mnist": [
        File(f"{MNIST}/{name}-ubyte.gz", f"sha256:{checksum}", "mnist")
        for name, checksum in {
            "train-images-idx3": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
            "train-labels-idx1": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
            "t10k-images-idx3": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
            "t10k-labels-idx1": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        }.items()
    ],
    "cifar10": [
        File(
            "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
            "sha256:6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
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
