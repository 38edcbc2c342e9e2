"""One method of a user's folder, checked wholly: what its YAML says, and what the code does that it names."""

from pathlib import Path
from typing import Any, NamedTuple

import yaml
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from sketchbench.config.composition import METHODS, SHOWN, YAML, compose
from sketchbench.errors import ConfigError
from sketchbench.files import display_path
from sketchbench.inspection.families import SIZES, check_family
from sketchbench.inspection.findings import Findings
from sketchbench.inspection.formulas import check_theory
from sketchbench.inspection.recoveries import check_recovery
from sketchbench.parameters import did_you_mean


class Method(NamedTuple):
    """A method of a user's folder: its kind, as in `METHODS`, and its name there."""

    kind: str
    name: str

    def path(self, folder: Path) -> Path:
        return folder / self.kind / f"{self.name}.yaml"


def mistakes(method: Method, folder: Path, conf: Path, overrides: tuple[str, ...] = ()) -> list[str]:
    """A line for each mistake of a method. It runs the user's code, here: see `supervision` for how to survive that.

    Arguments:
        method: which one.
        folder: the user's, resolved, on the module path.
        conf: the project's configs.
        overrides: Hydra's, of the method's parameters.
    """
    found = Findings(method.path(folder), folder)
    try:
        config = compose([f"{method.kind}={method.name}", "kernels=numpy", *overrides], conf, folder)
    except ConfigError as error:
        found.add("defaults or overrides", str(error))
        return found.lines
    section = config.get(method.kind)
    if not _resolves(found, config, section, method.kind):
        return found.lines

    def resolved(d: int, b: int) -> dict[str, Any]:
        config.d, config.b = d, b
        content = OmegaConf.to_container(section, resolve=True, throw_on_missing=True)
        assert isinstance(content, dict)
        return {str(key): value for key, value in content.items()}

    first = resolved(*SIZES[0])
    for key in first:
        known = METHODS[method.kind] + SHOWN
        if key not in known:
            found.add(key, f"is unknown; it must be one of {', '.join(known)}{did_you_mean(key, known)}")
    _check_shown(found, config, first, method, folder, conf)
    if method.kind == "sketch":
        families = check_family(found, "family", resolved)
        sizes = (families[0].d, families[0].b) if families else SIZES[0]
        check_theory(found, resolved(*sizes).get("theory"), families)
    elif method.kind == "recovery":
        families = check_family(found, "sensing", resolved)
        check_recovery(found, first.get("algorithm"), families)
    else:
        from sketchbench.inspection.compressors import check_compressor  # 2 s of torch that other methods do without

        check_compressor(found, first.get("algorithm"))
    return found.lines


def _resolves(found: Findings, config: Any, section: Any, kind: str) -> bool:
    """Whether every value is there, and every interpolation leads somewhere."""
    config.d, config.b = SIZES[0]
    before = len(found.lines)

    def visit(node: Any, place: str) -> None:
        keys = range(len(node)) if OmegaConf.is_list(node) else list(node)
        for key in keys:
            here = f"{place}.{key}" if place else str(key)
            try:
                value = OmegaConf.select(node, str(key), throw_on_missing=True) if "." not in str(key) else node[key]
            except OmegaConfBaseException as error:
                found.add(here, f"{str(error).splitlines()[0]}; it must be a value, or lead to one")
                continue
            if OmegaConf.is_config(value):
                visit(value, here)

    if not OmegaConf.is_dict(section):
        found.add(kind, f"{section!r} must be a mapping")
    else:
        visit(section, "")
    return len(found.lines) == before


def _check_shown(
    found: Findings, config: Any, section: dict[str, Any], method: Method, folder: Path, conf: Path
) -> None:
    """The label, which must tell the method from all others, and a size of its own."""
    label = section.get("label", method.name)
    if not isinstance(label, str) or not label.strip() or len(label.splitlines()) > 1:
        found.add("label", f"{label!r} must be a text of one line")
    else:
        for path in sorted([*(conf / method.kind).rglob("*.yaml"), *(folder / method.kind).glob("*.yaml")]):
            if path != found.path and _label(path) == label:
                found.add("label", f"{label!r} is that of {display_path(path)}; write one of your own")
    size = section.get("size")
    if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 1):
        config[method.kind].size = None  # what else is wrong can be told without it
        found.add("size", f"{size!r} must be an integer >= 1, or one by interpolation, such as ${{d}}")


def _label(path: Path) -> Any:
    """The label that a file states, if it can be read and does."""
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), YAML)
    except (yaml.YAMLError, OSError, UnicodeDecodeError):
        return None
    return content.get("label") if isinstance(content, dict) else None
