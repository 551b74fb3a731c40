"""Models fitted on the tables, once; tests look at them only."""

import pytest

from table_models.samples import DATED, FAIR, deployed, fit_table


@pytest.fixture(scope="session", autouse=True)
def models(plain_models):
    """Of the model that is chosen under the goal there are tests of their own."""


@pytest.fixture(scope="module", autouse=True)
def plain(two_folds):
    """What is fitted for one test."""


@pytest.fixture(scope="session")
def fitted_on():
    return deployed(1200, 0)


@pytest.fixture(scope="session")
def fresh():
    return deployed(900, 1)


@pytest.fixture(scope="session")
def poor(fitted_on):
    """A model that does not see `w`."""
    return fit_table(fitted_on, FAIR, drop=["w", "old"])


@pytest.fixture(scope="session")
def good(fitted_on):
    return fit_table(fitted_on, FAIR, drop=["old"])


@pytest.fixture(scope="session")
def precise():
    """A model of the dated rows."""
    goal = "maximize recall subject to precision >= 0.6"
    return fit_table(DATED, goal, drop=("customer", "day"))


@pytest.fixture
def said(caplog):
    """The notes since it was last asked."""
    caplog.set_level("DEBUG", logger="setpoint.tables")

    def notes():
        found = [r.getMessage() for r in caplog.records if r.levelname == "INFO"]
        caplog.clear()
        return found

    return notes
