"""Writing: whole or not at all, with the umask's permissions, and one clear line where it can't be done."""

import errno
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from sketchbench.base.files import FileError, check_writable, clear, is_plain, set_aside, write_bytes, write_text
from sketchbench.base.kept import Kept

ROOT = Path(__file__).parents[2]


def test_the_umask_is_kept(tmp_path: Path) -> None:
    for mask, mode in ((0o077, 0o600), (0o022, 0o644), (0o002, 0o664)):
        before = os.umask(mask)
        try:
            write_text(tmp_path / "deep" / "ε.txt", "ε")
        finally:
            os.umask(before)
        assert (tmp_path / "deep" / "ε.txt").stat().st_mode & 0o777 == mode
    assert (tmp_path / "deep" / "ε.txt").read_bytes() == "ε".encode()


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (errno.ENOSPC, "no space left on device while writing {path}; free some and run the same command again"),
        (errno.EDQUOT, "no space left on device while writing {path}; free some and run the same command again"),
        (errno.EROFS, "{path} can't be written: no permission in {path.parent}; make that folder writable"),
        (errno.EFBIG, r"{path} is larger than files may be here \(ulimit -f\)"),
        (errno.EIO, "{path} can't be written: Input/output error"),
    ],
)
@pytest.mark.parametrize("where", ["open", "fsync", "replace", "mkdir"])
def test_an_error_says_why_and_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, message: str, where: str
) -> None:
    path = tmp_path / "report.txt"
    path.write_text("old")

    def failing(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number), "elsewhere")

    with monkeypatch.context() as patched:
        owner = os if where in ("open", "fsync") else Path
        patched.setattr(owner, where, failing)
        with pytest.raises(FileError, match=message.format(path=path)) as caught:
            write_text(path, "new")
    assert caught.value.errno == number
    assert "\n" not in str(caught.value)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_stands_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    for path, message in (
        (tmp_path / "file" / "report.txt", f"{tmp_path / 'file'} is a file; move it away"),
        (tmp_path / "file" / "deep" / "report.txt", f"{tmp_path / 'file'} is a file; move it away"),
        (tmp_path / "folder", f"{tmp_path / 'folder'} is a folder; move it away"),
        (tmp_path / ("a" * 300 + ".txt"), "the name is too long; choose a shorter one"),
    ):
        with pytest.raises(FileError) as caught:
            write_text(path, "new")
        assert message in str(caught.value)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "folder"]
    write_text(tmp_path / ("a" * 251 + ".txt"), "as long as may be")
    for target in (tmp_path / "file", tmp_path / "nowhere"):
        link = tmp_path / "link"
        link.symlink_to(target)
        write_bytes(link, b"of its own")
        assert is_plain(link)
        link.unlink()
    assert (tmp_path / "file").read_text() == "x"


def test_what_cannot_be_used_is_put_aside(tmp_path: Path) -> None:
    """Nothing is lost but an older rejected file; folders are kept."""
    path = tmp_path / "deep" / "a.csv"
    for content in ("one", "two"):
        write_text(path, content)
        assert set_aside(path) == tmp_path / "deep" / "a.csv.rejected"
    assert (tmp_path / "deep" / "a.csv.rejected").read_text() == "two"
    for number in (2, 3):
        (path / "x").mkdir(parents=True)
        assert len(clear(path)) == 1
        assert (tmp_path / "deep" / f"a.csv.{number}.rejected" / "x").is_dir()
    path.symlink_to("nowhere")
    (line,) = clear(path)
    assert line == f"{path}: it is not a file of its own; set aside, to be made again"
    assert (tmp_path / "deep" / "a.csv.rejected").is_symlink()
    write_text(tmp_path / "other", "a file")
    (line,) = clear(tmp_path / "other" / "b.csv")
    assert line.startswith(f"{tmp_path / 'other'}: it is not a folder; set aside")
    assert clear(path) == clear(tmp_path / "nowhere" / "c.csv") == []


def test_a_full_disk_by_hand(tmp_path: Path) -> None:
    """A limit on the size of files, in the place of a full disk: one line, and no part of a file."""
    arguments = ["--result", str(tmp_path / "one.parquet"), "kernels=numpy", "d=12", "b=4", "task.trials=20"]
    done = subprocess.run(
        [sys.executable, "-B", "-m", "sketchbench", "run", *arguments, "task.pairs=[flat]"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
    )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()[-1:]
    assert "Traceback" not in done.stderr
    assert line.startswith(f"sketchbench: error: {tmp_path / 'one.parquet'} is larger than files may be here")
    assert list(tmp_path.iterdir()) == []


def whole(path: Path) -> None:
    if path.read_text() != "whole":
        raise ValueError(path)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("notes.txt", "is there already, and no whole file of this kind; choose another name, or remove it"),
        ("dangling", "is there already"),
        ("loop", "is there already"),
        ("notes.txt/x", "notes.txt is a file"),
        ("folder", "folder is a folder"),
        (".", "is a folder"),
        ("x" * 300, "the name is too long"),
        ("/dev/null", "is there already"),
        ("/proc/nowhere/x", "/proc/nowhere/x can't be written: "),
    ],
)
def test_a_file_is_asked_for_before_the_work(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to("loop")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(FileError, match=re.escape(words)):
        check_writable(tmp_path / name, whole)
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_what_asking_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "deep" / "x"
    check_writable(place, whole)
    assert list(place.parent.iterdir()) == []
    place.write_text("whole")
    check_writable(place, whole)
    with pytest.raises(FileError, match="is there already"):
        check_writable(place)
    with monkeypatch.context() as patched, pytest.raises(FileError, match=f"no space left on device .*{place}"):
        patched.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
        check_writable(place, whole)
    assert list(place.parent.iterdir()) == [place]


# What a process keeps


def test_a_result_is_made_once_and_the_oldest_is_forgotten() -> None:
    made: list[str] = []
    kept = Kept[str, int](2)

    def of(key: str) -> int:
        return kept.of(key, lambda: made.append(key) or len(made))

    assert [of("a"), of("b"), of("a"), of("c"), of("b"), of("a")] == [1, 2, 1, 3, 2, 4]
    assert made == ["a", "b", "c", "a"]
