"""A group that imports a command when called, and one-line explanations of wrong calls."""

import gc
import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from sketchbench.base.parameters import did_you_mean

FOLDER = click.option(
    "--folder",
    type=click.Path(path_type=Path),
    metavar="DIR",
    is_eager=True,  # before --help, which may list its content
    help="Your own folder of methods, data sets and networks.",
)


class Lazy(click.Group):
    """A group whose commands are modules, each imported when its command is called.

    Arguments:
        package: the package with the modules, each of which has a click command `command`.
        commands: a line of help by the name of each; `new-method` is in `new_method.py`.
    """

    def __init__(self, *args: Any, package: str, commands: Mapping[str, str], **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._package, self._help = package, commands

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._help)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._help:
            return None
        gc.disable()  # imports leave no garbage, and looking for it takes a tenth of their time
        try:
            module = importlib.import_module(f"{self._package}.{cmd_name.replace('-', '_')}")
        finally:
            gc.enable()
        return module.command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the lines of help without importing a command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, line in self._help.items() if line])


class OneOf(click.Choice[str]):
    """A choice of words that suggests a word for a mistyped one."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        return f"{value!r} is not one of {', '.join(self.choices)}{did_you_mean(value, self.choices)}"

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None) -> str:
        return f"choose from {', '.join(self.choices)}"


def explain(error: click.UsageError) -> str:
    """Explain a wrong call in one line: the mistake, the closest word, and the command for help."""
    context = error.ctx
    if isinstance(error, click.NoSuchOption):
        options = [name for param in context.command.params for name in param.opts] if context else []
        mistake = f"no option {error.option_name}{did_you_mean(error.option_name, [*options, '--help'])}"
    elif isinstance(error, click.exceptions.NoSuchCommand):
        mistake = f"no command {error.command_name}{_suggestion(error.command_name, context)}"
    elif isinstance(error, click.BadParameter) and error.param and error.message:
        mistake = f"{_name(error.param)}: {error.message}".rstrip(".")
    else:
        mistake = error.format_message().rstrip(".")
    return f"{mistake}; {context.command_path if context else 'sketchbench'} --help shows the usage"


def _name(param: click.Parameter) -> str:
    """The name of an option as typed, or of an argument as shown in help."""
    return max(param.opts, key=len) if isinstance(param, click.Option) else str(param.name).upper()


def _suggestion(name: str, context: click.Context | None) -> str:
    """Return `; did you mean ...?` for an unknown command, or ""; a bare override belongs to `run`."""
    if "=" in name:
        return f"; did you mean sketchbench run {name}?"
    group = context.command if context else None
    commands = group.list_commands(context) if context and isinstance(group, click.Group) else []
    return did_you_mean(name, commands)
