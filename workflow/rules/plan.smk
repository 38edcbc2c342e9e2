# What there is to do: studies and configs become runs, once, while Snakemake reads this file.
import json
import os
import re
import shlex
import sys
import time
from pathlib import Path

from snakemake.logging import logger

from sketchbench.plan import cluster, makers
from sketchbench.plan import making as planning
from sketchbench.plan.trained import trained
from sketchbench.report import frontier, seal, standing
from sketchbench.base.errors import ConfigError
from sketchbench.base.files import FileError, write_text
from sketchbench.report.figure.catalogue import read_catalogue
from sketchbench.report.printed.transcription import studies_printed
from sketchbench.run.config import chapters
from sketchbench.run.config.schema import SchemaError

# Snakemake takes braces for a wildcard, also in the path of a lock or of an environment.
if re.search("[{}]", f"{os.getcwd()}{workflow.basedir}"):
    raise WorkflowError(
        f"{os.getcwd()}: Snakemake takes no path with braces; rename the folder"
    )

# A profile may be for CuPy alone. Its kernels=cupy is lost where --configfile replaces the profile's.
if "cupy_only" in workflow.global_resources and config["kernels"] != "cupy":
    raise WorkflowError(
        f"this profile is for kernels=cupy, not kernels={config['kernels']};"
        " add --kernels cupy, or choose another profile"
    )

# Snakemake reads the value of a setting as YAML, without quotes at its ends; the path of a folder is what is written.
for argument in workflow.config_settings.config_args:
    key, _, value = argument.partition("=")
    if key == "folder" and (not value or os.path.isdir(value)):
        config["folder"] = value

try:
    planning.check_settings(config)
    if workflow.is_main_process:
        planning.check_kernels(config["kernels"], config["device"] == "elsewhere")
    PLAN = planning.from_settings(config, main=workflow.is_main_process)
    CATALOGUE = read_catalogue()
    MEASURED = studies_printed()
    # The digests of the code that makes each report: jobs are told those of the process that planned them.
    if workflow.is_main_process:
        CODES = makers.find_codes(PLAN, CATALOGUE)
    else:
        CODES = makers.planned_codes(PLAN.places)
except (ConfigError, SchemaError, FileError, ValueError, RuntimeError) as error:
    raise WorkflowError(str(error)) from None

RESULTS, LOGS, REPORTS = PLAN.places
# A mark for each report that is sealed, since a manifest of many reports can't be the output of one job.
SEALED = f"{RESULTS}/sealed"
TABLES = f"{REPORTS}/tables"
TABLE = f"{TABLES}/{{study}}"
FIGURE = f"{REPORTS}/figures/{{figure}}"
FIGURES = makers.figures(CODES)
# What compares compressors: made where they are trained, of whatever else of them there is.
FRONTIER = [name for name in frontier.STUDIES if name in PLAN.tables]
FRONTIER = FRONTIER if frontier.TRAINING in FRONTIER else []
# What measures a cell that a paper prints: such cells are compared where there are any.
PRINTED = [name for name in PLAN.tables if name in MEASURED]
PRINTED_FILES = sorted(Path("conf/printed").glob("*.yaml"))
PRINTED_OLDER = [name for name in PRINTED if name in PLAN.older]


def batch_of(wildcards):
    return PLAN.batches[wildcards.study][wildcards.batch]


def studies_of(places):
    """The pattern of the studies of these batches, which also looks at the rest of their receipts."""
    names = "|".join(place.removeprefix(f"{RESULTS}/") for place in places)
    return f"(?=(?:{names})[.]done$)[a-z0-9_]+"


def grouped(group):
    """The group, where the profile has groups of short work. It is asked only once the graph is being built."""
    if not workflow.is_main_process:
        # A job goes on where one of its runs fails, as the whole does; Snakemake does not tell it of `keep-going`.
        workflow.execution_settings.keep_going = True
    return group if cluster.SHORT in workflow.group_settings.group_components else None


STARTED = time.time()


def repeat_last_line(log):
    """Print the last line of a log that this run has written."""
    if log.is_file() and log.stat().st_mtime >= STARTED:
        print(*log.read_text(encoding="utf-8").splitlines()[-1:], file=sys.stderr)


shown = report  # whose name a line of a function can't begin with


def drawings(names):
    """The files of figures. The report of Snakemake has each figure with its caption."""
    pictures = [
        shown(
            f"{REPORTS}/figures/{name}.svg",
            category="Figures",
            caption=os.path.abspath(f"{RESULTS}/captions/{name}.rst"),
            labels={"figure": name},
        )
        for name in names
    ]
    marks = [touch(f"{SEALED}/figures/{name}") for name in names]
    return local(pictures + expand(f"{FIGURE}.png", figure=names) + marks)


CLAIMS = chapters.files(Path("conf"), "claim")
ERRATA = chapters.files(Path("conf"), "erratum")
RATE = Path("conf/error_rate.yaml")
JUDGED_BY = [*CLAIMS, *ERRATA, RATE]

# Only the process that decides what is made looks at what is there; its jobs may be writing it.
if workflow.is_main_process:
    try:
        PLAN.describe()
        write_text(makers.codes_file(PLAN.places), json.dumps(CODES))
        TRAINED = {
            name: trained(name, PLAN.scale).words
            for name in FRONTIER
            if name in frontier.TRAININGS
        }
        DRAWN = {
            name: standing.DrawnFigure(
                CATALOGUE[name].studies, CODES[f"{makers.FIGURE}{name}"]
            )
            for name in FIGURES
        }
        for name in FIGURES if PLAN.sharing else ():
            place = Path(RESULTS, "captions", f"{name}.rst")
            write_text(place, f"{CATALOGUE[name].caption}\n")
        REJECTED = PLAN.check_records() + standing.check(
            Path(REPORTS),
            PLAN.scale,
            {study: PLAN.manifest(study) for study in PLAN.runs},
            DRAWN,
            facts=PLAN.facts,
            claims=JUDGED_BY,
            standing=PLAN.standing,
            marks=Path(SEALED),
            printed=PRINTED
            and standing.PrintedTables(PRINTED, PRINTED_FILES, PRINTED_OLDER),
            frontier=FRONTIER and standing.FrontierTable(FRONTIER, TRAINED),
        )
        if PLAN.first:
            REJECTED += standing.check(
                Path(RESULTS, "first"),
                PLAN.scale,
                {study: PLAN.manifest(study) for study in PLAN.first},
                facts=PLAN.facts,
                claims=JUDGED_BY,
                marks=Path(SEALED, "first"),
            )
        if not config["studies"] == config["chapters"] == "all":
            REJECTED += standing.check_others(
                Path(REPORTS), PLAN.scale, PLAN.runs, PLAN.standing
            )
    except (ConfigError, SchemaError, FileError) as error:
        raise WorkflowError(str(error)) from None
    for line in REJECTED:
        logger.warning(line)

# Where jobs share no folder with this process, the rule `run` does only the batches that join the trials of others; all
# others travel. A receipt that is there has no rule then, as it was verified above.
DONE_HERE, SENT = "[a-z0-9_]+", {}
if AWAY:
    from sketchbench.plan.parcel import SentBatch

    left = [one for one in PLAN.all_batches if not Path(one.receipt).is_file()]
    SENT = {one.place: SentBatch(one, PLAN) for one in left if not one.needs}
    DONE_HERE = studies_of([one.place for one in left if one.needs])


# Files that many jobs write can't be the output of one, and only the plan knows how many records a study has. So a rule
# names them as its parameter `uses`, which may name folders.
def manifests(*folders):
    """The seals of the reports in these folders, with their locks."""
    return expand("{folder}/{name}", folder=folders, name=[seal.MANIFEST, seal.LOCK])


def records(studies):
    return [f"{RESULTS}/{study}" for study in studies]


CHECKPOINTS = f"{RESULTS}/checkpoints"
SEALED_TABLES = [*manifests(TABLES), f"{TABLES}/origin", f"{TABLES}/times"]

# What a run that uses the user's own code is told about where it is.
FOLDER = (
    f"--folder {shlex.quote(os.path.abspath(os.path.expanduser(config['folder'])))}"
)
