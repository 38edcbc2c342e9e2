"""A frontier on data and network of one's own: its reports, and the findings of the project's frontier beside it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from sketchbench.report.claim import judge
from sketchbench.report.claim.claims import Claim, read_claims
from sketchbench.report.evidence.outcomes import Scale, read_outcomes
from sketchbench.report.figure import drawing
from sketchbench.report.figure.catalogue import read_catalogue
from sketchbench.report.frontier import TRAINING, cells
from sketchbench.report.table import joining
from sketchbench.report.table.reading import read_table

KIND, PLACE = "compressor", "frontier, accuracy"


def findings(conf: Path) -> list[Claim]:
    """The claims on accuracy at a number of bytes, without privacy."""
    claims = read_claims((conf / "claim").glob("F*.yaml"))
    return [one for one in claims if one.studies == [TRAINING] and one.place == PLACE]


def write(scale: Scale, conf: Path, manifest: list[dict[str, Any]], about: Mapping[str, Any], command: str) -> None:
    """Write the table, the frontier, the figure and the verdicts.

    Arguments:
        scale: the name of the problem, and the folder of its reports.
        conf: the project's configs.
        manifest: of the runs, as `joining.join` takes it.
        about: `kernels` and `seed` of the runs, and `data` in words.
        command: that makes them again.
    """
    table = scale.reports / "tables" / f"{TRAINING}.csv"
    joining.make(TRAINING, manifest, scale.name, table)
    cells.join([table], scale.name, scale.reports / "frontier.csv", command)
    entry = replace(read_catalogue(conf / "figure")[TRAINING], data=about["data"], scales={})
    place = scale.reports / "figures" / TRAINING
    files = {"svg": place.with_suffix(".svg"), "png": place.with_suffix(".png")}
    drawing.make(TRAINING, entry, [table], scale.name, **files)
    methods = sorted({entry["columns"]["method"] for entry in manifest})
    facts = {
        **{"scale": scale.name, "kernels": about["kernels"], "seed": about["seed"], "skipped": [], "whole": False},
        **{"studies": [TRAINING], "kinds": {TRAINING: KIND}, "own": {KIND: methods}, "only_own": True},
    }
    claims = [conf / "claim" / f"{one.id}.yaml" for one in findings(conf)]
    reports = {"csv": scale.reports / "claims.csv", "markdown": scale.reports / "claims.md"}
    judge.judge([table], claims, [], json.dumps(facts), **reports)


def beside(scale: Scale, ours: Scale, conf: Path) -> pd.DataFrame:
    """A row for each finding and method: `claim`, `statement`, `label`, the verdict `here` with its `statistic`, `low`,
    `high`, `bound`, and the `there` of the project's reports; "not run" where there is none."""
    here, there = read_outcomes(scale), read_outcomes(ours)
    keys = ["claim", "method"]
    statements = pd.DataFrame([{"claim": one.id, "statement": one.statement} for one in findings(conf)])
    rows = there[there["claim"].isin(statements["claim"]) & (there["role"] != "control")]
    numbers = ["statistic", "low", "high", "bound"]
    own = here[[*keys, "verdict", *numbers]].rename(columns={"verdict": "here"})
    joined = rows[[*keys, "label", "verdict"]].rename(columns={"verdict": "there"}).merge(own, on=keys, how="left")
    joined = joined.merge(statements, on="claim", how="left")
    return joined.assign(here=joined["here"].fillna("not run"))


def transfers(rows: pd.DataFrame) -> str:
    """How many of the findings have the same verdict here, in a sentence."""
    judged = rows[rows["here"] != "not run"]
    decided = judged[judged["here"].isin(["holds", "fails"]) & judged["there"].isin(["holds", "fails"])]
    same = int((decided["here"] == decided["there"]).sum())
    undecided = len(judged) - len(decided)
    more = f"; {undecided} are undecided, here or there" if undecided else ""
    return f"{same} of {len(decided)} verdicts are the same as on digits{more}."


def command(scale: Scale) -> str:
    """The command that makes a frontier of one's own again."""
    return str(read_table(scale.reports / "frontier.csv", "frontier", scale=scale.name)["command"].iloc[0])


def places(folder: Path) -> Sequence[Scale]:
    """The frontiers of a user's folder, by name."""
    found = sorted((folder / "reports" / TRAINING).glob("*/frontier.csv"))
    return [Scale(path.parent.name, path.parent) for path in found]
