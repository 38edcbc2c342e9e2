"""The releases of computing libraries: a table's, which its seal states, and the installed releases.

Signatures of runs leave them out, since new releases seldom change a number. `sketchbench check --current` names tables
of other releases.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version

from sketchbench.report.table.origin import join_values

COMPUTING = ("numpy", "scipy", "numba", "torch", "scikit-learn")


def recorded(provenances: Iterable[Mapping[str, str | None]]) -> dict[str, str]:
    """The releases by library in records' versions, separated by spaces; older records lack some.

    Builds (torch 2.13.0+cpu) are left out, since they differ between kinds of machines.
    """
    found: dict[str, set[str]] = {}
    for versions in provenances:
        for name in COMPUTING:
            found.setdefault(name, set()).add(_release(versions.get(name) or ""))
    return join_values(found)


def installed() -> dict[str, str]:
    """The installed releases by library."""
    found = {}
    for name in COMPUTING:
        with suppress(PackageNotFoundError):
            found[name] = _release(version(name))
    return found


def others(stated: Mapping[str, str], installed: Mapping[str, str]) -> list[str]:
    """A description of each stated release that differs from the installed release of the library, if any."""
    return [
        f"{name} {releases}, {installed[name]} is installed"
        for name, releases in stated.items()
        if installed.get(name, releases) != releases
    ]


def _release(version: str) -> str:
    return version.partition("+")[0]
