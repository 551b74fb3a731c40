"""What is wrong is said before any training: argument, what was found, what is allowed."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from ramp.samples import COVERAGE, ramp, sample
from setpoint import Dataset, Deployed, FewRowsWarning, GoalError, SearchLimits
from setpoint.errors import EmptyPopulationError, InputError, InputTypeError, ShapeError
from setpoint.ramp.solvers.augmented_lagrangian import RampSearch
from setpoint.solvers import CuttingPlane

S = sample(400)
N = len(S.y)
FRAME = pd.DataFrame(S.X, columns=list("abcd"))
CHURN = "minimize error_rate subject to churn <= 0.2"
ON = "minimize error_rate subject to {} >= 0.5"
KEPT = "minimize error_rate subject to churn.on('new') <= 0.2"
INF, NAN = float("inf"), float("nan")


@pytest.fixture(autouse=True)
def no_training(request, monkeypatch):
    def train(*args, **options):
        raise AssertionError("a model was trained before the input was checked")

    if "trains" not in request.fixturenames:
        monkeypatch.setattr(RampSearch, "solved", train)


@pytest.fixture
def trains():
    """For tests in which there is a model."""


TRAINS = pytest.mark.usefixtures("trains")


def refused(error, what, goal=COVERAGE, X=S.X, y=S.y, options=None, **given):
    with pytest.raises(error) as caught:
        ramp(goal, **(options or {})).fit(X, y, **given)
    assert type(caught.value) is error
    assert re.search(what, str(caught.value)), str(caught.value)


# ---------------------------------------------------------------------- options
NUMBERS = {
    "C": ("`C` is a number above 0", [0, -1, INF, NAN, "1", None, True]),
    "min_positives": ("`min_positives` is 'auto' or a number >= 0", [-1, NAN, "many", None, True]),
}


@pytest.mark.parametrize(
    ("name", "what", "value"),
    [(name, what, v) for name, (what, values) in NUMBERS.items() for v in values],
)
def test_numbers_out_of_range(name, what, value):
    refused(InputError, f"^{re.escape(what)}, got {re.escape(repr(value))}$", options={name: value})


@pytest.mark.parametrize(
    ("given", "what"),
    [
        (SearchLimits(tol=0.0), r"`tol` is a number above 0, got 0.0"),
        (
            SearchLimits(calls=5),
            r"`limits`: `solver='augmented-lagrangian'` takes tol, seconds, got c",
        ),
        (5.0, r"`limits` is SearchLimits\(...\) or None, got 5.0"),
        ({"seconds": 5}, r"`limits` is SearchLimits\(...\) or None, got {'seconds': 5}"),
    ],
)
def test_limits_that_it_does_not_take(given, what):
    refused(InputError, f"^{what}", options={"limits": given})


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("solver", ["augmented-lagrangian", "cutting-plane"]),
        ("start", ["auto", "logistic", "zero", "baseline"]),
        ("randomized", [False, True]),
        ("baseline_score_feature", ["auto", False, True]),
        ("on_infeasible", ["raise", "nearest"]),
    ],
)
@pytest.mark.parametrize("value", ["other", None, 1, 0])
def test_words_that_are_not_options(name, allowed, value):
    what = f"^`{name}` is one of {re.escape(str(allowed))}, got {re.escape(repr(value))}$"
    refused(InputError, what, options={name: value})


def test_solvers_refuse_wrong_parameters():
    for make, what in (
        (
            lambda: CuttingPlane(chooser="min"),
            r"`chooser` is one of \['max', 'center'\], got 'min'",
        ),
        (lambda: CuttingPlane(svm=None), r"`svm` is one of \['sdca', 'liblinear'\], got None"),
        (lambda: ramp().set_params(solver__svm="sdca"), "AugmentedLagrangian takes no parameters"),
    ):
        with pytest.raises(InputError, match=what):
            make()
    assert ramp(solver="cutting-plane").set_params(solver__svm="liblinear").solver == (
        CuttingPlane(svm="liblinear")
    )


@pytest.mark.parametrize(
    ("options", "error", "what"),
    [
        ({"baseline_score_feature": True}, InputError, "and there is no baseline"),
        ({"start": "baseline"}, InputError, "`start='baseline'`.*no baseline"),
    ],
)  # fmt: skip
def test_other_options(options, error, what):
    options = dict(options)
    refused(error, what, goal=options.pop("goal", COVERAGE), options=options)


def test_parameters_that_clash_with_rows():
    refused(InputError, "`baseline` is given twice, to the constructor and to fit",
            baseline=S.old, options={"baseline": "old"})  # fmt: skip
    refused(InputError, "needs scores of the deployed model at prediction",
            baseline=S.old, options={"baseline_score_feature": True})  # fmt: skip
    refused(InputError, "baseline gives <U.* values; scores of the deployed model are numbers",
            baseline=Deployed(np.array(["a", "b"])[S.old], threshold=0.5))  # fmt: skip
    refused(InputError, "baseline gives [0-9]+ NaN or infinite scores",
            baseline=Deployed(np.where(S.old, 1.0, NAN), threshold=0.5))  # fmt: skip


# ---------------------------------------------------------------------- rows


# ---------------------------------------------------------------------- data sets
def hard(metric="recall"):
    return ON.format(f"{metric}.on('hard')")


@pytest.mark.parametrize(
    ("datasets", "error", "what"),
    [
        ({"hard": (S.X[:0], S.y[:0])}, InputError, r"`datasets\['hard'\]`.*(no rows|0 sample)"),
        ({"hard": (S.X, np.zeros(N, int))}, EmptyPopulationError, "recall.*hard"),
        ({"hard": (S.X, S.y + 7)}, InputError, r"`datasets\['hard'\]`: `y` .*7"),
        ({"hard": (S.X, S.y[:-1])}, InputError, r"`datasets\['hard'\]`: `y` has 399 .*400"),
        ({"hard": S.X}, GoalError, r"`datasets\['hard'\]`: .*needs labels, and `y` is None"),
        ({}, GoalError, "the data set 'hard', which `datasets` does not hold"),
        ({"haard": (S.X, S.y)}, GoalError, "did you mean 'haard'"),
        ({"hard": None}, InputTypeError, r"`datasets\['hard'\]` is None"),
        ([(S.X, S.y)], InputTypeError, "`datasets` must be a dict from names to Dataset"),
        ({"hard": (S.X, S.y, S.g)}, InputError, "is a tuple of 3; pass"),
        ({"hard": (S.X[:, :3], S.y)}, InputError, r"`datasets\['hard'\]`.*3 features.*4"),
        ({"hard": (np.where(S.X > 2, NAN, S.X), S.y)}, InputError, r"`datasets\['hard'\]`: .*NaN"),
        ({"hard": (FRAME, S.y)}, InputError, "the data set has column names and X has none"),
        ({"hard": Dataset(S.X, S.y, sample_weight=-np.ones(N))}, InputError,
         r"`datasets\['hard'\]`: `sample_weight` has .* negative"),
        ({"hard": Dataset(S.X, S.y, sample_weight=1.0 - S.y)}, EmptyPopulationError, "hard"),
    ],
)  # fmt: skip
def test_wrong_data_sets(datasets, error, what):
    refused(error, what, goal=hard(), datasets=datasets)


@pytest.mark.parametrize(
    ("columns", "what"),
    [
        (list("abc"), r"`datasets\['hard'\]` has no column 'd', which X has"),
        (list("abce"), r"`datasets\['hard'\]` has no column 'd', which X has"),
        (list("abcde"), r"`datasets\['hard'\]` has the column 'e', which X has not"),
    ],
)
def test_columns_of_a_data_set(columns, what):
    other = FRAME.assign(e=1.0)[columns]
    refused(InputError, what, goal=hard(), X=FRAME, datasets={"hard": (other, S.y)})


def test_arrays_beside_frames_are_refused():
    refused(InputError, r"`datasets\['hard'\]`: X has column names and the data set has none",
            goal=hard(), X=FRAME, datasets={"hard": (S.X, S.y)})  # fmt: skip


@TRAINS
def test_columns_in_another_order_at_evaluation():
    clf = ramp(hard(), min_positives=0)
    with pytest.warns(FewRowsWarning):
        clf.fit(FRAME, S.y, datasets={"hard": (FRAME[list("dcba")], S.y)})
    with pytest.raises(ValueError, match="feature names"):
        clf.predict(FRAME[list("dcba")])
    with pytest.raises(InputError, match=r"`datasets\['hard'\]` has no column 'd'"):
        clf.evaluate(FRAME, S.y, datasets={"hard": (FRAME[list("abc")], S.y)})


# ---------------------------------------------------------------------- groups and baselines
@pytest.mark.parametrize(
    ("goal", "given", "error", "what"),
    [
        (COVERAGE, {"baseline": S.old + 1}, InputError, "`baseline` .*2"),
        (COVERAGE, {"baseline": S.old[:-1]}, InputError, "`baseline` has 399 .*400"),
        (CHURN, {"baseline": "old"}, (InputTypeError, InputError, GoalError), "baseline.*'?old"),
        (CHURN, {"X": FRAME, "baseline": "old"}, (InputError, GoalError), "'old'"),
        (CHURN, {"baseline": np.column_stack([S.old, S.old])}, InputError, "baseline"),
        (KEPT, {"datasets": {"new": S.X}}, GoalError,
         r"`datasets\['new'\]`: the goal refers to the deployed model"),
        (KEPT, {"datasets": {"new": Dataset(S.X, baseline=S.old[1:])}}, InputError,
         r"`datasets\['new'\]`: `baseline` has 399 .*400"),
        (ON.format("wins.on('new')"), {"datasets": {"new": Dataset(S.X, baseline=S.old)}},
         GoalError, r"`datasets\['new'\]`: .*needs labels"),
    ],
)  # fmt: skip
def test_groups_and_deployed_models(goal, given, error, what):
    with pytest.raises(error) as caught:
        ramp(goal).fit(given.pop("X", S.X), S.y, **given)
    assert re.search(what, str(caught.value)), str(caught.value)


def test_a_deployed_model_of_other_labels():
    model = LogisticRegression().fit(S.X, np.array(["no", "yes"])[S.y])
    refused(InputError, "baseline", goal=CHURN, baseline=model)
    three = LogisticRegression().fit(S.X, np.arange(N) % 3)
    refused(InputError, "baseline", goal=CHURN, baseline=three)


def test_a_deployed_model_without_scores():
    class Rule:
        def predict(self, X):
            return (X[:, 0] > 0).astype(int)

    refused(InputError, "with decision_function or predict_proba", goal=CHURN, baseline=Rule(),
            options={"baseline_score_feature": True})  # fmt: skip
    with pytest.raises(Exception, match="not fitted"):
        ramp(CHURN).fit(S.X, S.y, baseline=SVC())


@pytest.mark.parametrize(
    ("goal", "what"),
    [
        ("maximize recall.min(g)", "objectives with a gradient everywhere"),
        ("minimize error_rate subject to g_mean >= 0.5", "g_mean >= 0.5: `RampClassifier` takes"),
        ("minimize error_rate subject to recall.difference(g) >= 0.1", "PlugInClassifier"),
        ("minimize error_rate subject to precision.difference(g) <= 0.1", "PlugInClassifier"),
        ("maximize (tp - fp) / fp", r"\(tp - fp\) / fp"),  # of nobody it may be anything
    ],
)
def test_goals_of_another_kind(goal, what):
    refused(ShapeError, what, goal=goal, sensitive_features={"g": S.g})


def test_bounds_outside_the_range():
    refused(GoalError, r"the bound 1.2 is outside the range of recall",
            goal="minimize error_rate subject to recall >= 1.2")  # fmt: skip


@pytest.mark.parametrize("goal", ["maximize prior", "maximize recall.baseline()"])
def test_goals_that_no_decision_changes(goal):
    with pytest.raises((GoalError, ShapeError), match=re.escape(goal.split()[1])):
        ramp(goal).fit(S.X, S.y, baseline=S.old)


def test_features_that_cannot_be_used():
    refused(InputError, "too large to be standardised", X=S.X * 1e200)
    deep = sparse.csr_matrix(S.X)
    deep.data[3] = NAN
    refused(ValueError, "NaN", X=deep)


# ---------------------------------------------------------------------- few rows
@TRAINS
def test_few_rows_behind_a_bound_are_warned_of():
    small = sample(60, seed=3)
    goal = "minimize error_rate subject to recall.on('hard') >= 0.6"
    many = sample(3000, seed=4)
    with pytest.warns(FewRowsWarning) as shown:
        clf = ramp(goal).fit(many.X, many.y, datasets={"hard": (small.X, small.y)})
    words = [str(w.message) for w in shown]
    assert any("the data set 'hard' has 60 rows" in w for w in words)
    assert any('recall.on("hard") >= 0.6: measured on few rows' in w for w in words)
    assert clf.goal_report_.constraints[0].few_rows
    clf = ramp(goal).fit(many.X, many.y, datasets={"hard": (many.X[:2000], many.y[:2000])})
    assert not clf.goal_report_.constraints[0].few_rows


@TRAINS
def test_how_many_rows_of_a_data_set_are_few():
    """Rows of weight zero are none."""
    many = sample(3000, seed=4)
    goal = "minimize error_rate subject to predicted_rate.on('new') <= 0.9"
    weight = np.ones(400)
    weight[:101] = 0.0
    for d, few in (
        (many.X[:300], False),
        (many.X[:299], True),
        (Dataset(many.X[:400], sample_weight=weight), True),
    ):
        with warnings.catch_warnings(record=True) as shown:
            warnings.simplefilter("always", FewRowsWarning)
            ramp(goal).fit(many.X, many.y, datasets={"new": d})
        assert any("the data set 'new' has 299 rows" in str(w.message) for w in shown) == few


@TRAINS
def test_a_data_set_that_the_goal_is_silent_on():
    many = sample(1500)
    with pytest.warns(UserWarning, match="the goal does not refer to 'more'; it is left out"):
        clf = ramp(COVERAGE).fit(many.X, many.y, datasets={"more": many.X})
    assert clf.goal_report_.counts.n_rows == 1500
