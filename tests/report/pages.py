"""Reports for the tests of pages: small, and of every kind; each is made once a session."""

from dataclasses import replace
from functools import cache

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from report.page_reading import page_text
from setpoint import Deployed, PlugInClassifier, compare, evaluate, solve
from setpoint.goals import Goal
from setpoint.judging import document_of
from setpoint.report import (
    Counts,
    Entry,
    Frontiers,
    GoalReport,
    GroupRow,
    Header,
    RuleFacts,
    Run,
    Search,
    TextSection,
    as_page,
    infeasible_document,
)
from setpoint.search import Frontier
from setpoint.surrogates import AdaptiveStep, AdaptiveSummary

FAIR = "maximize accuracy subject to recall.difference(g) <= 0.1 and precision >= 0.6"
BOTH = "maximize accuracy subject to precision >= 0.99 and recall >= 0.99"
COUNTS = Counts(1000, ("no", "yes"), ((880.0, 20.0), (30.0, 70.0), (0.0, 0.0)))
PLAIN = GoalReport(
    "maximize recall",
    Entry("recall", 0.7, low=0.6, high=0.8, rows=100, numerator=70.0, denominator=100.0),
    counts=COUNTS,
)
HEADER = Header(
    "bank.csv",
    "bank.skops",
    "setpoint fit bank.csv --model bank.skops --goal {goal}",
    ("The column 'code' alone decides the class.",),
)

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
    "\x1b[31mred\x1b[0m",
)


def sample(n, seed=0):
    """Scores with ties, labels, and two groups of which one is harder."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.4).astype(int)
    g = np.where(rng.random(n) < 0.4, "b", "a")
    return np.round(rng.normal(size=n) + np.where(g == "a", 1.5, 0.9) * y, 2), y, g


@cache
def fair():
    """Two classes, two groups, a rule for each; and rows held out."""
    s, y, g = sample(700)
    report = solve(FAIR, s, y, sensitive_features={"g": g}, randomized="auto").report
    s, y, g = sample(500, seed=1)
    return report, evaluate(FAIR, y, (s > 0.8).astype(int), sensitive_features={"g": g})


def line(goal="maximize recall subject to precision >= 0.6"):
    """A frontier that ends within what is asked for."""
    bounds = np.linspace(0.4, 0.9, 21)
    values = np.where(bounds < 0.8, 1.2 - bounds, np.nan)
    return Frontier(
        goal, "precision >= 0.6", "recall", "precision", ">=", 0.6, bounds, values, bounds, "lines"
    )


@cache
def floor():
    """Two classes, one threshold, and a frontier."""
    s, y, _ = sample(700)
    report = solve("maximize recall subject to precision >= 0.6", s, y).report
    return replace(report, sections=(*report.sections, Frontiers((line(report.goal),))))


@cache
def priced():
    """What decisions cost, against the deployed model."""
    s, y, _ = sample(500, seed=1)
    goal = "minimize cost({(0, 1): 5, (1, 0): 200}) subject to predicted_rate <= 0.5"
    return evaluate(goal, y, (s > 0.8).astype(int), baseline=(s > 0.3).astype(int))


@cache
def three():
    """Three classes: a search with a trace."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 240)
    X = np.eye(3)[y] + rng.normal(size=(240, 3))
    goal = "maximize g_mean subject to recall(label=1) >= 0.5"
    folds = StratifiedKFold(5, shuffle=True, random_state=1)
    return PlugInClassifier(LogisticRegression(), goal, cv=folds).fit(X, y).goal_report_


@cache
def infeasible():
    """The page of that goal."""
    found = infeasible_document(
        Goal.parse(BOTH),
        "These cannot hold together: precision >= 0.99 and recall >= 0.99",
        [("precision >= 0.99", 0.388), ("recall >= 0.99", None), ("macro_f1 >= 0.5", 0.25)],
        line(),
        ["maximize accuracy subject to precision >= 0.9", "maximize accuracy"],
        HEADER,
    )
    return as_page(found)


@cache
def compared():
    """The page of models that are compared with today's."""
    s, y, g = sample(500)
    models = {"today": (s > 0.9).astype(int)}
    models |= {name: Deployed(s, 0.5 + 0.1 * i) for i, name in enumerate(("new", ODD[0], ODD[5]))}
    goal = "maximize recall subject to precision >= 0.6 and recall.difference(g) <= 0.3"
    found = compare(goal, models, None, y, sensitive_features={"g": g})
    return as_page(document_of(found, HEADER))


@cache
def many_groups(names=50):
    """Groups with ordinary and with odd names, and several lines of notes about them."""
    rows = [
        GroupRow(
            (("region", name),), "recall", 0.5 + 0.4 * i / names, 0.4 + 0.4 * i / names,
            0.55 + 0.4 * i / names, 30,
        )
        for i, name in enumerate([*ODD, *(f"region {i}" for i in range(names - len(ODD)))])
    ]  # fmt: skip
    rows[3] = replace(rows[3], value=None, low=None, high=None, rows=0)
    shares = [replace(g, metric="prior", compared=False) for g in rows]
    gap = Entry(
        'recall.difference("region") <= 0.05', 0.4, 0.05, -0.35, False, 0.2, 0.5, "pairs", 1500,
        1500.0, few_rows=True, relation="<=",
    )  # fmt: skip
    return GoalReport(
        'maximize accuracy subject to recall.difference("region") <= 0.05',
        Entry("accuracy", 0.8, low=0.7, high=0.9, interval="wilson", rows=1500),
        (gap,), rule=RuleFacts(ODD[0], ("region",)), warnings=ODD,
        counts=Counts(1500, (ODD[0], ODD[1]), ((700.0, 150.0), (150.0, 500.0), (0.0, 0.0))),
        groups=tuple(g for pair in zip(shares, rows, strict=True) for g in pair),
        run=Run("2026-11-23T07:00:00+00:00", 0.5, {"setpoint": "1", "numpy": "2"}),
    )  # fmt: skip


@cache
def many_classes(n=300):
    """A report on many classes, two of them never seen, and a constraint for each of fifteen."""
    names = tuple(f"class {i} {'of a long name ' * 13}".strip() for i in range(n))
    table = np.ones((n + 1, n)) + 40 * np.eye(n + 1, n)
    table[[3, n - 1, n]] = 0.0
    bounds = [f"recall(label={name!r}) >= 0.1" for name in names[:15]]
    known = {"few_rows": True, "relation": ">="}
    entries = [
        Entry(text, 0.2, 0.1, 0.1, True, 0.05, 0.4, "wilson", 30, 30.0, **known) for text in bounds
    ]
    entries[3] = Entry(bounds[3], None, 0.1, relation=">=", why="no rows of this class")
    return GoalReport(
        f"maximize macro_f1 subject to {' and '.join(bounds)}",
        Entry("macro_f1", 0.3, low=0.25, high=float("inf"), interval="delta", rows=9000),
        tuple(entries),
        counts=Counts(int(table.sum()), names, tuple(tuple(row) for row in table.tolist())),
    )


def empty():
    """A report on a table without rows."""
    goal = "maximize recall subject to precision >= 0.6 and recall.difference('g') <= 0.1"
    parts = Goal.parse(goal).constraints
    why = "there are no rows"
    return GoalReport(
        str(Goal.parse(goal)),
        Entry("recall", None, why="no rows of class 1"),
        tuple(Entry(str(c), None, c.rhs.value, relation=c.relation, why=why) for c in parts),
        counts=Counts(0, (0, 1), ((0.0, 0.0), (0.0, 0.0), (0.0, 0.0))),
        groups=(GroupRow((("g", "a"),), "recall", None, None, None, 0),),
    )


def adaptive_summary(n_surrogates=6, accepted=True, search="gradient", sense=1.0):
    """What a search of three starts tells; "logistic" comes furthest. One group is odd."""
    groups = ["sex = Male", "race = Amer-Indian-Eskimo", ODD[1], "age = 20 to 40", ODD[5], "x = 1"]
    names = [
        f"sigmoid of {side}, {group}"
        for group in groups + [f"region = {i}" for i in range(n_surrogates)]
        for side in ("positives", "negatives")
    ]
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
        0.0123, 200, 1167, 2000, search, "interpolation", "logistic",
        tuple(names[:n_surrogates]), tuple(steps), greater_is_better=sense > 0,
    )  # fmt: skip


def searched(adaptive=None, goal='maximize blackbox("a_module.of_the_shop:yearly_revenue")'):
    """The report of such a search."""
    adaptive = adaptive_summary() if adaptive is None else adaptive
    value = adaptive.best_value if adaptive.accepted else adaptive.baseline_value
    return GoalReport(
        goal, Entry(goal.partition(" ")[2], value, rows=800, effective_rows=800.0),
        status="feasible", search=Search("surrogates"),
        rule=RuleFacts("positive where score >= 0"),
        counts=Counts(800, ("no", "yes"), ((500.0, 100.0), (50.0, 150.0), (0.0, 0.0))),
        sections=(adaptive,),
    )  # fmt: skip


# --- Each of them with a header and words about the data, and its page ----------------------------
ABOUT = (TextSection("The data", ("500 rows of a table", "x" * 400, "<b>bold</b>")),)
MAKERS = {
    "held out": fair,
    "floor": floor,
    "priced": priced,
    "three": three,
    "groups": many_groups,
    "classes": many_classes,
    "empty": empty,
    "searched": searched,
}


@cache
def report_of(name):
    """A report, and one on rows held out or None."""
    found = MAKERS[name]()
    return found if isinstance(found, tuple) else (found, None)


@cache
def page_of(name):
    return page_text(*report_of(name), ABOUT, HEADER)
