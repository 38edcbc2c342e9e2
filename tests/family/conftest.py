"""The option that runs the whole zoo."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "mutant"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--whole-zoo",
        action="store_true",
        default=False,
        help="every family of tests/family, with all studies at quick size (about an hour)",
    )


@pytest.fixture(scope="session")
def whole_zoo(request: pytest.FixtureRequest) -> bool:
    """Whether the option was given; pytest knows it only where tests/family is named on the command line."""
    return bool(request.config.getoption("--whole-zoo", default=False))
