"""Commands whose help shows the options in named groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

__all__ = ["GroupedCommand"]


class GroupedCommand(click.Command):
    """A command whose options stand in groups."""

    def __init__(
        self, *args: Any, groups: Mapping[str, Sequence[str]] | None = None, **more: Any
    ) -> None:
        super().__init__(*args, **more)
        self.groups = dict(groups or {})

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the groups, one after the other."""
        records = {
            param.opts[-1]: record
            for param in self.get_params(ctx)
            if isinstance(param, click.Option)
            and (record := param.get_help_record(ctx)) is not None
        }
        for title, names in self.groups.items():
            with formatter.section(title):
                formatter.write_dl([records.pop(name) for name in names])
        if records:
            with formatter.section("Other options"):
                formatter.write_dl(list(records.values()))
