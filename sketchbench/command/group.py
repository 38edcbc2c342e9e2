"""Groups of commands that are loaded when they are called, and wrong calls in one line that says what was meant."""

import gc
import importlib
from collections.abc import Mapping
from typing import Any

import click

from sketchbench.parameters import did_you_mean


class Lazy(click.Group):
    """A group whose commands are modules beside it; each has its `command`, which is imported when it is called.

    Arguments:
        package: where the modules are.
        commands: a line of help for each, by their names; `new-method` is in `new_method.py`.
    """

    def __init__(self, *args: Any, package: str, commands: Mapping[str, str], **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._package, self._help = package, commands

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._help)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._help:
            return None
        gc.disable()  # nothing that modules make while they are loaded is garbage; looking takes a tenth of the time
        try:
            module = importlib.import_module(f"{self._package}.{cmd_name.replace('-', '_')}")
        finally:
            gc.enable()
        return module.command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The lines of help, for which no command is imported."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, line in self._help.items() if line])


class OneOf(click.Choice[str]):
    """One of some words, which says what may have been meant by another."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        return f"{value!r} is not one of {', '.join(self.choices)}{did_you_mean(value, self.choices)}"

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None) -> str:
        return f"choose from {', '.join(self.choices)}"


def explain(error: click.UsageError) -> str:
    """A wrong call in one line: the mistake, the word that may have been meant, and the command that shows help."""
    context = error.ctx
    if isinstance(error, click.NoSuchOption):
        known = [name for param in context.command.params for name in param.opts] if context else []
        said = f"no option {error.option_name}{did_you_mean(error.option_name, [*known, '--help'])}"
    elif isinstance(error, click.exceptions.NoSuchCommand):
        said = f"no command {error.command_name}{_meant(error.command_name, context)}"
    elif isinstance(error, click.BadParameter) and error.param and error.message:
        said = f"{_name(error.param)}: {error.message}".rstrip(".")
    else:
        said = error.format_message().rstrip(".")
    return f"{said}; {context.command_path if context else 'sketchbench'} --help tells more"


def _name(param: click.Parameter) -> str:
    """An option as it is written, an argument as help calls it."""
    return max(param.opts, key=len) if isinstance(param, click.Option) else str(param.name).upper()


def _meant(name: str, context: click.Context | None) -> str:
    """The command that may have been meant; an override alone is one of `run`."""
    if "=" in name:
        return f"; did you mean sketchbench run {name}?"
    group = context.command if context else None
    known = group.list_commands(context) if context and isinstance(group, click.Group) else []
    return did_you_mean(name, known)
