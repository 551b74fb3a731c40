"""The line that tells how a search is getting on."""

import io
import sys

import pytest

from setpoint.search import Progress, TracePoint

NOW = TracePoint(3, 0.5, float("inf"), 0.0, 1.0)
LINE = "call    3 of 9  objective 0.50000  no bound  violation 0.0e+00  1.0 s"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("made", [io.StringIO, Terminal])
def test_the_last_line_ends_also_where_something_is_raised(monkeypatch, made):
    monkeypatch.setattr(sys, "stderr", made())
    monkeypatch.setenv("COLUMNS", "100")

    def training():
        with Progress(most=9) as progress:
            progress(NOW._replace(call=2))
            progress(NOW)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        training()
    printed = sys.stderr.getvalue()
    assert printed.endswith(LINE + "\n")
    assert printed.count("\n") == 1
    assert ("call    2 of 9" in printed) == (made is Terminal)


def test_a_line_that_was_not_asked_for(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with Progress(False) as progress:
        progress(NOW)
    with Progress():
        pass
    assert LINE not in sys.stderr.getvalue()
    assert "\n" not in sys.stderr.getvalue()


def test_a_line_is_as_wide_as_the_terminal_and_goes(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("COLUMNS", "20")
    with Progress(most=9) as progress:
        progress(NOW)
    printed = sys.stderr.getvalue()
    assert printed == f"\r\x1b[K{LINE[:19]}\r\x1b[K{LINE}\n"
