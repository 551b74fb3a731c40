"""Pictures that commands write: SVG or PNG."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click

from setpoint.cli.errors import CommandError
from setpoint.cli.files import keep_old_on_error, writing
from setpoint.cli.output import step
from setpoint.cli.session import current

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Display", "check_picture", "draw", "picture_option"]

_ENDINGS = (".svg", ".png")

picture_option = click.option("--picture", metavar="FILE", help="Ends in .svg or .png.")


class Display(Protocol):
    """What draws itself."""

    def plot(self, ax: Axes) -> Any:
        """Draw on axes."""
        ...


def check_picture(path: str | None) -> None:
    """Refuse other endings before the work.

    Raises
    ------
    CommandError
    """
    if path is None:
        return
    if Path(path).suffix.lower() not in _ENDINGS:
        raise CommandError(f"--picture: {path} ends neither in .svg nor in .png")


def draw(display: Display, path: str) -> None:
    """Write a picture.

    Raises
    ------
    CommandError
        If matplotlib is missing, or the file cannot be written.
    """
    current().expect(path)
    with step(f"writing {path}"):
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise CommandError(
                "--picture needs matplotlib: pip install 'setpoint[report]'"
            ) from None
        figure = Figure(figsize=(6.4, 4.2), layout="constrained")
        display.plot(figure.subplots())
        kind = Path(path).suffix.lower().removeprefix(".")
        with keep_old_on_error(path), writing(path) as file:
            # Without a date the same values give the same bytes.
            metadata: dict[str, Any] = {"Date": None} if kind == "svg" else {}
            figure.savefig(file, format=kind, dpi=150, metadata=metadata)
