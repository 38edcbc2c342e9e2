# What there is to do: studies and configs become runs, once, while Snakemake reads this file.
import os
import shlex

from snakemake.logging import logger

from sketchbench import plan as planning
from sketchbench.digest import CodeDigest
from sketchbench.execution import ConfigError
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

for line in PLAN.check_records():
    logger.warning(line)

CODE = CodeDigest()
RESULTS = f"results/{config['scale']}"
LOGS = f"logs/{config['scale']}"
# The quick scale is the one whose reports are committed, at the top.
REPORTS = "reports" if config["scale"] == "quick" else f"reports/{config['scale']}"
# What a run that uses the user's own code is told about where it is.
FOLDER = (
    f"--folder {shlex.quote(os.path.abspath(os.path.expanduser(config['folder'])))}"
)
