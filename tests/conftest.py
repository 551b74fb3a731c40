"""What every test shares."""

import pytest
from hypothesis import settings
from sklearn import config_context

from quick import *

# The same examples in every run, and no deadline: the first call of a kernel compiles it.
settings.register_profile("long", deadline=None, derandomize=True)
settings.register_profile("setpoint", settings.get_profile("long"), max_examples=30)
settings.load_profile("setpoint")


@pytest.fixture
def routing():
    """scikit-learn passes weights and columns on where they are asked for."""
    with config_context(enable_metadata_routing=True):
        yield
