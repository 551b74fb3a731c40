"""What is found while a model is trained, and how it is said; the rest is in conformance."""

import warnings

import numpy as np
import pytest

from setpoint import BlackBox, MetricError, NotMonotoneWarning
from setpoint.solvers import AdaptiveSurrogates, FirstModel, SurrogateWeights, solvers_of
from surrogates.samples import Counted, adaptive, island, squares, two_groups
from thinning import over

X, Y = island(200)
G3, GY, G = two_groups(200)


WRONG = [
    (AdaptiveSurrogates, {"gradient": "newton"}),
    (AdaptiveSurrogates, {"start": "middle"}),
    (AdaptiveSurrogates, {"max_iter": 0}),
    (AdaptiveSurrogates, {"step": 0.0}),
    (AdaptiveSurrogates, {"n_perturbations": 1}),
    (AdaptiveSurrogates, {"sigma": float("inf")}),
    (SurrogateWeights, {"inner_iter": 0}),
    (SurrogateWeights, {"smooth": 0}),
    (FirstModel, {"C": -1}),
    (FirstModel, {"epochs": 0}),
]


@over(("solver", "options"), WRONG)
def test_options_of_solvers(solver, options):
    with pytest.raises(ValueError, match=f"`{next(iter(options))}` is"):
        solver(**options)


# ---------------------------------------------------------------------- metrics
def test_a_metric_that_fails_on_the_way_names_the_call():
    metric = Counted(stop=70, error=ValueError("lost"))
    words = r"the metric mine raised ValueError: lost.*200 rows.* decided"
    with pytest.raises(MetricError, match=words):
        adaptive(BlackBox(metric, name="mine")).fit(X, Y)
    assert metric.calls == 70


@over("solver", solvers_of("surrogates"))
@over("m", ["auto", 4])
def test_a_constant_metric_is_said_after_the_probe(m, solver):
    metric = Counted(lambda y_true, y_pred: 3.0)
    own = {"n_perturbations": m} if solver == "adaptive-surrogates" else {}
    with pytest.raises(ValueError, match=r"mine is 3 for all of \d+ different decisions") as error:
        adaptive(BlackBox(metric, name="mine"), solver=solver, **own).fit(X, Y)
    assert metric.calls <= 2 * (10 if m == "auto" else m) + 12
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
    with pytest.warns(NotMonotoneWarning, match="check `greater_is_better`") as caught:
        adaptive(turned, max_iter=2).fit(*sloped())
    text = str(caught[0].message)
    assert "it gets better as sigmoid of positives, sigmoid of negatives get worse" in text


def test_a_metric_that_likes_one_surrogate_worse():
    """Who is accepted wrongly earns, too: one class alone is the wrong way round."""

    def greedy(y_true, y_pred):
        return float(np.mean(np.where(y_true == 1, 1.0, 0.7) * y_pred))

    with pytest.warns(NotMonotoneWarning, match="as sigmoid of negatives gets worse") as caught:
        clf = adaptive(BlackBox(greedy), max_iter=2).fit(*sloped())
    assert "greater_is_better" not in str(caught[0].message)
    assert caught[0].filename == __file__
    assert clf.best_value_ >= clf.baseline_value_


@over("goal", [None, "f1", "g_mean", "accuracy"])
@over("seed", range(3))
def test_monotone_metrics_are_not_warned_of(goal, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        adaptive(goal, max_iter=1, random_state=seed).fit(*sloped())
        adaptive(goal, max_iter=1, random_state=seed).fit(X, Y)


# ---------------------------------------------------------------------- groups, folds, surrogates
ALL, FIRST, SECOND = np.arange(200), np.arange(100), np.arange(100, 200)
LONE = np.where((G == "b") & (GY == 1), "c", G)
RARE = np.where((np.cumsum(GY) <= 2) & (GY == 1), "rare", G)
BY_GROUP, BY_BOTH = {"surrogate_groups": "g"}, {"surrogate_groups": {"g": "a", "h": 1}}
WITHOUT_ROWS = [
    (BY_GROUP, LONE, r"no row.* of g = b is of class 1"),
    (BY_BOTH, G, r"no row.* of g = a and h = 1 is of class"),
    (BY_GROUP | {"cv": [(SECOND, FIRST), (FIRST, SECOND)]}, RARE, "in the training rows of fold 1"),
    ({"cv": 0.0}, G, "cv as a share lies between 0 and 1"),
    ({"cv": 1.0}, G, "cv as a share lies between 0 and 1"),
    ({"cv": []}, G, "`cv`: a fold has no rows"),
    ({"cv": [(ALL, [])]}, G, "`cv`: a fold has no rows"),
    ({"cv": [([], ALL)]}, G, "`cv`: a fold has no rows"),
]


@over(("options", "g", "message"), WITHOUT_ROWS)
def test_folds_and_groups_without_rows(options, g, message):
    columns = {"g": g, "h": np.where(G == "a", 0, 1)}
    with pytest.raises(ValueError, match=message):
        adaptive("f1", **options).fit(G3, GY, sensitive_features=columns)


def test_folds_whose_rows_weigh_nothing():
    weight = (ALL < 100) * 1.0
    with pytest.raises(ValueError, match="`cv`: a fold has no rows of positive weight"):
        adaptive("f1", cv=[(FIRST, SECOND)]).fit(G3, GY, sample_weight=weight)


def test_a_validation_sample_of_other_features():
    with pytest.raises(
        ValueError, match="X has 1 features, but AdaptiveSurrogateClassifier is expecting 2"
    ):
        adaptive(cv=None).fit(X, Y, validation=(X[:, :1], Y))


@over("gradient", ["finite-difference", "two-step"])
def test_estimates_that_move_scores_need_groups_apart(gradient):
    with pytest.raises(ValueError, match="overlap in `surrogate_groups`"):
        adaptive(gradient=gradient, surrogate_groups=["g", {"g": "a"}]).fit(
            G3, GY, sensitive_features={"g": G}
        )


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
