"""Make the tables of several studies in one process: `python -m sketchbench.table.together --help`."""

from pathlib import Path

from sketchbench.command_line import Parser, json_of, program
from sketchbench.table.__main__ import checked, make


@program
def main(arguments: list[str] | None = None) -> None:
    parser = Parser(
        prog="python -m sketchbench.table.together",
        description="Verify and join the records of several studies.",
    )
    parser.add_argument("manifests", type=Path, help="JSON: the manifest of each study")
    parser.add_argument("--tables", required=True, type=Path, help="the folder of the tables")
    parser.add_argument("--scale", required=True, help="the scale of these records")
    options = parser.parse_args(arguments)
    for study, manifest in json_of(options.manifests.read_text(encoding="utf-8"), str(options.manifests)).items():
        place = options.tables / study
        csv, html = place.with_suffix(".csv"), place.with_suffix(".html")
        make(study, checked(manifest), options.scale, csv=csv, html=html)


if __name__ == "__main__":
    main()
