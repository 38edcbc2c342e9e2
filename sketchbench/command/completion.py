"""`sketchbench completion bash`: what a shell needs to complete commands and options."""

import click

from sketchbench.command.group import OneOf


@click.command("completion", short_help="Print what makes your shell complete commands.")
@click.argument("shell", type=OneOf(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print what makes your shell complete commands and options.

    \b
    eval "$(sketchbench completion bash)"           now; for always, in ~/.bashrc
    eval "$(sketchbench completion zsh)"            in ~/.zshrc
    sketchbench completion fish > ~/.config/fish/completions/sketchbench.fish
    """
    from click.shell_completion import get_completion_class

    from sketchbench.command.main import COMPLETE, sketchbench

    script = get_completion_class(shell)
    assert script is not None
    print(script(sketchbench, {}, "sketchbench", COMPLETE).source())
