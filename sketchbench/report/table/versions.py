"""The releases of the libraries that compute: those behind a table, which its seal states, and those installed.

A run's signature does not have them, as a new release seldom changes a number: records stay when one is installed, and
`sketchbench check --current` names the tables of others.
"""

from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version

from sketchbench.report.table.origin import join_values

COMPUTING = ("numpy", "scipy", "numba", "torch", "scikit-learn")


def recorded(provenances: Iterable[Mapping[str, str | None]]) -> dict[str, str]:
    """The releases by library, several separated by spaces, of the versions of records; older records don't know all.
    The build of a release (torch 2.13.0+cpu) is none of it: it is another one on each kind of machine."""
    found: dict[str, set[str]] = {}
    for versions in provenances:
        for name in COMPUTING:
            found.setdefault(name, set()).add(_release(versions.get(name) or ""))
    return join_values(found)


def installed() -> dict[str, str]:
    """The releases of those libraries that are installed."""
    found = {}
    for name in COMPUTING:
        try:
            found[name] = _release(version(name))
        except PackageNotFoundError:
            continue
    return found


def others(stated: Mapping[str, str], installed: Mapping[str, str]) -> list[str]:
    """What is stated of a table that is not what is installed, a text for each library; of one that is not installed
    nothing is said."""
    return [
        f"{name} {releases}, {installed[name]} is installed"
        for name, releases in stated.items()
        if installed.get(name, releases) != releases
    ]


def _release(version: str) -> str:
    return version.partition("+")[0]
