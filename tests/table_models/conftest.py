"""Tables with groups and a deployed model, and models fitted on one of them."""

import numpy as np
import pandas as pd
import pytest

from tables.fits import fit_table

GOAL = "maximize recall subject to precision >= 0.7 and recall.difference(sex) <= 0.3"


def rows(n, seed):
    """`x` and `w` know something of `y`, and `old` is what the deployed model decides."""
    r = np.random.default_rng(seed)
    sex, x, w = r.choice(["f", "m"], n), r.normal(size=n), r.normal(size=n)
    z = x + 0.5 * (sex == "m") + 0.6 * w + 0.7 * r.normal(size=n)
    old = np.where(x + r.normal(size=n) > 0.6, "yes", "no")
    return pd.DataFrame(
        {"sex": sex, "x": x, "w": w, "old": old, "y": np.where(z > 0.5, "yes", "no")}
    )


@pytest.fixture(scope="session", autouse=True)
def models(plain_models):
    """Of the model that is chosen under the goal there are tests of their own."""


@pytest.fixture(scope="session")
def fitted_on():
    return rows(1200, 0)


@pytest.fixture(scope="session")
def fresh():
    return rows(900, 1)


@pytest.fixture(scope="session")
def poor(fitted_on):
    """A model that does not see `w`."""
    return fit_table(fitted_on, GOAL, target="y", drop=["w", "old"])


@pytest.fixture(scope="session")
def good(fitted_on):
    return fit_table(fitted_on, GOAL, target="y", drop=["old"])


@pytest.fixture
def said(caplog):
    """The notes since it was last asked."""
    caplog.set_level("DEBUG", logger="setpoint.tables")

    def notes():
        found = [r.getMessage() for r in caplog.records if r.levelname == "INFO"]
        caplog.clear()
        return found

    return notes
