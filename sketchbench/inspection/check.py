"""The check of a user's folder, when a plan is made or a task is run by hand."""

from collections.abc import Sequence
from pathlib import Path

from sketchbench.errors import ConfigError, FindingsError
from sketchbench.inspection import files, supervision
from sketchbench.inspection.method import Method
from sketchbench.project import CONF


class FolderError(ConfigError, FindingsError):
    """What is wrong with a user's folder, a line for each mistake."""


def check_folder(
    folder: Path,
    conf: Path = CONF,
    *,
    only: Sequence[Method] | None = None,
    limit: float = supervision.SECONDS,
    overrides: Sequence[str] = (),
) -> None:
    """Check a user's folder: its names first, and where these are sound what its methods say and do.

    Arguments:
        folder: the user's, resolved.
        conf: the project's configs.
        only: the methods whose content is checked; None: all of the folder.
        limit: seconds that a method's check may take.
        overrides: Hydra's, of the methods' parameters.

    Raises:
        FolderError: with a line for each mistake.
    """
    wrong = files.mistakes(folder, conf)
    if not wrong:
        chosen = only
        if chosen is None:
            chosen = [Method(kind, name) for kind, names in files.methods(folder).items() for name in names]
        wrong = supervision.mistakes(chosen, folder, conf, limit, overrides)
    if wrong:
        raise FolderError("\n".join(wrong))
