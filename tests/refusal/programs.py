"""Wrong calls of the other command line programs: the program, its arguments, standard input, words of the message.

In arguments, `@NAME` is a file of `FILES` in an empty folder, `%` the root of the project, and `>NAME` a file to be
written. Standard input of None is a closed one.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
CONF = ROOT / "conf"


class Call(NamedTuple):
    """A wrong call."""

    program: str
    arguments: list[str]
    words: str
    stdin: str | None = ""


VERDICTS = (
    "claim,method,label,case,verdict,expected,statistic,low,high,bound,made,code\nS1,ams,AMS,x,holds,holds,1,1,1,1,,\n"
)
FILES: dict[str, str | bytes] = {
    "empty.csv": "",
    "blank.csv": "\n\n\n",
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
    "S1.yaml": (CONF / "claim" / "S1.yaml").read_text(encoding="utf-8"),
    "broken.yaml": "a: [",
    "wrong.yaml": "a: 1",
}
FACTS = {"scale": "quick", "kernels": "numpy", "seed": 0, "skipped": [], "studies": ["embedding", "moments", "hashing"]}
ENTRY = {"name": "ams/d8", "record": "none.parquet", "signature": "0" * 16, "config": {}}
EMPTY = {"task": {}, "kernels": "x", "seed": 0}
ROW = {"record": "none.parquet", "signature": "0" * 16, "columns": {"method": "ams"}}
JOB = ["--receipt", ">done"]
TABLE = ["--study", "tails", "--csv", ">t.csv", "--html", ">t.html"]
FIGURE = ["--svg", ">f.svg", "--png", ">f.png"]
PAGE = ["--csv", ">c.csv", "--page", ">c.md", "--html", ">c.html"]


def _plan(*arguments: str) -> list[str]:
    return ["--kernels", "numpy", *arguments]


PLAN = [
    Call("plan", _plan("--seed", "-1"), "at seed: -1"),
    Call("plan", _plan("--seed", "1.5"), "argument --seed: invalid int value: '1.5'"),
    Call("plan", _plan("--seed", "x"), "argument --seed: invalid int value: 'x'"),
    Call("plan", _plan("--seed", "true"), "argument --seed: invalid int value: 'true'"),
    Call("plan", _plan("--seed"), "argument --seed: expected one argument"),
    Call("plan", _plan("--scale", "../scale/smoke"), "at scale: '../scale/smoke'"),
    Call("plan", _plan("--scale", "huge"), "at scale: 'huge'"),
    Call("plan", _plan("--scale", "qick"), "did you mean quick?"),
    Call("plan", _plan("--scale", ""), "at scale: ''"),
    Call("plan", _plan("--scale", "Quick"), "did you mean quick?"),
    Call("plan", _plan("--studies", "tials"), "did you mean tails?"),
    Call("plan", _plan("--studies", ""), "study= is unknown"),
    Call("plan", _plan("--studies", "tails,"), "study= is unknown"),
    Call("plan", _plan("--studies", ","), "study= is unknown"),
    Call("plan", _plan("--studies", "tails;norms"), "study=tails;norms is unknown"),
    Call("plan", _plan("--studies", "../study/tails"), "study=../study/tails is unknown"),
    Call("plan", _plan("--studies", "tails.yaml"), "did you mean tails?"),
    Call("plan", _plan("--studies", "all,tails"), "study=all is unknown"),
    Call("plan", ["--kernels", "fast"], "at kernels: 'fast'"),
    Call("plan", ["--kernels", "nunba"], "did you mean numba?"),
    Call("plan", ["--kernels", ""], "at kernels: ''"),
    Call("plan", _plan("--folder", "/nonexistent"), "needs a folder `sketch`"),
    Call("plan", _plan("--folder", "@tails.csv"), "needs a folder `sketch`"),
    Call("plan", _plan("--sclae", "quick"), "did you mean --scale?"),
    Call("plan", _plan("--scal", "quick"), "did you mean --scale?"),
    Call("plan", _plan("tails"), "unrecognized arguments: tails"),
]
JOBS = [
    Call("job", JOB, "the batch must come as JSON on standard input, which is empty"),
    Call("job", JOB, "the batch must come as JSON on standard input, which is empty", None),
    Call("job", JOB, "which is empty", "  \n"),
    Call("job", JOB, "the batch, on standard input, must be JSON", "{"),
    Call("job", JOB, "must be JSON", "ams"),
    Call("job", JOB, "must be JSON", "[1,]"),
    Call("job", JOB, "must be JSON", "[" * 100_000),
    Call("job", JOB, "the batch must be a list, not dict", "{}"),
    Call("job", JOB, "the batch must be a list, not int", "3"),
    Call("job", JOB, "the batch must be a list, not NoneType", "null"),
    Call("job", JOB, "the batch must be a list, not str", '"x"'),
    Call("job", JOB, "the batch has no entries", "[]"),
    Call("job", JOB, "entry 0 needs name, of type str", "[3]"),
    Call("job", JOB, "entry 0 needs name, of type str", "[{}]"),
    Call("job", JOB, "entry 0 needs record, of type str", '[{"name": "x"}]'),
    Call("job", JOB, "entry 0 needs config, of type dict", json.dumps([{**ENTRY, "config": 3}])),
    Call("job", JOB, "ams/d8: the config needs task", json.dumps([ENTRY])),
    Call("job", JOB, "needs kernels", json.dumps([{**ENTRY, "config": {"task": {}}}])),
    Call(
        "job",
        JOB,
        "the code changed since this run was planned",
        json.dumps([{**ENTRY, "config": EMPTY}]),
    ),
    Call("job", [], "the following arguments are required: --receipt", "[]"),
    Call("job", [*JOB, "--config", "{}"], "unrecognized arguments: --config {}", "[]"),
    Call("job", [*JOB, "--foldr", "x"], "did you mean --folder?", "[]"),
]
TABLES = [
    Call("table", TABLE, "the manifest must come as JSON on standard input, which is empty"),
    Call("table", TABLE, "which is empty", None),
    Call("table", TABLE, "must be JSON", "x"),
    Call("table", TABLE, "must be JSON", "{]"),
    Call("table", TABLE, "a study without runs has no table", "[]"),
    Call("table", TABLE, "the manifest must be a list, not dict", "{}"),
    Call("table", TABLE, "the manifest must be a list, not int", "1"),
    Call("table", TABLE, "entry 0 needs record", "[1]"),
    Call("table", TABLE, "entry 0 needs record", "[{}]"),
    Call("table", TABLE, "entry 0 needs signature", '[{"record": "x"}]'),
    Call("table", TABLE, "entry 0 needs columns", '[{"record": "x", "signature": "y", "columns": 3}]'),
    Call("table", TABLE, "the columns of the manifest: entry 0 needs method", json.dumps([{**ROW, "columns": {}}])),
    Call("table", TABLE, "none.parquet: no such record", json.dumps([ROW])),
    Call("table", TABLE, "not a whole record", json.dumps([{**ROW, "record": str(ROOT / "README.md")}])),
    Call("table", TABLE[2:], "the following arguments are required: --study", "[]"),
    Call("table", [*TABLE, "x"], "unrecognized arguments: x", "[]"),
    Call("table.adopt", ["@none.csv", "--scale", "paper"], "none.csv is not there"),
    Call("table.adopt", ["@empty.csv", "--scale", "paper"], "can't read"),
    Call("table.adopt", ["@header.csv", "--scale", "paper"], "has no rows"),
    Call("table.adopt", ["@report.json", "--scale", "paper"], "is no CSV file"),
    Call("table.adopt", ["@none.csv", "--scale", "large"], "invalid choice: 'large'"),
    Call("table.adopt", ["--scale", "paper"], "required: tables"),
    Call("table.benchmarks", ["--json", "@none", "--csv", ">b.csv"], "none"),
    Call("table.benchmarks", ["--json", "@report.json", "--csv", ">b.csv"], "is no report of make bench"),
    Call("table.benchmarks", ["--json", "@list.json", "--csv", ">b.csv"], "is no report of make bench"),
    Call("table.benchmarks", ["--json", "@broken.json", "--csv", ">b.csv"], "is no report of make bench"),
    Call("table.benchmarks", ["--json", "@binary.csv", "--csv", ">b.csv"], "is no report of make bench"),
    Call("table.benchmarks", ["--json", "@empty.csv", "--csv", ">b.csv"], "is no report of make bench"),
    Call("table.benchmarks", ["--json", "@none.json", "--csv", ">b.csv"], "it has no benchmarks"),
    Call("table.benchmarks", ["--json", "%", "--csv", ">b.csv"], "s a directory"),
    Call("table.benchmarks", ["--csv", ">b.csv"], "required: --json"),
]


def _evaluate(table: str, facts: Any = FACTS, claim: str = "@S1.yaml") -> list[str]:
    text = facts if isinstance(facts, str) else json.dumps(facts)
    return ["evaluate", "--tables", table, "--claims", claim, "--facts", text, *PAGE]


CLAIMS = [
    Call("claim", _evaluate("@none.csv", {**FACTS, "older": []}), "--facts needs older, of type dict"),
    Call("claim", ["check", "@none.csv"], "none.csv is not there; run snakemake first"),
    Call("claim", ["check", "@empty.csv"], "can't read"),
    Call("claim", ["check", "@blank.csv"], "can't read"),
    Call("claim", ["check", "@binary.csv"], "can't read"),
    Call("claim", ["check", "@latin.csv"], "can't read"),
    Call("claim", ["check", "@ragged.csv"], "can't read"),
    Call("claim", ["check", "@other.csv"], "lacks the columns"),
    Call("claim", ["check", "@tails.csv"], "lacks the columns"),
    Call("claim", ["check", "@headed.csv"], "has no rows"),
    Call("claim", ["check", "%"], "is no file"),
    Call("claim", ["check", "@verdicts.csv", "--against", "@none.csv"], "none.csv is not there"),
    Call("claim", ["check", "@verdicts.csv", "--against", "@other.csv"], "lacks the columns"),
    Call("claim", ["check", "@verdicts.csv", "--against", "@empty.csv"], "can't read"),
    Call("claim", ["check", "@verdicts.csv", "--agianst", "@none.csv"], "did you mean --against?"),
    Call("claim", ["check"], "required: verdicts"),
    Call("claim", [], "required"),
    Call("claim", ["chekc"], "did you mean check?"),
    Call("claim", _evaluate("@none.csv"), "none.csv is not there"),
    Call("claim", _evaluate("@empty.csv"), "can't read"),
    Call("claim", _evaluate("@header.csv"), "has no rows"),
    Call("claim", _evaluate("@other.csv"), "lacks the columns"),
    Call("claim", _evaluate("@binary.csv"), "can't read"),
    Call("claim", _evaluate("@tails.csv", "x"), "--facts must be JSON"),
    Call("claim", _evaluate("@tails.csv", "[]"), "--facts needs scale"),
    Call("claim", _evaluate("@tails.csv", "{}"), "--facts needs scale"),
    Call("claim", _evaluate("@tails.csv", {**FACTS, "seed": "x"}), "--facts needs seed, of type int"),
    Call("claim", _evaluate("@tails.csv", {**FACTS, "studies": 3}), "--facts needs studies, of type list"),
    Call("claim", _evaluate("@tails.csv", {**FACTS, "studies": ["tails"]}), "S1: study=embedding is unknown"),
    Call("claim", _evaluate("@tails.csv", claim="@none.yaml"), "none.yaml"),
    Call("claim", _evaluate("@tails.csv", claim="@broken.yaml"), "broken.yaml"),
    Call("claim", _evaluate("@tails.csv", claim="@wrong.yaml"), "wrong.yaml: at the top"),
    Call("claim", _evaluate("@tails.csv", claim="@empty.csv"), "is not of type 'object'"),
    Call("claim", _evaluate("@tails.csv", claim="@binary.csv"), "binary.csv"),
    Call("claim", _evaluate("@tails.csv", claim="%"), "s a directory"),
]
FIGURES = [
    Call("figure", ["tails", "--tables", "@none.csv", *FIGURE], "none.csv is not there; run snakemake first"),
    Call("figure", ["tails", "--tables", "@empty.csv", *FIGURE], "can't read"),
    Call("figure", ["tails", "--tables", "@other.csv", *FIGURE], "lacks the columns"),
    Call("figure", ["tails", "--tables", "@header.csv", *FIGURE], "has no rows"),
    Call("figure", ["tails", "--tables", "@binary.csv", *FIGURE], "can't read"),
    Call("figure", ["tails", "--tables", "@tails.csv", *FIGURE], "not what figure tails is drawn from"),
    Call("figure", ["norms", "--tables", "@tails.csv", *FIGURE], "invalid choice: 'norms'"),
    Call("figure", ["growth", "--tables", "@tails.csv", *FIGURE], "figure growth needs the tables of growth"),
    Call("figure", ["tials", "--tables", "@tails.csv", *FIGURE], "did you mean tails?"),
    Call("figure", ["tails", "--tables", "@tails.csv", *FIGURE, "--scale", "huge"], "scale=huge is unknown"),
    Call("figure", ["tails", *FIGURE], "required: --tables"),
    Call("figure", ["tails", "--tables", "@tails.csv"], "required: --svg, --png"),
    Call("figure", FIGURE, "required: FIGURE, --tables"),
    Call("figure.benchmarks", ["--csv", "@none.csv", *FIGURE], "none.csv is not there; run make bench first"),
    Call("figure.benchmarks", ["--csv", "@empty.csv", *FIGURE], "can't read"),
    Call("figure.benchmarks", ["--csv", "@tails.csv", *FIGURE], "lacks the columns"),
    Call("figure.benchmarks", ["--csv", "@binary.csv", *FIGURE], "can't read"),
    Call("figure.benchmarks", ["--csv", "%", *FIGURE], "can't read"),
    Call("figure.benchmarks", FIGURE, "required: --csv"),
]
DATASETS = [
    Call("dataset", ["fetch", "mnits"], "did you mean mnist?"),
    Call("dataset", ["fetch"], "required: name"),
    Call("dataset", [], "required: command"),
    Call("dataset", ["fecth", "mnist"], "did you mean fetch?"),
    Call("dataset", ["fetch", "mnist", "--rot", "x"], "did you mean --root?"),
]
CALLS = [*PLAN, *JOBS, *TABLES, *CLAIMS, *FIGURES, *DATASETS]
