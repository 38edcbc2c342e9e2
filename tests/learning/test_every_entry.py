"""The contracts of data sets and of partitions, for every config of either, without downloads."""

import functools
import hashlib
import io
import re
import socket
import tarfile
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.datasets
from copies import write_copies
from examples import examples
from hydra import compose, initialize_config_dir
from hydra.utils import instantiate
from hypothesis import given
from hypothesis import strategies as st

from sketchbench.command.main import main
from sketchbench.learning.dataset import cifar10, fetch, mnist, partition
from sketchbench.learning.dataset.dataset import VARIABLE, Split
from sketchbench.learning.dataset.fetch import File
from sketchbench.run.config import composition

SHAPES = {"digits": (1, 8, 8), "mnist": (1, 28, 28), "cifar10": (3, 32, 32), "lfw": (3, 64, 47)}
SMALL = {"train": 40, "test": 20}  # of a data set that is made up


def entries(group: str) -> list[str]:
    return sorted(path.stem for path in (composition.CONF / group).glob("*.yaml"))


def made(group: str, name: str) -> Any:
    with initialize_config_dir(str(composition.CONF), version_base="1.3"):
        return instantiate(compose(f"{group}/{name}")[group])


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    root = tmp_path_factory.mktemp("data")
    with pytest.MonkeyPatch.context() as patch:
        write_copies(root, patch)
        patch.setenv(VARIABLE, str(root))
        yield root


@pytest.mark.parametrize("name", entries("dataset"))
def test_a_data_set(name: str, root: Path) -> None:
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
        features = data.features(Split(images[:9], labels[:9]))
        assert features.shape == (min(9, len(images)), np.prod(data.shape))
        assert features.max() <= 1
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


# Downloads, from a server on this machine: checksums, archives, and what is said without internet


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        self.server.asked.append(self.path)  # type: ignore[attr-defined]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadingHTTPServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    (tmp_path / "published").mkdir()
    handler = partial(Quiet, directory=str(tmp_path / "published"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        running.asked = []  # type: ignore[attr-defined]
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


def published(server: ThreadingHTTPServer, tmp_path: Path, name: str, content: bytes) -> File:
    (tmp_path / "published" / name).write_bytes(content)
    checksum = hashlib.sha256(content).hexdigest()
    return File(f"http://127.0.0.1:{server.server_port}/{name}", f"sha256:{checksum}", "mnist")


def test_published_checksums_are_sha_256() -> None:
    """But for the attributes of LFW, which have none."""
    files = [file for files in fetch.SOURCES.values() for file in files]
    assert [file.checksum for file in files if not re.fullmatch("sha256:[0-9a-f]{64}", file.checksum or "")] == [None]


def test_files_that_are_there_are_not_asked_for(
    server: ThreadingHTTPServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [published(server, tmp_path, f"{n}.gz", n.encode()) for n in ("one", "two")]
    monkeypatch.setitem(fetch.SOURCES, "mnist", files)
    for _ in range(2):
        assert fetch.fetch("mnist", str(tmp_path / "root")) == tmp_path / "root"
    assert (tmp_path / "root" / "mnist" / "two.gz").read_bytes() == b"two"
    assert server.asked == ["/one.gz", "/two.gz"]  # type: ignore[attr-defined]


def test_a_file_that_is_another_one(
    server: ThreadingHTTPServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = published(server, tmp_path, "one.gz", b"one")
    (tmp_path / "published" / "one.gz").write_bytes(b"changed")
    monkeypatch.setitem(fetch.SOURCES, "mnist", [file])
    with pytest.raises(ValueError, match=r"hash of downloaded file .*one.gz.* does not match"):
        fetch.fetch("mnist", str(tmp_path / "root"))
    assert not list((tmp_path / "root").rglob("one.gz"))


def test_an_archive(server: ThreadingHTTPServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name in cifar10.CHECKSUMS:
            member = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
            member.size = 4
            archive.addfile(member, io.BytesIO(b"none"))
    file = published(server, tmp_path, "cifar.tar.gz", stream.getvalue())
    monkeypatch.setitem(fetch.SOURCES, "cifar10", [File(file.url, file.checksum, archive=True)])
    root = fetch.fetch("cifar10", str(tmp_path / "root"))
    with pytest.raises(ValueError, match=r"CIFAR-10: .*data_batch_1 is not the official file"):
        cifar10.load(str(root))


def test_faces_come_from_scikit_learn(
    server: ThreadingHTTPServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = published(server, tmp_path, "lfw_attributes.txt", b"# a list\n")
    monkeypatch.setitem(fetch.SOURCES, "lfw", [File(file.url, None, "lfw_home")])
    asked = []

    def downloaded(**given: object) -> None:
        asked.append(given)
        place = Path(str(given["data_home"]), "lfw_home", "lfw_funneled", "Ada")
        place.mkdir(parents=True)
        (place / "Ada_0001.jpg").write_bytes(b"a picture")

    monkeypatch.setattr(sklearn.datasets, "fetch_lfw_people", downloaded)
    root = fetch.fetch("lfw", str(tmp_path / "root"))
    listed = (root / "lfw_home" / "SHA256SUMS").read_text().splitlines()
    assert listed == [
        f"{hashlib.sha256(content).hexdigest()}  {name}"
        for name, content in (("lfw_attributes.txt", b"# a list\n"), ("lfw_funneled/Ada/Ada_0001.jpg", b"a picture"))
    ]
    assert (root / "lfw_home" / "lfw_attributes.txt").read_text() == "# a list\n"
    assert [given["data_home"] for given in asked] == [str(root)]

    def offline(**given: object) -> None:
        raise OSError("no route to host")

    monkeypatch.setattr(sklearn.datasets, "fetch_lfw_people", offline)
    with pytest.raises(OSError, match=r"can't get the images of LFW .no route to host"):
        fetch.fetch("lfw", str(root))


def test_without_internet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/one.gz"
        monkeypatch.setitem(fetch.SOURCES, "mnist", [File(url, "sha256:00", "mnist")])
        with pytest.raises(SystemExit, match=r"can't get http://127.0.0.1.* by hand") as caught:
            main(["data", "fetch", "mnist", "--root", str(tmp_path)])
    assert "\n" not in str(caught.value)


def test_the_command(
    server: ThreadingHTTPServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(fetch.SOURCES, "mnist", [published(server, tmp_path, "a.gz", b"a")])
    main(["data", "fetch", "mnist", "--root", str(tmp_path / "root")])
    assert f"mnist is in {tmp_path / 'root'}" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["data", "fetch", "letters"])
    with pytest.raises(ValueError, match="letters is unknown; choose one of mnist, cifar10, lfw"):
        fetch.fetch("letters")


def test_the_sources_are_what_the_loaders_read() -> None:
    names = {file.url.rpartition("/")[2] for file in fetch.SOURCES["mnist"]}
    assert names == {f"{name}.gz" for name in mnist.CHECKSUMS}
    for files in fetch.SOURCES.values():
        assert all(file.url.startswith("https://") for file in files)
