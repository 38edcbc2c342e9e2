"""Build the site from the reports that are there: `python -m sketchbench.site`."""

from pathlib import Path

from sketchbench.command_line import Parser, program
from sketchbench.digest import PROJECT
from sketchbench.site.build import build


@program
def main(arguments: list[str] | None = None) -> None:
    parser = Parser(prog="python -m sketchbench.site", description=__doc__)
    parser.add_argument("--target", type=Path, default=PROJECT / "reports" / "site", help="its folder (reports/site)")
    print(build(parser.parse_args(arguments).target))


if __name__ == "__main__":
    main()
