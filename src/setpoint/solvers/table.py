"""The table of solvers. Adding one is one class here: what it does is the first line of its text.

Beside it stand the name, what goals and bounds it takes, what may end its search, and its
parameters, each with its type, what is allowed, and its default.
"""

from dataclasses import field
from typing import Annotated, Any, ClassVar, Literal

from setpoint.errors import InputError
from setpoint.parameters import Above0, Above0OrAuto, Above0OrNone, Count, Number, allowed_of
from setpoint.solvers.settings import SearchLimits, Settings

FAMILIES = {
    "plugin": "PlugInClassifier",
    "penalty": "ExactPenaltyClassifier",
    "ramp": "RampClassifier",
    "surrogates": "AdaptiveSurrogateClassifier",
}
"""The classifier of each family."""


class Solver(Settings):
    """One way to reach a goal, with the parameters that it alone takes.

    Wherever ``solver=`` is asked for, the name stands for the solver with its defaults:
    ``solver="ero-adam"`` is ``solver=EroAdam()``. A search over parameters reaches inside by
    ``solver__reformulation``.

    Examples
    --------
    >>> from setpoint.solvers import CuttingPlane
    >>> CuttingPlane(svm="liblinear")
    CuttingPlane(svm='liblinear')
    >>> CuttingPlane(svm="libsvm")
    Traceback (most recent call last):
    ...
    setpoint.errors.InputError: `svm` is one of ['sdca', 'liblinear'], got 'libsvm'
    """

    name: ClassVar[str] = ""
    """As users write it."""
    family: ClassVar[str]
    """A key of :data:`setpoint.solvers.FAMILIES`."""
    does: ClassVar[str]
    """How it reaches the goal, in a sentence."""
    takes: ClassVar[str]
    """What goals it takes."""
    bounds: ClassVar[str] = ""
    """What bounds, where not all."""
    limits: ClassVar[tuple[str, ...]] = ("seconds",)
    """What may end its search: fields of :class:`setpoint.SearchLimits`."""

    def __init_subclass__(cls, **row: Any) -> None:
        super().__init_subclass__()
        for column, said in row.items():
            setattr(cls, column, said)
        if "name" in row:
            first = (cls.__doc__ or "").partition("\n")[0].removesuffix(".")
            cls.does = first[:1].lower() + first[1:]
            cls.__doc__ = f"{cls.__doc__}\n{_example(cls)}"

    def limited(self, given: SearchLimits | None) -> SearchLimits:
        """The limits that it was given; None: none.

        Raises
        ------
        ValueError
            If it does not take one of them.

        Examples
        --------
        >>> from setpoint.solvers import EroAdam
        >>> EroAdam().limited(SearchLimits(calls=50))
        Traceback (most recent call last):
        ...
        setpoint.errors.InputError: `limits`: `solver='ero-adam'` takes seconds, got calls=50
        """
        out = SearchLimits.of(given)
        for name, value in out.given.items():
            if name not in self.limits:
                raise InputError(
                    f"`limits`: `solver={self.name!r}` takes {', '.join(self.limits)}, got "
                    f"{name}={value!r}"
                )
        return out


def _example(kind: Any) -> str:
    """How a solver is asked for, with the last of its choices where it has any."""
    choices = {n: a for n, a in allowed_of(kind).items() if isinstance(a, tuple)}
    changed = {n: next(v for v in a if v != getattr(kind, n)) for n, a in choices.items()}
    value, classifier = kind(**dict(list(changed.items())[-1:])), FAMILIES[kind.family]
    model = '"auto", ' if kind.family == "plugin" else ""
    return f"""
    Examples
    --------
    >>> from setpoint import {classifier}
    >>> from setpoint.solvers import {kind.__name__}
    >>> {classifier}({model}"accuracy", solver={value!r}).solver
    {value!r}
    """


# --- Solvers that find a rule over the scores of a model ------------------------------------------


_ANY = "every shape that can be solved"
_CONCAVE = "scores that are concave (or losses that are convex)"
_BOUNDS = "bounds that are convex or linear rows"
_SEARCHED = ("tol", "calls", "seconds")
_MEASURED = ("seconds", "evaluations")


class OverPosteriors(Solver, family="plugin", limits=_SEARCHED):
    """What the solvers share that seek rules over posteriors.

    Examples
    --------
    >>> from setpoint.solvers import FrankWolfe, OverPosteriors
    >>> isinstance(FrankWolfe(), OverPosteriors), OverPosteriors.limits
    (True, ('tol', 'calls', 'seconds'))
    """


class Auto(OverPosteriors, name="auto", takes=_ANY, limits=(*_SEARCHED, "evaluations")):
    """Takes 'exact' for two classes, 'column-generation' for more, 'post-shift' for metrics."""


class Exact(
    Solver, name="exact", family="plugin", takes=f"{_ANY}, for two classes", limits=_SEARCHED
):
    """Looks at every cut-off of one score.

    By sweeps and a linear program.
    """


class ColumnGeneration(
    OverPosteriors, name="column-generation", takes=f"{_ANY}, for any number of classes"
):
    """Grows a linear program over rules by an oracle's answers.

    Parameters
    ----------
    oracle : classifier or None
        Trained anew at each call, with weights that say what each error costs just now; it
        has to take `sample_weight`. None: the rule over the posteriors that answers best.
    """

    oracle: Any = None


class FrankWolfe(OverPosteriors, name="frank-wolfe", takes=f"smooth {_CONCAVE}", bounds=_BOUNDS):
    """Moves towards the best answer to the gradient."""


class Gda(OverPosteriors, name="gda", takes=_CONCAVE, bounds=_BOUNDS):
    """Descends in the rule and ascends in the multipliers."""


class Ellipsoid(OverPosteriors, name="ellipsoid", takes=_CONCAVE, bounds=_BOUNDS):
    """Halves an ellipsoid of multipliers."""


class Bisection(
    OverPosteriors, name="bisection", takes="ratios of linear functions", bounds=_BOUNDS
):
    """Bisects the value of a ratio."""


class Argmax(Solver, name="argmax", family="plugin", takes=_ANY):
    """Predicts the class with the largest posterior, whatever the goal."""


class Balanced(Solver, name="balanced", family="plugin", takes=_ANY):
    """Divides posteriors by priors, whatever the goal."""


class PostShift(
    Solver,
    name="post-shift",
    family="plugin",
    takes="goals without constraints and metrics without a formula, for two classes",
    limits=_MEASURED,
):
    """Measures the metric at each cut-off.

    The curve is smoothed, and the highest cut-off taken.

    Parameters
    ----------
    smooth : "auto", int or None
        Over how many cut-offs the metric is averaged. "auto": an eighth of the rows, at least
        5; a sixtieth above 3,000.
    """

    smooth: Annotated[
        Any,
        Number("'auto', a whole number >= 1 or None", 1.0, integer=True, other=("auto", None)),
    ] = "auto"


# --- Solvers that train a model for goals over the rows as a whole --------------------------------


_WHOLE = (
    "goals over the rows as a whole that only gain by accepting a positive and by refusing a "
    "negative"
)


class FromCrossEntropy(Solver, family="penalty", takes=_WHOLE):
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

    balanced: bool = field(default=False, kw_only=True)


class Ero(FromCrossEntropy, name="ero"):
    """Minimises the exact penalty, its decisions in closed form.

    Peng, Travadi, He, Cui and Sun, "Exact reformulation and optimization for direct metric
    optimization in binary imbalanced classification".
    """


class EroAdam(FromCrossEntropy, name="ero-adam"):
    """Minimises the exact penalty by Adam, Algorithm 3.1 as printed.

    Parameters
    ----------
    reformulation : {"inequality", "equality"}
        (3.18) or (3.9).
    penalty_scale : {"paper", "code"}
        The penalty of (3.30), or that of the authors' code.
    logit_regularization : bool
        With or without (3.26).
    """

    reformulation: Literal["inequality", "equality"] = "inequality"
    penalty_scale: Literal["paper", "code"] = "paper"
    logit_regularization: bool = True


class Profiled(FromCrossEntropy, name="profiled"):
    """Follows the best threshold with a narrowing band round it."""


class Sigmoid(FromCrossEntropy, name="sigmoid"):
    """Counts softly by sigmoids.

    With an exact penalty; with F1 this is SigmoidF1.

    Parameters
    ----------
    temperature : float or None
        Of the sigmoid; None: 1 and 5.
    """

    temperature: Above0OrNone = None


class Lagrangian(FromCrossEntropy, name="lagrangian"):
    """Plays surrogate rates against multipliers of the true ones.

    Parameters
    ----------
    rates : {"hinge", "sigmoid"}
        For the model.
    """

    rates: Literal["hinge", "sigmoid"] = "hinge"


class CrossEntropy(FromCrossEntropy, name="cross-entropy"):
    """Trains by cross-entropy and takes the best threshold.

    The model knows no goal.
    """


class Portfolio(Solver, name="portfolio", family="penalty", takes=_WHOLE):
    """Runs all the others and keeps the best.

    After both cross-entropies; the best iterate of all is kept.

    Parameters
    ----------
    members : tuple of solvers
        What is run, by default all solvers of this family.
    polish : bool
        In linear models with at most 40 features: a (1+1) evolution strategy on the goal,
        from the best candidates and random directions.
    """

    members: tuple[FromCrossEntropy, ...] = (
        Profiled(), Lagrangian(), Sigmoid(), Ero(), EroAdam(),
    )  # fmt: skip
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


# --- Solvers of linear models whose rates are bounded on several data sets ------------------------


_RATES = "rates on rows, groups and data sets, and against the deployed model"


class AugmentedLagrangian(
    Solver, name="augmented-lagrangian", family="ramp", takes=_RATES, limits=("tol", "seconds")
):
    """Descends on the ramp problem itself.

    Its constraints are in an augmented Lagrangian.
    """


class CuttingPlane(
    Solver,
    name="cutting-plane",
    family="ramp",
    takes=f"objectives that are sums of {_RATES}",
    limits=("tol", "seconds"),
):
    """Majorises the ramp and cuts planes in the multipliers (the paper's Algorithms 1 and 2).

    Goh, Cotter, Gupta and Friedlander, "Satisfying real-world goals with dataset constraints".
    As good as descent on objectives that are linear in rates, and slower.

    Parameters
    ----------
    chooser : {"max", "center"}
        The next cut is made at the highest point that the cuts so far leave, or at the centre
        of mass of what they leave.
    svm : {"sdca", "liblinear"}
        What solves the inner problem.
    """

    chooser: Literal["max", "center"] = "max"
    svm: Literal["sdca", "liblinear"] = "sdca"


# --- Solvers that train a model for a metric that is only measured --------------------------------


_TABLE = "any metric that can be measured, and goals of one table"
_SMOOTH = Number("'auto', None or a whole number >= 1", 1.0, integer=True, other=("auto", None))


class AdaptiveSurrogates(
    Solver, name="adaptive-surrogates", family="surrogates", takes=_TABLE, limits=_MEASURED
):
    """Follows the metric's gradient in the space of surrogate losses.

    Jiang, Adigun, Narasimhan, Milani Fard and Gupta, "Optimizing black-box metrics with
    adaptive surrogates". Each step is followed by a projection.

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
    """

    gradient: Literal["interpolation", "finite-difference", "two-step"] = "interpolation"
    start: Literal["auto", "post-shift", "logistic", "zero"] = "auto"
    max_iter: Count = 40
    step: Above0 = 0.1
    inner_iter: Count = 5
    n_perturbations: Annotated[
        Any, Number("'auto' or a whole number >= 2", 2.0, integer=True, other=("auto",))
    ] = "auto"
    sigma: Above0OrAuto = "auto"
    smooth: Annotated[Any, _SMOOTH] = "auto"

    @property
    def on_parameters(self) -> bool:
        """Whether parameters are perturbed, not the scores of single rows."""
        return self.gradient == "interpolation"


class SurrogateWeights(
    Solver, name="surrogate-weights", family="surrogates", takes=_TABLE, limits=_MEASURED
):
    """Searches over the surrogates' weights.

    By the method of Nelder and Mead. One evaluation trains a model, so that it takes a fifteenth
    as many as there are rows to judge: for metrics that cost.

    Parameters
    ----------
    start : {"auto", "post-shift", "logistic", "zero"}
        Where each training begins; "auto": at the baseline, "post-shift".
    inner_iter : int
        A tenth of the iterations of each training.
    smooth : "auto", int or None
        As of :class:`AdaptiveSurrogates`.
    """

    start: Literal["auto", "post-shift", "logistic", "zero"] = "auto"
    inner_iter: Count = 5
    smooth: Annotated[Any, _SMOOTH] = "auto"


# --- The table, asked -----------------------------------------------------------------------------


SOLVERS: dict[str, type[Solver]] = {
    kind.name: kind
    for kind in (
        Auto, Exact, ColumnGeneration, FrankWolfe, Gda, Ellipsoid, Bisection, Argmax, Balanced,
        PostShift,
        Portfolio, Ero, EroAdam, Profiled, Sigmoid, Lagrangian, CrossEntropy,
        AugmentedLagrangian, CuttingPlane,
        AdaptiveSurrogates, SurrogateWeights,
    )
}  # fmt: skip
"""The class of each solver by its name, in the order of help and messages."""
MEASURING = tuple(sorted(name for name in SOLVERS if "evaluations" in SOLVERS[name].limits))
"""Those that take a metric without a formula: its evaluations can be limited."""
WITHOUT_FORMULA = "; ".join(
    f"{classifier} takes such metrics by "
    + " and ".join(repr(n) for n in MEASURING if SOLVERS[n].family == family)
    for family, classifier in FAMILIES.items()
    if any(SOLVERS[n].family == family for n in MEASURING)
)
"""Who takes a metric without a formula, for messages."""


def solvers_of(family: str) -> tuple[str, ...]:
    """The names of a family's solvers.

    Examples
    --------
    >>> solvers_of("ramp")
    ('augmented-lagrangian', 'cutting-plane')
    """
    return tuple(name for name, solver in SOLVERS.items() if solver.family == family)


def takes(name: str, bounds: bool = False, asked: bool = False) -> str:
    """What goals a solver takes, or what bounds, for messages; `asked` if it was asked for.

    Examples
    --------
    >>> takes("bisection"), takes("bisection", bounds=True)
    ("'bisection' takes ratios of linear functions", \
"'bisection' takes bounds that are convex or linear rows")
    >>> takes("bisection", asked=True)
    "`solver='bisection'` takes ratios of linear functions"
    """
    solver = SOLVERS[name]
    who = f"`solver={name!r}`" if asked else repr(name)
    return f"{who} takes {solver.bounds if bounds else solver.takes}"


def solver_of(given: Any, family: str) -> Solver:
    """The solver that the argument ``solver`` means.

    Parameters
    ----------
    given : str or Solver
        A name stands for the solver with its defaults.
    family : str
        Whose solvers may be meant.

    Raises
    ------
    ValueError
        If it is not a solver of the family; the message names them, and whose it is.

    Examples
    --------
    >>> solver_of("ero-adam", "penalty")
    EroAdam()
    >>> solver_of("ero-adam", "ramp")
    Traceback (most recent call last):
    ...
    setpoint.errors.InputError: `solver` is one of ['augmented-lagrangian', 'cutting-plane'], \
got 'ero-adam', which ExactPenaltyClassifier takes
    """
    if isinstance(given, Solver):
        found: type[Solver] | None = type(given)
    else:
        found = SOLVERS.get(given) if isinstance(given, str) else None
    if found is None or found.family != family:
        whose = "" if found is None else f", which {FAMILIES[found.family]} takes"
        raise InputError(f"`solver` is one of {list(solvers_of(family))}, got {given!r}{whose}")
    return given if isinstance(given, Solver) else found()
