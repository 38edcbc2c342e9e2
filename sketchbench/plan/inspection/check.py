"""The check of a user's folder: file names first; if these are sound, the YAML and the code of each method."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sketchbench.base.errors import FolderError
from sketchbench.base.files import display_path
from sketchbench.base.project import CONF
from sketchbench.plan import expected
from sketchbench.plan.inspection import files
from sketchbench.plan.inspection.methods import SIZES, Findings, check_method
from sketchbench.run.config.composition import EXPECTED, METHODS, PARTS, compose, frozen, load_method


class OwnMethod(NamedTuple):
    """A method, data set, model or partition of a user's folder: its kind, of `METHODS` or `PARTS`, and the name of its
    file."""

    kind: str
    name: str

    def path(self, folder: Path) -> Path:
        return folder / self.kind / f"{self.name}.yaml"


def check_folder(
    folder: Path, conf: Path = CONF, *, only: Sequence[OwnMethod] | None = None, overrides: Sequence[str] = ()
) -> None:
    """Check a user's folder. The user's code runs in this process.

    Arguments:
        folder: the user's, resolved, on the module path.
        conf: the project's configs.
        only: the methods whose YAML and code are checked; None: all files of the folder.
        overrides: Hydra's, of the methods' parameters.

    Raises:
        FolderError: one line for each mistake, with file, key, value and condition.
    """
    lines = files.mistakes(folder, conf)
    if not lines:
        methods = only
        if methods is None:
            own = files.own_methods(folder, (*METHODS, *PARTS))
            methods = [OwnMethod(kind, name) for kind, names in own.items() for name in names]
        lines = [line for method in methods for line in mistakes(method, folder, conf, overrides)]
    if lines:
        raise FolderError("\n".join(lines))


def mistakes(method: OwnMethod, folder: Path, conf: Path = CONF, overrides: Sequence[str] = ()) -> list[str]:
    """List the mistakes of one method, one line each; arguments as in `check_folder`."""
    kind, path = method.kind, method.path(folder)
    findings = Findings(path, folder)
    if kind in PARTS:
        from sketchbench.plan.inspection.parts import check_part

        check_part(findings, kind, conf, overrides)
        return findings.lines
    try:
        composed = compose([f"{kind}={method.name}", "kernels=numpy", *overrides], conf, folder)
        composed.d, composed.b = SIZES[0]
        composed.update({other: None for other in METHODS if other != kind and other in composed})
        config = frozen(composed, folder).config
    except ValueError as error:
        return [f"{display_path(path)}: {str(error).removeprefix(f'{path}: ')}"]

    def config_at(d: int, b: int) -> dict[str, Any]:
        composed.d, composed.b = d, b
        return frozen(composed, folder).config

    _check_label(findings, composed[kind].get("label", method.name), kind, conf)
    for mistake in expected.mistakes(load_method(kind, method.name, conf, folder).get(EXPECTED) or {}, conf):
        findings.add(EXPECTED, mistake)
    check_method(findings, kind, config, config_at, composed[kind].get("size"))
    return findings.lines


LONGEST = 80  # characters of a label, which heads rows of tables and figures
LABEL = re.compile(r"^label: *(.*?) *(?:#.*)?$", re.MULTILINE)


def _check_label(findings: Findings, label: Any, kind: str, conf: Path) -> None:
    """Check that the label is one short line, as a terminal shows it, and unique among methods of its kind."""
    if not isinstance(label, str) or not label.strip() or not label.isprintable() or len(label) > LONGEST:
        findings.add("label", f"{label!r:.80} must be one line of at most {LONGEST} printable characters")
        return
    for place in (conf / kind, findings.folder / kind):
        for path in sorted(place.rglob("*.yaml")):
            if path != findings.path and label in LABEL.findall(path.read_text(encoding="utf-8", errors="replace")):
                findings.add("label", f"{label!r} is that of {display_path(path)}; choose another")
