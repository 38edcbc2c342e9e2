"""`sketchbench site`: the reports as a static site."""

from pathlib import Path

import click

from sketchbench.base.project import checkout
from sketchbench.command.group import FOLDER
from sketchbench.report.site.build import build


@click.command("site")
@click.option(
    "--target",
    type=click.Path(path_type=Path),
    help="The folder of the site (default: reports/site, also of --folder).",
)
@FOLDER
def command(target: Path | None, folder: Path | None) -> None:
    """Write the reports of the quick and of the paper scale as a static site.

    It needs no server and no network: open index.html in a browser. With --folder the verdicts are those on your
    methods, if there are any, and each of your frontiers has a page.

    \b
    sketchbench site --target /tmp/site
    """
    project = checkout("the site")
    print(build(target or (folder or project) / "reports" / "site", folder=folder))
