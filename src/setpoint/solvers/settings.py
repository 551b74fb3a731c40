"""Settings as values: frozen, checked when they are made, and open to a search over parameters."""

import math
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any, ClassVar, Literal, Self, dataclass_transform

from setpoint.errors import InputError
from setpoint.parameters import (
    Above0,
    Above0OrAuto,
    Above0OrNone,
    Count,
    CountOrAuto,
    CountOrNone,
    From0OrAuto,
    Number,
    check,
    is_number,
)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
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

    always: ClassVar[tuple[str, ...]] = ()
    """Parameters that are written whatever they are."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, repr=False)(cls)

    def __post_init__(self) -> None:
        check(self)

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
_SHARE = Number("'auto' or a share above 0 and below 1", 0.0, False, 1.0, other=("auto",))

_LARGEST = Number("a number above 0, or None", 0.0, False, other=(None,))


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
    largest_weight : float or None
        The most that a row could ever weigh, by the design of the sample: one over its smallest
        inclusion probability, or the largest share over sampling rate of a stratum. Rows that
        weigh more count as so much.
    largest_unit : float or None
        The most rows (with weights: the most weight) that a unit of `units` could have. Larger
        ones count as so many. None: the largest one seen, which the certificate then assumes.

    Examples
    --------
    >>> Confidence(0.9, strict=True)
    Confidence(level=0.9, strict=True)
    >>> Confidence(95)
    Traceback (most recent call last):
    ...
    setpoint.errors.InputError: `level` is a number above 0 and below 1, or None, got 95
    """

    always: ClassVar = ("level",)

    level: Annotated[float | None, LEVEL] = 0.95
    certification_size: Annotated[float | Literal["auto"], _SHARE] = "auto"
    guarantee: Literal["certified", "approximate"] = "certified"
    on_uncertified: Literal["raise", "nearest"] = "raise"
    strict: bool = False
    for_next: CountOrNone = None
    attempt: Count = 1
    ranges: Any = None
    largest_weight: Annotated[float | None, _LARGEST] = None
    largest_unit: Annotated[float | None, _LARGEST] = None

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

    tol: Annotated[float | None, Number("a number >= 0 or None", 0.0, other=(None,))] = None
    calls: CountOrNone = None
    seconds: Above0OrNone = None
    evaluations: CountOrNone = None

    @property
    def given(self) -> dict[str, Any]:
        """Those that are set."""
        found = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: value for name, value in found.items() if value is not None}


# --- How a classifier around a model answers, as a value ------------------------------------------


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

    method: Literal["auto", "predict_proba", "decision_function"] = "auto"
    calibrate: Literal[None, "sigmoid", "isotonic"] = None
    predict_proba: Literal["model", "rule"] = "model"
    unknown_group: Literal["raise", "largest"] = "raise"
    defer_label: Annotated[str | int | float, (str, int, float)] = "defer"

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

    max_epochs: CountOrAuto = "auto"
    batch_size: CountOrAuto = "auto"
    learning_rate: Above0OrAuto = "auto"
    weight_decay: From0OrAuto = "auto"
    refresh_every: CountOrNone = None
    patience: Count = 10
    device: str = "auto"


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

    C: Above0 = 1.0
    epochs: Count = 20
    device: str = "auto"
