"""What is found while a model is trained, and how it is said; the rest is in conformance."""

import warnings

import numpy as np
import pytest

from setpoint import BlackBox, MetricError, NotMonotoneWarning
from setpoint.solvers import solvers_of
from surrogates.samples import Counted, adaptive, island, squares, two_groups
from thinning import over

X, Y = island(200)
G3, GY, G = two_groups(200)


# ---------------------------------------------------------------------- metrics
def test_a_metric_that_fails_on_the_way_names_the_call():
    metric = Counted(stop=70, error=ValueError("lost"))
    words = r"the metric mine raised ValueError: lost.*200 rows.* decided"
    with pytest.raises(MetricError, match=words):
        adaptive(BlackBox(metric, name="mine")).fit(X, Y)
    assert metric.calls == 70


@over("solver", solvers_of("surrogates"))
def test_a_constant_metric_is_said_after_the_probe(solver):
    metric = Counted(lambda y_true, y_pred: 3.0)
    with pytest.raises(ValueError, match=r"mine is 3 for all of \d+ different decisions") as error:
        adaptive(BlackBox(metric, name="mine"), solver=solver).fit(X, Y)
    assert metric.calls <= 2 * 10 + 12
    assert f"all of {metric.calls} different" in str(error.value)
    with pytest.raises(ValueError, match="there is nothing to optimise"):
        adaptive("maximize prior", solver=solver).fit(X, Y)
    scores = BlackBox(lambda y_true, scores: 3.0, name="mine")
    with pytest.raises(ValueError, match="mine is 3 for all of 30 different"):
        adaptive(scores).fit(X, Y)


def sloped(n=300):
    """Rows on which a line is right, whichever way it is turned."""
    rng = np.random.default_rng(6)
    Z = rng.normal(size=(n, 3))
    return Z, (Z @ [1.0, 0.5, 0.0] + 0.7 * rng.normal(size=n) > 0.4).astype(int)


def test_a_metric_the_wrong_way_round():
    turned = BlackBox(lambda y_true, y_pred: float(np.mean(y_true == y_pred)), False)
    words = "better as sigmoid of positives, sigmoid of negatives get worse.*check `greater_is_b"
    with pytest.warns(NotMonotoneWarning, match=words):
        adaptive(turned, max_iter=2).fit(*sloped())


def test_a_metric_that_likes_one_surrogate_worse():
    """Who is accepted wrongly earns, too: one class alone is the wrong way round."""

    def greedy(y_true, y_pred):
        return float(np.mean(np.where(y_true == 1, 1.0, 0.7) * y_pred))

    with pytest.warns(NotMonotoneWarning, match="as sigmoid of negatives gets worse") as caught:
        clf = adaptive(BlackBox(greedy), max_iter=2).fit(*sloped())
    assert "greater_is_better" not in str(caught[0].message)
    assert caught[0].filename == __file__
    assert clf.best_value_ >= clf.baseline_value_


@over("goal", [None, "g_mean"])
@over("seed", range(2))
def test_monotone_metrics_are_not_warned_of(goal, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        adaptive(goal, max_iter=1, random_state=seed).fit(*sloped())
        adaptive(goal, max_iter=1, random_state=seed).fit(X, Y)


# ---------------------------------------------------------------------- options, groups, folds
ALL, FIRST, SECOND = np.arange(200), np.arange(100), np.arange(100, 200)
LONE = np.where((G == "b") & (GY == 1), "c", G)
RARE = np.where((np.cumsum(GY) <= 2) & (GY == 1), "rare", G)
BY_GROUP, BY_BOTH = {"surrogate_groups": "g"}, {"surrogate_groups": {"g": "a", "h": 1}}
NO_ROWS, OVERLAP = "`cv`: a fold has no rows", {"surrogate_groups": ["g", {"g": "a"}]}
SAMPLES = [
    (BY_GROUP, {"g": LONE}, r"no row.* of g = b is of class 1"),
    (BY_BOTH, {}, r"no row.* of g = a and h = 1 is of class"),
    (BY_GROUP | {"cv": [(SECOND, FIRST), (FIRST, SECOND)]}, {"g": RARE}, "training rows of fold 1"),
    ({"cv": 0.0}, {}, "cv as a share lies between 0 and 1"),
    ({"cv": []}, {}, NO_ROWS),
    ({"cv": [([], ALL)]}, {}, NO_ROWS),
    ({"cv": [(FIRST, SECOND)]}, {"sample_weight": (ALL < 100) * 1.0}, f"{NO_ROWS} of positive w"),
    ({"cv": None}, {"validation": (G3[:, :1], GY)}, "X has 1 features, but AdaptiveSurrogateCl"),
    ({"gradient": "two-step", **OVERLAP}, {}, "overlap in `surrogate_groups`"),
]


@over(("options", "rows", "message"), SAMPLES)
def test_samples_that_do_not_do(options, rows, message):
    rows = dict(rows)
    columns = {"g": rows.pop("g", G), "h": np.where(G == "a", 0, 1)}
    with pytest.raises(ValueError, match=message):
        adaptive("f1", **options).fit(G3, GY, sensitive_features=columns, **rows)


@over(
    ("wrong", "words"),
    [
        (lambda f, y, w: (squares(f, y, w)[0], -squares(f, y, w)[1]), "gradient says"),
        (lambda f, y, w: (squares(f, y, w)[0], np.zeros(len(f))), "gradient says 0"),
        (lambda f, y, w: 1 / 0, "raised ZeroDivisionError: division by zero"),
    ],
)
def test_a_surrogate_of_ones_own_is_checked_before_the_metric_is_asked(wrong, words):
    metric = Counted()
    with pytest.raises(ValueError, match=f"`surrogates`: <lambda> .*{words}"):
        adaptive(BlackBox(metric), surrogates=["sigmoid", wrong]).fit(X, Y)
    assert metric.calls == 0
