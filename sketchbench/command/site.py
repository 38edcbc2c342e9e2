"""`sketchbench site`: write the reports as a static site."""

from pathlib import Path

import click

from sketchbench.base.project import checkout
from sketchbench.command.group import FOLDER
from sketchbench.report.site.build import build


@click.command("site")
@click.option(
    "--target",
    type=click.Path(path_type=Path),
    help="Directory of the site (default: reports/site, in --folder if given).",
)
@FOLDER
def command(target: Path | None, folder: Path | None) -> None:
    """Write the reports of the quick and the paper scale as a static site.

    Open index.html in a browser; no server or network is needed. --folder shows the verdicts on your own methods, and
    adds a page for each of your own frontiers.

    \b
    sketchbench site --target /tmp/site
    """
    project = checkout("the site")
    print(build(target or (folder or project) / "reports" / "site", folder=folder))
