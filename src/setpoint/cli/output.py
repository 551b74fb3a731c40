"""What goes to stdout where a program reads it: one JSON object."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import click

from setpoint.cli.session import current

__all__ = ["print_json"]


def print_json(what: Mapping[str, Any], run: Mapping[str, Any] | None = None) -> None:
    """One JSON object on one line, keys sorted."""
    seconds = {name: round(value, 3) for name, value in current().seconds.items()}
    out = {**what, "run": {**(run or {}), "seconds": seconds}}
    click.echo(json.dumps(_finite(out), sort_keys=True, allow_nan=False))


def _finite(value: Any) -> Any:
    """NaN and infinite numbers as text that ``float`` reads."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(k): _finite(v) for k, v in value.items()}
    return [_finite(v) for v in value] if isinstance(value, (list, tuple)) else value
