"""What every fit refuses, in the same words: argument, finding, what is allowed.

Tables of what several classifiers refuse; what one family alone refuses is in `refused_by_*`.
In a message `{n}` and `{less}` are the number of rows and one less.
"""

import pickle
import re
from functools import cache
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin

from conformance.cases import ALL, COLUMNS, LATER, STREAMS, TRAINED, Refusal, fitted, new, rows_of
from setpoint import Confidence, Goal, GoalError, GoalSyntaxError, Monitor, SearchLimits
from setpoint.errors import EmptyPopulationError, InputError, InputTypeError
from setpoint.sources import CountedRows
from thinning import over

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
OWN_ROWS = ["penalty", "ramp", "adaptive"]
"""Those that read X themselves, before a model does."""
BUILT_IN = [name for name in ALL if name != "plug-in"]
SEARCHED = ["plug-in", "penalty", "ramp"]
DRAWING = ["plug-in", "ramp"]


class Untouched(ClassifierMixin, TransformerMixin, BaseEstimator):
    """A model, a learner or a step before one, that must not see a row."""

    def fit(self, X, y=None, sample_weight=None):
        raise AssertionError("work began before the input was checked")

    partial_fit = transform = fit_transform = fit

    def predict_proba(self, X):
        raise AssertionError("work began before the input was checked")


PART = dict.fromkeys(OWN_ROWS, "preprocessor") | {"plug-in": "estimator", "online own": "learner"}
"""Where a user's own part is fitted, which tells that work began."""


@cache
def copied(name):
    """A fitted case that is asked for one fit after another, and refuses each."""
    return pickle.loads(pickle.dumps(fitted(name)))


def refuses(name, refusal, read=False):
    """Whether an unfitted case refuses, and a fitted one too, which stays what it was.

    A user's own part may take what is `read` by it, or refuse it: a stream has begun by then.
    """
    s, (message, options, given, error) = rows_of(name), refusal
    given = {"X": s.X, "y": s.y, **given(s)}
    part = {} if read or name not in PART else {PART[name]: Untouched()}
    fresh = new(name, **{**part, **options})
    with pytest.raises(error, match=re.escape(message)):
        fresh.fit(**given)
    if read and name == "online own":
        return
    assert not hasattr(fresh, "classes_")
    model = copied(name)
    before = model.get_params(deep=False)
    with pytest.raises(error, match=re.escape(message)):
        model.set_params(**options).fit(**given)
    model.set_params(**before)
    np.testing.assert_array_equal(model.predict(LATER.X), fitted(name).predict(LATER.X))
    assert model.goal_report_ == fitted(name).goal_report_


def put(values, at, value):
    out = np.array(values, dtype=float)
    out[at] = value
    return out


def sparsely(X, value):
    X = sparse.csr_matrix(X)
    X.data[5] = value
    return X


def rows(message, change, error=InputError, **options):
    return Refusal(message, options, lambda s: {"X": change(s.X)}, error)


def labels(message, change, error=InputError):
    return Refusal(message, given=lambda s: {"y": change(s.y)}, error=error)


def weights(message, change, error=InputError):
    return Refusal(message, given=lambda s: {"sample_weight": change(s.n)}, error=error)


# ---------------------------------------------------------------------- rows, labels, weights
READ = [
    (ALL, rows("X contains NaN", lambda X: put(X, (3, 1), np.nan), ValueError)),
    (ALL, rows("X contains infinity", lambda X: put(X, (3, 1), np.inf), ValueError)),
    (ALL, rows("X contains infinity", lambda X: put(X, (3, 1), -np.inf), ValueError)),
    (ALL, rows("X contains NaN", lambda X: sparsely(X, np.nan), ValueError)),
    (ALL, rows("X contains infinity", lambda X: sparsely(X, np.inf), ValueError)),
    (ALL, rows("to float: np.str_('a')", lambda X: np.full(X.shape, "a"), ValueError)),
    (ALL, rows("to float: 'a'", lambda X: np.full(X.shape, "a", dtype=object), ValueError)),
    (OWN_ROWS, rows("`X` holds text; `preprocessor` takes a transformer that makes numbers of it",
                    lambda X: np.full(X.shape, "a"))),
    (ALL, rows("Complex data not supported", lambda X: X * 1j, ValueError)),
    (ALL, rows("Expected 2D array, got 1D", lambda X: X[:, 0], ValueError)),
    (ALL, rows("with 0 feature(s)", lambda X: X[:, :0], ValueError)),
    (BUILT_IN, Refusal("with 0 sample(s)", {}, lambda s: {"X": s.X[:0], "y": s.y[:0]}, ValueError)),
]  # fmt: skip
"""By whom it is refused, and what: rows that a user's own part reads first."""

NOT_READ = [
    (["plug-in"], Refusal("`y` is empty", {}, lambda s: {"X": s.X[:0], "y": s.y[:0]})),
    (TRAINED, labels("requires y to be passed", lambda y: None, ValueError)),
    (STREAMS, labels("y should be a 1d array, got None", lambda y: None, ValueError)),
    (ALL, labels("y should be a 1d array", lambda y: np.column_stack([y, y]), ValueError)),
    (ALL, labels("`y` has {less} rows, {n} are expected", lambda y: y[1:])),
    (ALL, rows("`y` has {n} rows, {less} are expected", lambda X: X[1:])),
    (ALL, labels("`y` holds one class only, 0; at least two are", lambda y: y * 0)),
    (STREAMS, labels("A stream may begin so: declare `classes`", lambda y: y * 0)),
    (ALL, Refusal("`y` holds one class only, 0", {}, lambda s: {"X": s.X[:, :2], "y": s.y * 0})),
    (ALL, labels("Only binary classification is supported", lambda y: np.arange(len(y)) % 3)),
    (ALL, labels("Unknown label type: continuous. `y` holds numbers that are not whole, the first",
                 lambda y: y + 0.5)),
    *((names, Refusal("`y` holds the text labels 'fraud' and 'legit', and which of them is the "
                      "positive class is not known: pass `pos_label='fraud'` or", {"goal": goal},
                      lambda s: {"y": np.array(["fraud", "legit"])[s.y]}))
      for names, goal in ((STREAMS, "f1"), (TRAINED, "maximize recall s.t. precision >= 0.2"))),
    (ALL, labels("`y` has 2 missing values, the first at row 4; drop these rows or label them",
                 lambda y: put(y, [4, 9], np.nan))),
    (ALL, weights("`sample_weight` has {less} rows, {n} are expected", lambda n: np.ones(n - 1))),
    (ALL, weights("`sample_weight` has 1 negative value, the first at row 3; weights are finite "
                  "and not negative", lambda n: put(np.ones(n), 3, -1))),
    (ALL, weights("`sample_weight` has 1 NaN value, the first at row 3; weights are finite and",
                  lambda n: put(np.ones(n), 3, np.nan))),
    (ALL, weights("`sample_weight` has 1 infinite value, the first at row 3; weights are finite",
                  lambda n: put(np.ones(n), 3, np.inf))),
    (ALL, weights("`sample_weight` is zero everywhere; at least one weight must be positive",
                  np.zeros)),
    (OWN_ROWS, Refusal("`y` holds one class only, 1; at least two are needed",
                       given=lambda s: {"sample_weight": (s.y == 1) * 1.0})),
    (ALL, weights("`sample_weight` must hold numbers, found", lambda n: ["a"] * n, InputTypeError)),
    (ALL, weights("`sample_weight` must hold numbers, found", lambda n: pd.Series(["a"] * n),
                  InputTypeError)),
    (ALL, weights("sample_weight should be a 1d array", lambda n: np.ones((n, 2)), ValueError)),
    (ALL, weights("sample_weight should be a 1d array", lambda n: 2.0, ValueError)),
]  # fmt: skip

# ---------------------------------------------------------------------- options
FAIR = {"goal": "maximize accuracy subject to recall.difference(g) <= 0.1"}
ON_NEW = {"goal": "maximize recall.on('new')"}
STREAMED = "a stream is counted by true and predicted class alone; `PlugInClassifier` takes such"
TRAINS = (
    "a model is trained for goals over the rows as a whole that only gain by accepting a positive "
    "and by refusing a negative; `PlugInClassifier` takes such goals"
)


def goal(message, text, error=GoalError):
    return Refusal(message, {"goal": text}, error=error)


OPTIONS = [
    (ALL, goal("unknown word 'recal' (did you mean 'recall'", "maximize recal", GoalSyntaxError)),
    (ALL, goal("did you mean 'precision'", "maximize recall subject to precison >= 0.5",
               GoalSyntaxError)),
    (ALL, goal("say which way: 'maximize error_rate' or 'minimize error_rate'", "error_rate")),
    (ALL, goal("`goal` is a Goal, its text, a metric, or a function", 3, InputTypeError)),
    (ALL, goal("unknown label 2 (known: 0, 1)", "maximize recall(label=2)")),
    (ALL, goal("the bound 1.5 is outside the range of precision, which is [0, 1]",
               "maximize recall subject to precision >= 1.5")),
    (COLUMNS, Refusal("the goal refers to the column 'g', but `sensitive_features` is not given",
                      FAIR, error=GoalError)),
    (STREAMS, Refusal(f"the goal refers to 'g', and {STREAMED}", FAIR, error=GoalError)),
    (["penalty"], Refusal(f"the goal refers to 'g', and {TRAINS}", FAIR, error=GoalError)),
    (DRAWING, Refusal("the goal refers to the data set 'new', which `datasets` does not hold "
                      "(there are none)", ON_NEW, error=GoalError)),
    (STREAMS, Refusal(f"the goal refers to 'new', and {STREAMED}", ON_NEW, error=GoalError)),
    (["penalty"], Refusal(f"the goal refers to 'new', and {TRAINS}", ON_NEW, error=GoalError)),
    (["adaptive"], Refusal("'new'", ON_NEW, error=GoalError)),
    (COLUMNS, goal("the goal refers to the deployed model",
                   "maximize recall subject to churn <= 0.1")),
    (ALL, Refusal("`solver` is one of ", {"solver": "exat"})),
    (ALL, Refusal("`pos_label` 2 is not a class (known: 0, 1)", {"pos_label": 2})),
    (TRAINED, Refusal("`random_state` is None, an int or a generator, got 'x'",
                      {"random_state": "x"})),
    (SEARCHED, Refusal("`on_infeasible` is one of ['raise', 'nearest'], got 'warn'",
                       {"on_infeasible": "warn"})),
    (TRAINED, Refusal("`limits` is SearchLimits(...) or None, got {'seconds': 5}",
                      {"limits": {"seconds": 5}})),
    (SEARCHED, Refusal("evaluations=9", {"limits": SearchLimits(seconds=5, evaluations=9)})),
    (OWN_ROWS, Refusal("`limits`: `solver='", {"limits": SearchLimits(calls=9)})),
    (DRAWING, Refusal("`randomized` is one of [", {"randomized": "no"})),
    (DRAWING, Refusal("`draw` is 'row', 'random' or a column of X, got 'rows' (did you mean 'row'?",
                      {"draw": "rows"})),
    (OWN_ROWS, Refusal("`preprocessor` is 'standardize', None or a transformer with fit and "
                       "transform, got 'minmax'", {"preprocessor": "minmax"})),
    (OWN_ROWS, Refusal("`preprocessor` is 'standardize', None or a trans", {"preprocessor": 3})),
    (COLUMNS, Refusal("`sensitive_features` in the constructor names columns of X, one or a list, "
                      "got a ndarray", {"sensitive_features": np.array(["a", "b"])})),
    (COLUMNS, Refusal("`baseline` in the constructor is a column of X or a classifier, got a "
                      "ndarray", {"baseline": np.array([0, 1])})),
    (COLUMNS, Refusal("`sensitive_features` names columns of X ('g'), but X is a ndarray, which "
                      "has no column", {"sensitive_features": "g"})),
]  # fmt: skip


# ---------------------------------------------------------------------- what is given beside rows
def column(message, values, text="predicted_rate.difference(g) <= 0.9", error=InputError):
    """A goal over a column, and the columns in the place of those that it needs."""
    options = {"goal": f"maximize accuracy subject to {text}"}
    return Refusal(message, options, lambda s: {"sensitive_features": values(s)}, error)


def deployed(message, values):
    options = {"goal": "maximize accuracy subject to churn <= 0.9"}
    return Refusal(message, options, lambda s: {"baseline": values(s.old)})


NOT_COUNTED = {
    "numbers of rows": {"goal": "maximize recall.weighted(g) subject to predicted_rate <= 0.3"},
    "deferred": {"goal": "minimize deferral_rate subject to accuracy.decided >= 0.9"},
}
BESIDE = [
    (COLUMNS, column("`sensitive_features['g']` has {less} rows, {n} are expected",
                     lambda s: {"g": s.g[1:]})),
    (COLUMNS, column("column 'g', but `sensitive_features` has no column of that name (did you "
                     "mean 'gg'?)", lambda s: {"gg": s.g, "age": s.g}, error=GoalError)),
    (COLUMNS, column("`sensitive_features['g']` has 1 missing value, the first at row 0",
                     lambda s: {"g": [None, *s.g[1:]]})),
    (COLUMNS, column("`sensitive_features['g']` has 60 distinct values, at most 50 are allowed",
                     lambda s: {"g": np.arange(s.n) % 60})),
    (COLUMNS, column("`sensitive_features` is one column without a name, but the goal refers to "
                     "'g', 'h'", lambda s: s.g, "predicted_rate.difference(g, h) <= 0.9")),
    (COLUMNS, column("the goal refers to g = 'x', and no row of X has that value",
                     lambda s: {"g": s.g}, "recall.on(g='x') >= 0.1", EmptyPopulationError)),
    (COLUMNS, deployed("`baseline` has {less} rows, {n} are expected", lambda old: old[1:])),
    (COLUMNS, deployed("`baseline` holds the label 2, which is not a class (known: 0, 1)",
                       lambda old: old * 2)),
    *((OWN_ROWS, Refusal(message, given, lambda s: {"sensitive_features": {"g": s.old}}, GoalError))
      for message, given in NOT_COUNTED.items()),
    *((STREAMS, Refusal(message, given, error=GoalError))
      for message, given in NOT_COUNTED.items()),
    (BUILT_IN, Refusal("unexpected keyword argument 'group'", {}, lambda s: {"group": s.g},
                       TypeError)),
    (["plug-in"], Refusal("fit got ['group']; further parameters need metadata routing",
                          {}, lambda s: {"group": s.g})),
]  # fmt: skip


# ---------------------------------------------------------------------- promises
FLOOR = "maximize recall subject to precision >= 0.6"


def promise(message, level=0.9, text=FLOOR, given=lambda s: {}, error=InputError):
    return Refusal(message, {"goal": text, "confidence": level}, given, error)


def certify_on(X, y):
    return lambda s: {"certify_on": (X, y)}


PROMISES = [
    *((TRAINED, promise("`confidence` is a number above 0 and below 1", wrong))
      for wrong in (95, 0, 1.0, True, "high")),
    (OWN_ROWS, promise("`confidence`: `guarantee=", Confidence(guarantee="approximate"))),
    (OWN_ROWS, promise("`confidence`: `for_next=", Confidence(for_next=100))),
    (TRAINED, promise("`confidence` promises constraints", text="maximize f1")),
    # Rare heavy rows say nothing on most draws.
    (TRAINED, promise("how much a row may ever weigh is not known", given=lambda s: {
        "sample_weight": np.where(np.arange(s.n) % 100 == 3, 100.0, 1.0)})),
    (TRAINED, promise("nothing is to be certified", None, given=certify_on(LATER.X, LATER.y))),
    (TRAINED, promise("labels", given=lambda s: {"certify_on": {None: (LATER.X, None)}})),
    (TRAINED, promise("`certify_on`: 50 % of its rows are among those", given=lambda s: {
        "certify_on": (np.concatenate([LATER.X, s.X]), np.concatenate([LATER.y, s.y]))})),
]  # fmt: skip


# ---------------------------------------------------------------------- what one family refuses
FAMILIES = {
    "plugin": "plug-in",
    "penalty": "penalty",
    "ramp": "ramp",
    "adaptive": "adaptive",
    "online": "online",
}


def refused_by(family):
    module = f"conformance.refused_by_{family}"
    return import_module(module).REFUSED.values() if find_spec(module) else ()


OWN = [([name], refusal) for family, name in FAMILIES.items() for refusal in refused_by(family)]
TABLES = [READ, NOT_READ, OPTIONS, BESIDE, PROMISES, OWN]


@pytest.mark.parametrize("name", ALL)
@over("read, by, refusal", [(table is READ, *case) for table in TABLES for case in table])
def test_refused(name, read, by, refusal):
    if name in by:
        n = rows_of(name).n
        message = refusal.message.replace("{n}", str(n)).replace("{less}", str(n - 1))
        refuses(name, refusal._replace(message=message), read)


@over("message, given", NOT_COUNTED.items())
def test_goals_that_counts_do_not_describe(message, given):
    with pytest.raises(GoalError, match=message):
        Monitor(lambda X: X, **given, classes=[0, 1])
    with pytest.raises(GoalError, match=message):
        CountedRows.first_pass(Goal.parse(given["goal"]), {})


# ---------------------------------------------------------------------- rows to be decided
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
    with pytest.raises(InputError, match="`y` has 99 rows, 100 are expected"):
        model.evaluate(LATER.X, LATER.y[1:])
    with pytest.raises(InputError, match="`y` holds the label 7, which is not a class"):
        model.evaluate(LATER.X, LATER.y * 7)
    with pytest.raises(InputError, match="`sample_weight` has 99 rows, 100 are expected"):
        model.evaluate(LATER.X, LATER.y, sample_weight=np.ones(99))
