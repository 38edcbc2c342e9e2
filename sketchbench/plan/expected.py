"""The verdicts that a user expects of her own methods: `expected` in a method's YAML file, by claim."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, get_args

import pandas as pd

from sketchbench.base.parameters import choose
from sketchbench.base.project import CONF
from sketchbench.measure.column import Column
from sketchbench.report.claim.check import Notice
from sketchbench.report.claim.verdict import Verdict
from sketchbench.run.config.chapters import claims, named
from sketchbench.run.config.commands import read_once
from sketchbench.run.config.composition import EXPECTED, METHODS, load_method


class Expected(NamedTuple):
    """A verdict that the file of a method expects."""

    kind: str
    method: str
    claim: str
    verdict: str


def mistakes(expected: Any, conf: Path = CONF) -> Iterator[str]:
    """Yield the mistakes in the value of the key `expected`."""
    if not isinstance(expected, Mapping):
        yield f"{expected!r:.60} must map claims to verdicts, such as `S2: holds`"
        return
    for claim, verdict in expected.items():
        try:
            choose("claim", claim, claims(conf))
            choose(claim, verdict, get_args(Verdict))
        except ValueError as error:
            yield str(error)


def read_expected(folder: Path, conf: Path = CONF) -> list[Expected]:
    """Read the expected verdicts of a user's folder. Raises ValueError, in one line that names the file, for mistakes
    in them."""
    found = []
    for kind in METHODS:
        for path in sorted((folder / kind).glob("*.yaml")):
            expected = load_method(kind, path.stem, conf, folder).get(EXPECTED) or {}
            for mistake in mistakes(expected, conf):
                raise ValueError(f"{path}: {EXPECTED}: {mistake}")
            found += [Expected(kind, path.stem, claim, verdict) for claim, verdict in expected.items()]
    return found


def unexpected(expected: list[Expected], verdicts: pd.DataFrame, conf: Path = CONF) -> list[Notice]:
    """Return a serious notice for each verdict that differs from the expected verdict, or is missing."""
    kinds = {name: read_once(conf, name, "quick").kind for name in named(conf, "study")}
    found = {
        (kinds.get(row["study"], ""), row[Column.METHOD], row["claim"]): (row["verdict"], row[Column.LABEL])
        for row in verdicts.to_dict("records")
    }
    notices = []
    for one in expected:
        verdict, label = found.get(one[:3], ("not judged in this run", one.method))
        if verdict != one.verdict:
            file = f"{one.kind}/{one.method}.yaml"
            notices.append(Notice(one.claim, str(label), f"{verdict}; {file} expects: {one.verdict}"))
    return notices
