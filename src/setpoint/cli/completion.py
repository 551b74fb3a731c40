"""``setpoint completion``: the script that lets a shell complete commands and options."""

from __future__ import annotations

import click

__all__ = ["completion"]

_INSTALL = {
    "bash": 'add this line to ~/.bashrc:  eval "$(setpoint completion bash)"',
    "zsh": 'add this line to ~/.zshrc:  eval "$(setpoint completion zsh)"',
    "fish": "setpoint completion fish > ~/.config/fish/completions/setpoint.fish",
}


@click.command(epilog='\b\nFor example:\n  eval "$(setpoint completion bash)"')
@click.argument("shell", type=click.Choice(sorted(_INSTALL)))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell."""
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    root = ctx.find_root()
    if made is None or not isinstance(root.command, click.Group):  # pragma: no cover
        raise click.UsageError(f"there is no completion for {shell}")
    script = made(root.command, {}, "setpoint", "_SETPOINT_COMPLETE")
    click.echo(f"# To install: {_INSTALL[shell]}")
    # `source` would ask the version of bash, which need not be there when this is printed.
    click.echo(script.source_template % script.source_vars())
