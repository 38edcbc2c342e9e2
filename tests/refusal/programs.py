"""Wrong calls of the other command line programs: the program, its arguments, standard input, words of the message.

In arguments, `@NAME` is a file of `FILES` in an empty folder, `%` the root of the project, and `>NAME` a file to be
written. Standard input of None is a closed one.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

from all_claims import entry_text

ROOT = Path(__file__).parents[2]
CONF = ROOT / "conf"


class Call(NamedTuple):
    """A wrong call."""

    program: str
    arguments: list[str]
    words: str
    stdin: str | None = ""


COLUMNS = "claim,method,label,role,case,verdict,predicted,criterion,study,statistic,low,high,bound,slack,trials,code"
VERDICTS = f"{COLUMNS}\nS1,ams,AMS,ours,x,holds,holds,upper_bound,one,1,1,1,1,0,9,\n"
FILES: dict[str, str | bytes] = {
    "empty.csv": "",
    "header.csv": "method,label,quantity\n",
    "other.csv": "a,b\n1,2\n",
    "binary.csv": bytes(range(256)),
    "latin.csv": "méthode,label\n1,2\n".encode("latin-1"),
    "ragged.csv": "method,label,quantity\n1,2\n1,2,3,4,5\n",
    "tails.csv": "method,label,quantity\nams,AMS,other\n",
    "verdicts.csv": VERDICTS,
    "headed.csv": VERDICTS.splitlines()[0] + "\n",
    "report.json": "{}",
    "list.json": "[]",
    "broken.json": "{",
    "none.json": '{"machine_info": {"sketchbench": {"kernels": "x", "device": "x", "threads": 1}}, "benchmarks": []}',
    "S1.yaml": entry_text("claim", "S1"),
    "broken.yaml": "a: [",
    "wrong.yaml": "a: 1",
    "notes.txt": "no output of ours\n",
}
FACTS = {"scale": "quick", "kernels": "numpy", "seed": 0, "skipped": [], "studies": ["embedding", "moments", "hashing"]}
ENTRY = {"name": "ams/d8", "record": "none.parquet", "signature": "0" * 16, "config": {}}
EMPTY = {"task": {}, "kernels": "x", "seed": 0}
ROW = {"record": "none.parquet", "signature": "0" * 16, "columns": {"method": "ams"}}
JOB = ["--receipt", ">done"]
TABLE = ["tails", "--csv", ">t.csv"]
FIGURE = ["--svg", ">f.svg", "--png", ">f.png"]
PAGE = ["--csv", ">c.csv", "--page", ">c.md"]


def _plan(*arguments: str) -> list[str]:
    return ["--kernels", "numpy", *arguments]


def _benchmarks(report: str) -> list[str]:
    return ["--json", report, "--csv", ">b.csv", *FIGURE]


PLAN = [
    Call("plan", _plan("--seed", "-1"), "at seed: -1"),
    Call("plan", _plan("--seed"), "Option '--seed' requires an argument"),
    Call("plan", _plan("--scale", "../scale/smoke"), "at scale: '../scale/smoke'"),
    Call("plan", _plan("--scale", "Quick"), "did you mean quick?"),
    Call("plan", _plan("--studies", "tials"), "did you mean tails?"),
    Call("plan", _plan("--studies", "../study/tails"), "study=../study/tails is unknown"),
    Call("plan", ["--kernels", ""], "at kernels: ''"),
    Call("plan", _plan("--folder", "@tails.csv"), "needs a folder `sketch`"),
    Call("plan", _plan("tails"), "unexpected extra argument (tails)"),
]
JOBS = [
    Call("step job", JOB, "the batch must come as JSON on standard input, which is empty"),
    Call("step job", JOB, "the batch must come as JSON on standard input, which is empty", None),
    Call("step job", JOB, "the batch, on standard input, must be JSON", "{"),
    Call("step job", JOB, "must be JSON", "[" * 100_000),
    Call("step job", JOB, "the batch must be a list, not dict", "{}"),
    Call("step job", JOB, "the batch has no entries", "[]"),
    Call("step job", JOB, "entry 0 needs record, of type str", '[{"name": "x"}]'),
    Call("step job", JOB, "entry 0 needs config, of type dict", json.dumps([{**ENTRY, "config": 3}])),
    Call("step job", JOB, "ams/d8: the config needs task", json.dumps([ENTRY])),
    Call("step job", JOB, "the code changed since this run was planned", json.dumps([{**ENTRY, "config": EMPTY}])),
    Call("step job", [], "Missing option '--receipt'", "[]"),
    Call("step job", [*JOB, "--config", "{}"], "no option --config", "[]"),
]
TABLES = [
    Call("step table", TABLE, "the manifest must come as JSON on standard input, which is empty"),
    Call("step table", TABLE, "a study without runs has no table", "[]"),
    Call("step table", TABLE, "entry 0 needs columns", '[{"record": "x", "signature": "y", "columns": 3}]'),
    Call("step table", TABLE, "columns of the manifest: entry 0 needs method", json.dumps([{**ROW, "columns": {}}])),
    Call("step table", TABLE, "none.parquet: no such record", json.dumps([ROW])),
    Call("step table", TABLE, "not a whole record", json.dumps([{**ROW, "record": str(ROOT / "README.md")}])),
    Call("step table", TABLE[1:], "Missing argument 'STUDY'", "[]"),
    Call("step benchmarks", _benchmarks("@none"), "none"),
    Call("step benchmarks", _benchmarks("@report.json"), "is no report of make bench"),
    Call("step benchmarks", _benchmarks("@broken.json"), "is no report of make bench"),
    Call("step benchmarks", _benchmarks("@none.json"), "it has no benchmarks"),
    Call("step benchmarks", _benchmarks("%"), "s a directory"),
]


def _evaluate(table: str, facts: Any = FACTS, claim: str = "@S1.yaml") -> list[str]:
    text = facts if isinstance(facts, str) else json.dumps(facts)
    return [table, "--claims", claim, "--facts", text, *PAGE]


CLAIMS = [
    Call("check", ["@none.csv"], "none.csv is not there; run sketchbench results"),
    Call("check", ["@empty.csv"], "can't read"),
    Call("check", ["@tails.csv"], "lacks the columns"),
    Call("check", ["@headed.csv"], "has no rows"),
    Call("check", ["%"], "is no file"),
    Call("check", ["@verdicts.csv", "--against", "@none.csv"], "none.csv is not there"),
    Call("step claims", _evaluate("@none.csv"), "none.csv is not there"),
    Call("step claims", _evaluate("@tails.csv", "x"), "--facts must be JSON"),
    Call("step claims", _evaluate("@tails.csv", "{}"), "--facts needs kernels, scale"),
    Call("step claims", _evaluate("@tails.csv", {**FACTS, "studies": ["tails"]}), "S1: study=embedding is unknown"),
    Call("step claims", _evaluate("@tails.csv", claim="@none.yaml"), "none.yaml"),
    Call("step claims", _evaluate("@tails.csv", claim="@broken.yaml"), "broken.yaml"),
    Call("step claims", _evaluate("@tails.csv", claim="@wrong.yaml"), "wrong.yaml: at the top"),
    Call("step claims", _evaluate("@tails.csv", claim="@none"), "has no YAML files in it"),
]
FIGURES = [
    Call("step figure", ["tails", "@none.csv", *FIGURE], "none.csv is not there; run sketchbench results"),
    Call("step figure", ["tails", "@other.csv", *FIGURE], "lacks the columns"),
    Call("step figure", ["tails", "@tails.csv", *FIGURE], "not the tables of figure tails"),
    Call("step figure", ["norms", "@tails.csv", *FIGURE], "figure=norms is unknown"),
    Call("step figure", ["growth", "@tails.csv", *FIGURE], "figure growth needs the tables of growth"),
    Call("step figure", ["tials", "@tails.csv", *FIGURE], "did you mean tails?"),
    Call("step figure", ["tails", *FIGURE], "Missing argument 'TABLES..."),
]
DATASETS = [
    Call("data", ["fetch"], "Missing argument '{cifar10|lfw|mnist}'"),
]
THERE = "notes.txt is there already, and no whole file of this kind; choose another name, or remove it"
WRITTEN = [  # a file of another kind where one is to be written, and no place for one
    Call("run", ["d=12", "b=4", "--result", "@notes.txt"], THERE),
    Call("run", ["d=12", "b=4", "--result", ""], ". is a folder"),
    Call("run", ["d=12", "b=4", "--result", "/proc/nowhere/x"], "/proc/nowhere/x can't be written"),
    Call("run", ["task=training", "task.checkpoints=/proc/nowhere"], "/proc/nowhere/new can't be written"),
    Call("check", ["--summary", "@notes.txt"], THERE),
    Call("check", ["--summary", "/proc/nowhere/x"], "can't be written"),
    Call("step job", ["--receipt", "@notes.txt"], THERE, json.dumps([ENTRY])),
    Call("step table", ["tails", "--csv", "@notes.txt"], THERE, json.dumps([ROW])),
    Call("step claims", ["x", "--claims", "x", "--facts", "x", "--csv", ">c.csv", "--page", "@notes.txt"], THERE),
    Call("step printed", ["x", "--printed", "x", "--verdicts", "x", "--csv", "@notes.txt"], THERE),
    Call("step frontier", ["x", "--csv", "@notes.txt"], THERE),
    Call("step figure", ["tails", "x", "--svg", "@notes.txt", "--png", ">f.png"], THERE),
    Call("step figure", ["tails", "x", "--svg", ">f.svg", "--png", "@notes.txt"], THERE),
    Call("step benchmarks", ["--json", "x", "--csv", "@notes.txt", *FIGURE], THERE),
    Call("site", ["--target", "@notes.txt"], "notes.txt is a file"),
    Call("site", ["--target", "%"], "has files of another origin, which would be removed"),
    Call("new", ["sketch", "my_signs", "--folder", "@notes.txt"], "notes.txt is a file"),
]
CALLS = [*WRITTEN, *PLAN, *JOBS, *TABLES, *CLAIMS, *FIGURES, *DATASETS]
