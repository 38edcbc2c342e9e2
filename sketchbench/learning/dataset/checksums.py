"""Checksums for data sets without published ones: a list that is written once and verified at every read. A flipped bit
in a photograph changes pixels and raises no error, so a file without a checksum is not read. The list is `SHA256SUMS`
in the data set's folder, in the format of `sha256sum --check`."""

import hashlib
import re
from pathlib import Path

NAME = "SHA256SUMS"
LARGEST = 1 << 24  # bytes of the largest list that is read; the list of 13,234 faces has 1.6 million
_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")


def read_bounded(path: Path, most: int, what: str) -> bytes:
    """Read a file of at most `most` bytes. Raises ValueError for a file that is larger or cannot be read; the message
    begins with `what`, the name of the data set."""
    try:
        with path.open("rb") as file:
            content = file.read(most + 1)
    except OSError as error:
        raise ValueError(f"{what}: {path} can't be read ({error.strerror}); get it again") from None
    if len(content) > most:
        raise ValueError(f"{what}: {path} has more than {most} bytes, as no such file has; get it again")
    return content


class VerifiedFolder:
    """A folder with a list of checksums; only files with the right checksum are read.
    `folder`: the folder; `what`: name of the data set, for messages; `command`: command that writes the list, for
    messages. Raises ValueError for a folder without a list, or a list that cannot be read."""

    def __init__(self, folder: Path, what: str, command: str) -> None:
        self._folder, self._what, self._command = folder, what, command
        if not (folder / NAME).is_file():
            raise ValueError(
                f"{what}: no published checksums vouch for the files in {folder}, and there is no {NAME}; if you trust "
                f"this copy, write it once with `{command}`"
            )
        text = read_bounded(folder / NAME, LARGEST, what).decode("utf-8", "replace")
        lines = [_LINE.fullmatch(line) for line in text.splitlines()]
        if not lines or None in lines:
            raise ValueError(f"{what}: {folder / NAME} is not a list of checksums; write it again with `{command}`")
        self._sums = {line[2]: line[1] for line in lines if line}

    def read(self, path: Path, most: int) -> bytes:
        """Read a file of at most `most` bytes. Raises ValueError for a larger file or a wrong checksum."""
        content = read_bounded(path, most, self._what)
        checksum = self._sums.get(path.relative_to(self._folder).as_posix())
        if checksum != hashlib.sha256(content).hexdigest():
            wrong = "is not in" if checksum is None else "was changed: its checksum differs from that in"
            raise ValueError(
                f"{self._what}: {path} {wrong} {NAME}; get it again, or, if you trust it, run `{self._command}`"
            )
        return content
