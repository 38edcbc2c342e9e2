"""The broken families of tests/family are mutants here, too."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "family"))
