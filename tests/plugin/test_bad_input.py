"""What is wrong is said before a model is fitted: argument, what was found, what is allowed."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVR

from plugin.samples import sample, table
from setpoint import (
    Dataset,
    GoalError,
    GoalSyntaxError,
    InfeasibleError,
    PlugInClassifier,
    SearchLimits,
    evaluate,
    solve,
)
from setpoint.errors import EmptyPopulationError
from setpoint.plugin.fit.crossfit import NoScoresError
from setpoint.report import FewRowsWarning
from setpoint.search import ConstantGoalWarning
from setpoint.solvers import HoldOut
from thinning import over

pytestmark = [
    pytest.mark.filterwarnings("ignore::setpoint.report.FewRowsWarning"),
    pytest.mark.filterwarnings("ignore::setpoint.search.ConstantGoalWarning"),
]
S = sample()
N = len(S.y)
FLOOR = "maximize recall subject to precision >= 0.6"


class Untouched(ClassifierMixin, BaseEstimator):
    """A model that must not be fitted."""

    def fit(self, X, y, sample_weight=None):
        raise AssertionError("a model was fitted before the input was checked")

    def predict_proba(self, X):
        """Never reached."""


def column(name="g", values=None):
    return {name: S.g if values is None else values}


# Each: the goal, options of solve and of fit, the error, the message.
BOTH = {
    "unknown word": (
        "maximize recal",
        {},
        GoalSyntaxError,
        "unknown word 'recal' (did you mean 'recall'",
    ),
    "unknown word in a constraint": (
        "maximize recall subject to precison >= 0.5",
        {},
        GoalSyntaxError,
        "did you mean 'precision'",
    ),
    "no goal": (
        3,
        {},
        TypeError,
        "`goal` is a Goal, its text, a metric, or a function",
    ),
    "column not given": (
        "maximize accuracy subject to recall.difference(g) <= 0.1",
        {},
        GoalError,
        "the goal refers to the column 'g', but `sensitive_features` is not given",
    ),
    "unknown column": (
        "maximize accuracy subject to recall.difference(groop) <= 0.1",
        {"sensitive_features": {"group": S.g, "age": S.g}},
        GoalError,
        "column 'groop', but `sensitive_features` has no column of that name (did you mean "
        "'group'?)",
    ),
    "unknown group": (
        "maximize accuracy subject to recall.on(g='bb') >= 0.1",
        {"sensitive_features": column()},
        EmptyPopulationError,
        "the goal refers to g = 'bb', and no row of X has that value (did you mean 'b'?)",
    ),
    "unknown group in a data set": (
        "maximize accuracy subject to recall.on('new', g='a') >= 0.1",
        {"datasets": {"new": Dataset(S.scores[:, None], S.y, sensitive_features=["x"] * N)}},
        EmptyPopulationError,
        "the goal refers to g = 'a', and no row of the data set 'new' has that value (known: 'x')",
    ),
    "unknown label": (
        "maximize recall(label=2)",
        {},
        GoalError,
        "unknown label 2 (known: 0, 1)",
    ),
    "unknown data set": (
        "maximize recall subject to recall.on('chekced') >= 0.5",
        {"datasets": {"checked": (S.scores[:, None], S.y)}},
        GoalError,
        "the data set 'chekced', which `datasets` does not hold (did you mean 'checked'?)",
    ),
    "no data set": (
        "maximize recall subject to recall.on('checked') >= 0.5",
        {},
        GoalError,
        "the data set 'checked', which `datasets` does not hold (there are none)",
    ),
    "data set without labels": (
        "maximize recall subject to recall.on('new') >= 0.5",
        {"datasets": {"new": S.scores[:, None]}},
        GoalError,
        "`datasets['new']`: the goal measures a rate there that needs labels, and `y` is None",
    ),
    "data set of another kind": (
        FLOOR,
        {"datasets": [S.scores]},
        TypeError,
        "`datasets` must be a dict from names to Dataset, (X, y) or X, found list",
    ),
    "data set without the column": (
        "maximize recall subject to recall.on('new', g='b') >= 0.5",
        {"datasets": {"new": (S.scores[:, None], S.y)}, "sensitive_features": column()},
        GoalError,
        "the goal refers to the column 'g', but `sensitive_features` is not given",
    ),
    "data set's labels": (
        "maximize recall subject to recall.on('new') >= 0.5",
        {"datasets": {"new": (S.scores[:, None], S.y + 1)}},
        ValueError,
        "`datasets['new']`: `y` holds the label 2, which is not a class (known: 0, 1)",
    ),
    "data set's weights": (
        "maximize recall subject to recall.on('new') >= 0.5",
        {"datasets": {"new": Dataset(S.scores[:, None], S.y, sample_weight=S.weight[1:])}},
        ValueError,
        f"`datasets['new']`: `sample_weight` has {N - 1} rows, {N} are expected",
    ),
    "bound outside the range": (
        "maximize recall subject to precision >= 1.5",
        {},
        GoalError,
        "the bound 1.5 is outside the range of precision, which is [0, 1]",
    ),
    "no baseline": (
        "maximize recall subject to churn <= 0.1",
        {},
        GoalError,
        "the goal refers to the deployed model: pass its predictions as `baseline`",
    ),
    "baseline's length": (
        "maximize recall subject to churn <= 0.1",
        {"baseline": S.y[1:]},
        ValueError,
        f"`baseline` has {N - 1} rows, {N} are expected",
    ),
    "baseline's labels": (
        "maximize recall subject to churn <= 0.1",
        {"baseline": S.y * 2},
        ValueError,
        "`baseline` holds the label 2, which is not a class (known: 0, 1)",
    ),
    "one unnamed column for two": (
        "maximize accuracy subject to recall.difference(sex, race) <= 0.1",
        {"sensitive_features": S.g},
        ValueError,
        "`sensitive_features` is one column without a name, but the goal refers to 'race', 'sex'",
    ),
    "too many values": (
        "maximize accuracy subject to recall.difference(g) <= 0.1",
        {"sensitive_features": column(values=np.arange(N) % 60)},
        ValueError,
        "`sensitive_features['g']` has 60 distinct values, at most 50 are allowed since each is a "
        "group of its own; join them into fewer first",
    ),
    "too many values to decide on": (
        FLOOR,
        {"sensitive_features": column(values=np.arange(N) % 60), "decide_on": "g"},
        ValueError,
        "`sensitive_features['g']` has 60 distinct values, at most 50",
    ),
    "missing group": (
        "maximize accuracy subject to recall.difference(g) <= 0.1",
        {"sensitive_features": column(values=[None, *S.g[1:]])},
        ValueError,
        "`sensitive_features['g']` has 1 missing value, the first at row 0",
    ),
    "columns' length": (
        "maximize accuracy subject to recall.difference(g) <= 0.1",
        {"sensitive_features": column(values=S.g[1:])},
        ValueError,
        f"`sensitive_features['g']` has {N - 1} rows, {N} are expected",
    ),
    "weights' length": (
        FLOOR,
        {"sample_weight": S.weight[1:]},
        ValueError,
        f"`sample_weight` has {N - 1} rows, {N} are expected",
    ),
    "negative weights": (
        FLOOR,
        {"sample_weight": S.weight - 2},
        ValueError,
        "weights are finite and not negative",
    ),
    "weights of zero": (
        FLOOR,
        {"sample_weight": S.weight * 0},
        ValueError,
        "`sample_weight` is zero everywhere; at least one weight must be positive",
    ),
    "NaN in weights": (
        FLOOR,
        {"sample_weight": np.where(S.y == 1, np.nan, 1.0)},
        ValueError,
        "weights are finite and not negative",
    ),
    "labels' length": (
        FLOOR,
        {"y": S.y[1:]},
        ValueError,
        f"`y` has {N - 1} rows, {N} are expected",
    ),
    "one class": (FLOOR, {"y": S.y * 0}, ValueError, "`y` holds one class only, 0; at least two"),
    "no labels": (FLOOR, {"y": None}, ValueError, "y"),
    "missing labels": (
        FLOOR,
        {"y": np.where(S.y == 1, np.nan, 0.0)},
        ValueError,
        "`y` has 143 missing values, the first at row",
    ),
    "fractions": (FLOOR, {"y": S.scores}, ValueError, "Unknown label type: continuous."),
    "pos_label": (
        FLOOR,
        {"pos_label": 2},
        ValueError,
        "`pos_label` 2 is not a class (known: 0, 1)",
    ),
    "solver": (
        FLOOR,
        {"solver": "exat"},
        ValueError,
        "`solver` is one of ['auto', 'exact', 'column-generation', 'frank-wolfe', 'gda', ",
    ),
    "randomized": (
        FLOOR,
        {"randomized": 1},
        ValueError,
        "`randomized` is one of [False, 'auto', True], got 1",
    ),
    "on_infeasible": (
        FLOOR,
        {"on_infeasible": "warn"},
        ValueError,
        "`on_infeasible` is one of ['raise', 'nearest'], got 'warn'",
    ),
    "limits": (
        FLOOR,
        {"limits": 5.0},
        ValueError,
        "`limits` is SearchLimits(...) or None, got 5.0",
    ),
    "decide_on": (
        FLOOR,
        {"decide_on": "gg", "sensitive_features": {"g": S.g, "h": S.g}},
        GoalError,
        "`decide_on` names the column 'gg', but `sensitive_features` has no column of that name "
        "(did you mean 'g'",
    ),
    "decide_on beside the goal's columns": (
        "maximize accuracy subject to recall.difference(g) <= 0.1",
        {"decide_on": ["g", "age"], "sensitive_features": {"g": S.g}},
        GoalError,
        "`decide_on`: X has no column 'age' (known: 'g'); columns come from `sensitive_features`",
    ),
    "decide_on of another kind": (
        FLOOR,
        {"decide_on": 3},
        ValueError,
        "`decide_on` is 'auto', None or names of columns, got 3",
    ),
}
IN_CONSTRUCTOR = {"solver", "randomized", "on_infeasible", "limits", "decide_on", "pos_label"}


@over("case", BOTH)
def test_solve_refuses(case):
    goal, options, error, message = BOTH[case]
    options = dict(options)
    y = options.pop("y", S.y)
    with pytest.raises(error, match=re.escape(message)):
        solve(goal, S.scores, y, **options)


# What fit refuses in the same words as every other classifier is in tests/conformance.
EVERY_FIT = {
    "unknown word", "unknown word in a constraint", "no goal", "column not given", "unknown label",
    "bound outside the range", "no baseline", "baseline's length", "baseline's labels",
    "one unnamed column for two", "too many values", "missing group", "columns' length",
    "weights' length", "negative weights", "weights of zero", "NaN in weights", "labels' length",
    "one class", "no labels", "missing labels", "fractions", "pos_label", "solver", "on_infeasible",
}  # fmt: skip


@over("case", [case for case in BOTH if case not in EVERY_FIT])
def test_fit_refuses_before_a_model_is_fitted(case):
    goal, options, error, message = BOTH[case]
    options = dict(options)
    y = options.pop("y", S.y)
    own = {name: options.pop(name) for name in IN_CONSTRUCTOR & set(options)}
    model = PlugInClassifier(Untouched(), goal, **own)
    with pytest.raises(error, match=re.escape(message)):
        model.fit(S.scores[:, None], y, **options)
    assert not hasattr(model, "classes_")


SCORES = {
    "NaN": (
        np.where(S.y == 1, np.nan, 0.5),
        ValueError,
        "`scores` holds 143 NaN or infinite values",
    ),
    "infinite": (
        np.where(np.arange(N) == 7, np.inf, 0.5),
        ValueError,
        "`scores` holds 1 NaN or infinite values, the first in row 7; scores are finite",
    ),
    "text": (S.g, TypeError, "`scores` holds values of type str; scores are numbers"),
    "shape": (
        np.zeros((N, 3)),
        ValueError,
        f"`scores` has shape ({N}, 3); allowed are (N,) and posteriors (N, 2), one column for each",
    ),
    "length": (S.scores[1:], ValueError, f"`y` has {N} rows, {N - 1} are expected"),
}


@pytest.mark.parametrize("case", SCORES)
def test_scores_that_solve_refuses(case):
    scores, error, message = SCORES[case]
    with pytest.raises(error, match=re.escape(message)):
        solve("f1", scores, S.y)


FIT = {
    "cv as a share": ({"cv": 1.5}, ValueError, "cv as a share lies between 0 and 1, got 1.5"),
    "no refit": (
        {"cv": HoldOut(3)},
        ValueError,
        "`cv`: HoldOut needs a single split, and this gives 3",
    ),
    "response": (
        {"response": "predict"},
        ValueError,
        "`response` is one of ['model', 'rule', ModelResponse(...)], got 'predict'",
    ),
    "no scores": (
        {"estimator": SVR()},
        NoScoresError,
        "`estimator`: SVR has no predict_proba and no decision_function; a rule needs scores",
    ),
    "no scores at the end of a pipeline": (
        {"estimator": make_pipeline(make_pipeline(SVR()))},
        NoScoresError,
        "`estimator`: Pipeline (its last step is Pipeline (its last step is SVR)) has no "
        "predict_proba and no decision_function; a rule needs scores",
    ),
}


@pytest.mark.parametrize("case", FIT)
def test_options_that_fit_refuses(case):
    options, error, message = FIT[case]
    model = PlugInClassifier(**{"estimator": Untouched(), "goal": FLOOR, **options})
    with pytest.raises(error, match=re.escape(message)):
        model.fit(S.scores[:, None], S.y)


def test_frames_without_the_column():
    X, y = table()
    fair = "maximize accuracy subject to recall.difference(g) <= 0.1"
    with pytest.raises(
        ValueError, match=r"`sensitive_features`: X has no column 'gg' \(did you mean 'g'\?\)"
    ):
        PlugInClassifier(Untouched(), fair, sensitive_features="gg").fit(X, y)
    with pytest.raises(GoalError, match="X has it: pass `sensitive_features='g'`"):
        PlugInClassifier(Untouched(), fair).fit(X, y)
    churn = "maximize accuracy subject to churn <= 0.1"
    with pytest.raises(ValueError, match=r"`baseline`: X has no column 'deploid' \(did you mean"):
        PlugInClassifier(Untouched(), churn, baseline="deploid").fit(X, y)
    with pytest.raises(ValueError, match=r"got 'idd' \(did you mean 'id'\?\)"):
        PlugInClassifier(Untouched(), "f1", draw="idd").fit(X, y)


def test_predict_says_what_it_needs():
    X, y = table()
    fair = "maximize accuracy subject to recall.difference(g) <= 0.05"
    model = PlugInClassifier(LogisticRegression(), fair, cv=2, decide_on="g")
    with pytest.raises(NotFittedError):
        model.predict(X[["score"]])
    model.fit(X[["score"]], y, sensitive_features=X["g"])
    with pytest.raises(GoalError, match=r"the rule looks at \['g'\]: pass `sensitive_features`"):
        model.predict(X[["score"]])
    with pytest.raises(
        GoalError, match="the rule looks at the column 'g', but `sensitive_features`"
    ):
        model.predict(X[["score"]], sensitive_features={"h": X["g"]})
    with pytest.raises(ValueError, match="has 599 rows, 600 are expected"):
        model.predict(X[["score"]], sensitive_features=X["g"][1:])


def test_a_fold_without_a_class():
    X, y = np.arange(40.0)[:, None], np.repeat([0, 1], 20)
    with pytest.raises(ValueError, match="class"):
        PlugInClassifier(LogisticRegression(), "f1", cv=KFold(2)).fit(X, y)


@pytest.mark.parametrize("cv", [True, 0, 1, -3, "5", "prefix", HoldOut("prefit"), HoldOut(1)])
def test_what_splits_no_rows(cv):
    X, y = np.arange(40.0)[:, None], np.tile([0, 1], 20)
    given = cv.cv if isinstance(cv, HoldOut) else cv
    words = rf"^`cv` is a whole number >= 2, a share .* or its splits, got {given!r}$"
    with pytest.raises(ValueError, match=words):
        PlugInClassifier(Untouched(), "f1", cv=cv).fit(X, y)


def test_splits_of_other_rows():
    X, y = np.arange(40.0)[:, None], np.tile([0, 1], 20)
    for splits in ([(np.arange(20), [20, 40])], [([0, 1, -41], np.arange(20))]):
        with pytest.raises(
            ValueError, match=r"^`cv`: a split names row (40|-41), and X has 40 rows"
        ):
            PlugInClassifier(Untouched(), "f1", cv=splits).fit(X, y)


def test_the_exact_solver_counts_labels():
    P = np.column_stack([1.0 - S.scores, S.scores])
    words = "^`evidence`: `solver='exact'` counts decisions against labels, got 'soft'; 'column-gen"
    with pytest.raises(ValueError, match=words):
        solve("f1", P, S.y, solver="exact", evidence="soft")


def test_splits_that_were_used_up():
    X, y = np.arange(40.0)[:, None], np.tile([0, 1], 20)
    model = PlugInClassifier(LogisticRegression(), "f1", cv=HoldOut(StratifiedKFold(2).split(X, y)))
    with pytest.raises(ValueError, match="HoldOut needs a single split, and this gives 2"):
        model.fit(X, y)
    with pytest.raises(ValueError, match=r"^`cv`: there is no split \(what is iterated over once"):
        model.fit(X, y)


def test_a_fitted_model_of_other_classes():
    inner = LogisticRegression().fit(S.scores[:, None], np.where(S.y == 1, "b", "a"))
    with pytest.raises(
        ValueError, match=r"LogisticRegression knows the classes .*y holds \[0, 1\]"
    ):
        PlugInClassifier(inner, "f1", cv="prefit").fit(S.scores[:, None], S.y)


def test_scores_of_a_model_that_are_not_numbers():
    class Broken(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.classes_ = np.unique(y)
            return self

        def predict_proba(self, X):
            return np.full((len(X), 2), np.nan)

    with pytest.raises(ValueError, match=r"Broken\.predict_proba holds .* NaN or infinite values"):
        PlugInClassifier(Broken(), "f1").fit(S.scores[:, None], S.y)


def test_an_infeasible_goal_says_what_is_reachable():
    goal = "maximize recall subject to precision >= 0.99 and recall >= 0.9"
    with pytest.raises(
        InfeasibleError, match=r"precision >= 0\.99.*the highest reachable is"
    ) as caught:
        solve(goal, S.scores, S.y)
    assert caught.value.violation > 0.01
    assert sum(caught.value.blame.values()) == pytest.approx(1.0)
    assert set(caught.value.reachable) == {"precision >= 0.99", "recall >= 0.9"}
    near = PlugInClassifier(LogisticRegression(), goal, on_infeasible="nearest", cv=2)
    report = near.fit(S.scores[:, None], S.y).goal_report_
    assert report.status == "nearest"
    assert set(report.search.blame) == {"precision >= 0.99", "recall >= 0.9"}


def test_a_goal_that_a_constant_attains():
    with pytest.warns(ConstantGoalWarning, match="predicting 1 for everyone attains the optimum"):
        PlugInClassifier(LogisticRegression(), "maximize recall").fit(S.scores[:, None], S.y)


def test_few_rows_behind_a_constraint():
    goal = "maximize accuracy subject to recall.on(g='rare') >= 0.5"
    group = np.where(np.arange(N) < 60, "rare", "b")
    rows = int(((group == "rare") & (S.y == 1)).sum())
    with pytest.warns(FewRowsWarning, match=rf"few rows \({rows} decide it\)") as caught:
        found = solve(goal, S.scores, S.y, sensitive_features=group)
    entry = found.report.constraints[0]
    half = (entry.high - entry.low) / 2
    assert half > 0.05
    assert any(f"{100 * entry.low:.1f} %" in str(w.message) for w in caught)
    assert entry.effective_rows == rows


@pytest.mark.filterwarnings("error")
def test_many_rows_behind_a_constraint_do_not_warn():
    s = sample(40_000)
    report = solve("maximize recall subject to precision >= 0.6", s.scores, s.y).report
    assert not report.constraints[0].few_rows


def test_weights_of_a_frame_are_named():
    with pytest.raises(TypeError, match="`sample_weight` must hold numbers"):
        solve("f1", S.scores, S.y, sample_weight=pd.Series(["a"] * N))


def test_a_goal_of_one_class_needs_two():
    y = np.arange(N) % 3
    with pytest.raises(ValueError, match="3 classes need posteriors"):
        solve(FLOOR, S.scores, y)
    with pytest.raises(GoalError, match="refers to a positive class, and y holds 3 classes"):
        PlugInClassifier(LogisticRegression(), FLOOR).fit(S.scores[:, None], y)


def scored(n=600, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return y + rng.normal(size=n), y


def test_integers_that_float64_merges_are_refused():
    s, y = scored()
    with pytest.raises(ValueError, match=r"`scores` holds integers beyond 2\*\*53.*ranks"):
        solve("f1", 2**62 + np.argsort(np.argsort(s)), y)


def test_weights_that_cannot_be_squared_are_refused():
    s, y = scored()
    for weight in (1e308, 1e-320):
        with pytest.raises(ValueError, match="extreme values, the first at row 0"):
            solve("f1", s, y, sample_weight=np.full(len(y), weight))


def test_scores_and_data_sets_of_a_wrong_type():
    s, y = scored()
    with pytest.raises(TypeError, match="`scores` holds values of type NoneType"):
        solve("f1", None, y)
    with pytest.raises(TypeError, match=r"`datasets` must be a dict.*found list"):
        evaluate("f1", y, y, datasets=[1])
    with pytest.raises(ValueError, match="`classes` holds one class only"):
        solve("f1", s, y, classes=[0])


def test_rows_that_cannot_be_drawn_for_are_found_in_fit():
    s, y = scored(300)
    X = np.empty((len(y), 2), object)
    X[:, 0], X[:, 1] = s, [[1]] * len(y)
    model = make_pipeline(
        FunctionTransformer(lambda x: x[:, :1].astype(float)), LogisticRegression()
    )
    goal = "maximize recall subject to precision >= 0.7"
    with pytest.raises(TypeError, match=r"draws by a hash of each.*list.*`randomized=False`"):
        PlugInClassifier(model, goal, randomized="auto").fit(X, y)
    assert PlugInClassifier(model, goal).fit(X, y).predict(X).shape == y.shape


def test_the_reachable_value_is_distinct_from_the_bound():
    y = np.r_[np.ones(89_998, int), np.zeros(10_002, int)]
    with pytest.raises(InfeasibleError, match=r"the highest reachable is 0\.89998"):
        solve("maximize recall subject to precision >= 0.9", np.zeros(len(y)), y)


def test_numpy_numbers_are_numbers():
    s, y = scored(100)
    assert solve("f1", s, y, limits=SearchLimits(tol=np.float32(0.1))).report.status == "optimal"
