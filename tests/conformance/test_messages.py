"""What every fit refuses, in the same words: argument, finding, what is allowed.

One table. A case is what is given in the place of good rows or options, the classifiers that it
concerns, and the message; a pair of messages where a stream has something to add.
"""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin

from conformance.cases import ALL, COLUMNS, LATER, STREAMS, TRAINED, fitted, new, rows_of
from setpoint import GoalError, GoalSyntaxError, SearchLimits
from thinning import over

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
OWN_ROWS = ["penalty", "ramp", "adaptive"]
"""Those that read X themselves, before a model does."""
BUILT_IN = [name for name in ALL if name != "plug-in"]


def put(values, at, value):
    out = np.array(values, dtype=float)
    out[at] = value
    return out


def sparsely(s, value):
    X = sparse.csr_matrix(s.X)
    X.data[5] = value
    return X


# name: (what is given, by whom it is refused, error, message)
GIVEN = {
    # X
    "NaN": (lambda s: {"X": put(s.X, (3, 1), np.nan)}, ALL, ValueError, "X contains NaN"),
    "infinite": (lambda s: {"X": put(s.X, (3, 1), np.inf)}, ALL, ValueError, "X contains infinity"),
    "minus infinite": (
        lambda s: {"X": put(s.X, (3, 1), -np.inf)}, ALL, ValueError, "X contains infinity",
    ),
    "NaN, sparse": (lambda s: {"X": sparsely(s, np.nan)}, ALL, ValueError, "X contains NaN"),
    "infinite, sparse": (
        lambda s: {"X": sparsely(s, np.inf)}, ALL, ValueError, "X contains infinity",
    ),
    "text": (
        lambda s: {"X": np.full(s.X.shape, "a")}, ALL, ValueError,
        "could not convert string to float: np.str_('a')",
    ),
    "text, and a remedy": (
        lambda s: {"X": np.full(s.X.shape, "a")}, OWN_ROWS, ValueError,
        "`X` holds text; `preprocessor` takes a transformer that makes numbers of it",
    ),
    "objects": (
        lambda s: {"X": np.full(s.X.shape, "a", dtype=object)}, ALL, ValueError,
        "could not convert string to float: 'a'",
    ),
    "complex": (lambda s: {"X": s.X * 1j}, ALL, ValueError, "Complex data not supported"),
    "one dimension": (lambda s: {"X": s.X[:, 0]}, ALL, ValueError, "Expected 2D array, got 1D"),
    "no rows": (lambda s: {"X": s.X[:0], "y": s.y[:0]}, BUILT_IN, ValueError, "with 0 sample(s)"),
    "no rows to fold": (
        lambda s: {"X": s.X[:0], "y": s.y[:0]}, ["plug-in"], ValueError, "`y` is empty",
    ),
    "no features": (lambda s: {"X": s.X[:, :0]}, ALL, ValueError, "with 0 feature(s)"),
    # y
    "no labels": (lambda s: {"y": None}, TRAINED, ValueError, "requires y to be passed"),
    "no labels of a stream": (
        lambda s: {"y": None}, STREAMS, ValueError, "y should be a 1d array, got None",
    ),
    "too few labels": (
        lambda s: {"y": s.y[1:]}, ALL, ValueError, "`y` has {less} rows, {n} are expected",
    ),
    "too many labels": (
        lambda s: {"X": s.X[1:]}, ALL, ValueError, "`y` has {n} rows, {less} are expected",
    ),
    "one class": (
        lambda s: {"y": s.y * 0}, ALL, ValueError, "`y` holds one class only, 0; at least two are",
    ),
    "one class in a stream": (
        lambda s: {"y": s.y * 0}, STREAMS, ValueError, "A stream may begin so: declare `classes`",
    ),
    "one class, of other features": (
        lambda s: {"X": s.X[:, :2], "y": s.y * 0}, ALL, ValueError,
        "`y` holds one class only, 0; at",
    ),
    "three classes": (
        lambda s: {"y": np.arange(s.n) % 3}, ALL, ValueError,
        "Only binary classification is supported",
    ),
    "fractions": (
        lambda s: {"y": s.X[:, 0]}, ALL, ValueError,
        "Unknown label type: continuous. `y` holds numbers that are not whole, the first",
    ),
    "missing labels": (
        lambda s: {"y": put(s.y, [4, 9], np.nan)}, ALL, ValueError,
        "`y` has 2 missing values, the first at row 4; drop these rows or label them",
    ),
    "a table of labels": (
        lambda s: {"y": np.column_stack([s.y, s.y])}, ALL, ValueError, "y should be a 1d array",
    ),
    # weights
    "weights' length": (
        lambda s: {"sample_weight": np.ones(s.n - 1)}, ALL, ValueError,
        "`sample_weight` has {less} rows, {n} are expected",
    ),
    "negative weights": (
        lambda s: {"sample_weight": put(np.ones(s.n), 3, -1)}, ALL, ValueError,
        "`sample_weight` has 1 negative value, the first at row 3; weights are finite and not neg",
    ),
    "NaN weights": (
        lambda s: {"sample_weight": put(np.ones(s.n), 3, np.nan)}, ALL, ValueError,
        "`sample_weight` has 1 NaN value, the first at row 3; weights are finite and not negative",
    ),
    "infinite weights": (
        lambda s: {"sample_weight": put(np.ones(s.n), 3, np.inf)}, ALL, ValueError,
        "`sample_weight` has 1 infinite value, the first at row 3; weights are finite and not neg",
    ),
    "weights of zero": (
        lambda s: {"sample_weight": np.zeros(s.n)}, ALL, ValueError,
        "`sample_weight` is zero everywhere; at least one weight must be positive",
    ),
    "weights of one class": (
        lambda s: {"sample_weight": (s.y == 1) * 1.0}, OWN_ROWS, ValueError,
        "`y` holds one class only, 1; at least two are needed",
    ),
    "weights of text": (
        lambda s: {"sample_weight": ["a"] * s.n}, ALL, TypeError,
        "`sample_weight` must hold numbers, found",
    ),
    "weights of text in a column": (
        lambda s: {"sample_weight": pd.Series(["a"] * s.n)}, ALL, TypeError,
        "`sample_weight` must hold numbers, found",
    ),
    "a table of weights": (
        lambda s: {"sample_weight": np.ones((s.n, 2))}, ALL, ValueError,
        "sample_weight should be a 1d array",
    ),
    "a number as weights": (
        lambda s: {"sample_weight": 2.0}, ALL, ValueError, "sample_weight should be a 1d array",
    ),
}  # fmt: skip


class Untouched(ClassifierMixin, TransformerMixin, BaseEstimator):
    """A model, a learner or a step before one, that must not see a row."""

    def fit(self, X, y=None, sample_weight=None):
        raise AssertionError("work began before the input was checked")

    partial_fit = transform = fit_transform = fit

    def predict_proba(self, X):
        raise AssertionError("work began before the input was checked")


PART = dict.fromkeys(OWN_ROWS, "preprocessor") | {"plug-in": "estimator", "online own": "learner"}
"""Where a user's own part is fitted, which tells that work began."""
READ_BY_PARTS = {
    "NaN",
    "infinite",
    "minus infinite",
    "NaN, sparse",
    "infinite, sparse",
    "text",
    "text, and a remedy",
    "objects",
    "complex",
    "one dimension",
    "no features",
    "no rows",
}
"""What a user's own part may take, or refuses by itself: a stream has begun by then."""


def refuses(name, error, message, options, given, read=False):
    """Whether an unfitted case refuses, and a fitted one too, which stays what it was."""
    s = rows_of(name)
    given = {"X": s.X, "y": s.y, **given}
    message = message.format(n=s.n, less=s.n - 1)
    part = {} if read or name not in PART else {PART[name]: Untouched()}
    fresh = new(name, **{**part, **options})
    with pytest.raises(error, match=re.escape(message)):
        fresh.fit(**given)
    if read and name == "online own":
        return
    assert not hasattr(fresh, "classes_")
    model = pickle.loads(pickle.dumps(fitted(name)))
    with pytest.raises(error, match=re.escape(message)):
        model.set_params(**options).fit(**given)
    np.testing.assert_array_equal(model.predict(LATER.X), fitted(name).predict(LATER.X))
    assert model.goal_report_ == fitted(name).goal_report_


@pytest.mark.parametrize("name", ALL)
@over("case", GIVEN)
def test_rows(case, name):
    make, names, error, message = GIVEN[case]
    if name in names:
        refuses(name, error, message, {}, make(rows_of(name)), read=case in READ_BY_PARTS)


SEARCHED = ["plug-in", "penalty", "ramp"]
TIMED = [*SEARCHED, "adaptive"]
FAIR = "maximize accuracy subject to recall.difference(g) <= 0.1"
NEW = "maximize recall.on('new')"
STREAMED = "a stream is counted by true and predicted class alone; `PlugInClassifier` takes such"
TRAINS = (
    "a model is trained for goals over the rows as a whole that only gain by accepting a positive "
    "and by refusing a negative; `PlugInClassifier` takes such goals"
)
# name: (options, by whom they are refused, error, message)
OPTIONS = {
    "unknown word": (
        {"goal": "maximize recal"}, ALL, GoalSyntaxError,
        "unknown word 'recal' (did you mean 'recall'",
    ),
    "unknown word in a constraint": (
        {"goal": "maximize recall subject to precison >= 0.5"}, ALL, GoalSyntaxError,
        "did you mean 'precision'",
    ),
    "which way": (
        {"goal": "error_rate"}, ALL, GoalError,
        "say which way: 'maximize error_rate' or 'minimize error_rate'",
    ),
    "no goal": ({"goal": 3}, ALL, TypeError, "`goal` is a Goal, its text, a metric, or a function"),
    "unknown label": (
        {"goal": "maximize recall(label=2)"}, ALL, GoalError, "unknown label 2 (known: 0, 1)",
    ),
    "bound outside the range": (
        {"goal": "maximize recall subject to precision >= 1.5"}, ALL, GoalError,
        "the bound 1.5 is outside the range of precision, which is [0, 1]",
    ),
    "column not given": (
        {"goal": FAIR}, COLUMNS, GoalError,
        "the goal refers to the column 'g', but `sensitive_features` is not given",
    ),
    "column of a stream": (
        {"goal": FAIR}, STREAMS, GoalError, f"the goal refers to 'g', and {STREAMED}",
    ),
    "column of trained rows": (
        {"goal": FAIR}, ["penalty"], GoalError, f"the goal refers to 'g', and {TRAINS}",
    ),
    "no data set": (
        {"goal": NEW}, ["plug-in", "ramp"], GoalError,
        "the goal refers to the data set 'new', which `datasets` does not hold (there are none)",
    ),
    "data set of a stream": (
        {"goal": NEW}, STREAMS, GoalError, f"the goal refers to 'new', and {STREAMED}",
    ),
    "data set of trained rows": (
        {"goal": NEW}, ["penalty"], GoalError, f"the goal refers to 'new', and {TRAINS}",
    ),
    "data set of a metric": ({"goal": NEW}, ["adaptive"], GoalError, "'new'"),
    "no baseline": (
        {"goal": "maximize recall subject to churn <= 0.1"}, COLUMNS, GoalError,
        "the goal refers to the deployed model",
    ),
    "solver": ({"solver": "exat"}, ALL, ValueError, "`solver` is one of "),
    "pos_label": ({"pos_label": 2}, ALL, ValueError, "`pos_label` 2 is not a class (known: 0, 1)"),
    "random_state": (
        {"random_state": "x"}, TRAINED, ValueError,
        "`random_state` is None, an int or a generator, got 'x'",
    ),
    "on_infeasible": (
        {"on_infeasible": "warn"}, SEARCHED, ValueError,
        "`on_infeasible` is one of ['raise', 'nearest'], got 'warn'",
    ),
    "limits": (
        {"limits": 5.0}, TIMED, ValueError, "`limits` is SearchLimits(...) or None, got 5.0",
    ),
    "limits as a dict": (
        {"limits": {"seconds": 5}}, TIMED, ValueError,
        "`limits` is SearchLimits(...) or None, got {{'seconds': 5}}",
    ),
    "limits of another search": (
        {"limits": SearchLimits(seconds=5, evaluations=9)}, SEARCHED, ValueError, "evaluations=9",
    ),
    "limits of another family": (
        {"limits": SearchLimits(calls=9)}, ["penalty", "ramp", "adaptive"], ValueError,
        "`limits`: `solver='",
    ),
    "randomized": (
        {"randomized": "no"}, ["plug-in", "ramp"], ValueError, "`randomized` is one of [",
    ),
    "draw": (
        {"draw": "rows"}, ["plug-in", "ramp"], ValueError,
        "`draw` is 'row', 'random' or a column of X, got 'rows' (did you mean 'row'?)",
    ),
    "preprocessor": (
        {"preprocessor": "minmax"}, OWN_ROWS, ValueError,
        "`preprocessor` is 'standardize', None or a transformer with fit and transform, got "
        "'minmax'",
    ),
    "preprocessor of another kind": (
        {"preprocessor": 3}, OWN_ROWS, ValueError,
        "`preprocessor` is 'standardize', None or a trans",
    ),
    "columns in the constructor": (
        {"sensitive_features": np.array(["a", "b"])}, COLUMNS, ValueError,
        "`sensitive_features` in the constructor names columns of X, one or a list, got a ndarray",
    ),
    "predictions in the constructor": (
        {"baseline": np.array([0, 1])}, COLUMNS, ValueError,
        "`baseline` in the constructor is a column of X or a classifier, got a ndarray",
    ),
    "names without a frame": (
        {"sensitive_features": "g"}, COLUMNS, ValueError,
        "`sensitive_features` names columns of X ('g'), but X is a ndarray, which has no column",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ALL)
@over("case", OPTIONS)
def test_options(case, name):
    options, names, error, message = OPTIONS[case]
    if name in names:
        refuses(name, error, message, options, {})


@pytest.mark.parametrize("name", ALL)
def test_parameters_that_do_not_exist(name):
    with pytest.raises(ValueError, match="Invalid parameter 'goals'"):
        new(name).set_params(goals="f1")
    with pytest.raises(TypeError, match="unexpected keyword argument 'goals'"):
        type(new(name))(goals="f1")


GROUPED = "accuracy subject to predicted_rate.difference(g) <= 0.9"
CHURN = "accuracy subject to churn <= 0.9"
# name: (goal, what is given to fit, by whom it is refused, error, message)
BESIDE = {
    "columns' length": (
        lambda s: {"sensitive_features": {"g": s.g[1:]}}, COLUMNS, ValueError,
        "`sensitive_features['g']` has {less} rows, {n} are expected", GROUPED,
    ),
    "unknown column": (
        lambda s: {"sensitive_features": {"gg": s.g, "age": s.g}}, COLUMNS, GoalError,
        "column 'g', but `sensitive_features` has no column of that name (did you mean 'gg'?)",
        GROUPED,
    ),
    "missing group": (
        lambda s: {"sensitive_features": {"g": [None, *s.g[1:]]}}, COLUMNS, ValueError,
        "`sensitive_features['g']` has 1 missing value, the first at row 0", GROUPED,
    ),
    "too many values": (
        lambda s: {"sensitive_features": {"g": np.arange(s.n) % 60}}, COLUMNS, ValueError,
        "`sensitive_features['g']` has 60 distinct values, at most 50 are allowed", GROUPED,
    ),
    "one unnamed column for two": (
        lambda s: {"sensitive_features": s.g}, COLUMNS, ValueError,
        "`sensitive_features` is one column without a name, but the goal refers to 'g', 'h'",
        "accuracy subject to predicted_rate.difference(g, h) <= 0.9",
    ),
    "unknown group": (
        lambda s: {"sensitive_features": {"g": s.g}}, COLUMNS, GoalError,
        "the goal refers to g = 'x', and no row of X has that value",
        "accuracy subject to recall.on(g='x') >= 0.1",
    ),
    "baseline's length": (
        lambda s: {"baseline": s.old[1:]}, COLUMNS, ValueError,
        "`baseline` has {less} rows, {n} are expected", CHURN,
    ),
    "baseline's labels": (
        lambda s: {"baseline": s.old * 2}, COLUMNS, ValueError,
        "`baseline` holds the label 2, which is not a class (known: 0, 1)", CHURN,
    ),
    "unknown argument": (
        lambda s: {"group": s.g}, [n for n in ALL if n != "plug-in"], TypeError,
        "unexpected keyword argument 'group'", None,
    ),
    "unknown argument, or one of the model": (
        lambda s: {"group": s.g}, ["plug-in"], ValueError,
        "fit got ['group']; further parameters need metadata routing", None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ALL)
@over("case", BESIDE)
def test_columns_and_deployed_models(case, name):
    make, names, error, message, goal = BESIDE[case]
    options = {} if goal is None else {"goal": f"maximize {goal}"}
    if name in names:
        refuses(name, error, message, options, make(rows_of(name)))


NOT_FINITE = "(contains|holds) NaN"
LATER_ROWS = {
    "NaN": (put(LATER.X, (3, 1), np.nan), NOT_FINITE),
    "infinite": (put(LATER.X, (3, 1), np.inf), "(contains|holds NaN,) infini"),
    "fewer features": (LATER.X[:, :3], "X has 3 features, but .* is expecting 4"),
    "more features": (np.hstack([LATER.X, LATER.X]), "X has 8 features, but .* is expecting 4"),
    "one dimension": (LATER.X[:, 0], "Expected 2D array, got 1D"),
    "text": (np.full(LATER.X.shape, "a"), "could not convert string to float|strings"),
    "no rows": (LATER.X[:0], r"0 sample\(s\)"),
    "fewer features, sparse": (sparse.csr_matrix(LATER.X[:, :3]), "X has 3 features, but "),
}


@pytest.mark.parametrize("name", ALL)
@over("case", LATER_ROWS)
def test_later_rows(name, case):
    X, message = LATER_ROWS[case]
    model = fitted(name)
    for method in (model.predict, model.decision_distribution):
        with pytest.raises(ValueError, match=message):
            method(X)
    if case != "no rows":
        with pytest.raises(ValueError, match=message):
            model.evaluate(X, LATER.y)


@pytest.mark.parametrize("name", ALL)
def test_labels_to_evaluate_by(name):
    model = fitted(name)
    with pytest.raises(ValueError, match="`y` has 99 rows, 100 are expected"):
        model.evaluate(LATER.X, LATER.y[1:])
    with pytest.raises(ValueError, match="`y` holds the label 7, which is not a class"):
        model.evaluate(LATER.X, LATER.y * 7)
    with pytest.raises(ValueError, match="`sample_weight` has 99 rows, 100 are expected"):
        model.evaluate(LATER.X, LATER.y, sample_weight=np.ones(99))
