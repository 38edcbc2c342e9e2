"""Download a data set: `python -m sketchbench.dataset fetch mnist`."""

import logging
import sys

from sketchbench.command_line import Parser, program
from sketchbench.dataset.dataset import VARIABLE
from sketchbench.dataset.fetch import SOURCES, fetch


@program
def main(arguments: list[str] | None = None) -> None:
    """Run the command; arguments are those of the command line by default."""
    parser = Parser(prog="python -m sketchbench.dataset")
    commands = parser.add_subparsers(dest="command", required=True)
    getting = commands.add_parser("fetch", help="download a data set, with its published checksums")
    getting.add_argument("name", choices=sorted(SOURCES))
    getting.add_argument("--root", help=f"the data root (default: ${VARIABLE}, else `data`)")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    root = fetch(options.name, options.root)
    print(f"{options.name} is in {root}; set {VARIABLE} to this folder")


if __name__ == "__main__":
    main()
