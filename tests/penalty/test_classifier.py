"""What fit promises: never worse than cross-entropy, weights, held-out rows, stops, errors."""

import itertools
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import f1_score, precision_score, recall_score

from penalty.samples import FPOR, GOALS, SOLVERS, imbalanced, penalty
from setpoint import (
    ConstantGoalWarning,
    ExactPenaltyClassifier,
    FewRowsWarning,
    Goal,
    GoalError,
    InfeasibleError,
    SearchLimits,
    StoppedError,
    StoppedWarning,
    maximize,
    solve,
)
from setpoint.errors import ShapeError
from setpoint.metrics import f1, recall
from setpoint.search import limits
from setpoint.solvers import CuttingPlane, Ero, Lagrangian, Minibatches, Portfolio, Sigmoid
from thinning import thinned

X, Y = imbalanced()
EVERY_GOAL = [*GOALS, "accuracy", "maximize g_mean", "minimize cost({(1,0):5,(0,1):1})"]


@pytest.mark.parametrize(
    ("goal", "solver"), thinned(list(itertools.product(EVERY_GOAL, SOLVERS)), 6)
)
def test_never_worse_than_cross_entropy(solver, goal):
    clf = ExactPenaltyClassifier(
        goal, solver=Portfolio(polish=False) if solver == "portfolio" else solver, min_positives=5
    ).fit(X, Y)
    report = clf.goal_report_
    assert report.search.family == "penalty"
    assert report.search.solver == solver
    sense = -1.0 if "minimize" in report.goal else 1.0
    ranked = [(-c["violation"], sense * c["objective"]) for c in clf.candidates_]
    assert ranked == sorted(ranked, reverse=True)
    names = [c["method"] for c in clf.candidates_]
    assert "cross-entropy" in names
    assert report.objective.value == pytest.approx(clf.candidates_[0]["objective"], abs=1e-12)
    rivals = ["cross-entropy"] + ["balanced cross-entropy"] * (solver == "portfolio")
    assert set(rivals) <= set(names)


def test_the_report_says_what_predictions_do():
    clf = penalty(FPOR).fit(X, Y)
    decided = clf.predict(X)
    report = clf.goal_report_
    assert report.objective.value == pytest.approx(recall_score(Y, decided))
    assert report.constraints[0].value == pytest.approx(precision_score(Y, decided))
    assert report.status == "feasible"
    assert clf.trace_[-1].objective == report.objective.value
    assert any("min_positives" in w for w in report.warnings)
    assert any("2,000 rows that the model was trained on flatters" in w for w in report.warnings)
    same = solve(FPOR, clf.decision_function(X), Y, randomized=False)
    assert same.report.objective.value == report.objective.value


@pytest.mark.parametrize(
    "goal", ["f1", maximize(f1), Goal.parse("maximize f1"), "maximize f1(label=1)", f1]
)
def test_ways_to_write_a_goal(goal):
    found = penalty(goal).fit(X, Y).predict(X)
    assert np.array_equal(found, penalty("f1").fit(X, Y).predict(X))


@pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
def test_nothing_depends_on_the_seed_of_linear_models_but_the_polish():
    a, b = (penalty(random_state=s).fit(X, Y).coef_ for s in (0, 1))
    assert np.array_equal(a, b)
    Z, z = X[:600], Y[:600]
    found = [ExactPenaltyClassifier(FPOR, random_state=s).fit(Z, z) for s in (0, 0, None)]
    assert np.array_equal(found[0].coef_, found[1].coef_)
    assert np.array_equal(found[0].coef_, found[2].coef_)
    lone = penalty(FPOR).fit(Z, z)
    assert found[0].candidates_[0]["objective"] >= lone.candidates_[0]["objective"]


def test_the_class_that_the_goal_names_is_the_positive_one():
    y = np.array(["good", "bad"])[Y]
    goal = "maximize recall(label='bad') subject to precision(label='bad') >= 0.7"
    named = penalty(goal).fit(X, y)
    assert named.positive_ == "bad"
    assert np.array_equal(named.predict(X), penalty(FPOR, pos_label="bad").fit(X, y).predict(X))
    both = penalty("maximize recall(label='bad') subject to recall(label='good') >= 0.9").fit(X, y)
    assert both.positive_ == "good"


def test_what_no_model_improved_is_said():
    report = penalty("f1").fit(X, X[:, 0] > 1.0).goal_report_
    assert "Nothing improved on cross-entropy on these rows." in report.warnings


# ---------------------------------------------------------------------- weights
def test_weights_that_are_shares_ask_for_as_many_rows():
    plain = penalty(FPOR).fit(X, Y)
    shares = penalty(FPOR).fit(X, Y, sample_weight=np.full(len(Y), 1.0 / len(Y)))
    assert shares.goal_report_.objective.value == pytest.approx(
        plain.goal_report_.objective.value, abs=0.01
    )
    with pytest.raises(ValueError, match=r"`min_positives` is 5000, and the rows have a weight of"):
        penalty(FPOR, min_positives=5000).fit(X, Y)


@pytest.mark.parametrize("solver", ["cross-entropy", "lagrangian", "sigmoid"])
def test_weight_two_is_the_row_twice(solver):
    w = np.where(np.arange(len(Y)) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(len(Y)), w.astype(int))
    # No rounding may decide between iterates that are all but equal: few of them differ.
    a = penalty("f1", solver=solver, min_positives=0).fit(X, Y, sample_weight=w)
    b = penalty("f1", solver=solver, min_positives=0).fit(X[twice], Y[twice])
    assert a.goal_report_.objective.value == pytest.approx(b.goal_report_.objective.value, abs=0.01)
    assert np.mean(a.predict(X) != b.predict(X)) < 0.02


# ---------------------------------------------------------------------- held-out rows
@pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
def test_held_out_rows_choose():
    clf = penalty(FPOR, validation_fraction=0.25).fit(X, Y)
    assert clf.goal_report_.counts.n_rows == 500
    assert any("500 rows held out" in w for w in clf.goal_report_.warnings)
    assert clf.evidence_.n_rows == 500
    again = penalty(FPOR, validation_fraction=0.25).fit(X, Y)
    assert np.array_equal(again.coef_, clf.coef_)
    other = penalty(FPOR, validation_fraction=0.25, random_state=5).fit(X, Y)
    assert not np.array_equal(other.coef_, clf.coef_)


def test_a_large_least_number_of_positives_holds():
    few = penalty(FPOR, min_positives=0).fit(X, Y)
    many = penalty("maximize precision", min_positives=200).fit(X, Y)
    assert many.predict(X).sum() >= 200
    assert few.predict(X).sum() > 0
    with pytest.raises(InfeasibleError):
        penalty("maximize recall subject to precision >= 0.999", min_positives=380).fit(X, Y)


def test_nothing_is_certified_of_models():
    for least in (0, 200):
        report = penalty("f1", min_positives=least, solver="cross-entropy").fit(X, Y).goal_report_
        assert report.certificate.gap is None
        assert report.certificate.bound is None
        assert "certified" not in str(report)


def test_all_negative_is_never_silent():
    noise = np.random.default_rng(0).normal(size=X.shape)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clf = penalty("accuracy").fit(noise, Y)
    # On noise the last bit of a sum decides whether nobody does as well as the best rule.
    assert {w.category for w in caught} <= {ConstantGoalWarning}
    assert caught or clf.predict(noise).any()
    with pytest.warns(ConstantGoalWarning, match="predicting 0 for everyone"):
        penalty("accuracy", min_positives=0, solver="cross-entropy").fit(noise[:, :1] * 0, Y)


# ---------------------------------------------------------------------- stops
def test_time_is_up(monkeypatch):
    with pytest.raises(StoppedError, match=r"stopped after 1e-09 seconds"):
        ExactPenaltyClassifier(FPOR, limits=SearchLimits(seconds=1e-9)).fit(X, Y)
    clock = itertools.count(0.0, 0.001)  # a busy machine may have nothing after a tenth of one
    monkeypatch.setattr(limits, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    with pytest.warns(StoppedWarning, match=r"stopped after 0.1 seconds: the best"):
        clf = ExactPenaltyClassifier(FPOR, limits=SearchLimits(seconds=0.1)).fit(*imbalanced(4000))
    assert any("stopped after 0.1 seconds" in w for w in clf.goal_report_.warnings)
    assert clf.goal_report_.satisfied


@pytest.mark.parametrize("after", [0, 30])
def test_interrupted(monkeypatch, after):
    from setpoint.penalty import solvers as linear

    calls = itertools.count()
    plain = linear.linear_scores

    def interrupted(X, theta):
        if next(calls) == after:
            raise KeyboardInterrupt
        return plain(X, theta)

    monkeypatch.setattr(linear, "linear_scores", interrupted)
    if after == 0:
        with pytest.raises(KeyboardInterrupt):
            penalty(FPOR).fit(X, Y)
        return
    with pytest.warns(StoppedWarning, match="^interrupted: the best found so far is kept$"):
        clf = penalty(FPOR).fit(X, Y)
    assert clf.goal_report_.satisfied


# ---------------------------------------------------------------------- bad input
@pytest.mark.parametrize(
    ("options", "error", "what"),
    [
        ({"goal": "maximize recall subject to predicted_rate <= 0.1"}, ShapeError,
         r"predicted_rate <= 0.1: it falls with accepted positives.*PlugInClassifier"),
        ({"goal": "maximize predicted_rate"}, ShapeError, "rises with accepted negatives"),
        ({"goal": "minimize churn"}, GoalError, "the deployed model"),
        ({"goal": "maximize macro_f1 subject to nonsense"}, GoalError, "nonsense"),
        ({"solver": "exact"}, ValueError, r"`solver` is one of .*'portfolio'.*got 'exact'"),
        ({"module": "tree"}, ValueError, "`module` is 'linear', 'mlp' or a function"),
        ({"min_positives": -1}, ValueError, "`min_positives` is 'auto' or a number >= 0, got -1"),
        ({"min_positives": True}, ValueError, "`min_positives` is"),
        ({"validation_fraction": 1.0}, ValueError,
         r"`validation_fraction` is .* \[0, 1\), got 1.0"),
        ({"validation_fraction": 0.002}, ValueError, "the smaller class has"),
        ({"solver": CuttingPlane()}, ValueError, "which RampClassifier takes"),
        ({"training": 5}, ValueError, r"`training` is Minibatches\(...\) or None, got 5"),
        ({"checkpoint": 5}, ValueError, "`checkpoint` is a path or None, got 5"),
        ({"checkpoint": "/nowhere/a.checkpoint"}, ValueError, "there is no folder"),
        ({"checkpoint": "/"}, ValueError, "is a folder"),
        ({"preprocessor": "standardize", "goal": "f1", "min_positives": 1e9}, ValueError,
         "`min_positives` is 1e"),
    ],
)  # fmt: skip
def test_wrong_options(options, error, what):
    with pytest.raises(error, match=what):
        penalty(**{"goal": "f1", **options}).fit(X, Y)


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: Sigmoid(temperature=0), "`temperature` is a number above 0"),
        (lambda: Lagrangian(rates="ramp"), r"`rates` is one of \['hinge', 'sigmoid'\]"),
        (lambda: Portfolio(polish=1), "`polish` is one of"),
        (lambda: Portfolio(members=(CuttingPlane(),)), "`members` are solvers that train"),
        (lambda: Portfolio(members=(Sigmoid(balanced=True),)), "begins with both"),
        (lambda: Minibatches(learning_rate=float("nan")), "`learning_rate` is 'auto' or .*got nan"),
        (lambda: Minibatches(max_epochs=1.5), "`max_epochs` is 'auto' or a whole number"),
        (lambda: Minibatches(batch_size=0), "`batch_size` is 'auto' or a whole number >= 1, got 0"),
        (lambda: penalty(solver="ero").set_params(solver__rates="hinge"), "takes balanced, got"),
    ],
)
def test_solvers_refuse_wrong_parameters(make, what):
    with pytest.raises(ValueError, match=what):
        make()


def test_a_solver_refuses_the_parameters_of_others():
    with pytest.raises(TypeError, match="unexpected keyword argument 'temperature'"):
        Ero(temperature=1.0)


def test_a_name_stands_for_a_solver_with_its_defaults():
    one, other = penalty(solver="sigmoid").fit(X, Y), penalty(solver=Sigmoid()).fit(X, Y)
    assert np.array_equal(one.coef_, other.coef_)
    assert one.goal_report_.search.solver == other.goal_report_.search.solver == "sigmoid"
    steep = clone(penalty(solver="sigmoid")).set_params(solver__temperature=5.0)
    assert steep.solver == Sigmoid(temperature=5.0)
    assert steep.get_params()["solver__temperature"] == 5.0
    assert len(steep.fit(X, Y).candidates_) == len(one.candidates_) - 1


def test_infeasible_goals_say_what_is_reachable():
    goal = "maximize recall subject to precision >= 0.97"
    with pytest.raises(
        InfeasibleError, match=r"380 rows positive, as `min_positives` asks; with \d+ rows"
    ):
        penalty(goal, min_positives=380).fit(X, Y)
    with pytest.raises(
        InfeasibleError, match=r"does not say that no model can.*precision >= 0.97: 0\.\d+"
    ) as hopeless:
        penalty(goal, solver="cross-entropy").fit(X[:, 2:], Y)
    assert "predicted_rate" not in str(hopeless.value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewRowsWarning)
        near = penalty(goal, min_positives=380, on_infeasible="nearest").fit(X, Y)
    assert near.goal_report_.status == "nearest"
    assert not near.goal_report_.satisfied


def test_no_phase_of_training_sees_f1_by_sklearn_differently():
    clf = penalty("f1").fit(X, Y)
    assert clf.goal_report_.objective.value == pytest.approx(f1_score(Y, clf.predict(X)))
    assert str(maximize(recall).subject_to()) == "maximize recall"


# ---------------------------------------------------------------------- checkpoints, networks
def stopped_after(monkeypatch, n_ticks):
    """Trainings from now on end with SystemExit at their n-th step, as if killed."""
    from setpoint.search import Limits

    left = itertools.count()

    def tick():
        if next(left) == n_ticks:
            raise SystemExit

    monkeypatch.setattr(Limits, "tick", lambda self: tick())


@pytest.mark.parametrize("module", ["linear", "mlp"])
def test_a_training_that_was_killed_goes_on(module, tmp_path, monkeypatch):
    pytest.importorskip("safetensors")
    if module == "mlp":
        pytest.importorskip("torch")
    path = tmp_path / "a.checkpoint"
    options = {"module": module, "solver": "sigmoid", "min_positives": 5}
    options["training"] = Minibatches(max_epochs=3)
    straight = penalty("f1", **options).fit(X, Y)
    options |= {"checkpoint": path, "checkpoint_every": 0}
    with monkeypatch.context() as patch:
        stopped_after(patch, 600 if module == "linear" else 150)
        with pytest.raises(SystemExit):
            penalty("f1", **options).fit(X, Y)
    assert path.exists()
    for changed in (
        {"goal": "accuracy"},
        {"solver": Sigmoid(temperature=3.0)},
        {"random_state": 1},
    ):
        with pytest.raises(ValueError, match=f"of another training: `{next(iter(changed))}` was"):
            penalty(**{"goal": "f1", **options, **changed}).fit(X, Y)
    with pytest.raises(ValueError, match="of another training: the digest of the rows was"):
        penalty("f1", **options).fit(X + 1e-9 * np.arange(4), 1 - Y[::-1])
    resumed = penalty("f1", **options).fit(X, Y)
    assert np.array_equal(resumed.decision_function(X), straight.decision_function(X))
    assert resumed.candidates_ == straight.candidates_
    assert [t[:4] for t in resumed.trace_] == [t[:4] for t in straight.trace_]
    assert not path.exists()


def test_a_network_is_copied_by_its_numbers(tmp_path):
    import pickle

    from setpoint import load_model, save_model

    torch = pytest.importorskip("torch")
    clf = penalty("f1", module="mlp", training=Minibatches(max_epochs=2)).fit(X, Y)
    assert isinstance(clf.module_, torch.nn.Module)
    assert not clf.module_.training
    assert isinstance(clf.parameters_, bytes)
    save_model(clf, tmp_path / "a.skops")
    for copy in (pickle.loads(pickle.dumps(clf)), load_model(tmp_path / "a.skops")):
        assert np.array_equal(copy.decision_function(X), clf.decision_function(X))
    with pytest.raises(AttributeError, match="coef_ is there for linear models only"):
        _ = clf.coef_


def test_a_large_linear_model_is_trained_by_minibatches(monkeypatch):
    pytest.importorskip("torch")
    from setpoint.penalty import classifier as fitting

    full = penalty("f1").fit(X, Y)
    monkeypatch.setattr(fitting, "_MOST_AT_ONCE", 10)
    clf = penalty("f1", training=Minibatches(learning_rate=0.02, max_epochs=5)).fit(X, Y)
    assert clf.coef_.shape == (1, 4)
    assert clf.goal_report_.objective.value >= full.goal_report_.objective.value - 0.02
    above = clf.decision_function(X) + clf.threshold_
    features = clf.preprocessor_.transform(X)
    assert np.allclose(above, features @ clf.coef_[0] + clf.intercept_[0])


def test_a_wrong_module_is_named_before_training():
    torch = pytest.importorskip("torch")

    def two_outputs(d):
        return torch.nn.Linear(d, 2)

    with pytest.raises(ValueError, match=r"\(2, 2\)"):
        penalty("f1", module=two_outputs).fit(X, Y)
    with pytest.raises(TypeError, match="int"):
        penalty("f1", module=lambda d: 3).fit(X, Y)
    with pytest.raises(ValueError, match="`device='nonsense'`"):
        penalty("f1", module="mlp", training=Minibatches(device="nonsense")).fit(X, Y)
