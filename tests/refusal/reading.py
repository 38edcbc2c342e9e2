"""How files of each group of conf are read, by the functions that the programs use."""

import shutil
from collections.abc import Callable
from pathlib import Path

from all_claims import CLAIMS

from sketchbench.base.project import CONF
from sketchbench.plan import making as plan
from sketchbench.report.claim.claims import read_claims
from sketchbench.report.claim.erratum import read_errata
from sketchbench.report.figure.catalogue import read_catalogue
from sketchbench.run.config import schema


def read_study(content: bytes, folder: Path) -> None:
    """Plan a study in a copy of the configs."""
    conf = folder / "conf"
    shutil.rmtree(conf, ignore_errors=True)
    (conf / "study").mkdir(parents=True)
    for entry in CONF.iterdir():
        if entry.name != "study":
            (conf / entry.name).symlink_to(entry)
    (conf / "study" / "one.yaml").write_bytes(content)
    plan.expand("quick", "numpy", studies="one", conf=conf)


def read_claim(content: bytes, folder: Path) -> None:
    path = folder / "S1.yaml"
    path.write_bytes(content)
    read_claims([path])


def read_erratum(content: bytes, folder: Path) -> None:
    path = folder / "song2023-D.20.yaml"
    path.write_bytes(content)
    read_errata([path], CLAIMS.values())


def read_figure(content: bytes, folder: Path) -> None:
    (folder / "tails.yaml").write_bytes(content)
    read_catalogue(folder)


def read_settings(content: bytes, folder: Path) -> None:
    path = folder / "workflow.yaml"
    path.write_bytes(content)
    settings = schema.read(path, "workflow")
    plan.check_settings(settings)
    plan.from_settings({**settings, "kernels": settings["kernels"].replace("auto", "numpy")})


READ: dict[str, Callable[[bytes, Path], None]] = {
    "study": read_study,
    "claim": read_claim,
    "erratum": read_erratum,
    "figure": read_figure,
    "workflow": read_settings,
}
