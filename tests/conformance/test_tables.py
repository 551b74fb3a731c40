"""What holds on every table, as it comes: sorted, repeated, heavy, rare, equal, constant."""

import pickle

import numpy as np
import pytest

from conformance.cases import ALL, TRAINED, fitted_whole, new
from conformance.tables import TABLES
from thinning import over

pytestmark = [
    pytest.mark.filterwarnings("ignore:The least populated class"),
    *(
        pytest.mark.filterwarnings(f"ignore::setpoint.{name}")
        for name in ("ConstantGoalWarning", "FewRowsWarning", "NotMonotoneWarning")
    ),
]
REFUSED = {
    ("plug-in", "a class of one row"): "at least 2 classes in the data",
    ("adaptive", "a class of one row"): "no row in the training rows of fold 2 of any group is of",
}
"""What those say that fit folds, of which one has one class only."""


def table_of(true, decided, weight):
    """Weights of rows by true and by decided class."""
    return [[weight[(true == i) & (decided == j)].sum() for j in (0, 1)] for i in (0, 1)]


def worth(name, counts):
    """The goal of a case, from a table of counts."""
    (tn, fp), (fn, tp) = counts
    return (fp + fn) / (tn + fp + fn + tp) if name == "ramp" else 2 * tp / (2 * tp + fp + fn)


@pytest.mark.parametrize("name", ALL)
@over("table", TABLES)
def test_a_fit_ends_and_its_reports_are_counts_of_its_decisions(name, table):
    s = TABLES[table]
    if (name, table) in REFUSED:
        with pytest.raises(ValueError, match=REFUSED[name, table]):
            new(name).fit(s.X, s.y, sample_weight=s.weight)
        return
    model = new(name).fit(s.X, s.y, sample_weight=s.weight)
    decided, report = model.predict(s.X), model.evaluate(s.X, s.y, sample_weight=s.weight)
    counts = np.array(table_of(s.y, decided, s.weight))
    reports = [report, model.goal_report_] if name in ("penalty", "ramp") else [report]
    for found in reports:
        np.testing.assert_allclose(found.counts.confusion[:2], counts, rtol=1e-12)
        assert found.objective.value == pytest.approx(worth(name, counts), abs=1e-12)
    assert np.sum(model.goal_report_.counts.confusion) == pytest.approx(s.weight.sum())
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copied.predict(s.X[::-1]), decided[::-1])


@pytest.mark.parametrize("name", TRAINED)
@over("table", TABLES, every=3)
def test_neither_order_nor_rows_written_as_weights_matter(name, table):
    """To what a fit without folds is worth, within the tolerance of its solver."""
    s, at = TABLES[table], np.arange(len(TABLES[table].y))
    weight = s.weight.astype(int) + at % 2
    if (name, table) == ("adaptive", "all rows equal"):
        with pytest.raises(ValueError, match="there is nothing to optimise"):
            fitted_whole(name, s.X, s.y, sample_weight=weight)
        return
    mixed, repeated = np.random.default_rng(0).permutation(at), np.repeat(at, weight)
    one, *others = (
        fitted_whole(name, s.X[rows], s.y[rows], **more).goal_report_.objective.value
        for rows, more in (
            (at, {"sample_weight": weight}),
            (mixed, {"sample_weight": weight[mixed]}),
            (repeated, {}),
        )
    )
    assert others == pytest.approx([one, one], abs=0.05 if name in ("penalty", "ramp") else 1e-12)
