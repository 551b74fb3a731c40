"""What the plug-in classifier alone refuses: data sets, columns to decide on, folds, candidates."""

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVR, LinearSVC

from conformance.cases import Refusal
from setpoint import BlackBox, Dataset
from setpoint.errors import EmptyPopulationError, GoalError, InputTypeError
from setpoint.solvers import ColumnGeneration, HoldOut, ModelResponse

NEW = "maximize recall subject to recall.on('new') >= 0.5"
NEW_B = "maximize recall subject to recall.on('new', g='b') >= 0.5"
FAIR = "maximize accuracy subject to recall.difference(g) <= 0.1"
DRAWN = "maximize recall subject to precision >= 0.7"
PROFIT = "maximize profit(tp=amount - 5, fp=-5)"
WEIGHED = "maximize recall.weighted(amount)"


HALF = np.arange(50)
NUMBERS = FunctionTransformer(lambda X: X[:, :4].astype(float))


def framed(s, **columns):
    return pd.DataFrame(s.X, columns=list("abcd")).assign(**columns)


def amounts(change):
    """Columns by which money is counted, with something odd in them."""
    return lambda s: {"sensitive_features": {"amount": change(pd.Series(10.0 + np.arange(s.n)))}}


def undrawable(s):
    """Rows that hold a list, which cannot be hashed to draw by."""
    X = np.empty((s.n, 5), dtype=object)
    X[:, :4], X[:, 4] = s.X, [[1]] * s.n
    return {"X": X}


REFUSED = {
    # Data sets and columns
    "unknown group in a data set": Refusal(
        "the goal refers to g = 'b', and no row of the data set 'new' has that value (known: 'x')",
        {"goal": NEW_B},
        lambda s: {"datasets": {"new": Dataset(s.X, s.y, sensitive_features=["x"] * s.n)}},
        EmptyPopulationError,
    ),
    "unknown data set": Refusal(
        "the data set 'new', which `datasets` does not hold (did you mean 'news'?)", {"goal": NEW},
        lambda s: {"datasets": {"news": (s.X, s.y)}}, GoalError,
    ),
    "data set without labels": Refusal(
        "`datasets['new']`: the goal measures a rate there that needs labels, and `y` is None",
        {"goal": NEW}, lambda s: {"datasets": {"new": s.X}}, GoalError,
    ),
    "decide_on": Refusal(
        "`decide_on` names the column 'gg', but `sensitive_features` has no column of that name "
        "(did you mean 'g'", {"decide_on": "gg"},
        lambda s: {"sensitive_features": {"g": s.g, "h": s.g}}, GoalError,
    ),
    "decide_on beside the goal's columns": Refusal(
        "`decide_on`: X has no column 'age' (known: 'g'); columns come from `sensitive_features`",
        {"goal": FAIR, "decide_on": ["g", "age"]}, lambda s: {"sensitive_features": {"g": s.g}},
        GoalError,
    ),
    "decide_on of another kind": Refusal(
        "`decide_on` is 'auto', None or names of columns, got 3", {"decide_on": 3},
    ),
    "baseline of a frame": Refusal(
        "`baseline`: X has no column 'odl' (did you mean 'old'?)",
        {"goal": "maximize accuracy subject to churn <= 0.1", "baseline": "odl"},
        lambda s: {"X": framed(s, old=s.old)},
    ),
    "draw by a column": Refusal(
        "got 'idd' (did you mean 'id'?)", {"draw": "idd"},
        lambda s: {"X": framed(s, id=np.arange(s.n))},
    ),
    "rows that cannot be drawn for": Refusal(
        "draws by a hash of each row, and these have none: column 4 of X holds values of type list",
        {"goal": DRAWN, "estimator": make_pipeline(NUMBERS, LogisticRegression()),
         "randomized": "auto"},
        undrawable, TypeError,
    ),
    # Folds
    "a share of nothing": Refusal("cv as a share lies between 0 and 1, got 0.0", {"cv": 0.0}),
    **{
        f"cv={cv!r}": Refusal(
            "`cv` is a whole number >= 2, a share between 0 and 1, a splitter or its splits, got "
            f"{getattr(cv, 'cv', cv)!r}",
            {"cv": cv},
        )
        for cv in (True, 1, "prefix", HoldOut("prefit"))
    },
    "several splits, one model": Refusal(
        "`cv`: HoldOut needs a single split, and this gives 3", {"cv": HoldOut(3)},
    ),
    "splits that were used up": Refusal(
        "`cv`: there is no split (what is iterated over once is empty afterwards)",
        {"cv": iter([])},
    ),
    "a fold without rows": Refusal(
        "`cv`: a fold has no rows to score", {"cv": [(HALF, np.arange(0))]},
    ),
    "splits of more rows": Refusal(
        "`cv`: a split names row 100, and X has 100 rows", {"cv": [(HALF, [60, 100])]},
    ),
    "folds without a group of the goal": Refusal(
        '`cv`: the rule is found on 50 of 100 rows, and among them recall.on(g="rare") has no rows',
        {"goal": "maximize accuracy subject to recall.on(g='rare') >= 0.1",
         "cv": [(HALF, HALF + 50)]},
        lambda s: {"sensitive_features": {"g": np.where(np.arange(s.n) < 50, "rare", "b")}},
        EmptyPopulationError,
    ),
    # Models and what they say
    "no scores at the end of a pipeline": Refusal(
        "`estimator`: Pipeline (its last step is Pipeline (its last step is SVR)) has no "
        "predict_proba and no decision_function; a rule needs scores",
        {"estimator": make_pipeline(make_pipeline(SVR()))}, error=AttributeError,
    ),
    "a fitted model of other classes": Refusal(
        "LogisticRegression knows the classes ['a', 'b'], y holds [0, 1]; every model, and so "
        "every fold, has to see all of them",
        {"estimator": LogisticRegression().fit([[0.0], [1.0]], list("ab")), "cv": "prefit"},
        lambda s: {"X": s.X[:, :1]},
    ),
    "weights that a model does not take": Refusal(
        "`sample_weight`: KNeighborsClassifier.fit takes none, and weights are never ignored",
        {"estimator": KNeighborsClassifier()}, lambda s: {"sample_weight": np.ones(s.n)},
    ),
    # Candidates
    "no candidates": Refusal("holds at least one model", {"estimator": {}}),
    "candidate that is not a model": Refusal(
        "is not a classifier", {"estimator": {"x": 7}}, error=InputTypeError,
    ),
    "candidate without probabilities": Refusal(
        "'svm' has no predict_proba", {"estimator": {"svm": LinearSVC()}},
    ),
    "candidate without weights": Refusal(
        "candidate 'deaf' takes none, and weights are never",
        {"estimator": {"deaf": make_pipeline(StandardScaler(), KNeighborsClassifier())}},
        lambda s: {"sample_weight": np.ones(s.n)},
    ),
    "candidates that are fitted": Refusal(
        "`cv='prefit'`: the model is fitted already", {"estimator": "auto", "cv": "prefit"},
    ),
    "candidates calibrated": Refusal(
        "calibrate a candidate",
        {"estimator": "auto", "response": ModelResponse(calibrate="isotonic")},
    ),
    "candidates of post-shift": Refusal(
        "this is post-shift: name", {"estimator": "auto", "solver": "post-shift"}, error=GoalError,
    ),
    "candidates and an oracle": Refusal(
        "name a model",
        {"estimator": "auto", "solver": ColumnGeneration(oracle=LogisticRegression())},
        error=GoalError,
    ),
    "candidates and a black box": Refusal(
        "name a model",
        {"estimator": "auto", "goal": BlackBox(lambda true, scores: 1.0, takes="scores")},
        error=GoalError,
    ),
    "candidates of dates": Refusal(
        "columns 'day' hold something else, such as Datetime", {"estimator": "auto"},
        lambda s: {"X": framed(s, day=pd.Timestamp("2024-01-01"))},
    ),
    "candidates and rows judged twice": Refusal(
        "two splits leave out row 50",
        {"estimator": "auto", "cv": [(HALF, HALF + 50), (HALF, HALF + 40)]},
    ),
    # Learners trained for each objective
    "an oracle without weights": Refusal(
        "`oracle`: KNeighborsClassifier.fit takes no `sample_weight`, and a learner that is "
        "trained for costs receives them as weights",
        {"goal": "maximize accuracy", "solver": ColumnGeneration(
            oracle=make_pipeline(StandardScaler(), KNeighborsClassifier()))},
    ),
    "an oracle that predicts no class": Refusal(
        "`oracle`: LinearRegression predicts a value that is not a class",
        {"goal": "maximize accuracy", "solver": ColumnGeneration(oracle=LinearRegression())},
    ),
    # Amounts
    "amounts that are missing": Refusal(
        "missing values", {"goal": PROFIT}, amounts(lambda x: x.where(x < 100)),
    ),
    "amounts that are infinite": Refusal(
        "infinite", {"goal": PROFIT}, amounts(lambda x: x.replace(x.max(), np.inf)),
    ),
    "amounts of text": Refusal(
        "holds values such as", {"goal": PROFIT}, amounts(lambda x: x.astype(str)),
    ),
    "amounts of booleans": Refusal(
        "holds values of type bool", {"goal": PROFIT}, amounts(lambda x: x > 50),
    ),
    "amounts that are masked": Refusal(
        "3 of its values are masked", {"goal": PROFIT},
        amounts(lambda x: np.ma.array(x, mask=np.arange(100) < 3)),
    ),
    "amounts below 0 as weights": Refusal(
        "a weight is 0 or more: row 0 has -", {"goal": f"{WEIGHED} subject to precision >= 0.5"},
        lambda s: {"X": framed(s, amount=-1.0 - np.arange(s.n))},
    ),
    "amounts of no weight": Refusal(
        "counts rows by 'amount', and that is 0 for all", {"goal": WEIGHED},
        lambda s: {"X": framed(s, amount=0.0)}, GoalError,
    ),
    "amounts that are nowhere": Refusal(
        "column 'amount', and neither", {"goal": PROFIT}, lambda s: {"X": framed(s)}, GoalError,
    ),
}  # fmt: skip
