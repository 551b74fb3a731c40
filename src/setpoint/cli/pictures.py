"""Pictures that a command writes to a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from setpoint.cli.errors import CommandError
from setpoint.cli.files import writing
from setpoint.inputs.files import whole_file

__all__ = ["check_picture", "draw", "picture_option"]

_PICTURES = (".svg", ".png")

picture_option = click.option("--picture", metavar="FILE", help="Ends in .svg or .png.")


def check_picture(path: str | None) -> None:
    """Know before the work that a picture has no format."""
    if path is not None and Path(path).suffix.lower() not in _PICTURES:
        raise CommandError(f"--picture: {path} ends neither in .svg nor in .png")


def draw(path: str, plot: Callable[[Any], object]) -> None:
    """Write a picture."""
    with writing(path):
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise CommandError(
                "--picture needs matplotlib: pip install 'setpoint[report]'"
            ) from None
        figure = Figure(figsize=(6.4, 4.2), layout="constrained")
        plot(figure.subplots())
        kind = Path(path).suffix.lower().removeprefix(".")
        with whole_file(path) as file:
            # Without a date the same numbers give the same bytes.
            metadata: dict[str, Any] = {"Date": None} if kind == "svg" else {}
            figure.savefig(file, format=kind, dpi=150, metadata=metadata)
