"""The faces of a comparison: text, frame, notebook, picture, page; and what is refused."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression

from setpoint import (
    BlackBox,
    Deployed,
    GoalError,
    InputError,
    InputTypeError,
    PlugInClassifier,
    compare,
)
from setpoint.report import Header
from thinning import over

R = np.random.default_rng(0)
Y = (R.random(500) < 0.3).astype(int)
SCORES = np.round(0.3 * Y + 0.7 * R.random(500), 2)
GOAL = "maximize recall subject to precision >= 0.4"
TODAY = np.where(R.random(500) < 0.5, Y, R.random(500) < 0.2).astype(int)


def found(goal=GOAL, n=2, **more):
    others = {"new": Deployed(SCORES, threshold=0.5), "<b>": Deployed(SCORES, threshold=0.6)}
    others |= {f"m{i}": Deployed(SCORES, threshold=i / 10) for i in range(1, 6)}
    return compare(goal, {"today": TODAY, **dict(list(others.items())[: n - 1])}, None, Y, **more)


def test_text_and_notebook_say_who_by_how_much_and_what_changes():
    text = str(found())
    assert text.startswith(
        f"Goal: {GOAL}\n\nShown to be better on 500 rows.\nThe recall of 'new' is"
    )
    for part in ("new - today", "rows accepted", "(churn)", "new alone"):
        assert part in text
    several = found(n=3)
    assert "&lt;b&gt;" in several._repr_html_()
    assert "<b>" not in several._repr_html_()
    assert repr(several) == "ModelComparison('today', 'new', '<b>': shown to be better)"


def test_frame_has_a_row_for_each_part_of_each_model():
    frame = found(n=3).to_frame()
    assert frame["model"].tolist() == ["today"] * 2 + ["new"] * 2 + ["<b>"] * 2
    assert frame["part"].tolist() == ["objective", "constraint"] * 3
    new = frame.iloc[2]
    assert new["difference"] == pytest.approx(new["value"] - frame["value"][0])
    assert new["difference_low"] < new["difference"] < new["difference_high"]
    assert (new["is"], pd.isna(frame["difference"][0])) == ("shown to be better", True)


def test_picture_has_a_line_for_scores_and_a_dot_for_each_model():
    one = found(n=3)
    display = one.plot()
    ax = display.ax_
    assert sorted(ax.get_legend_handles_labels()[1]) == ["<b>", "asked", "new", "today"]
    dots = [tuple(c.get_offsets().data[0]) for c in ax.collections]
    assert dots == [pytest.approx(one.points[name]) for name in ("today", "new", "<b>")]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("precision at least", "best recall")
    plt.close(display.figure_)
    assert "asked" not in found("f1").plot(Figure()).ax_.get_legend_handles_labels()[1]
    only = compare(GOAL, {"today": TODAY, "new": Y}, None, Y)
    assert only.plot(Figure()).ax_.get_xlabel() == "precision"
    with pytest.raises(ValueError, match="the comparison holds no frontiers"):
        found(frontier=False).plot()
    with pytest.raises(ValueError, match="is of 6 models, and at most 5"):
        found(n=6).plot()


def test_page_is_whole_and_quotes_names(tmp_path):
    path = tmp_path / "page.html"
    found(n=3).to_html(path, header=Header("rows.csv", cautions=["Mind the gap."]))
    text = path.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert "&lt;b&gt;" in text
    assert "<b>:" not in text
    for part in ("rows.csv", "Mind the gap.", "Rows that change", "<svg viewBox", "new against"):
        assert part in text
    assert "<script" not in text
    compare("recall", {"a": Y, "b": Y}, None, Y).to_html(path)
    assert "Rows that change" not in path.read_text(encoding="utf-8")


X, L = make_classification(300, weights=[0.7], random_state=0)
WORDS = np.where(L == 1, "yes", "no")
A = LogisticRegression().fit(X, L)
FRAME = pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])])
OF_FRAME = LogisticRegression().fit(FRAME, L)
OF_WORDS = PlugInClassifier(LogisticRegression(), "f1").fit(X, WORDS)
TURNED = PlugInClassifier(LogisticRegression(), "f1", pos_label="no").fit(X, WORDS)
DEFERS = PlugInClassifier(
    LogisticRegression(), "maximize accuracy.decided subject to deferral_rate <= 0.3"
).fit(X, L)


@over(
    ("models", "error", "message"),
    [
        ([A, A], InputTypeError, r"^`models` is a dict from two or more names .* got a list$"),
        ({"a": A}, InputError, "^`models` holds two or more, the first of which is in use, got 1"),
        ({1: A, "b": A}, InputTypeError, "^`models`: a name is text, got 1$"),
        ({"b": A, "c": None}, InputTypeError, r"^`models\['c'\]` is a fitted .* got None$"),
        ({"b": A, "c": LogisticRegression}, InputTypeError, "got the class LogisticRegression"),
        ({"b": A, "c": A.predict_proba(X)}, InputTypeError, r"got an array of shape \(300, 2\)"),
        ({"b": A, "c": LinearRegression().fit(X, L)}, InputError, "got continuous numbers"),
        ({"b": A, "c": LogisticRegression()}, NotFittedError, r"^`models\['c'\]` .* not fitted"),
        ({"b": A, "c": PlugInClassifier(A, "recall")}, NotFittedError, "not fitted; fit it first"),
        ({"b": A, "c": L[1:]}, InputError, r"^`models\['c'\]` has 299 rows, 300 are expected$"),
        ({"b": A, "c": L + 1}, InputError, r"^`models\['c'\]` holds the label 2"),
        ({"b": A, "c": "old"}, InputError, r"`models\['c'\]` names columns of X \('old'\)"),
        ({"b": A, "c": DEFERS}, InputError, "'c' defers rows to a person"),
        ({"b": OF_FRAME, "c": LogisticRegression().fit(X[:, :2], L)},
         InputError, r"^`models\['c'\]` cannot decide these rows: X has 20 features"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_models(models, error, message):
    with pytest.raises(error, match=message):
        compare("recall", models, X, L)


LETTERS, SAME, ZEROS = np.where(L == 1, "u", "v"), {"a": A, "b": A}, np.zeros(300, np.int64)
OWN = BlackBox(lambda y, d: 0.0, takes="predictions", name="own")


@over(
    ("more", "error", "message"),
    [
        ({"models": {"a": OF_WORDS, "b": A}, "y": WORDS}, InputError,
         r"classes of 'a' is \['no', 'yes'\], and of 'b' \[0, 1\]"),
        ({"models": {"a": OF_WORDS, "b": TURNED}, "y": WORDS}, InputError,
         "positive class of 'a' is 'yes', and of 'b' 'no'"),
        ({"models": {"a": OF_WORDS, "b": WORDS}, "y": WORDS, "pos_label": "no"}, InputError,
         "`pos_label` is 'no', and the positive class of 'a' is"),
        ({"models": {"a": LETTERS, "b": LETTERS}, "X": None, "y": LETTERS}, InputError,
         "which of them is the positive class is not known"),
        ({"X": X[1:]}, InputError, "`X` has 299 rows, `y` has 300"),
        ({"X": None}, InputTypeError, r"`models\['a'\]` is a model, and `X` is None"),
        ({"y": None}, InputTypeError, "`y` is the true labels of the rows, got None"),
        ({"sample_weight": -np.ones(300)}, InputError, "`sample_weight` has 300 negative values"),
        ({"models": {"a": OF_FRAME, "b": L}, "X": FRAME.drop(columns="c3")}, InputError,
         r"(?s)`models\['a'\]` cannot decide these rows.*c3"),
        ({"goal": "recall", "frontier": "precision"}, GoalError,
         "`frontier='precision'` is the left side of no constraint"),
        ({"frontier": None}, InputTypeError, "`frontier` is True, False, or the constraint"),
        ({"goal": "maximize recall subject to churn.on('m') <= 0.1"}, GoalError,
         r"the goal refers to the data sets \['m'\]"),
        ({"goal": OWN}, GoalError, "models are compared by goals that are counted"),
        ({"goal": "maximize recall.min('sex')"}, GoalError, "the goal refers to the column 'sex'"),
        ({"y": ZEROS}, InputError,
         r"^`y`: all 300 rows are 0, and models are compared on"),
    ],
)  # fmt: skip
def test_rows_goals_and_classes(more, error, message):
    goal = "maximize recall subject to precision >= 0.5"
    with pytest.raises(error, match=message):
        compare(**({"goal": goal, "models": SAME, "X": X, "y": L} | more))
