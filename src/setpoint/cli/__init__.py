"""The shell: a goal reached from a table, in one command."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec

__all__ = ["main"]


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line; the process ends with the command's exit code."""
    # Threads of OpenMP that wait for one another spin for a while, which on cores that others
    # use too takes several times as long as sleeping. It is read when the first one starts.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
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
    finally:
        # All memory goes with the process: to search it for cycles first takes 0.4 s. DuckDB
        # prints what was not given back by then.
        if "duckdb" not in sys.modules:
            gc.freeze()
