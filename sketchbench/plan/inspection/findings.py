"""The mistakes in one YAML file, a line for each."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sketchbench.base.errors import blame, message
from sketchbench.base.files import display_path


class Findings:
    """The mistakes in one YAML file of a user's folder, in the order in which they are found.

    Arguments:
        path: the file.
        folder: the user's folder, whose code is blamed for the errors that it raises.
    """

    def __init__(self, path: Path, folder: Path) -> None:
        self.path, self.folder = path, folder
        self.lines: list[str] = []
        self.unusable: set[str] = set()  # modules that can't be imported, of which one line is enough

    def add(self, key: str, mistake: str) -> None:
        """Add the mistake at a key, "" for the whole file: the value, and what it must be. The same line is added
        once."""
        line = ": ".join(filter(None, (display_path(self.path), key.lstrip("."), mistake)))
        if line not in self.lines:
            self.lines.append(line)

    @contextmanager
    def running(self, key: str) -> Iterator[None]:
        """Around a call of the user's code for the value at a key: an error, or SystemExit, is added as a mistake."""
        try:
            yield
        except (Exception, SystemExit) as error:
            self.add(key, blame(error, self.folder) or message(error))
