"""The data, clients and commands of the trainings of the frontier's studies, from their configs."""

import json
from dataclasses import asdict
from pathlib import Path

from sketchbench.base.project import CONF
from sketchbench.report.figure.catalogue import read_catalogue
from sketchbench.report.frontier.cells import TrainedStudy
from sketchbench.run.config.commands import read_once, single_run
from sketchbench.run.config.composition import Composer

PLAIN = "none"


def trained(study: str, scale: str, conf: Path = CONF) -> TrainedStudy:
    """Describe the trainings of a study at a scale; the figure of the same name has the words for the data.

    Raises ConfigError, in one line, for a config that does not fit.
    """
    at_scale = read_once(conf, study, scale)
    point = next(at_scale.points(PLAIN))
    overrides = (f"task={at_scale.task}", f"scale={scale}", f"{at_scale.kind}={PLAIN}", *point.overrides)
    task = Composer(conf).resolved(overrides, point.values, f"{study}.yaml").config["task"]

    def command(method: str, compression: float) -> str:
        row = {"study": study, "method": method, "case": f"compression={compression:g}"}
        return single_run(conf, scale, row)

    clients = {case: partition["clients"] for case, partition in task["partitions"].items()}
    data = read_catalogue(conf / "figure")[study].at(scale).data
    settings = json.dumps(asdict(at_scale), default=sorted)  # of a set
    return TrainedStudy(data, clients, task["training"]["taking_part"], command, settings)
