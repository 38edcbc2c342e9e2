"""What is wrong with one file, a line for each mistake."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sketchbench.errors import blame, describe
from sketchbench.files import display_path


class Findings:
    """The mistakes of one YAML file, in the order in which they are found.

    Arguments:
        path: the file.
        folder: the user's own, whose code is blame for the errors that it raises.
    """

    def __init__(self, path: Path, folder: Path) -> None:
        self.path, self.folder = path, folder
        self.lines: list[str] = []
        self.unusable: set[str] = set()  # modules that can't be imported, of which one line is enough

    def add(self, key: str, mistake: str) -> None:
        """A mistake: at which key, and what it is, with the value and what it must be. The same one counts once."""
        line = f"{display_path(self.path)}: {key}: {mistake}"
        if line not in self.lines:
            self.lines.append(line)

    @contextmanager
    def running(self, key: str) -> Iterator[None]:
        """Around what calls a user's code for the value at a key: whatever it raises is a mistake, and the block ends.

        Also what would end the process, or is no error elsewhere: SystemExit, KeyboardInterrupt.
        """
        try:
            yield
        except BaseException as error:
            self.add(key, blame(error, self.folder) or describe(error))
