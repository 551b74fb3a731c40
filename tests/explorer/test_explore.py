"""The public function, the method of classifiers, pages without a curve, and bad input."""

import builtins
import json
import pickle
import re
import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import setpoint
from explorer.test_board import made
from setpoint import FewRowsWarning, GoalError, InputError, PlugInClassifier, explore
from setpoint.counts import Evidence
from setpoint.explorer import ScoredRows, payload_of
from setpoint.goals import Goal
from setpoint.rules import Argmax, PerSegment, Threshold

GOAL = "maximize recall subject to precision >= 0.6"


@pytest.fixture(scope="module")
def rows():
    scores, y, sex, _ = made(400)
    return scores, y, sex


def test_the_page_is_one_file(rows, tmp_path):
    page = explore(GOAL, *rows[:2])
    page.to_html(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text("utf-8")
    assert text == page.html
    assert not re.findall(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", text)
    assert "default-src 'none'" in text
    held = re.search(
        r'<script type="application/json" id="payload">(.*?)</script>', text, re.DOTALL
    )
    assert json.loads(held[1]) == page.payload
    assert page._repr_html_().startswith("<iframe")


def test_texts_do_not_end_the_script(rows):
    scores, y, _ = rows
    bad = "</script><!--<script>"
    labels = np.array(["no", bad])[y]
    page = explore("maximize recall", scores, labels, pos_label=bad)
    assert page.payload["positive"] == bad
    assert page.html.count("</script>") == 2
    assert "<!--" not in page.html


def test_without_jinja(rows, monkeypatch):
    found = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "jinja2":
            raise ImportError(name)
        return found(name, *args, **kwargs)

    page = explore(GOAL, *rows[:2])
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"setpoint\[report\]"):
        _ = page.html


def test_rows_held_out_are_drawn_once_and_alike(rows):
    scores, y, sex = rows
    given = {"sensitive_features": {"sex": sex}, "by": "sex", "check": 0.25}
    one, two = (explore(GOAL, scores, y, **given).payload for _ in range(2))
    assert one == two
    assert one["rows"]["n"] + one["check"]["n"] == 400
    assert abs(one["check"]["n"] - 100) <= 2
    assert explore(GOAL, scores, y).payload["check"] is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"check": 1.0}, "`check` as a share lies between 0 and 1, both left out, found 1.0"),
        ({"check": "a"}, "`check` is None, a share of the rows .* found str"),
        ({"check": True}, "`check` is None, a share .* found bool"),
        ({"check": {"X": 1}}, "`check` has no entry 'X'"),
        ({"check": {"scores": [0.5]}}, "`check` as a dict .* found no `y`"),
        ({"check": {"scores": [np.nan], "y": [1]}}, "check"),
        ({"check": {"scores": [0.5], "y": [3]}}, "`check`: `y` holds the label 3"),
        ({"by": "age"}, "`by` names the column 'age'"),
        ({"by": 3}, "`by` is a name of a column"),
        ({"rule": 0.5}, "`rule` is a Rule, such as clf.rule_, found float"),
        ({"rule": Argmax([[1.0, 0.0], [0.0, 1.0]])}, "`rule` decides two classes from one score"),
        (
            {"rule": PerSegment([Threshold(0.3)], [(("age", 1),)])},
            "`rule` looks at the column 'age'",
        ),
        ({"other_goal": "maximize recall.min(age)"}, "the goal refers to the column 'age'"),
        ({"other_goal": "maximize churn"}, "`baseline`"),
        ({"scores": [np.nan] * 400}, "`scores` holds 400 NaN"),
        ({"scores": [0.5]}, "`y` has 400 rows, 1 are expected"),
        ({"y": [1] * 400}, "`y` holds one class only"),
        ({"goal": "maximize recall.on('other')"}, "data set 'other'"),
        ({"pos_label": 7}, "`pos_label` 7 is not a class"),
    ],
)
def test_bad_input_is_named(rows, given, message):
    whole = {"goal": GOAL, "scores": rows[0], "y": rows[1], **given}
    with pytest.raises((ValueError, TypeError), match=message):
        explore(**whole)


def test_a_path_is_a_path(rows):
    with pytest.raises(TypeError, match="`path` names a file, found int"):
        explore(GOAL, *rows[:2]).to_html(3)


def test_rows_without_labels_are_counted():
    scores, y, _, _ = made(300)
    true = np.where(np.arange(300) % 3 == 0, 2, y)
    evidence = Evidence.from_arrays(("no", "yes"), scores, true)
    goal = Goal.parse("maximize predicted_rate subject to predicted_rate <= 0.3")
    page = payload_of([goal], ScoredRows(evidence, where="Here."))
    assert page["rows"]["labelled"] == 200
    assert [true for _, true in page["kinds"]] == [0, 1, 2]
    start = page["programs"][0]["start"]
    assert start == {"cut": 90, "feasible": True}


@pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
@pytest.mark.parametrize("kind", ["classes", "deferral"])
def test_a_goal_without_a_curve_says_why(kind):
    scores, y, _, _region = made(200)
    rng = np.random.default_rng(0)
    given = {"scores": scores, "y": y}
    goal, why = "maximize accuracy.decided subject to deferral_rate <= 0.1", "Rules may defer"
    if kind == "classes":
        P = rng.dirichlet([1.0, 1.0, 1.0], 200)
        given = {"scores": P, "y": [int(np.argmax(p)) for p in P]}
        goal, why = "maximize macro_f1 subject to recall.min() >= 0.3", "There are 3 classes"
    with pytest.raises(InputError, match=why):
        explore(goal, **given)


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    y = (X[:, 0] + rng.normal(size=500) > 0.5).astype(int)
    clf = PlugInClassifier(LogisticRegression(), "maximize recall subject to precision >= 0.6")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewRowsWarning)
        return clf.fit(X[:350], y[:350]), X, y


def test_a_classifier_shows_the_rows_its_rule_was_chosen_on(fitted, tmp_path):
    clf, X, y = fitted
    page = clf.explore(tmp_path / "page.html", X=X[350:], y=y[350:], other_goal="maximize f1")
    assert (tmp_path / "page.html").exists()
    assert page.payload["rows"]["n"] == 350
    assert page.payload["check"]["n"] == 150
    assert page.payload["rows"]["warning"] is None
    marker = page.payload["markers"][0]
    assert marker["cut"] == page.payload["programs"][0]["start"]["cut"]
    assert len(page.payload["programs"]) == 2
    flatters = clf.explore(X=X[200:], y=y[200:]).payload["rows"]["warning"]
    assert "were in the fit" in flatters


def test_a_model_from_a_file_needs_rows(fitted):
    clf, X, y = fitted
    copy = pickle.loads(pickle.dumps(clf))
    with pytest.raises(ValueError, match="give X and y"):
        copy.explore()
    page = copy.explore(X=X, y=y, goal="maximize f1")
    assert page.payload["rows"]["n"] + page.payload["check"]["n"] == 500
    assert page.payload["programs"][0]["goal"] == "maximize f1"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"X": [[1.0, 2.0, 3.0]]}, "`X` and `y` go together"),
        ({"by": "age"}, "`by`: of the rows of fit"),
        ({"goal": "maximize recall.min(age)"}, "age"),
    ],
)
def test_a_classifier_names_what_is_wrong(fitted, given, message):
    with pytest.raises(ValueError, match=message):
        fitted[0].explore(**given)


def test_names_are_public():
    assert setpoint.explore is explore
    assert issubclass(GoalError, ValueError)
