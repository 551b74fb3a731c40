"""Hooks of the documentation: the page of the demo, made at build by the demo itself.

``setpoint demo`` runs in an empty folder, and the site gets its report as ``demo/report.html``.
"""

from __future__ import annotations

import functools
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

__all__ = ["MADE", "demo_report", "on_files"]

MADE = "demo/report.html"
"""Where the page lies on the site; pages link to it."""


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Add the page to the site; called by mkdocs."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, MADE, content=demo_report()))
    return files


@functools.cache
def demo_report() -> str:
    """The report that ``setpoint demo`` writes; it is made once, since `serve` builds often."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "setpoint.cli", "demo"]
        subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL)
        return (Path(folder) / "demo" / "report.html").read_text(encoding="utf-8")
