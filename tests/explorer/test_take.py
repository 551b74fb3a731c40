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

pytestmark = [
    needs_node,
    pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning"),
]

PLAIN = "maximize recall subject to precision >= 0.6"
FAIR = PLAIN + " and predicted_rate.difference(\"the 'sex'\") <= 0.1"
LABELS = {
    "numbers": ([0, 1], 1),
    "text": (["stays", 'it\'s "left"\n'], 'it\'s "left"\n'),
    "lower": ([0, 1], 0),
    "bool": ([False, True], True),
}


def rows(n=600):
    rng = np.random.default_rng(3)
    sex = rng.integers(0, 2, n)
    x = 1.6 * rng.normal(size=n) + 0.4 * sex - 1.0
    code = (rng.random(n) < 1.0 / (1.0 + np.exp(-x))).astype(int)
    scores = 1.0 / (1.0 + np.exp(-x - 0.5 * rng.normal(size=n)))
    return scores, code, np.array(["F", "o'M"])[sex], rng.integers(1, 4, n).astype(float)


def ran(text, **names):
    """What a line of Python leaves behind."""
    exec(text, names)  # noqa: S102
    return names


@pytest.mark.parametrize(
    ("labels", "more", "fair"),
    [
        ("numbers", {"check": 0.3}, True),
        ("text", {"weights": True}, True),
        ("lower", {"check": 0.3, "weights": True}, False),
        ("bool", {}, False),
    ],
)
def test_python_decides_as_the_page(labels, more, fair):
    scores, code, sex, weight = rows()
    names, positive = LABELS[labels]
    y = np.array(names)[code]
    if positive == names[0]:
        scores = 1.0 - scores
    side = {"the 'sex'": sex}
    given = {"check": more.get("check"), "sample_weight": weight if "weights" in more else None}
    page = explore(
        FAIR if fair else PLAIN, scores, y, pos_label=positive,
        sensitive_features=side, **given,
    ).payload  # fmt: skip
    start = page["programs"][0]["start"]
    levels = [c["level"] for c in page["programs"][0]["constraints"]]
    places = [start["cut"], 0, 37, page["curve"]["m"]]
    found = called(page, *(["take", levels, w] for w in places), *(["at", w] for w in places))
    for taken, shown in zip(found[: len(places)], found[len(places) :], strict=True):
        left = ran(taken["python"], scores=scores)
        expected = scores >= float(shown["threshold"])
        np.testing.assert_array_equal(left["decided"], expected)
        assert left["rule"] == Rule.from_json(taken["json"])


def table_of(path, scores, y, sex, weight):
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["SCORE", "LABEL", "the 'sex'", "WEIGHT"])
        out.writerows(zip(map(repr, scores.tolist()), y, sex, weight, strict=True))


@pytest.mark.parametrize(
    ("labels", "goal"), [("numbers", PLAIN), ("lower", FAIR), ("bool", PLAIN), ("text", FAIR)]
)
def test_the_command_chooses_anew_by_the_goal(labels, goal, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scores, code, sex, weight = rows()
    names, positive = LABELS[labels]
    names = [n.strip() if isinstance(n, str) else n for n in names]  # no line ends in a CSV file
    positive = positive.strip() if isinstance(positive, str) else positive
    y = np.array(names)[code]
    if positive == names[0]:
        scores = 1.0 - scores
    table_of(tmp_path / "SCORES.csv", scores, y, sex, weight)
    page = explore(
        goal, scores, y, pos_label=positive, sample_weight=weight,
        sensitive_features={"the 'sex'": sex},
    ).payload  # fmt: skip
    start = page["programs"][0]["start"]
    levels = [0.72, *(c["level"] for c in page["programs"][0]["constraints"][1:])]
    (taken,) = called(page, ["take", levels, start["cut"]])
    words = shlex.split(taken["shell"], comments=True)
    assert words[:3] == ["setpoint", "solve", "SCORES.csv"]
    done = CliRunner().invoke(app, [*words[1:], "--exact", "--rule", "rule.json"])
    assert done.exit_code in (0, 3, 4), done.output
    found = Rule.from_json((tmp_path / "rule.json").read_text())
    best = solve(
        taken["goal"], scores, y, pos_label=positive, sample_weight=weight,
        sensitive_features={"the 'sex'": sex}, decide_on=None,
    )  # fmt: skip
    assert type(found) is type(best.rule)
    np.testing.assert_array_equal(found.decide(scores), best.rule.decide(scores))


def test_of_a_classifier():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3))
    y = np.where(X[:, 0] + rng.normal(size=900) > 0.8, "yes", "no")
    clf = PlugInClassifier(LogisticRegression(), PLAIN, pos_label="yes").fit(X[:600], y[:600])
    page = clf.explore(X=X[600:], y=y[600:]).payload
    (taken,) = called(page, ["take", [0.7], 60])
    scores = clf.predict_proba(X)[:, 1]
    left = ran(taken["python"], scores=scores)
    assert left["rule"] == Rule.from_json(taken["json"])
    assert isinstance(left["rule"], Threshold)
    np.testing.assert_array_equal(left["decided"], clf._scores(X) >= left["rule"].threshold)
    assert "setpoint solve SCORES.csv --score SCORE --target LABEL" in taken["shell"]
