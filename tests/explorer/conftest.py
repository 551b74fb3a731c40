"""Bounds are solved until all are, however busy the machine is."""

from types import SimpleNamespace

import pytest


@pytest.fixture(autouse=True, scope="module")
def still():
    """A clock of limits that stands."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("setpoint.search.limits.time", SimpleNamespace(perf_counter=lambda: 0.0))
        yield
