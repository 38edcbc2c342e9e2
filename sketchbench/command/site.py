"""`sketchbench site`: the reports as a static site."""

from pathlib import Path

import click

from sketchbench.project import PROJECT
from sketchbench.site.build import build


@click.command("site")
@click.option(
    "--target",
    type=click.Path(path_type=Path),
    default=PROJECT / "reports" / "site",
    help="The folder of the site (default: reports/site).",
)
def command(target: Path) -> None:
    """Write the reports of the quick and of the paper scale as a static site.

    It needs no server and no network: open index.html in a browser.

    \b
    sketchbench site --target /tmp/site
    """
    print(build(target))
