"""The public function, the method of classifiers, the one file of a page, and bad input."""

import csv
import json
import pickle
import re
import shlex
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.linear_model import LogisticRegression

from explorer.in_node import called, needs_node
from explorer.test_board import made
from setpoint import PlugInClassifier, explore, solve
from setpoint.cli.app import app
from setpoint.counts import Evidence
from setpoint.explorer import ScoredRows, payload_of
from setpoint.goals import Goal
from setpoint.rules import Argmax, PerSegment, Rule, Threshold
from thinning import over

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")

GOAL = "maximize recall subject to precision >= 0.6"
SCORES, Y, *_ = made(300)


def test_the_page_is_one_file(tmp_path, monkeypatch):
    page = explore(GOAL, SCORES, Y)
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
    with pytest.raises(TypeError, match="`path` names a file, found int"):
        page.to_html(3)
    # Texts do not end the script.
    bad = "</script><!--<script>"
    page = explore("maximize recall", SCORES, np.array(["no", bad])[Y], pos_label=bad)
    assert page.payload["positive"] == bad
    assert page.html.count("</script>") == 2
    assert "<!--" not in page.html
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"setpoint\[report\]"):
        _ = explore(GOAL, SCORES, Y).html


P = np.random.default_rng(0).dirichlet([1.0, 1.0, 1.0], 200)


@over(
    ("given", "message"),
    [
        ({"check": 1.0}, "`check` as a share lies between 0 and 1, both left out, found 1.0"),
        ({"check": "a"}, "`check` is None, a share of the rows .* found str"),
        ({"check": {"X": 1}}, "`check` has no entry 'X'"),
        ({"check": {"scores": [0.5]}}, "`check` as a dict .* found no `y`"),
        ({"check": {"scores": [0.5], "y": [3]}}, "`check`: `y` holds the label 3"),
        (
            {"check": 0.5, "scores": SCORES[:50], "y": [1] + [0] * 49},
            "`check`: of 50 rows a share of 0.5 leaves a class without a row held out",
        ),
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
        ({"goal": "maximize recall.on('other')"}, "data set 'other'"),
        ({"goal": "maximize accuracy.decided subject to deferral_rate <= 0.1"}, "Rules may defer"),
        ({"goal": "macro_f1", "scores": P, "y": P.argmax(axis=1)}, "There are 3 classes"),
    ],
)
def test_bad_input_is_named(given, message):
    whole = {"goal": GOAL, "scores": SCORES, "y": Y} | given
    with pytest.raises((ValueError, TypeError), match=message):
        explore(**whole)


def test_rows_without_labels_are_counted():
    true = np.where(np.arange(300) % 3 == 0, 2, Y[:300])
    evidence = Evidence.from_arrays(("no", "yes"), SCORES[:300], true)
    goal = Goal.parse("maximize predicted_rate subject to predicted_rate <= 0.3")
    page = payload_of([goal], ScoredRows(evidence, where="Here."))
    assert page["rows"]["labelled"] == 200
    assert [true for _, true in page["kinds"]] == [0, 1, 2]
    assert page["programs"][0]["start"] == {"cut": 90, "feasible": True}


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(250, 3))
    y = (X[:, 0] + rng.normal(size=250) > 0.5).astype(int)
    return PlugInClassifier(LogisticRegression(), GOAL).fit(X[:175], y[:175]), X, y


def test_a_classifier_shows_the_rows_its_rule_was_chosen_on(fitted, tmp_path):
    clf, X, y = fitted
    page = clf.explore(tmp_path / "page.html", X=X[175:], y=y[175:], other_goal="maximize f1")
    assert (tmp_path / "page.html").exists()
    assert page.payload["rows"]["n"] == 175
    assert page.payload["check"]["n"] == 75
    assert page.payload["rows"]["warning"] is None
    marker = page.payload["markers"][0]
    assert marker["cut"] == page.payload["programs"][0]["start"]["cut"]
    assert len(page.payload["programs"]) == 2
    flatters = clf.explore(X=X[100:], y=y[100:]).payload["rows"]["warning"]
    assert "were in the fit" in flatters
    copy = pickle.loads(pickle.dumps(clf))
    with pytest.raises(ValueError, match="give X and y"):
        copy.explore()
    other, again = (copy.explore(X=X, y=y, goal="maximize f1").payload for _ in range(2))
    assert other == again
    assert other["rows"]["n"] + other["check"]["n"] == 250
    assert other["programs"][0]["goal"] == "maximize f1"


@over(
    ("given", "message"),
    [
        ({"X": [[1.0, 2.0, 3.0]]}, "`X` and `y` go together"),
        ({"sample_weight": [1]}, "`sample_weight` belongs to rows"),
        ({"by": "age"}, "`by`: of the rows of fit"),
        ({"goal": "maximize recall.min(age)"}, "age"),
    ],
)
def test_a_classifier_names_what_is_wrong(fitted, given, message):
    with pytest.raises(ValueError, match=message):
        fitted[0].explore(**given)


# -- what is taken gives the rule that the page shows: the lines are run -------------------
FAIR = GOAL + " and predicted_rate.difference(\"the 'sex'\") <= 0.1"
LABELS = {
    "text": (["stays", 'it\'s "left"'], 'it\'s "left"'),
    "lines": (["stays", 'it\'s "left"\n'], 'it\'s "left"\n'),
    "lower": ([0, 1], 0),
    "bool": ([False, True], True),
}


def rows(labels):
    """Scores of the positive class, labels, and options with a group and weights."""
    rng, n = np.random.default_rng(3), 200
    sex = rng.integers(0, 2, n)
    x = 1.6 * rng.normal(size=n) + 0.4 * sex - 1.0
    code = (rng.random(n) < 1.0 / (1.0 + np.exp(-x))).astype(int)
    scores = 1.0 / (1.0 + np.exp(-x - 0.5 * rng.normal(size=n)))
    names, positive = LABELS[labels]
    scores = 1.0 - scores if positive == names[0] else scores
    side, weight = np.array(["F", "o'M"])[sex], rng.integers(1, 4, n).astype(float)
    more = {"pos_label": positive, "sensitive_features": {"the 'sex'": side}}
    return scores, np.array(names)[code], more | {"sample_weight": weight}


def ran(text, **names):
    """What a line of Python leaves behind."""
    exec(text, names)  # noqa: S102
    return names


@needs_node
@over(
    ("labels", "goal", "check"), [("lines", FAIR, None), ("lower", GOAL, 0.3), ("bool", GOAL, None)]
)
def test_python_decides_as_the_page(labels, goal, check):
    scores, y, more = rows(labels)
    page = explore(goal, scores, y, check=check, **more).payload
    program = page["programs"][0]
    levels = [c["level"] for c in program["constraints"]]
    places = [program["start"]["cut"], 0, 37, page["curve"]["m"]]
    found = called(page, *(["take", levels, w] for w in places), *(["at", w] for w in places))
    for taken, shown in zip(found[: len(places)], found[len(places) :], strict=True):
        left = ran(taken["python"], scores=scores)
        np.testing.assert_array_equal(left["decided"], scores >= float(shown["threshold"]))
        assert left["rule"] == Rule.from_json(taken["json"])


@needs_node
@over(("labels", "goal"), [("lower", GOAL), ("bool", GOAL), ("text", FAIR)])
def test_the_command_chooses_anew_by_the_goal(labels, goal, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scores, y, more = rows(labels)
    with open("SCORES.csv", "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["SCORE", "LABEL", "the 'sex'", "WEIGHT"])
        columns = more["sensitive_features"]["the 'sex'"], more["sample_weight"]
        out.writerows(zip(map(repr, scores.tolist()), y, *columns, strict=True))
    page = explore(goal, scores, y, **more).payload
    program = page["programs"][0]
    levels = [0.72, *(c["level"] for c in program["constraints"][1:])]
    (taken,) = called(page, ["take", levels, program["start"]["cut"]])
    words = shlex.split(taken["shell"], comments=True)
    assert words[:3] == ["setpoint", "solve", "SCORES.csv"]
    done = CliRunner().invoke(app, [*words[1:], "--exact", "--rule", "rule.json"])
    assert done.exit_code in (0, 3, 4), done.output
    found = Rule.from_json((tmp_path / "rule.json").read_text())
    best = solve(taken["goal"], scores, y, decide_on=None, **more)
    assert type(found) is type(best.rule)
    np.testing.assert_array_equal(found.decide(scores), best.rule.decide(scores))
