"""`sketchbench data fetch mnist`, and `sketchbench data checksum lfw`."""

import logging
import sys

import click

from sketchbench.command.group import OneOf
from sketchbench.learning.dataset.dataset import VARIABLE
from sketchbench.learning.dataset.fetch import SOURCES, VOUCHED, fetch, vouch

ROOT = click.option("--root", help=f"The data root (default: ${VARIABLE}, else `data`).")


@click.group("data", no_args_is_help=False)
def command() -> None:
    """Download data sets, or list the checksums of your copies."""
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)


@command.command("fetch")
@click.argument("name", type=OneOf(sorted(SOURCES)))
@ROOT
def fetch_data(name: str, root: str | None) -> None:
    """Download a data set, and verify its published checksums."""
    place = fetch(name, root)
    print(f"{name} is in {place}; set {VARIABLE} to this folder")


@command.command("checksum")
@click.argument("name", type=OneOf(sorted(VOUCHED)))
@ROOT
def vouch_for_data(name: str, root: str | None) -> None:
    """Store the checksums of a trusted copy; later reads verify the copy against them."""
    print(f"the checksums of {name} are in {vouch(name, root)}")
