"""The shell: a goal reached from a table, in one command."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec

__all__ = ["main"]


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line; the process ends with the command's exit code.

    Parameters
    ----------
    args : sequence of str, optional
        None: those of the process.
    """
    missing = [name for name in ("click", "rich") if find_spec(name) is None]
    if missing:
        sys.stderr.write(
            f"error: the command line needs {' and '.join(missing)}: pip install 'setpoint[cli]'\n"
        )
        raise SystemExit(1)
    try:
        from setpoint.cli.app import app
    except KeyboardInterrupt:
        sys.stderr.write("stopped; nothing was written\n")
        raise SystemExit(130) from None
    try:
        app.main(args, prog_name="setpoint")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    with suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
        sys.stderr.flush()
    # Threads of Parquet readers that are still busy abort a process that ends in the usual
    # way, and everything is written by now.
    os._exit(code)
