"""The solvers as values, with their own settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from setpoint.errors import InputError
from setpoint.parameters import Allowed, Number
from setpoint.solvers.settings import Solver

# --- Solvers that train a model for goals over the rows as a whole --------------------------------


_WHOLE = (
    "goals over the rows as a whole that only gain by accepting a positive and by refusing a "
    "negative"
)
_YES_NO = (False, True)


@dataclass(frozen=True, repr=False)
class FromCrossEntropy(Solver):
    """What the solvers of this family share: each starts where cross-entropy ended.

    Parameters
    ----------
    balanced : bool
        Whether both classes weigh the same in that cross-entropy.

    Examples
    --------
    >>> from setpoint.solvers import FromCrossEntropy, Profiled
    >>> isinstance(Profiled(balanced=True), FromCrossEntropy)
    True
    """

    family = "penalty"
    takes = _WHOLE
    allowed: ClassVar[Mapping[str, Allowed]] = {"balanced": _YES_NO}

    balanced: bool = field(default=False, kw_only=True)


@dataclass(frozen=True, repr=False)
class CrossEntropy(FromCrossEntropy):
    """Cross-entropy alone: the model that knows no goal, at its best threshold.

    Examples
    --------
    >>> from setpoint import ExactPenaltyClassifier
    >>> from setpoint.solvers import CrossEntropy
    >>> clf = ExactPenaltyClassifier("g_mean", solver=CrossEntropy(balanced=True))
    >>> clf.solver
    CrossEntropy(balanced=True)
    """

    name = "cross-entropy"
    does = "trains by cross-entropy and takes the best threshold"


@dataclass(frozen=True, repr=False)
class Ero(FromCrossEntropy):
    """The exact reformulation with its decisions s in closed form.

    Peng, Travadi, He, Cui and Sun, "Exact reformulation and optimization for direct metric
    optimization in binary imbalanced classification".

    Examples
    --------
    >>> from setpoint import ExactPenaltyClassifier
    >>> from setpoint.solvers import Ero
    >>> clf = ExactPenaltyClassifier("maximize recall subject to precision >= 0.9", solver=Ero())
    >>> clf.solver
    Ero()
    """

    name = "ero"
    does = "minimises the exact penalty, its decisions in closed form"


@dataclass(frozen=True, repr=False)
class EroAdam(FromCrossEntropy):
    """The exact reformulation as printed: Algorithm 3.1, model and decisions by Adam.

    Parameters
    ----------
    reformulation : {"inequality", "equality"}
        (3.18) or (3.9).
    penalty_scale : {"paper", "code"}
        The penalty of (3.30), or that of the authors' code.
    logit_regularization : bool
        With or without (3.26).

    Examples
    --------
    >>> from setpoint import ExactPenaltyClassifier
    >>> from setpoint.solvers import EroAdam
    >>> clf = ExactPenaltyClassifier("g_mean", solver=EroAdam(reformulation="equality"))
    >>> clf.solver
    EroAdam(reformulation='equality')
    """

    name = "ero-adam"
    does = "minimises the exact penalty by Adam, Algorithm 3.1 as printed"
    allowed: ClassVar = {
        **FromCrossEntropy.allowed,
        "reformulation": ("inequality", "equality"),
        "penalty_scale": ("paper", "code"),
        "logit_regularization": _YES_NO,
    }

    reformulation: str = "inequality"
    penalty_scale: str = "paper"
    logit_regularization: bool = True


@dataclass(frozen=True, repr=False)
class Profiled(FromCrossEntropy):
    """The best threshold at each step, and a narrowing band round it.

    Examples
    --------
    >>> from setpoint import ExactPenaltyClassifier
    >>> from setpoint.solvers import Profiled
    >>> clf = ExactPenaltyClassifier("g_mean", solver=Profiled())
    >>> clf.solver
    Profiled()
    """

    name = "profiled"
    does = "follows the best threshold with a narrowing band round it"


@dataclass(frozen=True, repr=False)
class Sigmoid(FromCrossEntropy):
    """Soft counts with an exact penalty; with F1 this is SigmoidF1.

    Parameters
    ----------
    temperature : float or None
        Of the sigmoid; None: 1 and 5.

    Examples
    --------
    >>> from setpoint import ExactPenaltyClassifier
    >>> from setpoint.solvers import Sigmoid
    >>> clf = ExactPenaltyClassifier("g_mean", solver=Sigmoid(temperature=2.0))
    >>> clf.solver
    Sigmoid(temperature=2.0)
    """

    name = "sigmoid"
    does = "counts softly by sigmoids"
    allowed: ClassVar = {
        **FromCrossEntropy.allowed,
        "temperature": Number("a number above 0 or None", 0.0, False, other=(None,)),
    }

    temperature: float | None = None


@dataclass(frozen=True, repr=False)
class Lagrangian(FromCrossEntropy):
    """Surrogate rates for the model, true rates for the multipliers.

    Parameters
    ----------
    rates : {"hinge", "sigmoid"}
        For the model.

    Examples
    --------
    >>> from setpoint import ExactPenaltyClassifier
    >>> from setpoint.solvers import Lagrangian
    >>> clf = ExactPenaltyClassifier("g_mean", solver=Lagrangian(rates="sigmoid"))
    >>> clf.solver
    Lagrangian(rates='sigmoid')
    """

    name = "lagrangian"
    does = "plays surrogate rates against multipliers of the true ones"
    allowed: ClassVar = {**FromCrossEntropy.allowed, "rates": ("hinge", "sigmoid")}

    rates: str = "hinge"


_ALL = (Profiled(), Lagrangian(), Sigmoid(), Ero(), EroAdam())


@dataclass(frozen=True, repr=False)
class Portfolio(Solver):
    """Several solvers after both cross-entropies; the best iterate of all is kept.

    Parameters
    ----------
    members : tuple of solvers
        What is run, by default all solvers of this family.
    polish : bool
        In linear models with at most 40 features: a (1+1) evolution strategy on the goal,
        from the best candidates and random directions.

    Examples
    --------
    >>> from setpoint import ExactPenaltyClassifier
    >>> from setpoint.solvers import Ero, Portfolio, Profiled
    >>> clf = ExactPenaltyClassifier("g_mean", solver=Portfolio(members=(Ero(), Profiled())))
    >>> clf.solver
    Portfolio(members=(Ero(), Profiled()))
    """

    name = "portfolio"
    family = "penalty"
    does = "runs all the others and keeps the best"
    takes = _WHOLE
    allowed: ClassVar = {"polish": _YES_NO}

    members: tuple[FromCrossEntropy, ...] = _ALL
    polish: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        trained = (Ero, EroAdam, Profiled, Sigmoid, Lagrangian)
        if not self.members or not all(isinstance(one, trained) for one in self.members):
            raise InputError(
                "`members` are solvers that train for the goal, such as Ero() and Profiled(), got "
                f"{self.members!r}"
            )
        if any(one.balanced for one in self.members):
            raise InputError(
                "`members`: a portfolio begins with both cross-entropies, got balanced"
            )


# --- Solvers that find a rule over the scores of a model ------------------------------------------


_ANY = "every shape that can be solved"
_CONCAVE = "scores that are concave (or losses that are convex)"
_BOUNDS = "bounds that are convex or linear rows"
_SEARCHED = ("tol", "calls", "seconds")


@dataclass(frozen=True, repr=False)
class OverPosteriors(Solver):
    """What the solvers share that seek rules over posteriors.

    Examples
    --------
    >>> from setpoint.solvers import FrankWolfe, OverPosteriors
    >>> isinstance(FrankWolfe(), OverPosteriors), OverPosteriors.limits
    (True, ('tol', 'calls', 'seconds'))
    """

    family = "plugin"
    limits: ClassVar[tuple[str, ...]] = _SEARCHED


@dataclass(frozen=True, repr=False)
class Auto(OverPosteriors):
    """The solver that suits the goal: exact for two classes, else column generation.

    Examples
    --------
    >>> from setpoint import solve
    >>> from setpoint.solvers import Auto
    >>> scores, y = [0.1, 0.4, 0.35, 0.8, 0.7, 0.9], [0, 0, 1, 1, 0, 1]
    >>> solve("f1", scores, y, solver=Auto()).report.search.solver
    'exact'
    """

    name = "auto"
    does = "takes 'exact' for two classes, 'column-generation' for more, 'post-shift' for metrics"
    takes = _ANY
    limits = (*_SEARCHED, "evaluations")


@dataclass(frozen=True, repr=False)
class Exact(Solver):
    """Every cut-off of one score, by sweeps and a linear program.

    Examples
    --------
    >>> from setpoint import solve
    >>> from setpoint.solvers import Exact
    >>> scores, y = [0.1, 0.4, 0.35, 0.8, 0.7, 0.9], [0, 0, 1, 1, 0, 1]
    >>> solve("f1", scores, y, solver=Exact()).rule
    Threshold(threshold=0.75, width=0.0)
    """

    name = "exact"
    family = "plugin"
    does = "looks at every cut-off of one score"
    takes = f"{_ANY}, for two classes"
    limits = _SEARCHED


@dataclass(frozen=True, repr=False)
class ColumnGeneration(OverPosteriors):
    """A linear program over rules, which grows by the best answers to its multipliers.

    Parameters
    ----------
    oracle : classifier or None
        Trained anew at each call, with weights that say what each error costs just now; it
        has to take `sample_weight`. None: the rule over the posteriors that answers best.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setpoint import PlugInClassifier
    >>> from setpoint.solvers import ColumnGeneration
    >>> model = LogisticRegression()
    >>> clf = PlugInClassifier(model, "h_mean", solver=ColumnGeneration(oracle=model))
    >>> clf.solver
    ColumnGeneration(oracle=LogisticRegression())
    """

    name = "column-generation"
    does = "grows a linear program over rules by an oracle's answers"
    takes = f"{_ANY}, for any number of classes"

    oracle: Any = None


@dataclass(frozen=True, repr=False)
class FrankWolfe(OverPosteriors):
    """Frank-Wolfe over the achievable confusion matrices.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setpoint import PlugInClassifier, SearchLimits
    >>> from setpoint.solvers import FrankWolfe
    >>> limits = SearchLimits(calls=50)
    >>> clf = PlugInClassifier(LogisticRegression(), "h_mean", solver=FrankWolfe(), limits=limits)
    >>> clf.solver, clf.limits
    (FrankWolfe(), SearchLimits(calls=50))
    """

    name = "frank-wolfe"
    does = "moves towards the best answer to the gradient"
    takes = f"smooth {_CONCAVE}"
    bounds = _BOUNDS


@dataclass(frozen=True, repr=False)
class Gda(OverPosteriors):
    """Gradient descent and ascent.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setpoint import PlugInClassifier
    >>> from setpoint.solvers import Gda
    >>> clf = PlugInClassifier(LogisticRegression(), "h_mean", solver=Gda())
    >>> clf.solver
    Gda()
    """

    name = "gda"
    does = "descends in the rule and ascends in the multipliers"
    takes = _CONCAVE
    bounds = _BOUNDS


@dataclass(frozen=True, repr=False)
class Ellipsoid(OverPosteriors):
    """The ellipsoid method on the multipliers.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setpoint import PlugInClassifier
    >>> from setpoint.solvers import Ellipsoid
    >>> clf = PlugInClassifier(LogisticRegression(), "h_mean", solver=Ellipsoid())
    >>> clf.solver
    Ellipsoid()
    """

    name = "ellipsoid"
    does = "halves an ellipsoid of multipliers"
    takes = _CONCAVE
    bounds = _BOUNDS


@dataclass(frozen=True, repr=False)
class Bisection(OverPosteriors):
    """Bisection on the value of a ratio.

    Examples
    --------
    >>> from setpoint import solve
    >>> from setpoint.solvers import Bisection
    >>> posteriors = [[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]]
    >>> solve("accuracy", posteriors, ["a", "b", "c"], solver=Bisection()).report.objective.value
    1.0
    """

    name = "bisection"
    does = "bisects the value of a ratio"
    takes = "ratios of linear functions"
    bounds = _BOUNDS


@dataclass(frozen=True, repr=False)
class Argmax(Solver):
    """The class with the largest posterior: it does not look at the goal.

    Examples
    --------
    >>> from setpoint import solve
    >>> from setpoint.solvers import Argmax
    >>> posteriors = [[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]]
    >>> solve("accuracy", posteriors, ["a", "b", "c"], solver=Argmax()).rule
    Argmax.weighted((1.0, 1.0, 1.0))
    """

    name = "argmax"
    family = "plugin"
    does = "predicts the class with the largest posterior, whatever the goal"
    takes = _ANY


@dataclass(frozen=True, repr=False)
class Balanced(Solver):
    """Posteriors divided by priors: it does not look at the goal.

    Examples
    --------
    >>> from setpoint import solve
    >>> from setpoint.solvers import Balanced
    >>> posteriors = [[0.6, 0.3, 0.1], [0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]]
    >>> solve("accuracy", posteriors, ["a", "a", "b", "c"], solver=Balanced()).rule
    Argmax.weighted((2.0, 4.0, 4.0))
    """

    name = "balanced"
    family = "plugin"
    does = "divides posteriors by priors, whatever the goal"
    takes = _ANY


@dataclass(frozen=True, repr=False)
class PostShift(Solver):
    """The metric is measured at each cut-off, smoothed, and the highest taken.

    Parameters
    ----------
    smooth : "auto", int or None
        Over how many cut-offs the metric is averaged. "auto": an eighth of the rows, at least
        5; a sixtieth above 3,000.

    Examples
    --------
    >>> from setpoint import solve
    >>> from setpoint.solvers import PostShift
    >>> scores, y = [0.1, 0.4, 0.35, 0.8, 0.7, 0.9], [0, 0, 1, 1, 0, 1]
    >>> solve("f1", scores, y, solver=PostShift(smooth=None)).rule
    Threshold(threshold=0.75, width=0.0)
    """

    name = "post-shift"
    family = "plugin"
    does = "measures the metric at each cut-off"
    takes = "goals without constraints and metrics without a formula, for two classes"
    limits = ("seconds", "evaluations")
    allowed: ClassVar = {
        "smooth": Number(
            "'auto', a whole number >= 1 or None", 1.0, integer=True, other=("auto", None)
        )
    }

    smooth: Any = "auto"


# --- Solvers of linear models whose rates are bounded on several data sets ------------------------


@dataclass(frozen=True, repr=False)
class AugmentedLagrangian(Solver):
    """Descent on the ramp problem itself, its constraints in an augmented Lagrangian.

    Examples
    --------
    >>> from setpoint import RampClassifier
    >>> from setpoint.solvers import AugmentedLagrangian
    >>> goal = "maximize recall subject to predicted_rate <= 0.1"
    >>> clf = RampClassifier(goal, solver=AugmentedLagrangian())
    >>> clf.solver
    AugmentedLagrangian()
    """

    name = "augmented-lagrangian"
    family = "ramp"
    does = "descends on the ramp problem itself"
    takes = "rates on rows, groups and data sets, and against the deployed model"
    limits = ("tol", "seconds")


@dataclass(frozen=True, repr=False)
class CuttingPlane(Solver):
    """Majorisation-minimisation, each convex problem by cutting planes in the multipliers.

    Algorithms 1 and 2 of Goh, Cotter, Gupta and Friedlander, "Satisfying real-world goals with
    dataset constraints". As good as descent on objectives that are linear in rates, and slower.

    Parameters
    ----------
    chooser : {"max", "center"}
        The next cut is made at the highest point that the cuts so far leave, or at the centre
        of mass of what they leave.
    svm : {"sdca", "liblinear"}
        What solves the inner problem.

    Examples
    --------
    >>> from setpoint import RampClassifier
    >>> from setpoint.solvers import CuttingPlane
    >>> goal = "maximize recall subject to predicted_rate <= 0.1"
    >>> clf = RampClassifier(goal, solver=CuttingPlane(svm="liblinear"))
    >>> clf.solver
    CuttingPlane(svm='liblinear')
    """

    name = "cutting-plane"
    family = "ramp"
    does = "majorises the ramp and cuts planes in the multipliers (the paper's Algorithms 1 and 2)"
    takes = f"objectives that are sums of {AugmentedLagrangian.takes}"
    limits = AugmentedLagrangian.limits
    allowed: ClassVar = {"chooser": ("max", "center"), "svm": ("sdca", "liblinear")}

    chooser: str = "max"
    svm: str = "sdca"


# --- Solvers that train a model for a metric that is only measured --------------------------------


_MEASURED = "any metric that can be measured, and goals of one table"
_INF = float("inf")
_SMOOTH = Number(
    "'auto', None or a whole number >= 1", 1.0, below=_INF, integer=True, other=("auto", None)
)


@dataclass(frozen=True, repr=False)
class AdaptiveSurrogates(Solver):
    """Gradients of the metric with respect to surrogate losses, followed by projections.

    Jiang, Adigun, Narasimhan, Milani Fard and Gupta, "Optimizing black-box metrics with
    adaptive surrogates".

    Parameters
    ----------
    gradient : {"interpolation", "finite-difference", "two-step"}
        Algorithm 3, which perturbs the parameters; Algorithm 2, which perturbs the scores so
        that the surrogates change as wanted, where surrogates and metric see the same rows
        and groups do not overlap; or that around perturbed points (section 5.3), for metrics
        with kinks.
    start : {"auto", "post-shift", "logistic", "zero"}
        Where the search begins; "auto": at each of them, the least promising given up on the
        way.
    max_iter : int
        Steps in all.
    step : float
        Length of a step in the surrogates' space; twice that at the beginning, half of it at
        the end.
    inner_iter : int
        Iterations of each projection. More follow the training rows closer than the metric's
        rows bear out.
    n_perturbations : "auto" or int
        Pairs of perturbed models of a gradient; "auto": 3 K, at least 10.
    sigma : "auto" or float
        Size of perturbations, in standard deviations of the scores (of the surrogates'
        values where these are perturbed); "auto": doubled until nine in ten differences are
        not zero.
    smooth : "auto", int or None
        Over how many cut-offs the metric is averaged before the best is taken. "auto": an eighth
        of the rows, at least 5; a sixtieth above 3,000.

    Examples
    --------
    >>> from setpoint import AdaptiveSurrogateClassifier
    >>> from setpoint.solvers import AdaptiveSurrogates
    >>> clf = AdaptiveSurrogateClassifier("g_mean", solver=AdaptiveSurrogates(max_iter=10))
    >>> clf.solver
    AdaptiveSurrogates(max_iter=10)
    """

    name = "adaptive-surrogates"
    family = "surrogates"
    does = "follows the metric's gradient in the space of surrogate losses"
    takes = _MEASURED
    limits = ("seconds", "evaluations")
    allowed: ClassVar = {
        "gradient": ("interpolation", "finite-difference", "two-step"),
        "start": ("auto", "post-shift", "logistic", "zero"),
        "max_iter": Number("a whole number >= 1", 1.0, below=_INF, integer=True),
        "step": Number("a number above 0", 0.0, False, below=_INF),
        "inner_iter": Number("a whole number >= 1", 1.0, below=_INF, integer=True),
        "n_perturbations": Number(
            "'auto' or a whole number >= 2", 2.0, integer=True, other=("auto",)
        ),
        "sigma": Number("'auto' or a number above 0", 0.0, False, other=("auto",)),
        "smooth": _SMOOTH,
    }

    gradient: str = "interpolation"
    start: str = "auto"
    max_iter: int = 40
    step: float = 0.1
    inner_iter: int = 5
    n_perturbations: Any = "auto"
    sigma: Any = "auto"
    smooth: Any = "auto"

    @property
    def on_parameters(self) -> bool:
        """Whether parameters are perturbed, not the scores of single rows."""
        return self.gradient == "interpolation"


@dataclass(frozen=True, repr=False)
class SurrogateWeights(Solver):
    """Nelder and Mead over the surrogates' weights.

    One evaluation trains a model, so that it takes a fifteenth as many as there are rows to
    judge: for metrics that cost.

    Parameters
    ----------
    start : {"auto", "post-shift", "logistic", "zero"}
        Where each training begins; "auto": at the baseline, "post-shift".
    inner_iter : int
        A tenth of the iterations of each training.
    smooth : "auto", int or None
        As of :class:`AdaptiveSurrogates`.

    Examples
    --------
    >>> from setpoint import AdaptiveSurrogateClassifier
    >>> from setpoint.solvers import SurrogateWeights
    >>> clf = AdaptiveSurrogateClassifier("g_mean", solver=SurrogateWeights(start="logistic"))
    >>> clf.solver
    SurrogateWeights(start='logistic')
    """

    name = "surrogate-weights"
    family = "surrogates"
    does = "searches over the surrogates' weights"
    takes = _MEASURED
    limits = ("seconds", "evaluations")
    allowed: ClassVar = {
        "start": ("auto", "post-shift", "logistic", "zero"),
        "inner_iter": Number("a whole number >= 1", 1.0, below=_INF, integer=True),
        "smooth": _SMOOTH,
    }

    start: str = "auto"
    inner_iter: int = 5
    smooth: Any = "auto"
