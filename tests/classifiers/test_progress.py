"""The line that says how far a search has come."""

import io
import sys

import pytest

from setpoint.search import Progress, TracePoint
from thinning import over

NOW = TracePoint(3, 0.5, float("inf"), 0.0, 1.0)
LINE = "call    3 of 9  objective 0.50000  no bound  violation 0.0e+00  1.0 s"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@over("made, printed", [(io.StringIO, ""), (Terminal, "\r\x1b[Kcall    2 of 9  obj\r\x1b[K")])
def test_a_line_is_as_wide_as_the_terminal_and_the_last_one_stays(monkeypatch, made, printed):
    """Whole, and also where something is raised; a file has nothing else."""
    monkeypatch.setattr(sys, "stderr", made())
    monkeypatch.setenv("COLUMNS", "20")

    def training():
        with Progress(most=9) as progress:
            progress(NOW._replace(call=2))
            progress(NOW)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        training()
    with Progress(False) as progress:  # which nobody asked for
        progress(NOW)
    assert sys.stderr.getvalue() == f"{printed}{LINE}\n"
