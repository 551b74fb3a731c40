"""What strangers wrote first, and the answers that they needed (eyes-python.md, D5 to D10)."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from setpoint import FewRowsWarning, Goal, GoalError, InputTypeError, PlugInClassifier, solve
from setpoint.search import IncrementalLP, UnfinishedError
from thinning import over

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
R = np.random.default_rng(0)
SEX = np.repeat(["f", "m"], 150)  # in the order of a file that is sorted by group
X = pd.DataFrame(R.normal(size=(300, 2)) + (SEX == "m")[:, None], columns=["a", "b"])
Y = (R.random(300) < 1 / (1 + np.exp(1.5 - X["a"]))).astype(int)


OUT_OF_CORE = [
    lambda frame: "rows.parquet",
    lambda frame: pytest.importorskip("polars").from_pandas(frame).lazy(),
    lambda frame: pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=2),
    lambda frame: pytest.importorskip("duckdb").from_df(frame),
]


@over("make", OUT_OF_CORE)
def test_tables_out_of_core_are_refused_by_fit_and_predict(make):
    """A fit counted the characters of the name of the column of labels."""
    clf = PlugInClassifier(LogisticRegression(), "maximize f1").fit(X, Y)
    table = make(X.assign(y=Y))
    with pytest.raises(InputTypeError, match=r"`X` is rows in memory, found .*take scores where"):
        PlugInClassifier(LogisticRegression(), "maximize f1").fit(table, "y")
    with pytest.raises(InputTypeError, match="`X` is rows in memory"):
        clf.predict(table)


KAPPA = "1 - error_rate / (prior + predicted_rate - 2 * prior * predicted_rate)"


@over(
    "goal, answer",
    [
        ("maximize recall subject to demographic_parity <= 0.1", "predicted_rate.difference("),
        ("maximize kappa", KAPPA),
        ("maximize youden", "recall + specificity - 1"),
        ("maximize precision at top 5%", "subject to predicted_rate <= k/N"),
        ("balanced accuracy", "balanced_accuracy, one word"),
        ("recall at precision 0.9", "'maximize recall subject to precision >= 0.9'"),
        (
            "maximize f1 subject to recall.difference(race, label='fail') <= 0.1",
            "recall(label='fail').difference(",
        ),
        ("micro_f1", "micro_f1 needs its parameters: micro_f1(default)"),
    ],
)
def test_a_goal_as_others_say_it(goal, answer):
    """eyes-python.md, D10."""
    with pytest.raises(GoalError) as caught:
        Goal.parse(goal)
    assert answer in str(caught.value)


def test_groups_that_are_text_in_x():
    """eyes-python.md, D10: the first mistake of everybody with groups."""
    goal = "maximize recall subject to recall.difference(sex) <= 0.2"
    model = PlugInClassifier(LogisticRegression(), goal, sensitive_features="sex")
    with pytest.raises(ValueError, match=r"convert string.*all columns of `X`.*groups 'sex' too"):
        model.fit(X.assign(sex=SEX), Y)
    with pytest.raises(ValueError, match="convert string") as caught:
        PlugInClassifier(LogisticRegression(), "f1").fit(X.assign(sex=SEX), Y)
    assert "groups" not in str(caught.value)


def test_a_hundred_classes_have_sizes():
    """eyes-python.md, D5: all rows are no few rows, and the smallest class is."""
    y = np.repeat(np.arange(100), 12)  # in the order of the classes
    P = 0.75 * np.random.default_rng(0).dirichlet(np.full(100, 0.3), len(y))
    P += 0.25 * np.eye(100)[y]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        solve("maximize accuracy subject to recall.min() >= 0.1", P, y, evidence="soft")
    [said] = [str(w.message) for w in caught if w.category is FewRowsWarning]
    assert "few rows (12 in the smallest class, 0)" in said


def test_the_status_of_a_program_is_not_shown(caplog):
    """breaker.md, E8: where a linear program has no end the search goes on by other means."""
    program = IncrementalLP()
    program.add_column(np.zeros(0))
    program.set_costs(-np.ones(1))
    with caplog.at_level("WARNING"), pytest.raises(UnfinishedError):
        program.solve()
    assert not caplog.records
