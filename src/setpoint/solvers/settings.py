"""Settings as values: frozen, checked when they are made, and open to a search over parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

from setpoint.errors import InputError
from setpoint.parameters import SECONDS, Allowed, Number, check, is_number


@dataclass(frozen=True)
class Settings:
    """Parameters that belong together.

    Raises
    ------
    ValueError
        If a parameter is not allowed; it names the parameter, what was found and what is.

    Examples
    --------
    >>> from setpoint.solvers import Minibatches
    >>> settings = Minibatches(max_epochs=20)
    >>> settings.with_params(batch_size=256)
    Minibatches(max_epochs=20, batch_size=256)
    >>> settings.get_params()["patience"]
    10
    """

    allowed: ClassVar[Mapping[str, Allowed]] = {}
    """What each parameter may be."""
    always: ClassVar[tuple[str, ...]] = ()
    """Parameters that are written whatever they are."""

    def __post_init__(self) -> None:
        check(self, self.allowed)

    @classmethod
    def of(cls, given: Self | None) -> Self:
        """The value itself; None: that of the defaults."""
        return cls() if given is None else given

    def __repr__(self) -> str:
        given = ((f, getattr(self, f.name)) for f in fields(self))
        changed = (
            f"{f.name}={v!r}"
            for f, v in given
            if f.name in self.always or (v is not f.default and v != f.default)
        )
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_clone__(self) -> Self:
        return self  # it cannot be changed

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name, as scikit-learn asks for them."""
        out = {f.name: getattr(self, f.name) for f in fields(self)}
        inside = [k for k, v in out.items() if hasattr(v, "get_params") and not isinstance(v, type)]
        for name in inside if deep else ():
            out |= {f"{name}__{key}": value for key, value in out[name].get_params().items()}
        return out

    def with_params(self, **params: Any) -> Self:
        """The same with other parameters, also those of an estimator among them.

        Raises
        ------
        ValueError
            If there is no such parameter; it names those that there are.
        """
        known, changed = [f.name for f in fields(self)], dict[str, Any]()
        for key, value in sorted(params.items()):  # an estimator before what is inside it
            name, _, rest = key.partition("__")
            inside: Any = changed.get(name, getattr(self, name, None))
            if name not in known or (rest and not hasattr(inside, "set_params")):
                takes = f"takes {', '.join(known)}" if known else "takes no parameters"
                raise InputError(f"{type(self).__name__} {takes}, got {key!r}")
            changed[name] = deepcopy(inside).set_params(**{rest: value}) if rest else value
        return replace(self, **changed)


# --- What is promised on new rows, as a value -----------------------------------------------------


LEVEL = Number("a number above 0 and below 1, or None", 0.0, False, 1.0, other=(None,))


@dataclass(frozen=True, repr=False)
class Confidence(Settings):
    """That all constraints are to hold on new rows, and how this is shown.

    A number by itself, ``confidence=0.95``, is the confidence with the defaults. A search over
    parameters reaches inside by ``confidence__level``. Rows with a `sample_weight` are refused:
    how much a row may ever weigh is not known from those seen. A bound over groups is promised
    for the groups that were there, which the certificate names.

    Parameters
    ----------
    level : float or None
        Of all draws of the data, at most a share of ``1 - level`` gives a rule that is called
        certified and breaks a constraint on new rows. A constraint with a confidence of its own
        keeps that; None: only such constraints are promised.
    certification_size : "auto" or float
        The share of the rows of ``fit`` that certify and take no part in anything else. "auto":
        0.3, or up to 0.5 where fewer rows could not pass.
    guarantee : {"certified", "approximate"}
        "approximate": no rows are kept apart. Rules are tried on cross-validated scores, and the
        model is fitted on all rows afterwards, so that nothing is certified.
    on_uncertified : {"raise", "nearest"}
        "nearest": the safest rule, with a report that says that nothing is certified.
    strict : bool
        Use only tests that are proved; costs more of the objective.
    for_next : int or None
        Promise the next rows in place of the population: so many rows that each constraint
        refers to, such as positives for recall. For a single threshold and constraints that
        only loosen as it moves one way.
    attempt : int
        How often rules were tried on the same rows, this time included. Later tries are tested
        at a stricter level. A classifier counts its own.
    ranges : dict of str to (float, float), optional
        The smallest and the largest value that a column of numbers could have, for constraints
        that count rows by it, as ``recall.weighted(amount) >= 0.6`` and ``profit(...) >= 2`` do:
        ``{"amount": (0, 5000)}``. It is a fact about the column, such as the limit of a card, and
        not the range of the rows there are. The wider it is, the more rows it takes.

    Examples
    --------
    >>> Confidence(0.9, strict=True)
    Confidence(level=0.9, strict=True)
    >>> Confidence(95)
    Traceback (most recent call last):
    ...
    setpoint.errors.InputError: `level` is a number above 0 and below 1, or None, got 95
    """

    allowed: ClassVar = {
        "level": LEVEL,
        "certification_size": Number(
            "'auto' or a share above 0 and below 1", 0.0, False, 1.0, other=("auto",)
        ),
        "guarantee": ("certified", "approximate"),
        "on_uncertified": ("raise", "nearest"),
        "strict": (False, True),
        "for_next": Number("a whole number >= 1 or None", 1.0, integer=True, other=(None,)),
        "attempt": Number("a whole number >= 1", 1.0, integer=True),
    }

    always: ClassVar = ("level",)

    level: float | None = 0.95
    certification_size: Any = "auto"
    guarantee: str = "certified"
    on_uncertified: str = "raise"
    strict: bool = False
    for_next: int | None = None
    attempt: int = 1
    ranges: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ranges is not None:
            object.__setattr__(self, "ranges", _ranges_of(self.ranges))

    @classmethod
    def of(cls, given: Any) -> Self:
        """The value itself; a number: the confidence; None: of single constraints alone.

        Raises
        ------
        ValueError
            If `given` is not a confidence.
        """
        if isinstance(given, cls):
            return given
        if not LEVEL.takes(given):
            raise InputError(
                "`confidence` is a number above 0 and below 1, Confidence(...) or None, got "
                f"{given!r}"
            )
        return cls(given)


def _ranges_of(given: Any) -> dict[str, tuple[float, float]]:
    """Ranges of columns by name, as floats."""
    if not isinstance(given, Mapping):
        raise InputError(
            "`ranges` maps columns to their smallest and largest value, such as "
            f"{{'amount': (0, 5000)}}, got {given!r}"
        )
    out = {}
    for name, pair in given.items():
        ends = list(pair) if isinstance(pair, (tuple, list)) else []
        if (
            not isinstance(name, str)
            or len(ends) != 2
            or not all(is_number(x) and math.isfinite(x) for x in ends)
            or not ends[0] < ends[1]
        ):
            raise InputError(
                f"`ranges[{name!r}]` is the smallest and the largest value of that column, two "
                f"finite numbers in this order, got {pair!r}"
            )
        out[name] = (float(ends[0]), float(ends[1]))
    return out


# --- One split of the rows, as a value ------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class HoldOut(Settings):
    """Fit the model on some rows, find the rule on the others, and keep that model.

    A share by itself, ``cv=0.2``, fits the model on all rows in the end; its scores are then
    not quite those that the rule was found on.

    Parameters
    ----------
    cv : float, splitter or iterable, optional
        A share of the rows, drawn once and stratified, or one split.

    Examples
    --------
    >>> HoldOut(0.3)
    HoldOut(cv=0.3)
    """

    cv: Any = None


# --- When a search ends, as a value ---------------------------------------------------------------


_COUNT = Number("a whole number >= 1 or None", 1.0, integer=True, other=(None,))


@dataclass(frozen=True, repr=False)
class SearchLimits(Settings):
    """When a search ends, at the latest: ``limits=SearchLimits(seconds=60)``.

    Whichever limit comes first ends it, and so does Ctrl-C: the best found so far is kept, with
    a warning. A search over parameters reaches inside by ``limits__seconds``. None is what the
    classifier does by itself; a limit that its solver does not take is an error.

    Parameters
    ----------
    tol : float, optional
        How far from the best a search may end; each family says in what.
    calls : int, optional
        Oracle calls, of all searches together; with thresholds of several segments, boxes.
    seconds : float, optional
        On one clock from the beginning of all searches.
    evaluations : int, optional
        Of a metric without a formula, at different decisions.

    Examples
    --------
    >>> from setpoint import SearchLimits
    >>> SearchLimits(seconds=60, calls=500)
    SearchLimits(calls=500, seconds=60)
    >>> SearchLimits(seconds=0)
    Traceback (most recent call last):
    ...
    setpoint.errors.InputError: `seconds` is a number above 0 or None, got 0
    """

    allowed: ClassVar = {
        "tol": Number("a number >= 0 or None", 0.0, other=(None,)),
        "calls": _COUNT,
        "seconds": SECONDS,
        "evaluations": _COUNT,
    }

    tol: float | None = None
    calls: int | None = None
    seconds: float | None = None
    evaluations: int | None = None

    @property
    def given(self) -> dict[str, Any]:
        """Those that are set."""
        found = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: value for name, value in found.items() if value is not None}

    def filled(self, defaults: SearchLimits) -> SearchLimits:
        """With other limits where these are not set.

        Examples
        --------
        >>> SearchLimits(seconds=5).filled(SearchLimits(tol=0.1, seconds=60))
        SearchLimits(tol=0.1, seconds=5)
        """
        return replace(defaults, **self.given)


# --- How a classifier around a model answers, as a value ------------------------------------------


@dataclass(frozen=True, repr=False)
class ModelResponse(Settings):
    """What the model inside is asked, and what is passed on.

    Parameters
    ----------
    method : {"auto", "predict_proba", "decision_function"}
        Where the scores that the rule looks at come from.
    calibrate : {"sigmoid", "isotonic"} or None
        Calibrate the model's probabilities by cross-validation within its training rows.
    predict_proba : {"model", "rule"}
        What ``predict_proba`` gives: the model's posterior, or the probabilities with which the
        rule decides. What decides by ``predict_proba``, such as one-vs-rest or soft voting,
        keeps the rule only with "rule"; ``decision_function`` is then not there.
    unknown_group : {"raise", "largest"}
        What ``predict`` does with a group that ``fit`` did not see, or a missing one; "largest"
        decides it by the rule of the largest group, with a warning.
    defer_label : label
        What ``predict`` returns for a row that the rule defers; not one of the classes. Where
        these are not of its type, predictions are objects.

    Raises
    ------
    ValueError
        If a parameter is not allowed, or `calibrate` goes with ``method="decision_function"``.

    Examples
    --------
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from setpoint import PlugInClassifier
    >>> from setpoint.solvers import ModelResponse
    >>> clf = PlugInClassifier(RidgeClassifier(), "f1", response=ModelResponse(calibrate="sigmoid"))
    >>> clf.response
    ModelResponse(calibrate='sigmoid')
    """

    allowed: ClassVar = {
        "method": ("auto", "predict_proba", "decision_function"),
        "calibrate": (None, "sigmoid", "isotonic"),
        "predict_proba": ("model", "rule"),
        "unknown_group": ("raise", "largest"),
        "defer_label": (str, int, float),
    }

    method: str = "auto"
    calibrate: str | None = None
    predict_proba: str = "model"
    unknown_group: str = "raise"
    defer_label: str | int | float = "defer"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.calibrate is not None and self.method == "decision_function":
            raise InputError(
                f"`calibrate={self.calibrate!r}` makes probabilities, and "
                "`method='decision_function'` asks for other scores: leave one of them out"
            )

    @classmethod
    def of(cls, given: Any) -> Self:
        """The value itself; "model" or "rule": what ``predict_proba`` gives."""
        return given if isinstance(given, cls) else cls(predict_proba=given)


# --- How models are trained in passes over the rows, as values ------------------------------------


_INF = float("inf")
_TRAINING_COUNT = Number("'auto' or a whole number >= 1", 1.0, integer=True, other=("auto",))


@dataclass(frozen=True, repr=False)
class Minibatches(Settings):
    """Training by minibatches: of networks, and of linear models on more numbers than fit.

    Parameters
    ----------
    max_epochs, batch_size : "auto" or int
        For each method. "auto": 3 to 50 epochs, fewer for more rows, and batches of 32 to 512
        rows, some 64 an epoch.
    learning_rate, weight_decay : "auto" or float
        AdamW's step and decay. "auto": 1e-3 and 1e-2, for linear models 3e-3 and 1e-4.
    refresh_every : int or None
        Steps between two looks at stored scores; None: so that they cost little.
    patience : int
        Epochs without a better iterate after which cross-entropy and sigmoid end. Others
        follow a schedule to the last epoch.
    device : str
        Of networks, as torch names it. "auto": the GPU where there is one.

    Examples
    --------
    >>> from setpoint import ExactPenaltyClassifier
    >>> from setpoint.solvers import Minibatches
    >>> clf = ExactPenaltyClassifier("f1", training=Minibatches(max_epochs=20, batch_size=256))
    >>> clf.training
    Minibatches(max_epochs=20, batch_size=256)
    """

    allowed: ClassVar = {
        "max_epochs": _TRAINING_COUNT,
        "batch_size": _TRAINING_COUNT,
        "learning_rate": Number("'auto' or a number above 0", 0.0, False, other=("auto",)),
        "weight_decay": Number("'auto' or a number >= 0", 0.0, other=("auto",)),
        "refresh_every": Number("a whole number >= 1 or None", 1.0, integer=True, other=(None,)),
        "patience": Number("a whole number >= 1", 1.0, integer=True),
    }

    max_epochs: Any = "auto"
    batch_size: Any = "auto"
    learning_rate: Any = "auto"
    weight_decay: Any = "auto"
    refresh_every: int | None = None
    patience: int = 10
    device: str = "auto"


@dataclass(frozen=True, repr=False)
class FirstModel(Settings):
    """The model that a search begins with.

    Parameters
    ----------
    C : float
        Inverse strength of regularisation of the logistic regression.
    epochs : int
        Passes over the data in which a module is trained.
    device : str
        Of a module, as torch names it. "auto": the GPU where there is one.

    Examples
    --------
    >>> from setpoint import AdaptiveSurrogateClassifier
    >>> from setpoint.solvers import FirstModel
    >>> clf = AdaptiveSurrogateClassifier("g_mean", training=FirstModel(C=0.1))
    >>> clf.training
    FirstModel(C=0.1)
    """

    allowed: ClassVar = {
        "C": Number("a number above 0", 0.0, False, below=_INF),
        "epochs": Number("a whole number >= 1", 1.0, below=_INF, integer=True),
    }

    C: float = 1.0
    epochs: int = 20
    device: str = "auto"


# --- What a solver is: a value with its own parameters --------------------------------------------


@dataclass(frozen=True, repr=False)
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

    name: ClassVar[str]
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
