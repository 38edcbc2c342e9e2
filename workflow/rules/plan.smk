# What there is to do: studies and configs become runs, once, while Snakemake reads this file.
import os
import shlex

from snakemake.logging import logger

from sketchbench import plan as planning
from sketchbench.digest import CodeDigest
from sketchbench.execution import ConfigError
from sketchbench.figure.catalogue import available, read_catalogue
from sketchbench.schema import SchemaError

try:
    PLAN = planning.from_settings(config)
    CATALOGUE = read_catalogue()
except (ConfigError, SchemaError, ValueError, RuntimeError) as error:
    raise WorkflowError(str(error)) from None

for line in PLAN.check_records():
    logger.warning(line)

CODE = CodeDigest()
RESULTS, LOGS, REPORTS = PLAN.places
# What a run that uses the user's own code is told about where it is.
FOLDER = (
    f"--folder {shlex.quote(os.path.abspath(os.path.expanduser(config['folder'])))}"
)
