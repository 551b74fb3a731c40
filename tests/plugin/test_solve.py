"""solve: equivalences, inputs of many kinds, what the report says, and what is refused."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from plugin.samples import GOALS, same, sample
from setpoint import Dataset, InfeasibleError, SearchLimits, evaluate, maximize, solve
from setpoint.metrics import f1, precision, recall
from setpoint.rules import Threshold
from setpoint.search import ConstantGoalWarning
from thinning import over

pytestmark = [
    pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning"),
    pytest.mark.filterwarnings("ignore::setpoint.search.ConstantGoalWarning"),
]
SEEDS = st.integers(0, 10_000)
FLOOR = "maximize recall subject to precision >= 0.6"
S, T = sample(), sample(seed=1)
N = len(S.y)


def solved(goal, s, **options):
    return solve(goal, s.scores, s.y, **{**s.options(), "on_infeasible": "nearest", **options})


def repeated(s):
    return s.take(np.repeat(np.arange(len(s.y)), s.weight.astype(int)))


WRITTEN_OTHERWISE = {
    "weight two is the row twice": lambda s, rng: (repeated(s), {"sample_weight": None}),
    "the order of rows": lambda s, rng: (s.take(rng.permutation(40)), {}),
    "the scale of weights": lambda s, rng: (s, {"sample_weight": s.weight * 4.0}),
    "a weight of zero": lambda s, rng: (s.take(s.weight > 0), {}),
}


@pytest.mark.parametrize("goal", GOALS)
@settings(max_examples=3)
@given(seed=SEEDS)
def test_how_rows_are_written_down_does_not_matter(goal, seed):
    s, rng = sample(40, seed), np.random.default_rng(seed)
    s.weight[rng.random(40) < 0.2] = 0.0
    one = solved(goal, s)
    for way, rewritten in WRITTEN_OTHERWISE.items():
        rows, options = rewritten(s, rng)
        other = solved(goal, rows, **options)
        assert one.rule == other.rule, way
        same(one.report, other.report)


@pytest.mark.parametrize("goal", GOALS)
def test_the_report_is_what_evaluate_finds(goal):
    found = solved(goal, S, randomized=False)
    segments = found.rule.segment_codes({"g": S.g}) if found.rule.needs_segments else None
    decided = found.rule.decide(S.scores, segments)
    same(found.report, evaluate(goal, S.y, decided, **S.options()))
    assert str(found) == str(found.report)


def test_posteriors_stand_in_sorted_class_order():
    p = 1 / (1 + np.exp(-S.scores))
    both = np.column_stack([1 - p, p])
    assert solve("f1", both, S.y).rule == solve("f1", p, S.y).rule
    assert solve("f1", both, S.y, pos_label=0).rule == solve("f1", 1 - p, S.y, pos_label=0).rule
    assert solve("f1", p[:, None], S.y).rule == solve("f1", p, S.y).rule


def test_scores_labels_and_goals_of_any_kind():
    want = solve("f1", S.scores, S.y).rule
    for kind in (list, pd.Series, pl.Series):
        assert solve("f1", kind(S.scores), kind(S.y)).rule == want
    assert solve(f1, S.scores, S.y).rule == want
    built = maximize(recall).subject_to(precision >= 0.6)
    assert solve(built, S.scores, S.y).rule == solve(FLOOR, S.scores, S.y).rule


def test_the_best_f1_of_all_thresholds():
    found = solve("f1", S.scores, S.y)
    rules = (S.scores >= t for t in S.scores)
    best = max(2 * S.y @ accepted / (S.y.sum() + accepted.sum()) for accepted in rules)
    assert found.report.objective.value == pytest.approx(best, abs=1e-12)
    assert f1_score(S.y, found.rule.decide(S.scores)) == pytest.approx(best, abs=1e-12)
    assert found.report.certificate.gap == 0.0
    assert found.report.status == "optimal"
    assert isinstance(found.rule, Threshold)


def test_decide_on_a_column_that_the_goal_does_not_name():
    found = solve("accuracy", S.scores, S.y, sensitive_features={"g": S.g}, decide_on=["g"])
    apart = [solve("accuracy", S.scores[S.g == v], S.y[S.g == v]) for v in "ab"]
    assert found.rule.rules == tuple(part.rule for part in apart)


def test_data_sets():
    columns = {"sensitive_features": {"g": T.g}, "baseline": T.deployed}
    new = Dataset(T.scores, T.y, sample_weight=T.weight, **columns)
    goal = "maximize recall subject to churn.on('new') <= 0.4 and recall.on('new', g='b') >= 0.4"
    found = solve(goal, S.scores, S.y, datasets={"new": new}, randomized=False)
    decided = found.rule.decide(T.scores)
    churn, at_b = (c.value for c in found.report.constraints)
    assert churn == pytest.approx(np.average(decided != T.deployed, weights=T.weight), abs=1e-12)
    b = (T.g == "b") & (T.y == 1)
    assert at_b == pytest.approx(np.average(decided[b], weights=T.weight[b]), abs=1e-12)
    assert found.report.rule.decides_on == ()  # X was not given the column
    goal = "maximize recall subject to predicted_rate.on('new') <= 0.3"
    for new in (T.scores, (T.scores, None), Dataset(T.scores)):
        found = solve(goal, S.scores, S.y, datasets={"new": new}, randomized=False)
        assert found.report.constraints[0].value == found.rule.decide(T.scores).mean() <= 0.3
    # Frames by the names of the first one's columns, with labels where they have them.
    first, other = (pd.DataFrame({"s": r.scores, "t": r.y}) for r in (S, T))
    precise = "maximize recall subject to precision.on('new') >= 0.7"
    for text, new, frame in (
        (goal, T.scores, other[["s"]]), (goal, T.scores, T.scores),
        (precise, (T.scores, T.y), other),
    ):  # fmt: skip
        found = solve(text, S.scores, S.y, datasets={"new": new}, randomized=False)
        named = {"scores": "s", "y": "t", "datasets": {"new": frame}, "randomized": False}
        assert solve(text, first, **named).rule == found.rule


def test_randomized():
    goal = "maximize recall subject to precision >= 0.7"
    draws = solve(goal, S.scores, S.y, randomized=True)
    plain = solve(goal, S.scores, S.y, randomized=False)
    assert not plain.rule.randomized
    assert plain.report.rule.drawn == 0.0
    assert draws.rule.randomized
    assert draws.report.rule.drawn > 0
    assert draws.report.objective.value >= plain.report.objective.value
    value = draws.rule.distribution(S.scores)[S.y == 1, 1].mean()
    assert draws.report.objective.value == pytest.approx(value, abs=1e-12)
    assert not solve(goal, S.scores, S.y, limits=SearchLimits(tol=1.0)).rule.randomized


@over("randomized", ["auto", False])
@over(
    "goal",
    [
        "maximize macro_f1 subject to churn <= 0.4 and precision >= 0.2",
        "maximize precision.mean(g) subject to predicted_rate.difference(g) <= 0.1",
    ],
)
def test_a_bound_that_is_reached_is_called_optimal(goal, randomized):
    few = sample(300)
    report = solve(goal, few.scores, few.y, randomized=randomized, **few.options(False)).report
    gap = report.certificate.gap
    assert report.status == "optimal" or gap is None or gap > 1e-9


def test_a_goal_that_cannot_be_met():
    goal = "maximize recall subject to precision >= 0.99 and recall >= 0.9"
    words = r"precision >= 0\.99.*the highest reachable is"
    with pytest.raises(InfeasibleError, match=words) as caught:
        solve(goal, S.scores, S.y)
    assert caught.value.violation > 0.01
    assert sum(caught.value.blame.values()) == pytest.approx(1.0)
    assert set(caught.value.reachable) == {"precision >= 0.99", "recall >= 0.9"}
    near = solve(goal, S.scores, S.y, on_infeasible="nearest").report
    assert near.status == "nearest"
    assert max(-c.slack for c in near.constraints) == pytest.approx(
        caught.value.violation, abs=1e-6
    )
    assert set(near.search.blame) == {"precision >= 0.99", "recall >= 0.9"}
    assert near.certificate.gap is None


def test_the_reachable_value_is_distinct_from_the_bound():
    y = np.r_[np.ones(89_998, int), np.zeros(10_002, int)]
    with pytest.raises(InfeasibleError, match=r"the highest reachable is 0\.89998"):
        solve("maximize recall subject to precision >= 0.9", np.zeros(len(y)), y)


def test_a_goal_that_a_constant_attains_warns():
    with pytest.warns(ConstantGoalWarning, match="predicting 1 for everyone attains the optimum"):
        found = solve("maximize recall", S.scores, S.y)
    assert any("for everyone" in text for text in found.report.warnings)
    with pytest.warns(ConstantGoalWarning, match="predicting 0 for everyone"):
        solve("maximize 1 / recall", S.scores, S.y)  # an infinite optimum


GIVEN = {"goal": "maximize recall subject to churn <= 1", "baseline": S.deployed}
OPTIONS = {
    "data sets": ({"datasets": [1]}, "`datasets` must be a dict from names to Dataset, (X, y) or"),
    "weights of no square": ({"sample_weight": np.full(N, 1e308)},
                             "extreme values, the first at row 0"),
    "tiny weights": ({"sample_weight": np.full(N, 1e-320)}, "extreme values, the first at row 0"),
    "soft evidence": ({"solver": "exact", "evidence": "soft"},
                      "`evidence`: `solver='exact'` counts decisions against labels, got 'soft'"),
    "classes": ({"classes": [0]}, "`classes` holds one class only"),
}  # fmt: skip
ROWS = {
    "NaN": (np.where(S.y == 1, np.nan, 0.5), S.y, "`scores` holds 143 NaN or infinite values"),
    "text": (S.g, S.y, "`scores` holds values of type str; scores are numbers"),
    "shape": (np.zeros((N, 3)), S.y,
              "`scores` has shape (400, 3); allowed are (N,) and posteriors (N, 2), one column"),
    "merged by float64": (2**62 + np.argsort(np.argsort(S.scores)), S.y,
                          "`scores` holds integers beyond 2**53"),
    "three classes": (S.scores, np.arange(N) % 3, "3 classes need posteriors"),
}  # fmt: skip


@over("case", OPTIONS)
def test_options_that_are_refused(case):
    options, message = OPTIONS[case]
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        solve(data=S.scores, y=S.y, **{**GIVEN, **options})


@over("case", ROWS)
def test_rows_that_are_refused(case):
    scores, y, message = ROWS[case]
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        solve("f1", scores, y)


BLOCK = """
import sys

class Absent:
    names = "pandas polars pyarrow torch safetensors matplotlib jinja2 cvxpy clarabel river"

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names.split():
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""
MORE = """
import numpy as np
from setpoint import evaluate, solve

group = np.where(np.arange(len(y)) % 2, "a", "b")
fair = "maximize accuracy subject to recall.difference(g) <= 0.1"
print(solve(fair, model.predict_proba(X), y, sensitive_features=group).report)
print(evaluate(fair, y, model.predict(X), sensitive_features={"g": group}))
"""


@pytest.mark.long
def test_without_optional_packages():
    readme = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    example = re.search(r"```python\n(.*?)```", readme, re.DOTALL).group(1)
    command = [sys.executable, "-W", "error", "-c", BLOCK + example + MORE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "precision" in done.stdout
