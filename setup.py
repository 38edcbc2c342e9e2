"""What pyproject.toml can't say: a wheel has conf/ and the schemas inside the package (see `digest.HOME`)."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class WithConfigs(build_py):
    """The modules, and the configs beside them; an editable install takes these from the checkout."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            for folder in ("conf", "workflow/schemas"):
                shutil.copytree(folder, Path(self.build_lib, "sketchbench", folder), dirs_exist_ok=True)


setup(cmdclass={"build_py": WithConfigs})
