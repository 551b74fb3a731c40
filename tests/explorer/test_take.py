"""What is taken from the page gives the rule that the page shows: the lines are run."""

import csv
import shlex

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.linear_model import LogisticRegression

from explorer.in_node import called, needs_node
from setpoint import PlugInClassifier, explore, solve
from setpoint.cli.app import app
from setpoint.rules import Rule, Threshold
from thinning import over

pytestmark = [
    needs_node,
    pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning"),
]

PLAIN = "maximize recall subject to precision >= 0.6"
FAIR = PLAIN + " and predicted_rate.difference(\"the 'sex'\") <= 0.1"
LABELS = {
    "numbers": ([0, 1], 1),
    "text": (["stays", 'it\'s "left"'], 'it\'s "left"'),
    "lines": (["stays", 'it\'s "left"\n'], 'it\'s "left"\n'),
    "lower": ([0, 1], 0),
    "bool": ([False, True], True),
}


def rows(labels):
    """Scores of the positive class, labels, and options with a group and weights."""
    rng, n = np.random.default_rng(3), 600
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


@over(
    ("labels", "goal", "check"),
    [
        ("numbers", FAIR, 0.3),
        ("lines", FAIR, None),
        ("lower", PLAIN, 0.3),
        ("bool", PLAIN, None),
    ],
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


@over(("labels", "goal"), [("numbers", PLAIN), ("lower", FAIR), ("bool", PLAIN), ("text", FAIR)])
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


def test_of_a_classifier():
    scores, y, _ = rows("numbers")
    X, y = np.log(scores / (1 - scores))[:, None], np.where(y, "yes", "no")
    clf = PlugInClassifier(LogisticRegression(), PLAIN, pos_label="yes").fit(X[:400], y[:400])
    (taken,) = called(clf.explore(X=X[400:], y=y[400:]).payload, ["take", [0.7], 60])
    scores = clf.predict_proba(X)[:, 1]
    left = ran(taken["python"], scores=scores)
    assert left["rule"] == Rule.from_json(taken["json"])
    assert isinstance(left["rule"], Threshold)
    np.testing.assert_array_equal(left["decided"], scores >= left["rule"].threshold)
    assert "setpoint solve SCORES.csv --score SCORE --target LABEL" in taken["shell"]
