"""Monitor: whether a deployed rule still keeps its constraints, by rows or by units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import chain, product
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from setpoint.array_types import Codes, Floats
from setpoint.classifiers.base import GoalClassifier, fingerprint
from setpoint.counts import Codebook, Confusion, Stratum
from setpoint.errors import GoalError, InputError, InputTypeError
from setpoint.goals import Expression, Goal, Label, Other, as_goal, in_words, require_plain
from setpoint.guarantees import Bets, Increments, Wealth, bets_of, increments_of, on_units
from setpoint.inputs import CheckedData, GivenRows, classes_of
from setpoint.parameters import is_number
from setpoint.program import link
from setpoint.report import (
    Document,
    GoalReport,
    Prose,
    TextSection,
    as_notebook,
    as_text,
    percent,
    plural,
    shown,
    style,
    unit_of,
)

if TYPE_CHECKING:
    from setpoint.report import Canvas, Display


FORMAT = 1
"""Version of the dict; a reader refuses what it does not know."""

_LOOKS: list[dict[str, Any]] = [
    {"color": ink, "linestyle": dashes}
    for dashes in ("-", "--")
    for ink in (style.BLUE, style.GREEN, style.RED, style.MUTED)
]
MOST = 6
"""Lines that can be distinguished."""

LOWEST = 0.1
"""A wealth below this says nothing more."""

_WIDE, _HALF = 56, 34
"""Characters of a name in the legend, and of names that stand in two columns."""


@dataclass(frozen=True)
class Alarm:
    """A constraint that the rows speak against.

    Parameters
    ----------
    constraint : str
        As the user wrote it.
    part : str
        Of several statements that it is made of, the one: a group, or two; "" for the only one.
    row : int
        The row of the alarm, counted from 1; where units are watched, the unit.
    since : int
        Since which row the bets have won: an estimate of when it began.
    value : float
        Of the left side on the rows since then.
    each : {"row", "unit"}
        What is counted.

    Examples
    --------
    >>> from setpoint import Monitor
    >>> monitor = Monitor(goal="maximize recall subject to precision >= 0.9", classes=[0, 1])
    >>> for alarm in monitor.update_decisions([1] * 40, [1] * 20 + [0] * 20).alarms_:
    ...     print(alarm)
    precision >= 0.9: broken, seen at row 25; since about row 21 it is 2.0 %
    """

    constraint: str
    part: str
    row: int
    since: int
    value: float
    each: str = "row"

    def __str__(self) -> str:
        return f"{self._name}: broken, seen at {self.each} {self.row:,}; {self._since()}"

    @property
    def _name(self) -> str:
        return self.constraint + (f" ({self.part})" if self.part else "")

    def _since(self, what: str = "it") -> str:
        """The value of the left side since the estimated row, in its unit."""
        side = Goal.parse(f"maximize recall subject to {self.constraint}").constraints[0].lhs
        value = shown(self.value, unit_of(side))
        return f"since about {self.each} {self.since:,} {what or in_words(side)} is {value}"


class Monitor:
    """Watch a deployed rule: an alarm when its constraints stop holding.

    Rows come in batches of any size, with labels or without; the same rows in other batches
    give the same alarms. Memory is constant, but for the names of units. Constraints that need no
    labels, such as one on the predicted rate or on churn, are watched on every row.

    Parameters
    ----------
    model : fitted classifier, optional
        Of this library or another: it predicts. None: only ``update_decisions`` is used.
    goal : Goal, str or metric, optional
        Its constraints are watched: bounds on one fraction of counts (recall, precision, F1,
        predicted rate, churn, a cost a row), in groups and classes too, and on differences of
        rates of different rows. None: the classifier's own.
    alpha : float
        With `restart`, false alarms come after ``1 / alpha`` rows or more on average; without
        it, the chance of ever a false alarm is at most `alpha`. Of all constraints together.
    restart : bool
        Whether bets begin anew with every row. Without it what went well for long delays the
        alarm.
    classes : array-like, optional
        All classes, where no classifier of this library knows them.
    pos_label : label, optional
        The positive class of two, likewise.
    groups : mapping of str to sequence, optional
        All values of the columns that the goal compares, where no classifier of this library
        knows them: ``{"sex": ["f", "m"]}``.
    largest_unit : float, optional
        The most rows that a unit, such as a customer, could have. Bets are then on units: rows of
        one unit may depend on each other, and those of one update count together. A unit with
        more rows counts as so many; one that comes back in a later update depends on its past,
        and its rows are left out. None: that of the classifier's ``Confidence``; without one,
        bets are on rows.

    Attributes
    ----------
    alarms_ : list of Alarm
        The first of each statement, in their order.
    n_rows_ : int
        Rows so far; where units are watched, units.
    n_left_out_ : int
        Rows of units that had come before.

    Raises
    ------
    GoalError
        If a constraint cannot be watched row by row, or is one on a difference and units are
        watched, or the goal refers to other data sets.
    ValueError, TypeError
        If an argument is wrong; the message names it.

    Notes
    -----
    A row adds x to a bound that is to hold, at least 0 on average while it does; a bet of l
    multiplies a wealth by ``1 - l x``. The mean over a grid of bets is restarted with each row
    (the Shiryaev-Roberts e-detector of Shin, Ramdas and Rinaldo, 2023), and the alarm is at
    the number of statements over alpha.

    Examples
    --------
    >>> import numpy as np
    >>> from setpoint import Monitor
    >>> monitor = Monitor(goal="maximize recall subject to precision >= 0.9", classes=[0, 1])
    >>> rng = np.random.default_rng(0)
    >>> good, worse = rng.random(2_000) < 0.95, rng.random(500) < 0.7
    >>> monitor.update_decisions(np.ones(2_000, int), good.astype(int)).alarms_
    []
    >>> alarms = monitor.update_decisions(np.ones(500, int), worse.astype(int)).alarms_
    >>> alarms[0].constraint, alarms[0].row > 2_000
    ('precision >= 0.9', True)
    """

    def __init__(
        self,
        model: Any = None,
        goal: Goal | Expression | str | None = None,
        *,
        alpha: float = 0.001,
        restart: bool = True,
        classes: Any = None,
        pos_label: Any = None,
        groups: Mapping[str, Sequence[Any]] | None = None,
        largest_unit: float | None = None,
    ) -> None:
        own = model if isinstance(model, GoalClassifier) else None
        if own is not None:
            check_is_fitted(own)
        if goal is None and own is None:
            raise InputTypeError(
                "Monitor: `goal` is missing; only a classifier of this library has one"
            )
        if not is_number(alpha) or not 0.0 < alpha < 1.0:
            raise InputError(f"`alpha` is a number above 0 and below 1, got {alpha!r}")
        if not isinstance(restart, bool):
            raise InputError(f"`restart` is True or False, got {restart!r}")
        self.model, self.alpha, self.restart = model, float(alpha), restart
        self.goal = as_goal(own._goal() if goal is None else goal)  # type: ignore[union-attr]
        if not self.goal.constraints:
            raise GoalError(f"'{self.goal}' has no constraint to watch; add one")
        if self.goal.needs.datasets:
            raise GoalError(
                f"Monitor watches the rows of X, and the goal refers to {self.goal.needs.datasets}"
            )
        require_plain(
            self.goal,
            "Monitor watches decisions of rows that count once each; give `goal` with the "
            "constraints that do, or judge batches by `evaluate`",
        )
        known = getattr(model, "classes_", None) if classes is None else classes
        if own is not None:
            self._classes = own._classes
        elif known is None:
            raise InputTypeError("Monitor: `classes` is missing, all labels that rows may have")
        else:
            self._classes = classes_of(known, known, pos_label, "classes", goal=self.goal)
        values = dict(groups or {}) or _groups_of(own)
        strata = _strata(self.goal, values, len(self._classes.labels))
        self.codebook = Codebook.of(self._classes.labels, strata)
        n = len(self._classes.labels)
        early = np.zeros((len(strata), n + 1, n), bool)
        early[:, n] = True
        # A labelled row of each stratum and class: what there may be.
        there = Confusion.of_units(self.codebook, (~early).astype(float))
        linked = link(self.goal, self.codebook)
        self.watched: tuple[Increments, ...] = increments_of(linked, there)
        stated = None if own is None else getattr(own.confidence, "largest_unit", None)
        self.largest_unit = most = stated if largest_unit is None else largest_unit
        if most is not None and not (is_number(most) and most >= 1.0):
            raise InputError(f"`largest_unit` is a number of rows, 1 or more, got {most!r}")
        mixed = [self.goal.constraints[x.constraint] for x in self.watched if len(x.shares) > 1]
        if most is not None and mixed:
            raise GoalError(f"{mixed[0]} combines rates and cannot be watched by units; watch each")
        self._each, self.n_left_out_ = "unit" if most else "row", 0
        self._seen: list[set[int]] = [set(), set()]
        self._early = early.ravel()
        self._bets: Bets = bets_of(self.watched, self._early)
        self._wealth = Wealth.start(self._bets, restart=restart)
        self.alarms_: list[Alarm] = []

    # ------------------------------------------------------------------ rows
    def update(
        self,
        X: Any,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        baseline: Any = None,
        late: bool = False,
        units: Any = None,
    ) -> Self:
        """Watch rows that the model decides.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (N, p)
            In the order in which they came.
        y : array-like of shape (N,), optional
            Their labels; None: not known (yet).
        sensitive_features, baseline : optional
            As in ``evaluate``.
        late : bool
            Whether these are labels of rows that were counted before without them: what needs
            no labels is not counted again.
        units : array-like of shape (N,) or str, optional
            With `largest_unit`, the unit that each row belongs to, or the column of X that says
            so; None: the column that the classifier was fitted by.

        Returns
        -------
        self

        Raises
        ------
        GoalError, ValueError, TypeError
            If an argument is wrong; the state is then as before.
        """
        if self.model is None:
            raise InputTypeError("this Monitor has no model: update_decisions takes decisions")
        looks: dict[str, Any] = {}
        if isinstance(self.model, GoalClassifier):
            if sensitive_features is None:
                sensitive_features = self.model.sensitive_features
            if baseline is None and self.goal.needs.baseline:
                baseline = self.model.baseline
            if self.model.rule_.needs_segments:
                looks["sensitive_features"] = sensitive_features
        decided = self.model.predict(X, **looks)
        if units is None and isinstance(self.model, GoalClassifier):
            units = self.model.units_column_ or self.model.units
        return self._update(decided, y, X, sensitive_features, baseline, late, units)

    def update_decisions(
        self,
        y_pred: Any,
        y_true: Any = None,
        *,
        sensitive_features: Any = None,
        baseline: Any = None,
        late: bool = False,
        units: Any = None,
    ) -> Self:
        """Watch decisions.

        Parameters
        ----------
        y_pred : array-like of shape (N,)
            Decisions, in the order in which the rows came.
        y_true : array-like of shape (N,), optional
        sensitive_features, baseline, late, units
            As in :meth:`update`.

        Returns
        -------
        self
        """
        return self._update(y_pred, y_true, None, sensitive_features, baseline, late, units)

    def _update(
        self, decided: Any, y: Any, X: Any, columns: Any, baseline: Any, late: bool, units: Any
    ) -> Self:
        if (units is None) != (self.largest_unit is None):
            raise InputTypeError("`units` go with the Monitor's `largest_unit`: both or neither")
        if late and y is None:
            raise InputError(
                "`late=True` is for labels of rows that were counted before: y is None"
            )
        pred = self._classes.codes(decided, "y_pred" if X is None else "predict")
        rows = GivenRows(len(pred), y, None, columns, baseline, X, units)
        checked = CheckedData.check(self.goal, self._classes, {None: rows}, None, unlabelled=True)
        known = replace(checked, decide_on=(), codebook=self.codebook)
        codes = np.asarray(known.rows.kind, np.int64) * len(self._classes.labels) + pred
        codes += self._early.size if late else 0
        bets = self._bets
        if known.rows.units is not None:
            bets = self._on_units(known.rows.units.names, codes, (not late, y is not None))
            codes = np.arange(len(bets.first) - 1)
        for new in self._wealth.add(bets, codes, self.limit, restart=self.restart):
            x = self.watched[new.requirement]
            text = str(self.goal.constraints[x.constraint])
            self.alarms_.append(Alarm(text, x.part, new.row, new.since, new.value, self._each))
        return self

    def _on_units(self, names: Codes, codes: Codes, asked: tuple[bool, bool]) -> Bets:
        """Bets on the units that they do not know, before labels come and with them."""
        seen = np.array([[name in own for name in names.tolist()] for own in self._seen])
        known, new = (part & np.array(asked)[:, None] for part in (seen, ~seen))
        self.n_left_out_ += int(known.any(axis=0).sum())
        for own, rows in zip(self._seen, new, strict=True):
            own.update(names[rows & (names >= 0)].tolist())  # below 0: of no unit
        some, of_bets = new.any(axis=0), new[np.array(self.needs_labels, np.int64)]
        most = float(self.largest_unit or 1)
        return on_units(self._bets, codes[some], names[some], of_bets[:, some], most)

    # ------------------------------------------------------------------ what is known
    @property
    def limit(self) -> float:
        """The wealth at which a statement is called broken."""
        return max(len(self.watched), 1) / self.alpha

    @property
    def n_rows_(self) -> int:
        """Rows so far; where units are watched, units."""
        return int(self._wealth.clock[0])

    @property
    def wealth_(self) -> Floats:
        """The wealth (statements,) that was won against each; near 0 while all is well."""
        return self._wealth.now.copy()

    @property
    def needs_labels(self) -> tuple[bool, ...]:
        """Whether each statement counts rows with labels alone; else it counts every row."""
        return tuple(not bool((x.looks_at & self._early).any()) for x in self.watched)

    def names(self) -> list[str]:
        """The statements that are watched, in words."""
        texts = [str(c) for c in self.goal.constraints]
        return [f"{texts[x.constraint]}{f' ({x.part})' if x.part else ''}" for x in self.watched]

    def picture(self) -> tuple[Codes, Floats]:
        """Rows (points,) and the largest wealths (statements, points) of stretches up to them."""
        return self._wealth.picture()

    def lines(self) -> list[str]:
        """What is known, in sentences."""
        out = [f"No alarm after {self.n_rows_:,} {self._each}s."]
        if self.alarms_:
            first = min(self.alarms_, key=lambda a: a.row)
            found = first._since(first._name if first.part else "")
            begun = f"Alarm at {first.each} {first.row:,} of {self.n_rows_:,}: {found}."
            out = [begun, *map(str, self.alarms_)]
        share = self._wealth.now / self.limit
        for name, part in zip(self.names(), share.tolist(), strict=True):
            so_far = percent(min(part, 1.0))
            out.append(f"{name}: evidence that it is broken at {so_far} of what an alarm takes")
        if self.n_left_out_:
            rows = plural(self.n_left_out_, "row")
            out.append(f"{rows} of units that had come before: left out")
        rate = f"the chance of ever an alarm is at most {percent(self.alpha)}."
        if self.restart:
            rate = f"an alarm comes after {1 / self.alpha:,.0f} {self._each}s or more on average."
        return [*out, f"While all is well, {rate}"]

    def section(self) -> TextSection:
        """What is known, as a section of a report."""
        return TextSection("Watched since", tuple(self.lines()))

    def on(self, report: GoalReport) -> GoalReport:
        """A report with what is known here as a section, such as that of a stream."""
        return replace(report, sections=(*report.sections, self.section()))

    def _document(self) -> Document:
        """What is known, as a document."""
        first, *lines = self.lines()
        return Document(first.removesuffix("."), str(self.goal), "", (), [Prose(lines, "each")])

    def __str__(self) -> str:
        return as_text(self._document())

    def _repr_html_(self) -> str:
        return as_notebook(self._document())

    def plot(self, ax: Canvas = None) -> Display:
        """Draw the wealth that was won against each statement, and the line of the alarm.

        A point is the largest wealth of a stretch of rows. Of many statements those are drawn
        that came nearest to the alarm.

        Parameters
        ----------
        ax : Axes or Figure, optional
            By default a new figure.

        Examples
        --------
        >>> import matplotlib
        >>> matplotlib.use("agg")
        >>> from matplotlib import pyplot as plt
        >>> from setpoint import Monitor
        >>> monitor = Monitor(goal="maximize recall subject to precision >= 0.9", classes=[0, 1])
        >>> display = monitor.update_decisions([1] * 80, [1, 0] * 40).plot()
        >>> display.ax_.get_yscale(), display.ax_.get_xlabel()
        ('log', 'rows')
        >>> plt.close(display.figure_)
        """
        (panel,) = style.panels(ax)
        axes, names = panel.ax, self.names()
        rows, wealth = self.picture()
        peaks = wealth.max(axis=1, initial=0.0)
        shown = np.sort(np.argsort(-peaks, kind="stable")[:MOST]).tolist()
        for j, look in zip(shown, _LOOKS, strict=False):
            label = style.wrapped(names[j], _WIDE)
            axes.plot(
                rows, np.maximum(wealth[j], LOWEST), linewidth=style.LINE, label=label, **look
            )
        axes.axhline(self.limit, **style.ASKED, label="alarm")
        crossed = [a.row for a in self.alarms_]
        if crossed:
            mark: dict[str, Any] = {"color": style.ORANGE, "clip_on": False, "zorder": 5}
            axes.plot(crossed, [self.limit] * len(crossed), "o", label="first seen", **mark)
        most = max(self.limit, float(peaks.max(initial=0.0)))
        axes.set_ylim(LOWEST, min(10.0 * most, 1e6 * self.limit))
        axes.set_yscale("log")
        axes.set_xlim(0, max(self.n_rows_, 1))
        panel.finish(f"{self._each}s", "evidence that the bound is broken")
        panel.legend(columns=2 if max(map(len, names)) <= _HALF else 1)
        if len(shown) < len(names):
            panel.caption(f"Of {len(names)} statements, the {len(shown)} nearest to the alarm.")
        return panel.display

    # ------------------------------------------------------------------ stored
    def to_dict(self) -> dict[str, Any]:
        """The state as plain values for JSON, exact to the last bit."""
        state = {f.name: getattr(self._wealth, f.name).tolist() for f in fields(self._wealth)}
        seen = [sorted(names) for names in self._seen]
        of_units = {"largest_unit": self.largest_unit, "seen": seen, "left_out": self.n_left_out_}
        return {
            "format": FORMAT,
            "goal": str(self.goal),
            "classes": list(self._classes.labels),
            "alpha": self.alpha,
            "restart": self.restart,
            "model": self._name(),
            "strata": [str(s) for s in self.codebook.strata],
            "alarms": [{k: v for k, v in asdict(a).items() if k != "each"} for a in self.alarms_],
            "wealth": state,
            **(of_units if self.largest_unit else {}),
        }

    def resume(self, data: Mapping[str, Any]) -> Self:
        """Go on from a state that :meth:`to_dict` gave.

        Parameters
        ----------
        data : mapping

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If it is of another goal, model or alpha, or is not such a state.
        """
        if data.get("format") != FORMAT or "wealth" not in data:
            raise InputError(f"a state of a Monitor of format {FORMAT} is read here")
        own, words = self.to_dict(), {"strata": "groups", "restart": "`restart`"}
        for name in ("goal", "classes", "strata", "alpha", "restart", "model", "largest_unit"):
            given, here, what = data.get(name), own.get(name), words.get(name, name)
            if given != here:
                raise InputError(
                    f"the state is of another {what}: {given!r}, and here it is {here!r}"
                )
        state = {}
        for name, known in vars(self._wealth).items():
            array = np.array(data["wealth"][name], known.dtype)
            if array.size != known.size:
                raise InputError(f"the state is damaged: {name} has {array.size} numbers")
            state[name] = array.reshape(known.shape)
        self._wealth = Wealth(**state)
        self.alarms_ = [Alarm(**a, each=self._each) for a in data["alarms"]]
        self._seen = [*map(set, data.get("seen", ((), ())))]
        self.n_left_out_ = data.get("left_out", 0)
        return self

    def _name(self) -> str:
        """What tells models apart."""
        if self.model is None:
            return ""
        own = isinstance(self.model, GoalClassifier)
        return self.model._fingerprint if own else fingerprint(self.model)


def _groups_of(own: GoalClassifier | None) -> dict[str, list[Any]]:
    """The values of columns that a fitted classifier has seen."""
    out: dict[str, dict[Any, None]] = {}
    if own is None:
        return {}
    compared = [row.columns for row in own.goal_report_.groups]
    for column, value in chain.from_iterable((*compared, *own.rule_.segment_keys)):
        if not isinstance(value, Other):
            out.setdefault(column, {})[value] = None
    return {column: list(values) for column, values in out.items()}


def _strata(goal: Goal, groups: Mapping[str, Sequence[Any]], n: int) -> tuple[Stratum, ...]:
    """All strata that rows may be of."""
    levels: list[tuple[str, list[Label | Other]]] = []
    for column, values in sorted(goal.needs.columns.get(None, {}).items()):
        if values is not None:
            named = tuple(sorted(values, key=lambda v: (str(v), str(type(v)))))
            levels.append((column, [*named, Other(named)]))
        elif column in groups:
            levels.append((column, list(groups[column])))
        else:
            raise InputError(
                f"`groups`: the goal compares the values of {column!r}, and which there are is not "
                f"known: give groups={{{column!r}: [...]}}"
            )
    baselines = list(range(n)) if None in goal.needs.baseline else [None]
    keys = product(*([(c, v) for v in known] for c, known in levels))
    return tuple(Stratum(None, key, b) for key in keys for b in baselines)
