"""Reports for the tests of pages: small, and of every kind."""

from dataclasses import replace
from functools import cache

import numpy as np

from plugin.samples import sample
from setpoint import PlugInClassifier, evaluate, solve
from setpoint.report import AdaptiveStep, AdaptiveSummary, Entry, GoalReport, GroupRow
from setpoint.search.frontier import Frontier

FAIR = "maximize accuracy subject to recall.difference(g) <= 0.1 and precision >= 0.6"

# What people write into columns.
ODD = (
    "<script>alert('x')</script>",
    "\"quotes\" & 'more' </style></svg>",
    "😀 rather 漢字",
    "مرحبا بالعالم",
    "$x^2$ and \\frac",
    "n" * 300,
    "words " * 50,
    "zero\x00 and half \ud83d of a pair",
)


@cache
def fair():
    """Two classes, two groups, a rule for each."""
    s = sample(700)
    report = solve(FAIR, s.scores, s.y, sensitive_features={"g": s.g}, randomized="auto").report
    held = sample(500, seed=1)
    rule = held.scores > 0.8
    held_out = evaluate(FAIR, held.y, rule.astype(int), sensitive_features={"g": held.g})
    return report, held_out


@cache
def floor():
    """Two classes, one threshold, and a frontier."""
    s = sample(700)
    goal = "maximize recall subject to precision >= 0.6"
    report = solve(goal, s.scores, s.y).report
    bounds = np.linspace(0.4, 0.9, 21)
    values = np.where(bounds < 0.8, 1.2 - bounds, np.nan)
    line = Frontier(
        report.goal, "precision >= 0.6", "recall", "precision", ">=", 0.6,
        bounds, values, bounds, "lines",
    )  # fmt: skip
    return replace(report, frontiers=(line,))


@cache
def three():
    """Three classes: a search with a trace."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 240)
    X = np.eye(3)[y] + rng.normal(size=(240, 3))
    from sklearn.linear_model import LogisticRegression

    goal = "maximize g_mean subject to recall(label=1) >= 0.5"
    return PlugInClassifier(LogisticRegression(), goal).fit(X, y).goal_report_


@cache
def nearest():
    """A goal that no rule meets."""
    s = sample(300)
    goal = "maximize accuracy subject to precision >= 0.99 and recall >= 0.99"
    return solve(goal, s.scores, s.y, on_infeasible="nearest").report


def many_groups(names=50):
    """Groups with ordinary and with odd names, and several lines of notes about them."""
    found = [*ODD, *(f"region {i}" for i in range(names - len(ODD)))]
    rows = [
        GroupRow((("region", name),), "recall", 0.5 + i / 120, 0.4 + i / 150, 0.7 + i / 200, 30)
        for i, name in enumerate(found)
    ]
    rows[3] = replace(rows[3], value=None, low=None, high=None, rows=0)
    goal = 'maximize accuracy subject to recall.difference("region") <= 0.05'
    gap = Entry(
        'recall.difference("region") <= 0.05', 0.4, 0.05, -0.35, False, 0.2, 0.5, "pairs", 1500,
        1500.0, few_rows=True,
    )  # fmt: skip
    objective = Entry(
        "accuracy", 0.8, low=0.7, high=0.9, interval="wilson", rows=1500, effective_rows=1500
    )
    return GoalReport(
        goal, objective, (gap,), n_rows=1500, groups=tuple(rows), rule=ODD[0], positive=ODD[1],
        warnings=ODD, decides_on=("region",), seconds=0.5, versions={"numpy": "2"},
    )  # fmt: skip


def surrogates(n):
    """Names as a search by group gives them; among the first few an odd one."""
    groups = ["sex = Male", "race = Amer-Indian-Eskimo", ODD[1], "age = 20 to 40", ODD[5], "x = 1"]
    found = [
        f"sigmoid of {side}, {group}"
        for group in groups + [f"region = {i}" for i in range(n)]
        for side in ("positives", "negatives")
    ]
    return tuple(found[:n])


def adaptive_summary(n_surrogates=6, accepted=True, search="gradient", sense=1.0):
    """What a search of three starts tells; "logistic" comes furthest."""
    steps = []
    for i in range(24):
        start = ("post-shift", "logistic", "zero", "logistic")[i // 6]
        weights = 1.0 + np.cos(np.arange(n_surrogates) + i)
        shares = tuple(float(w) for w in weights / weights.sum())
        value = {"post-shift": 0.42, "logistic": 0.4, "zero": 0.3}[start] + 0.003 * i
        steps.append(AdaptiveStep(start, 31 * (i + 1), sense * value, shares))
    return AdaptiveSummary(
        "logistic regression with a smoothed cut-off", sense * 0.45, sense * 0.474, accepted,
        "the gain is more than one standard error" if accepted else "the gain may be chance",
        0.0123, 200, 1167, 0, 2000, search, "interpolation", "logistic",
        surrogates(n_surrogates), tuple(steps),
    )  # fmt: skip


def searched(adaptive=None, goal='maximize blackbox("a_module.of_the_shop:yearly_revenue")'):
    """The report of such a search."""
    adaptive = adaptive_summary() if adaptive is None else adaptive
    value = adaptive.best_value if adaptive.accepted else adaptive.baseline_value
    objective = Entry(goal.partition(" ")[2], value, rows=800, effective_rows=800.0)
    return GoalReport(
        goal, objective, status="feasible", family="surrogates", n_rows=800,
        rule="positive where score >= 0", positive="yes", adaptive=adaptive,
    )  # fmt: skip
