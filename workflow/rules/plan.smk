# What there is to do: studies and configs become runs, once, while Snakemake reads this file.
import functools
import os
import shlex
from pathlib import Path

from snakemake.logging import logger

from sketchbench import cluster
from sketchbench import plan as planning
from sketchbench import progress
from sketchbench import reports
from sketchbench.digest import CodeDigest
from sketchbench.execution import ConfigError
from sketchbench.files import FileError
from sketchbench.figure.catalogue import available, read_catalogue
from sketchbench.schema import SchemaError

# A profile may be for CuPy alone. Its kernels=cupy is lost where --configfile replaces the profile's.
if "cupy_only" in workflow.global_resources and config["kernels"] != "cupy":
    raise WorkflowError(
        f"this profile is for kernels=cupy, not kernels={config['kernels']};"
        " add --config kernels=cupy, or take another profile"
    )

try:
    PLAN = planning.from_settings(config)
    CATALOGUE = read_catalogue()
except (ConfigError, SchemaError, ValueError, RuntimeError) as error:
    raise WorkflowError(str(error)) from None

CODE = CodeDigest()
RESULTS, LOGS, REPORTS = PLAN.places
TABLE = f"{REPORTS}/tables/{{study}}"
FIGURE = f"{REPORTS}/figures/{{figure}}"
# The figures that can be drawn from the tables of this plan.
FIGURES = available(CATALOGUE, PLAN.runs)


@functools.cache
def cluster_jobs():
    """What shares a job of a cluster. The profile's `group-components` are there only once the graph is being built."""
    if not workflow.is_main_process:
        # A job goes on where one of its runs fails, as the whole does; Snakemake does not tell it of `keep-going`.
        workflow.execution_settings.keep_going = True
    parts = [
        name
        for name in workflow.group_settings.group_components
        if name.startswith("part")
    ]
    return cluster.jobs(PLAN.batches, len(parts))


# Only the process that decides what is made looks at what is there; its jobs may be writing it.
if workflow.is_main_process:
    try:
        PLAN.describe()
        REJECTED = PLAN.check_records() + reports.check(
            Path(REPORTS),
            PLAN.scale,
            {study: PLAN.manifest(study) for study in PLAN.runs},
            {name: CATALOGUE[name].studies for name in FIGURES},
        )
    except FileError as error:
        raise WorkflowError(str(error)) from None
    for line in REJECTED:
        logger.warning(line)
    if not (workflow.dryrun or workflow.output_settings.verbose):
        limits = (
            workflow.global_resources[name].value for name in ("_cores", "_nodes")
        )
        progress.follow(logger, PLAN.left(), min(filter(None, limits), default=1))

# What a run that uses the user's own code is told about where it is.
FOLDER = (
    f"--folder {shlex.quote(os.path.abspath(os.path.expanduser(config['folder'])))}"
)
