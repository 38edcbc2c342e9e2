"""Overrides of the command line, checked before Hydra reads them.

Hydra accepts overrides without effect, or with an unexpected one, such as a key that nothing reads.
"""

import itertools
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from sketchbench.base.errors import ConfigError, one_line
from sketchbench.base.parameters import did_you_mean

TOP = ("d", "b", "kernels", "seed")  # keys that belong to no group
NOT_HYDRA = ("study", "claim", "erratum", "figure", "printed")  # groups of conf that Hydra does not read
EACH = ", --multirun takes each of several"
OVERRIDE = re.compile(r"(\+\+|\+|~)?([^=]*)(?:=(.*))?", re.DOTALL)
OPTION = re.compile(r"[\w-]+(/[\w-]+)*", re.ASCII)  # Hydra takes no other letters


def groups(conf: Path) -> list[str]:
    """The config groups that Hydra reads."""
    return sorted(path.name for path in conf.iterdir() if path.is_dir() and path.name not in NOT_HYDRA)


def check(overrides: Sequence[str], conf: Path) -> None:
    """Raise ConfigError, in one line, for an override without the effect that it seems to have."""
    known = groups(conf)
    for override in overrides:
        match = OVERRIDE.fullmatch(override)
        if not match or not match[2].strip():
            raise ConfigError(f"override {override!r} must be GROUP=OPTION or KEY=VALUE; --help lists both")
        _, key, value = match.groups()
        first = re.split(r"[.@/]", key)[0].strip()
        if first not in (*known, *TOP):
            meant = did_you_mean(first, (*known, *TOP))
            raise ConfigError(
                f"Could not override {key!r}: there is no {first}{meant}; --help lists the options and keys"
            )
        if value is not None and "." not in key.partition("@")[0] and first in known and not OPTION.fullmatch(value):
            raise ConfigError(
                f"{first}={value}: an option of {first} must be the name of one file; --help lists them"
                f"{EACH if ',' in value or '(' in value else ''}"
            )


def product(overrides: Sequence[str], places: Sequence[Path] = ()) -> list[list[str]]:
    """Return every combination of the values that overrides list, by Hydra's grammar: `b=16,32`, `b=range(1,4)`, and
    `sketch=glob(s*)` over the files of a group in `places`. Raises ConfigError, in one line, for a malformed override
    and for a missing value.

    >>> product(["b=16,32", "sketch=srht"])
    [['b=16', 'sketch=srht'], ['b=32', 'sketch=srht']]
    """
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    def list_options(group: str, **_: Any) -> list[str]:
        return sorted({path.stem for place in places for path in (place / group).glob("*.yaml")})

    loader: Any = SimpleNamespace(get_group_options=list_options)
    choices = []
    try:
        for one in OverridesParser.create(loader).parse_overrides(list(overrides)):
            key, values = one.get_key_element(), [str(one.input_line)]
            if one.is_sweep_override():
                listed = one.sweep_string_iterator() if one.is_discrete_sweep() else ()
                values = [f"{key}={value}" for value in listed]
            if not values:
                raise ConfigError(f"{one.input_line} lists no values; write {key}=choice(VALUE,VALUE)")
            choices.append(values)
    except HydraException as error:
        raise ConfigError(explain(error)) from None
    return [list(combination) for combination in itertools.product(*choices)]


def quote(text: str) -> str:
    """Quote any string as a value of Hydra's grammar."""
    from hydra.core.override_parser.types import Quote, QuotedString

    return str(QuotedString(text, Quote.double).with_quotes())


def explain(error: Exception) -> str:
    """Return an error of Hydra's in one line; for a malformed override with the correct form."""
    override = getattr(error, "override", None)
    if override is None:
        return str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
    key, _, value = override.partition("=")
    reason = str(error).partition(" while evaluating ")[2].partition("See https")[0]  # of one of its functions
    if value and not reason:
        reason = f"this string needs quotes: {shlex.quote(f'{key}={quote(value)}')}"
    return f"Error parsing override {override!r}{f'; {one_line(reason)}' if reason else ''}"
