"""Planning: how many rows it takes, from rates that are known or stated."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from html import escape
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.counts import Codebook, Confusion, Stratum
from setpoint.errors import GoalError, InputError, InputTypeError, nearest, quoted
from setpoint.goals import Expression, Goal, Label, as_goal, requirements_of
from setpoint.guarantees import Pilot, Promise, RowsPlan, capped, rows_of
from setpoint.inputs import check_labels, decided_inputs
from setpoint.parameters import is_number
from setpoint.program import link
from setpoint.report import percent, style
from setpoint.solvers import Confidence

if TYPE_CHECKING:
    from setpoint.report import Canvas, Display


# --- Tables of two classes from rates that somebody states ----------------------------------------


CLASSES = ("negative", "positive")

_RATES = ("recall", "precision", "predicted_rate", "false_positive_rate", "specificity")
_WANTED = (
    "'prior' and two of 'recall', 'precision', 'predicted_rate' and 'false_positive_rate' (or "
    "'specificity')"
)
_ROWS = 1e10
"""Of the table that stated rates stand for: counts are whole numbers."""

_ROUNDING = 1e-9


def stated_tables(rates: Mapping[str, Any], goal: Goal) -> list[Confusion]:
    """The table that the rates settle; or two, where one rate beside the prior leaves it open.

    Examples
    --------
    >>> goal = Goal.parse("maximize recall s.t. precision >= 0.5")
    >>> rates = {"prior": 0.25, "recall": 0.5, "precision": 0.5}
    >>> [table] = stated_tables(rates, goal)
    >>> (table.counts[0, :2] / table.counts.sum()).tolist()
    [[0.625, 0.125], [0.125, 0.125]]
    """
    if not isinstance(rates, Mapping):
        raise InputTypeError(f"`rates` is a mapping of names to shares, got {type(rates).__name__}")
    if goal.needs.datasets or goal.needs.baseline:
        raise InputError(
            "`rates`: the goal refers to data sets or to the deployed model, of which stated rates "
            "say nothing; pass `y_true` and `y_pred` of a pilot"
        )
    columns = set(goal.needs.columns.get(None, {}))
    grouped = [isinstance(value, Mapping) for value in rates.values()]
    if columns and not (rates and all(grouped)):
        column = min(columns)
        raise InputError(
            f"`rates`: the goal names the column {column!r}, so each group has its own "
            f"rates and its share of the rows, under '{column}=a', '{column}=b' and so on"
        )
    if any(grouped) and not columns:
        raise InputError("`rates`: the goal names no column, so there are no groups to state")
    if not columns:
        return [_confusion((Stratum(),), [t]) for t in _tables(rates, "`rates`")]
    strata = tuple(Stratum(None, _key(name, goal, columns)) for name in rates)
    shares, stated = [], []
    for name, group in rates.items():
        where, own = f"`rates[{name!r}]`", dict(group)
        if "share" not in own:
            raise InputError(f"{where}: 'share' is missing, the group's share of the rows")
        _check(own["share"], "share", where)
        shares.append(float(own.pop("share")))
        stated.append((own, where))
    if abs(sum(shares) - 1.0) > 1e-6:
        raise InputError(f"`rates`: the shares of the groups sum to {sum(shares):.6g}, not to 1")
    found = [_tables(own, where) for own, where in stated]
    return [
        _confusion(strata, [share * t[which] for share, t in zip(shares, found, strict=True)])
        for which in ((0, -1) if any(len(t) > 1 for t in found) else (0,))
    ]


def _confusion(strata: tuple[Stratum, ...], tables: list[Floats]) -> Confusion:
    counts = np.zeros((len(strata), 3, 2))
    counts[:, :2] = np.rint(_ROWS * np.stack(tables))
    return Confusion.of_units(Codebook.of(CLASSES, strata), counts)


def _key(name: str, goal: Goal, columns: set[str]) -> tuple[tuple[str, Label], ...]:
    """The values of columns that a group's name says."""
    out: dict[str, Label] = {}
    for part in str(name).split(","):
        column, equals, text = (x.strip() for x in part.partition("="))
        if not equals or column not in columns:
            wanted = ", ".join(f"{c}=value" for c in sorted(columns))
            raise InputError(f"`rates`: a group is written {wanted!r} here, got {name!r}")
        named = goal.needs.columns[None][column] or ()
        out[column] = next((value for value in named if str(value) == text), text)
    if out.keys() != columns:
        raise InputError(f"`rates`: {name!r} says nothing of {min(columns - out.keys())!r}")
    return tuple(sorted(out.items()))


def _check(value: Any, name: str, where: str) -> None:
    if not is_number(value) or not 0.0 <= value <= 1.0:
        raise InputError(f"{where}: {name} is a share between 0 and 1, got {value!r}")


def _tables(rates: Mapping[str, float], where: str) -> list[Floats]:
    """Shares of rows (2, 2) by true and predicted class: one table, or two that have the rates."""
    known = dict(rates)
    for name, value in known.items():
        if name not in ("prior", *_RATES):
            raise InputError(
                f"{where}: {name!r} is not a rate that can be stated ({nearest(name, _RATES)})"
            )
        _check(value, name, where)
    if "specificity" in known:
        fpr = 1.0 - known.pop("specificity")
        if abs(known.setdefault("false_positive_rate", fpr) - fpr) > _ROUNDING:
            raise InputError(f"{where}: specificity and false_positive_rate contradict each other")
    others = known.keys() - {"prior"}
    if "prior" not in known or len(others) not in (1, 2):
        raise InputError(f"{where}: a table of two classes takes {_WANTED}, got {sorted(rates)}")
    prior = known["prior"]
    ways = [known] if len(others) == 2 else [{**known, **more} for more in _open(prior, known)]
    accepted = np.array([_accepted(prior, way) for way in ways])
    of_all = np.array([1.0 - prior, prior])
    tables = np.stack([of_all - accepted, accepted], axis=2)
    if not (0.0 < prior < 1.0 and np.isfinite(tables).all() and (tables >= -_ROUNDING).all()):
        raise InputError(f"{where}: no table of two classes has {dict(rates)}")
    return list(np.maximum(tables, 0.0))


def _open(prior: float, known: Mapping[str, float]) -> list[dict[str, float]]:
    """Two values of a second rate, where only one is known."""
    if "recall" in known:
        return [{"false_positive_rate": 0.2}, {"false_positive_rate": 0.4}]
    low, high = 0.0, 1.0
    if "precision" in known:
        odds = (1.0 - known["precision"]) / max(known["precision"], 1e-12)
        high = min(1.0, (1.0 - prior) / max(odds * prior, 1e-12))
    if "predicted_rate" in known:
        accepted = known["predicted_rate"] / max(prior, 1e-12)
        low, high = max(0.0, accepted - (1.0 - prior) / max(prior, 1e-12)), min(1.0, accepted)
    return [{"recall": low + part * (high - low)} for part in (0.3, 0.6)]


def _accepted(prior: float, known: Mapping[str, float]) -> Floats:
    """The shares of all rows (2,) that are accepted wrongly and rightly: two equations."""
    equations: dict[str, Callable[[float], list[float]]] = {
        "recall": lambda r: [1.0, 0.0, prior * r],
        "false_positive_rate": lambda r: [0.0, 1.0, (1.0 - prior) * r],
        "predicted_rate": lambda r: [1.0, 1.0, r],
        "precision": lambda r: [1.0 - r, -r, 0.0],
    }
    both = np.array([make(known[name]) for name, make in equations.items() if name in known])
    if abs(np.linalg.det(both[:, :2])) < 1e-12:
        return np.full(2, math.nan)
    return np.asarray(np.linalg.solve(both[:, :2], both[:, 2])[::-1])


# --- How many rows it takes to certify a goal -----------------------------------------------------


CONFIDENCES = (0.8, 0.9, 0.95, 0.99)
MARGINS = (0.005, 0.01, 0.02, 0.03, 0.05, 0.1)
"""Of the table: how far the value lies on the right side of the bound, for shares; of a cost as
much of the power of ten nearest to its bound."""


@dataclass(frozen=True)
class Needed:
    """The rows that one constraint takes.

    Parameters
    ----------
    text : str
        As the user wrote it.
    value, bound : float
        The value that is assumed, and the bound.
    rows : int or None
        Rows of all kinds that certify this constraint alone; None: no number of rows shows a
        bound that is not met.
    trials : int or None
        Rows among them that the test counts, such as positives for recall; None where the
        constraint is not one exact test.
    share : float or None
        Of trials among all rows.
    fewest : int or None
        Rows below which not even a perfect record would do.
    exact : bool
        Whether the rows follow from the exact test, and not from a normal approximation.

    Examples
    --------
    >>> from setpoint.classifiers import Needed
    >>> print(Needed("precision >= 0.9", 0.93, 0.9, 7922, 593, 0.075, 290, exact=True))
    precision >= 0.9: 7,922 rows, if it is 0.93 in truth (593 that the test counts, 7.5 % of all);
    fewer than 290 could not certify 0.9 at all
    """

    text: str
    value: float
    bound: float
    rows: int | None
    trials: int | None
    share: float | None
    fewest: int | None
    exact: bool

    def __str__(self) -> str:
        value, bound = f"{self.value:.4g}", f"{self.bound:.4g}"
        if self.rows is None:
            lacking = f"at {value} it is not met with anything to spare"
            return f"{self.text}: {lacking}, and no number of rows certifies it"
        out = f"{self.text}: {self.rows:,} rows, if it is {value} in truth"
        if self.trials is not None and self.share is not None:
            out += f" ({self.trials:,} that the test counts, {percent(self.share)} of all)"
        if self.fewest is not None:
            out += f"; fewer than {self.fewest:,} could not certify {bound} at all"
        return out


@dataclass(frozen=True)
class RowsNeeded:
    """What :func:`rows_needed` finds.

    Parameters
    ----------
    goal : str
    confidence : float
        Of constraints without one of their own.
    power : float
        The chance that rows so many certify a rule like this one.
    rows : int or None
        That certify all constraints; None where one is not met.
    constraints : tuple of Needed
    confidences : tuple of float
        Of the rows of `table`.
    margins : tuple of float
        Of its columns: how far the value lies on the right side of the bound.
    table : tuple of tuple of (int or None)
        Rows for the constraint that takes most, by confidence and margin.
    units : int or None
        Units, such as customers, that have so many rows; None: rows are drawn by themselves.
    called : str
        What units are called.

    Examples
    --------
    >>> from setpoint import rows_needed
    >>> rates = {"prior": 0.1, "recall": 0.7, "precision": 0.93}
    >>> found = rows_needed("maximize recall subject to precision >= 0.9", rates=rates)
    >>> found.rows, found.fewest, found.power
    (7922, 290, 0.8)
    >>> found.confidences[2], found.margins[3], found.table[2][3]
    (0.95, 0.03, 7922)
    """

    goal: str
    confidence: float
    power: float
    rows: int | None
    constraints: tuple[Needed, ...]
    confidences: tuple[float, ...] = ()
    margins: tuple[float, ...] = ()
    table: tuple[tuple[int | None, ...], ...] = ()
    units: int | None = None
    called: str = "rows"

    @property
    def fewest(self) -> int | None:
        """Rows below which not even a perfect record would do; None where that is not known."""
        known = [c.fewest for c in self.constraints if c.fewest is not None]
        return max(known, default=None)

    @property
    def hardest(self) -> Needed:
        """The constraint that takes most rows."""
        return max(self.constraints, key=lambda c: math.inf if c.rows is None else c.rows)

    def plot(self, ax: Canvas = None) -> Display:
        """Draw how many rows certify the hardest constraint, by how far it passes the bound.

        Parameters
        ----------
        ax : Axes or Figure, optional
            By default a new figure.

        Examples
        --------
        >>> import matplotlib
        >>> matplotlib.use("agg")
        >>> from matplotlib import pyplot as plt
        >>> from setpoint import rows_needed
        >>> rates = {"prior": 0.1, "recall": 0.85, "precision": 0.6}
        >>> found = rows_needed("maximize precision subject to recall >= 0.8", rates=rates)
        >>> display = found.plot()
        >>> display.ax_.get_ylabel()
        'rows that certify'
        >>> plt.close(display.figure_)
        """
        (panel,) = style.panels(ax)
        axes, hardest = panel.ax, self.hardest
        dashes = cycle(("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1))))
        for dash, confidence, row in zip(dashes, self.confidences, self.table, strict=False):
            rows = np.array(row, np.float64)  # None, where none certify, becomes NaN
            label = short_percent(confidence)
            axes.plot(self.margins, rows, linestyle=dash, color=style.BLUE, marker=".", label=label)
        if hardest.rows is not None:
            margin = abs(hardest.value - hardest.bound)
            axes.plot([margin], [hardest.rows], "o", color=style.ORANGE, label="as assumed")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks(self.margins, [f"{m:g}" for m in self.margins], minor=False)
        panel.finish("how far the value passes the bound", "rows that certify")
        panel.caption(hardest.text)
        panel.legend(columns=3, title="confidence")
        return panel.display

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists and numbers, for JSON."""
        return asdict(self)

    def lines(self) -> list[str]:
        """The finding, in sentences and a table."""
        chance = f"with a chance of {short_percent(self.power)}"
        first = "No number of rows certifies this goal, as these rates do not meet it."
        if self.rows is not None:
            many = f"{self.rows:,} rows"
            if self.units is not None:
                many = f"{self.units:,} {self.called} ({many})"
            who = f"About {many} that take no part in the fit"
            first = f"{who} certify this goal {chance}."
        out = [first, *(f"  {c}" for c in self.constraints)]
        if self.table:
            one, names = self.hardest, ["confidence", *map(short_percent, self.confidences)]
            body = [["-" if n is None else f"{n:,}" for n in row] for row in self.table]
            rows = [[f"{m:g}" for m in self.margins], *body]
            wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
            what = f"Rows by confidence, and by how far the bound of {one.text} lies from"
            out += ["", f"{what} {one.value:.4g}:"]
            for name, row in zip(names, rows, strict=True):
                cells = "  ".join(f"{c:>{w}}" for c, w in zip(row, wide, strict=True))
                out.append(f"  {name:>10}  {cells}")
        return out

    def __str__(self) -> str:
        return "\n".join([f"Goal: {self.goal}", "", *self.lines()])

    def _repr_html_(self) -> str:
        return f'<pre class="setpoint-plan">{escape(str(self))}</pre>'


def short_percent(share: float) -> str:
    """A share that somebody chose, with the digits it was written with.

    Examples
    --------
    >>> short_percent(0.95), short_percent(0.999)
    ('95 %', '99.9 %')
    """
    return f"{100.0 * share:.6g} %"


def rows_needed(
    goal: Goal | Expression | str,
    y_true: Any = None,
    y_pred: Any = None,
    *,
    rates: Mapping[str, Any] | None = None,
    confidence: float = 0.95,
    power: float = 0.8,
    sensitive_features: Any = None,
    baseline: Any = None,
    sample_weight: Any = None,
    datasets: Mapping[str, Any] | None = None,
    classes: Any = None,
    pos_label: Any = None,
    units: Any = None,
    largest_unit: float | None = None,
) -> RowsNeeded:
    """The rows that have to be set apart to certify a goal.

    Parameters
    ----------
    goal : Goal, str or metric
        With constraints.
    y_true, y_pred : array-like of shape (N,), optional
        A pilot: decisions as good as those to be certified, on some rows like those to come.
    rates : mapping of str to float, optional
        In place of a pilot, for two classes: "prior", and two of "recall", "precision",
        "predicted_rate", "false_positive_rate" and "specificity"; one of them where the
        constraints depend on no other. Where the goal names columns, a mapping of each group, as
        "sex=f", to its rates and its "share" of the rows.
    confidence : float
        Of constraints without one of their own.
    power : float
        The chance that so many rows certify the goal, if the truth is as assumed.
    sensitive_features, baseline, sample_weight, datasets, classes, pos_label : optional
        As of :func:`setpoint.evaluate`.
    units : array-like of shape (N,), optional
        The customer, document or case that each row of the pilot belongs to: certificates then
        count these, and so does the plan.
    largest_unit : float, optional
        As of :class:`Confidence`: the most rows of a unit. None: the most of the pilot's.

    Returns
    -------
    RowsNeeded

    Raises
    ------
    GoalError
        If the goal has no constraint, or refers to what the pilot does not have.
    ValueError, TypeError
        If an argument is wrong; the message names it.

    Notes
    -----
    Exact tests by exact search: the smallest number of rows from which on the test succeeds with
    this chance, the number of trials among them drawn, too. Other constraints by their standard
    error, and 30 % on top. By units: the mean of what each adds, with one worst unit. Of several
    constraints the chances to fail add up. Measured, 80 % asked are 80 to 82 % for exact tests, 72
    to 80 % by units, and 80 to 91 % for others.

    Examples
    --------
    >>> from setpoint import rows_needed
    >>> found = rows_needed(
    ...     "maximize recall subject to precision >= 0.9",
    ...     rates={"prior": 0.1, "recall": 0.7, "precision": 0.93},
    ... )
    >>> found.constraints[0].trials, found.rows
    (593, 7922)
    """
    goal = as_goal(goal)
    _check_share(confidence, "confidence")
    _check_share(power, "power")
    if not goal.constraints:
        raise GoalError(f"'{goal}' has no constraint that rows could certify; add one")
    weighing = [c for c in goal.constraints if requirements_of((c.lhs, c.rhs)).measures]
    if weighing:
        raise GoalError(
            f"{weighing[0]}: how many rows show it depends on how few of them carry the sum, and "
            "is not planned; evaluate a pilot, whose interval narrows with the root of its rows"
        )
    if (rates is None) == (y_true is None) or (y_true is None) != (y_pred is None):
        raise InputTypeError(
            "rows_needed takes `y_true` and `y_pred` of a pilot, or `rates`, one of the two"
        )
    beside = {
        "sensitive_features": sensitive_features, "baseline": baseline, "datasets": datasets,
        "sample_weight": sample_weight, "classes": classes, "pos_label": pos_label, "units": units,
    }  # fmt: skip
    if largest_unit is not None and units is None:
        raise InputError(f"`largest_unit` is of `units`, which are missing, got {largest_unit!r}")
    largest, drawn = None, None
    if rates is not None:
        for name, given in beside.items():
            if given is not None:
                raise InputTypeError(
                    f"{quoted(name)} belongs to the rows of a pilot, and `rates` has none"
                )
        tables = stated_tables(rates, goal)
    else:
        inputs, decisions = decided_inputs(goal, y_true, y_pred, **beside)
        rows, drawn = inputs.rows, inputs.rows.units
        if drawn is not None:
            settings = Confidence(level=confidence, largest_unit=largest_unit)
            promise = Promise.of(link(goal, rows.codebook), settings).on(rows)
            rows, largest = capped(rows, promise), promise.largest
            if len(np.unique(drawn.names)) < 2:
                raise InputError("`units`: all rows are of one unit, and a plan takes two or more")
        tables = [rows.confusion(inputs.joined(decisions))]
    deltas = [1.0 - (c.confidence or confidence) for c in goal.constraints]
    pilots = [Pilot.of(goal, table, largest) for table in tables]
    planned = [[p.plan(i, delta) for i, delta in enumerate(deltas)] for p in pilots]
    pilot, plans = pilots[0], planned[0]
    for one, other in zip(plans, planned[-1], strict=True):
        if not _same(one, other, power):
            raise InputError(
                f"`rates`: one rate beside 'prior' does not settle {one.written}; state a second "
                "one"
            )
    found = tuple(
        Needed(
            str(p.written), p.value, p.bound, p.rows(power), p.trials(power), p.trial_share,
            None if p.fewest is None else p.fewest.rows, p.is_exact,
        ) for p in plans
    )  # fmt: skip
    out = RowsNeeded(str(goal), confidence, power, rows_of(plans, power), found)
    if drawn is not None and out.rows is not None:
        many = math.ceil(out.rows * len(np.unique(drawn.names)) / len(drawn.names))
        out = replace(out, units=many, called=drawn.called)
    confidences = tuple(sorted({*CONFIDENCES, confidence}))
    margins, table = _table(pilot, found.index(out.hardest), confidences, power)
    return replace(out, confidences=confidences, margins=margins, table=table)


def _same(one: RowsPlan, other: RowsPlan, power: float) -> bool:
    """Whether a constraint takes the same of both tables that stated rates allow."""
    rows, others = one.rows(power) or 0, other.rows(power) or 0
    return math.isclose(one.value, other.value, abs_tol=1e-6) and abs(rows - others) <= 0.001 * rows


def _table(
    pilot: Pilot, i: int, confidences: tuple[float, ...], power: float
) -> tuple[tuple[float, ...], tuple[tuple[int | None, ...], ...]]:
    """Margins, and the rows that a constraint takes at each confidence and margin."""
    constraint = pilot.program.constraints[i]
    low, high = pilot.counted.range(constraint.function)
    value = pilot.counted.value(constraint.function)
    scale = 1.0
    if (low < -1.0 or high > 1.0) and constraint.level != 0.0:
        scale = 10.0 ** round(math.log10(abs(constraint.level)))
    margins = tuple(float(f"{scale * m:g}") for m in MARGINS)
    levels = [value - constraint.sign * m for m in margins]

    def rows(c: float, level: float) -> int | None:
        return pilot.plan(i, 1.0 - c, level).rows(power) if low < level < high else None

    return margins, tuple(tuple(rows(c, level) for level in levels) for c in confidences)


def _check_share(x: Any, name: str) -> None:
    if not is_number(x) or not 0.0 < x < 1.0:
        raise InputError(f"{quoted(name)} is a number above 0 and below 1, got {x!r}")


# --- Weights for samples whose class shares are not those of the population -----------------------


_NUMBER = (int, float, np.integer, np.floating)


def weights_for_prior(y: Any, prior: Mapping[Any, Any]) -> NDArray[np.float64]:
    r"""Row weights under which the classes have the shares `prior`.

    With :math:`N_k` of `N` rows in class `k` and the share :math:`\pi_k`, a row of class
    `k` weighs :math:`\pi_k N / N_k`: the weights of class `k` sum to :math:`\pi_k N`, and
    their mean over all rows is 1.

    Parameters
    ----------
    y : array-like of shape (N,)
        Class labels.
    prior : mapping of label to float
        The share of each class in the population, in (0, 1), for exactly the labels in `y`;
        they sum to 1 within 1e-6 (and are then scaled to sum to 1).

    Returns
    -------
    ndarray of float64, shape (N,)
        To be passed as ``sample_weight``.

    Raises
    ------
    ValueError
        If `prior` names a label that is not in `y`, lacks one that is, holds a share
        outside (0, 1), or does not sum to 1.
    TypeError
        If `prior` is not a mapping or a share is not a number.

    Examples
    --------
    >>> weights_for_prior(["fraud", "fraud", "fine", "fine"], {"fraud": 0.1, "fine": 0.9})
    array([0.2, 0.2, 1.8, 1.8])
    """
    if not isinstance(prior, Mapping):
        raise InputTypeError(f"`prior` must be a dict from labels to shares, found {prior!r}")
    classes, codes = check_labels(y)
    labels = classes.tolist()
    for label, share in prior.items():
        if label not in labels:
            raise InputError(
                f"`prior` names the label {label!r}, which y does not hold "
                f"({nearest(label, labels)})"
            )
        if isinstance(share, (bool, np.bool_)) or not isinstance(share, _NUMBER):
            raise InputTypeError(f"`prior[{label!r}]` must be a number, found {share!r}")
        if not 0 < share < 1:
            raise InputError(f"`prior[{label!r}]` must be in (0, 1), found {float(share)!r}")
    lacking = [label for label in labels if label not in prior]
    if lacking:
        raise InputError(
            f"`prior` lacks {', '.join(map(repr, lacking))}, which y holds; it needs a share for "
            "every label"
        )
    shares = np.array([float(prior[label]) for label in labels])
    total = math.fsum(shares)
    if abs(total - 1) > 1e-6:
        raise InputError(f"`prior` sums to {total:.6g}; the shares of all labels must sum to 1")
    return np.asarray((shares / total * len(codes) / np.bincount(codes))[codes])
