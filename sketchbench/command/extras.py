"""The remedy for a missing package of an extra."""

from collections.abc import Iterator

# By extra: the modules of its packages that we import; tests compare them with pyproject.toml.
EXTRAS = {
    "torch": ("torch",),
    "workflow": (
        *("PIL", "hydra", "jsonschema", "matplotlib", "networkx", "omegaconf", "pandas", "pooch", "pyarrow"),
        *("seaborn", "skimage", "sklearn", "snakemake", "yaml"),
    ),
    "site": ("latex2mathml", "mkdocs"),
    "opacus": ("opacus",),
    "flower": ("flwr",),
    "gpu": ("cupy", "cupyx"),
}


def missing(error: BaseException) -> str | None:
    """Return the remedy in one line if an error, or its cause, is a missing package of an extra; None otherwise."""
    for raised in _chain(error):
        if isinstance(raised, ModuleNotFoundError) and raised.name:
            module = raised.name.partition(".")[0]
            if extra := next((extra for extra, modules in EXTRAS.items() if module in modules), None):
                return f"this needs {module}, which is not installed: pip install 'sketchbench[{extra}]'"
    return None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__  # also where our own words for it hide it
