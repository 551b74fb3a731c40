"""What is refused, what is warned of, and how it is said."""

import warnings

import numpy as np
import pytest

from setpoint import BlackBox, Dataset, GoalError, MetricError, NotMonotoneWarning, SearchLimits
from setpoint.errors import NoFormulaError
from setpoint.solvers import FirstModel, SurrogateWeights, solvers_of
from setpoint.surrogates import PrecisionAtK
from surrogates.samples import Counted, adaptive, island, two_groups
from thinning import over

X, Y = island(200)
V, VY = island(120, seed=1)
G3, GY, G = two_groups(200)


def black(function, **options):
    return BlackBox(function, name="mine", **options)


# ---------------------------------------------------------------------- metrics
def raises(y_true, y_pred):
    raise ZeroDivisionError("no customers")


@pytest.mark.parametrize(
    ("metric", "text"),
    [
        (black(raises), "mine raised ZeroDivisionError: no customers; it was called with 200 rows"),
        (black(lambda y_true, y_pred: float("nan")), "mine returned nan, not a finite number"),
        (black(lambda y_true, y_pred: np.zeros(3)), r"an array of shape \(3,\), not a number"),
        (black(lambda y_true, y_pred: "good"), "mine returned a str, not a number"),
        (black(lambda y_true, y_pred: None), "mine returned None"),
        (black(lambda y_true, y_pred: 1.5, limits=(0, 1)), "returned 1.5, outside its limits"),
    ],
    ids=["raises", "nan", "vector", "text", "none", "limits"],
)
def test_metrics_that_give_no_value(metric, text):
    with pytest.raises(MetricError, match=text):
        adaptive(metric).fit(X, Y)


def test_a_metric_that_fails_on_the_way_names_the_call():
    metric = Counted(stop=70, error=ValueError("lost"))
    with pytest.raises(MetricError, match=r"raised ValueError: lost.*200 rows.* decided"):
        adaptive(black(metric)).fit(X, Y)
    assert metric.calls == 70


@pytest.mark.parametrize("solver", solvers_of("surrogates"))
@pytest.mark.parametrize("m", ["auto", 4])
def test_a_constant_metric_is_said_after_the_probe(m, solver):
    metric = Counted(lambda y_true, y_pred: 3.0)
    own = {"n_perturbations": m} if solver == "adaptive-surrogates" else {}
    with pytest.raises(ValueError, match=r"mine is 3 for all of \d+ different decisions") as error:
        adaptive(black(metric), solver=solver, **own).fit(X, Y)
    assert metric.calls <= 2 * (10 if m == "auto" else m) + 12
    assert f"all of {metric.calls} different" in str(error.value)
    with pytest.raises(ValueError, match="there is nothing to optimise"):
        adaptive("maximize prior", solver=solver).fit(X, Y)


def test_a_constant_metric_of_scores():
    metric = black(lambda y_true, scores: 3.0)
    with pytest.raises(ValueError, match="mine is 3 for all of 30 different"):
        adaptive(metric).fit(X, Y)


def test_a_metric_the_wrong_way_round():
    turned = black(lambda y_true, y_pred: float(np.mean(y_true == y_pred)), greater_is_better=False)
    with pytest.warns(NotMonotoneWarning, match="check `greater_is_better`") as caught:
        adaptive(turned, max_iter=2).fit(*sloped())
    text = str(caught[0].message)
    assert "it gets better as sigmoid of positives, sigmoid of negatives get worse" in text


def sloped(n=300):
    """Rows on which a line is right, whichever way it is turned."""
    rng = np.random.default_rng(6)
    Z = rng.normal(size=(n, 3))
    return Z, (Z @ [1.0, 0.5, 0.0] + 0.7 * rng.normal(size=n) > 0.4).astype(int)


def test_a_metric_that_likes_one_surrogate_worse():
    """Who is accepted wrongly earns, too: one class alone is the wrong way round."""

    def greedy(y_true, y_pred):
        return float(np.mean(np.where(y_true == 1, 1.0, 0.7) * y_pred))

    with pytest.warns(NotMonotoneWarning, match="as sigmoid of negatives gets worse") as caught:
        clf = adaptive(black(greedy), max_iter=2).fit(*sloped())
    assert "greater_is_better" not in str(caught[0].message)
    assert caught[0].filename == __file__
    assert clf.best_value_ >= clf.baseline_value_


@pytest.mark.parametrize("goal", [None, "f1", "g_mean", "accuracy"])
def test_monotone_metrics_are_not_warned_of(goal):
    for seed in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            adaptive(goal, max_iter=1, random_state=seed).fit(*sloped())
            adaptive(goal, max_iter=1, random_state=seed).fit(X, Y)


def test_weights_for_a_metric_that_takes_none():
    with pytest.raises(ValueError, match="profit has no such parameter"):
        adaptive().fit(X, Y, sample_weight=np.arange(200.0))


def test_columns_that_are_missing():
    metric = black(lambda y_true, y_pred, amount: 1.0)
    with pytest.raises(GoalError, match="takes the column 'amount', which neither"):
        adaptive(metric).fit(X, Y)
    with pytest.raises(GoalError, match="'sex'"):
        adaptive("maximize recall.min(sex)").fit(X, Y)


def test_a_metric_that_is_only_named():
    with pytest.raises(GoalError, match="its function is wanted"):
        adaptive('maximize blackbox("shop:revenue")').fit(X, Y)


# ---------------------------------------------------------------------- groups and classes
def test_an_empty_group():
    lone = np.where((G == "b") & (GY == 1), "c", G)
    with pytest.raises(ValueError, match=r"no row.* of g = b is of class 1"):
        adaptive(surrogate_groups="g").fit(G3, GY, sensitive_features={"g": lone})
    with pytest.raises(ValueError, match="no row has g = 'z'"):
        adaptive(surrogate_groups={"g": "z"}).fit(G3, GY, sensitive_features={"g": G})
    both = {"g": G, "h": np.where(G == "a", 0, 1)}
    with pytest.raises(ValueError, match=r"no row.* of g = a and h = 1"):
        adaptive(surrogate_groups={"g": "a", "h": 1}).fit(G3, GY, sensitive_features=both)


def test_a_group_that_a_fold_lacks():
    rare = np.where((np.cumsum(GY) <= 2) & (GY == 1), "rare", G)
    folds = [(np.arange(100, 200), np.arange(100)), (np.arange(100), np.arange(100, 200))]
    with pytest.raises(ValueError, match="in the training rows of fold 1"):
        adaptive(surrogate_groups="g", cv=folds).fit(G3, GY, sensitive_features={"g": rare})


@pytest.mark.parametrize(
    ("groups", "error", "text"),
    [
        ("sex", GoalError, "`surrogate_groups` names .*sex"),
        ({"sex": "f"}, GoalError, "`surrogate_groups` names .*sex"),
        (7, TypeError, "`surrogate_groups` is None, names of columns, or dicts"),
        ([], TypeError, "`surrogate_groups` is None, names of columns, or dicts"),
        (["g", 7], TypeError, "an entry is a column or a dict, got 7"),
        ([{}], TypeError, "an entry is a column or a dict, got {}"),
        ({1: "b"}, TypeError, "an entry is a column or a dict"),
    ],
)
def test_groups_that_are_invalid(groups, error, text):
    with pytest.raises(error, match=text):
        adaptive(surrogate_groups=groups).fit(G3, GY, sensitive_features={"g": G})


def test_a_validation_sample_with_one_class():
    with pytest.raises(ValueError, match="`validation` holds no row of the class 1 that counts"):
        adaptive(cv=None).fit(X, Y, validation=(V, np.zeros(120, int)))
    held = Dataset(V, VY, sample_weight=1.0 - VY)
    with pytest.raises(ValueError, match="`validation` holds no row of the class 1 that counts"):
        adaptive("f1", cv=None).fit(X, Y, validation=held)


# ---------------------------------------------------------------------- samples
@pytest.mark.parametrize(
    ("validation", "error", "text"),
    [
        ((V, None), ValueError, "`validation` holds no labels"),
        (Dataset(V), ValueError, "`validation` holds no labels"),
        ((V[:50], VY), ValueError, "validation"),
        ((V[:, :1], VY), ValueError, "1 features"),
        (V, ValueError, "`validation` holds no labels"),
        ((V, VY + 1), ValueError, "validation"),
    ],
)
def test_validation_samples_that_are_invalid(validation, error, text):
    with pytest.raises(error, match=text):
        adaptive(cv=None).fit(X, Y, validation=validation)


@pytest.mark.parametrize("cv", [0.0, 1.0, 1.5, -0.2, float("nan")])
def test_shares_that_are_invalid(cv):
    with pytest.raises(ValueError, match="cv as a share lies between 0 and 1"):
        adaptive(cv=cv).fit(X, Y)


def test_folds_without_rows():
    for folds in ([], [(np.arange(200), [])], [([], np.arange(200))]):
        with pytest.raises(ValueError, match="`cv`: a fold has no rows"):
            adaptive(cv=folds).fit(X, Y)
    split, first = [(np.arange(100), np.arange(100, 200))], (np.arange(200) < 100).astype(float)
    with pytest.raises(ValueError, match="`cv`: a fold has no rows"):
        adaptive("f1", cv=split).fit(X, Y, sample_weight=first)


def test_data_sets_are_refused():
    with pytest.raises((GoalError, NoFormulaError), match="hard"):
        adaptive("minimize error_rate subject to recall.on('hard') >= 0.5").fit(X, Y)


# ---------------------------------------------------------------------- estimates
@pytest.mark.parametrize("gradient", ["finite-difference", "two-step"])
def test_estimates_that_need_one_sample(gradient):
    with pytest.raises(ValueError, match="needs surrogates and metric on the same rows"):
        adaptive(gradient=gradient, cv=None).fit(X, Y, validation=(V, VY))
    with pytest.raises(ValueError, match="overlap in `surrogate_groups`"):
        adaptive(gradient=gradient, surrogate_groups=["g", {"g": "a"}]).fit(
            G3, GY, sensitive_features={"g": G}
        )
    for kinds in ("prbep", ["sigmoid", "hinge"], PrecisionAtK(3), lambda f, y, w: (0.0, f)):
        with pytest.raises(ValueError, match=r"takes one of .*'interpolation' takes any"):
            adaptive(gradient=gradient, surrogates=kinds).fit(X, Y)


def test_a_search_over_weights_refuses_them():
    with pytest.raises(TypeError, match="unexpected keyword argument 'gradient'"):
        SurrogateWeights(gradient="two-step")
    with pytest.raises(ValueError, match="takes start, inner_iter, smooth, got 'gradient'"):
        adaptive(solver="surrogate-weights").set_params(solver__gradient="two-step")
    held = {"validation": (V, VY)}
    adaptive(solver="surrogate-weights", cv=None, budget=80).fit(X, Y, **held)


# ---------------------------------------------------------------------- options
@over(
    ("options", "error", "text"),
    [
        ({"surrogates": "sigmod"}, ValueError, r"'sigmod' is not one of .*did you mean|sigmoid"),
        ({"surrogates": []}, ValueError, "`surrogates` is empty"),
        ({"surrogates": 3}, TypeError, "`surrogates`: names among"),
        ({"surrogates": ["hinge", 3]}, TypeError, "got 3"),
        ({"gradient": "newton"}, ValueError, "gradient"),
        ({"start": "middle"}, ValueError, "start"),
        ({"budget": 0}, ValueError, "`evaluations` is a whole number >= 1 or None, got 0"),
        ({"budget": 2.5}, ValueError, "`evaluations` is a whole number >= 1 or None, got 2.5"),
        ({"limits": 2000}, ValueError, r"`limits` is SearchLimits\(\.\.\.\) or None, got 2000"),
        (
            {"limits": SearchLimits(tol=0.1)},
            ValueError,
            "takes seconds, evaluations, got tol=0.1",
        ),
        ({"max_iter": 0}, ValueError, "max_iter"),
        ({"n_perturbations": 1}, ValueError, "n_perturbations"),
        ({"n_perturbations": "many"}, (ValueError, TypeError), "n_perturbations"),
        ({"sigma": 0.0}, ValueError, "sigma"),
        ({"sigma": "some"}, (ValueError, TypeError), "sigma"),
        ({"sigma": float("inf")}, ValueError, "sigma"),
        ({"step": 0.0}, ValueError, "step"),
        ({"step": float("nan")}, ValueError, "step"),
        ({"inner_iter": 0}, ValueError, "inner_iter"),
        ({"smooth": 0}, ValueError, "smooth"),
        ({"smooth": "much"}, ValueError, "smooth"),
        ({"penalty": 0}, ValueError, "penalty"),
        ({"training": 3}, ValueError, "`training` is FirstModel"),
        ({"module": "tree"}, TypeError, "module"),
    ],
)
def test_options(options, error, text):
    with pytest.raises(error, match=text):
        adaptive(**options).fit(X, Y)


def test_wrong_solvers_and_first_models():
    with pytest.raises(ValueError, match=r"`solver` is one of .*'surrogate-weights'.*got 'random'"):
        adaptive().set_params(solver="random").fit(X, Y)
    for options in ({"C": -1}, {"C": "1"}, {"epochs": 0}):
        with pytest.raises(ValueError, match=f"`{next(iter(options))}` is"):
            FirstModel(**options)


@pytest.mark.parametrize("solver", solvers_of("surrogates"))
def test_a_budget_smaller_than_one_gradient(solver):
    metric = Counted()
    with pytest.raises(ValueError, match=r"`evaluations=30` are too few: .* need \d+") as error:
        adaptive(black(metric), budget=30, solver=solver).fit(X, Y)
    assert metric.calls == 0
    least = int(str(error.value).split()[-1])
    clf = adaptive(black(metric), budget=least, solver=solver).fit(X, Y)
    assert 0 < clf.n_evaluations_ <= least
    with pytest.raises(ValueError, match=f"need {least}$"):
        adaptive(budget=least - 1, solver=solver).fit(X, Y)


def test_own_surrogates_that_return_nothing():
    def nothing(scores, y, sample_weight):
        return None

    with pytest.raises(TypeError, match=r"`surrogates`: nothing returns \(value, gradient\)"):
        adaptive(surrogates=nothing).fit(X, Y)


# ---------------------------------------------------------------------- X


def mean_score(scores, y, sample_weight):
    return float(scores.mean()), np.full(len(scores), 1.0 / len(scores))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda f, y, w: (mean_score(f, y, w)[0], -mean_score(f, y, w)[1]), "gradient says"),
        (lambda f, y, w: (mean_score(f, y, w)[0], np.zeros(len(f))), "gradient says 0"),
        (lambda f, y, w: 1 / 0, "raised ZeroDivisionError: division by zero"),
    ],
    ids=["turned round", "nothing", "raises"],
)
def test_a_surrogate_of_ones_own_is_checked_before_the_metric_is_asked(wrong, words):
    metric = Counted()
    with pytest.raises(ValueError, match=f"`surrogates`: <lambda> .*{words}"):
        adaptive(black(metric), surrogates=["sigmoid", wrong]).fit(X, Y)
    assert metric.calls == 0
    adaptive(black(metric), surrogates=["sigmoid", mean_score], max_iter=1).fit(X, Y)


def test_a_surrogate_of_ones_own_may_spoil_what_it_is_given():
    def spoils(scores, y, sample_weight):
        found = mean_score(scores, y, sample_weight)
        scores[:] = y[:] = 0
        return found

    def fitted(function):
        return adaptive(surrogates=["sigmoid", function], max_iter=2).fit(X, Y).parameters_

    np.testing.assert_array_equal(fitted(spoils), fitted(mean_score))
