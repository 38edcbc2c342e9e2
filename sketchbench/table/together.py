"""Make the tables of several studies in one process: `python -m sketchbench.table.together --help`."""

import argparse
import json
import sys
from pathlib import Path

from sketchbench.files import FileError
from sketchbench.record import RecordError
from sketchbench.table.__main__ import make, read_manifest


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m sketchbench.table.together",
        description="Verify and join the records of several studies.",
    )
    parser.add_argument("manifests", type=Path, help="JSON: the manifest of each study")
    parser.add_argument("--tables", required=True, type=Path, help="the folder of the tables")
    parser.add_argument("--scale", required=True, help="the scale of these records")
    options = parser.parse_args(arguments)
    try:
        manifests = json.loads(options.manifests.read_text(encoding="utf-8"))
        for study, manifest in manifests.items():
            place = options.tables / study
            csv, html = place.with_suffix(".csv"), place.with_suffix(".html")
            make(study, read_manifest(json.dumps(manifest)), options.scale, csv=csv, html=html)
    except (RecordError, FileError) as error:
        sys.exit(f"sketchbench: error: {error}")
    except (OSError, ValueError, AttributeError) as error:
        sys.exit(f"sketchbench: error: {options.manifests}: no manifests as JSON ({error})")


if __name__ == "__main__":
    main()
