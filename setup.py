"""What pyproject.toml can't say: a wheel has conf/, the workflow and the published reports inside the package (see
`project.HOME`), but for the reports' figures and records, which nothing in the package reads."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

FOLDERS = ("conf", "workflow")
REPORTS = ("*.csv", "*.md", "seals.jsonl", "tables/*.csv", "tables/seals.jsonl", "tables/origin/seals.jsonl")


class WithConfigs(build_py):
    """The modules, and what is beside them; an editable install takes these from the checkout."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        package = Path(self.build_lib, "sketchbench")
        for folder in FOLDERS:
            shutil.copytree(folder, package / folder, dirs_exist_ok=True)
        shutil.copy("environment.yml", package)  # which the workflow's rules name
        for scale in ("reports", "reports/paper"):
            for file in (file for kind in REPORTS for file in Path(scale).glob(kind)):
                (package / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, package / file)


setup(cmdclass={"build_py": WithConfigs})
