"""Downloads, from a server on this machine: checksums, archives, and what is said without internet."""

import hashlib
import io
import socket
import tarfile
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import sklearn.datasets

from sketchbench.command.main import main
from sketchbench.learning.dataset import cifar10, fetch, mnist
from sketchbench.learning.dataset.fetch import File


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        self.server.asked.append(self.path)  # type: ignore[attr-defined]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadingHTTPServer]:
    """Serves the folder `published`."""
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
    checksum = hashlib.md5(content).hexdigest()
    return File(f"http://127.0.0.1:{server.server_port}/{name}", f"md5:{checksum}", "mnist")


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
    """It is unpacked where the loader looks."""
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
    """One line, with what to do: of a server that isn't there."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/one.gz"
        monkeypatch.setitem(fetch.SOURCES, "mnist", [File(url, "md5:00", "mnist")])
        with pytest.raises(SystemExit, match=r"can't get http://127.0.0.1.* by hand") as caught:
            main(["data", "fetch", "mnist", "--root", str(tmp_path)])
    assert "\n" not in str(caught.value)


def test_the_command(
    server: ThreadingHTTPServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
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
