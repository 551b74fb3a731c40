"""What every test shares."""

import gc
import io
import signal
from contextlib import suppress
from types import SimpleNamespace

import pytest
from hypothesis import settings
from sklearn import config_context

from quick import *

# The same examples in every run, and no deadline: the first call of a kernel compiles it.
settings.register_profile("long", deadline=None, derandomize=True)
settings.register_profile("setpoint", settings.get_profile("long"), max_examples=30)
settings.load_profile("setpoint")

# A job in the background ignores Ctrl-C, and so would what it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    with suppress(ValueError):  # in a thread beside the main one
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Look for no garbage among thousands of tests that are all kept: a third of the start."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session")
def plain_models():
    """Tables are fitted with logistic regression where nobody names a model: in one fit a fold."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("setpoint.tables.settings.DEFAULT", "logistic")
        yield


@pytest.fixture(scope="module")
def two_folds():
    """Classifiers are fitted in two folds where nobody names others."""
    from setpoint.classifiers import folds_of

    def two(cv, *more):
        return folds_of(2 if cv is None else cv, *more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("setpoint.plugin.fit.crossfit.folds_of", two)
        yield


@pytest.fixture(scope="module")
def plain_pages():
    """What a page shows is plotted, and not written as SVG; files of pictures are."""
    from matplotlib.figure import Figure

    real = Figure.savefig

    def savefig(figure, out, **more):
        page = isinstance(out, io.StringIO)
        return out.write('<svg viewBox="0 0 1 1"></svg>') if page else real(figure, out, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "savefig", savefig)
        yield


@pytest.fixture
def clock(monkeypatch):
    """The clock of all limits: it moves where a test, or a model of it, sleeps by it."""
    found = SimpleNamespace(seconds=0.0)

    def sleep(seconds):
        found.seconds += seconds

    found.sleep, found.perf_counter = sleep, lambda: found.seconds
    monkeypatch.setattr("setpoint.search.limits.time", found)
    return found


@pytest.fixture
def routing():
    """scikit-learn passes weights and columns on where they are asked for."""
    with config_context(enable_metadata_routing=True):
        yield
