"""Download a data set: `python -m sketchbench.dataset fetch mnist`; or vouch for a copy of one: `... checksum lfw`."""

import logging
import sys

from sketchbench.command_line import Parser, program
from sketchbench.dataset.dataset import VARIABLE
from sketchbench.dataset.fetch import SOURCES, VOUCHED, fetch, vouch


@program
def main(arguments: list[str] | None = None) -> None:
    """Run the command; arguments are those of the command line by default."""
    parser = Parser(prog="python -m sketchbench.dataset")
    commands = parser.add_subparsers(dest="command", required=True)
    getting = commands.add_parser("fetch", help="download a data set, with its published checksums")
    getting.add_argument("name", choices=sorted(SOURCES))
    vouching = commands.add_parser("checksum", help="list the checksums of a copy that you trust, which vouch for it")
    vouching.add_argument("name", choices=sorted(VOUCHED))
    for command in (getting, vouching):
        command.add_argument("--root", help=f"the data root (default: ${VARIABLE}, else `data`)")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    if options.command == "checksum":
        print(f"the checksums of {options.name} are in {vouch(options.name, options.root)}")
        return
    root = fetch(options.name, options.root)
    print(f"{options.name} is in {root}; set {VARIABLE} to this folder")


if __name__ == "__main__":
    main()
