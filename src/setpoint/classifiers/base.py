"""The base class of the families' classifiers."""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, ParamSpec, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from setpoint import blackbox, explorer, search
from setpoint.blackbox import BlackBox
from setpoint.classifiers import FitData, given_rows, warn_together
from setpoint.classifiers.by_rule import DecidesBatches
from setpoint.classifiers.explanation import ExplainsDecisions
from setpoint.counts import Evidence, counted_rows
from setpoint.errors import InputError, nearest, warn_caller
from setpoint.goals import Expression, Goal, as_goal
from setpoint.inputs import (
    CheckedData,
    ClassOrder,
    Dataset,
    DecideOn,
    Deployed,
    GivenRows,
    RowDigest,
    as_datasets,
    column_names,
    digests_of,
    refuse_masked,
    text_digest,
    without,
)
from setpoint.parameters import Allowed, allowed_of, check
from setpoint.program import link
from setpoint.report import (
    DeferralSection,
    Entry,
    GoalReport,
    OperatingSection,
    Search,
    Section,
    against_deployed,
    deferral_points,
    measured_entry,
    operating_points,
    percent,
    report_on,
    with_deployed,
    with_searched_bounds,
)
from setpoint.search import Found, Randomized, TracePoint
from setpoint.solvers import Confidence, SearchLimits, Settings, Solver, solver_of

if TYPE_CHECKING:
    from setpoint.explorer import Explorer, GivenScores, ScoredRows
    from setpoint.search import Frontier, Vary


# --- Fingerprints of fitted models ----------------------------------------------------------------


_PASSING = frozenset({"n_jobs", "verbose"})
"""Attributes that no prediction hangs on."""

_INDEXES = frozenset({"KDTree", "BallTree"})
"""They count how often they were asked; the rows that they index lie beside them."""

_DEEPEST = 60


def fingerprint(*parts: Any) -> str:
    """A digest of what some objects hold.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> model = LogisticRegression().fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    >>> before = fingerprint(model)
    >>> fingerprint(model) == before, fingerprint(model.fit([[0.0], [3.0]], [0, 1])) == before
    (True, False)
    """
    digest = blake2b(digest_size=16)
    _add(digest, parts, (), 0)
    return digest.hexdigest()


def _add(digest: Any, x: Any, above: tuple[int, ...], depth: int) -> None:
    """Add an object; one that holds itself ends there."""
    mark = type(x).__name__.encode()
    digest.update(b"\0" + mark)
    if x is None or isinstance(x, (bool, int, float, complex, str, bytes)):
        digest.update(repr(x).encode("utf-8", "surrogatepass"))
        return
    if id(x) in above or depth > _DEEPEST or type(x).__name__ in _INDEXES:
        return
    inside: Iterable[Any] = ()
    if isinstance(x, np.ndarray) and x.dtype.names is not None:
        # What lies between the fields is whatever lay in memory.
        inside = [x[name] for name in x.dtype.names]
    elif isinstance(x, np.ndarray) and not x.dtype.hasobject:
        digest.update(f"{x.dtype.str}{x.shape}".encode())
        digest.update(np.ascontiguousarray(x).tobytes())
    elif isinstance(x, np.ndarray):
        inside = x.ravel().tolist()
    elif isinstance(x, np.generic):
        inside = [x.item()]
    elif isinstance(x, Mapping):
        known = [key for key in sorted(x, key=str) if key not in _PASSING]
        inside = [part for key in known for part in (str(key), x[key])]
    elif isinstance(x, (set, frozenset)):
        inside = sorted(x, key=str)
    elif isinstance(x, (list, tuple)):
        digest.update(f"[{len(x)}".encode())
        inside = x
    elif isinstance(x, types.FunctionType):
        consts = [c for c in x.__code__.co_consts if not isinstance(c, types.CodeType)]
        cells = [cell.cell_contents for cell in x.__closure__ or ()]
        own = (x.__qualname__, x.__code__.co_code, x.__defaults__, x.__kwdefaults__)
        inside = [own, consts, cells]
    elif isinstance(x, (type, types.ModuleType, types.BuiltinFunctionType)):
        digest.update(getattr(x, "__qualname__", x.__name__).encode())
    elif not isinstance(x, (np.random.Generator, np.random.RandomState)):
        inside = [_state(x)]
    for one in inside:
        _add(digest, one, (*above, id(x)), depth + 1)


def _state(x: Any) -> Any:
    """What an object holds, as it would be stored; None where it does not say."""
    if hasattr(x, "detach") and hasattr(x, "cpu"):  # a tensor
        return np.asarray(x.detach().cpu())
    try:
        state = x.__getstate__()
        if state is None or isinstance(state, tuple):
            state = x.__reduce_ex__(2)[1:]
    except Exception:  # noqa: BLE001  (objects of other libraries, of any kind)
        return None
    if isinstance(state, Mapping):
        return {k: v for k, v in state.items() if k != "_sklearn_version"}
    if isinstance(state, tuple):
        return [v for v in state if not isinstance(v, types.GeneratorType)]
    return state


# --- The base class of the families' classifiers --------------------------------------------------


def require_rows(
    what: str, X: Any, y: Any, beside: Mapping[str, Any], evidence: Evidence | None
) -> None:
    """Refuse to go on without rows, or with a part of them."""
    if (X is None) != (y is None):
        raise InputError(f"{what}: `X` and `y` go together")
    if X is not None:
        return
    given = ", ".join(f"`{name}`" for name, value in beside.items() if value is not None)
    if given:
        raise InputError(f"{what}: {given} belongs to rows that `X` and `y` give")
    if evidence is None:
        raise InputError(
            f"{what}: the rows that the rule was found on are not available (copies and model "
            "files do not hold them): give X and y"
        )


Array = NDArray[Any]

ScoresOfSets = dict[str | None, NDArray[np.float64]]
"""For each data set an array with a line for each row."""

_STORED_WITH_THE_MODEL = frozenset(
    {"rule_", "goal_report_", "trace_", "evidence_", "digest_", "n_features_in_", "choice_"}
)
"""Attributes that say what a fit found, and not how rows are scored."""


_HELD_OUT = 0.3
"""Of the rows given to explore, where they have to serve for choosing too."""

_OWN_PACKAGES = ("setpoint", "sklearn", "numpy", "scipy", "builtins", "__main__")

P = ParamSpec("P")
E = TypeVar("E", bound=BaseEstimator)


def atomic_fit(fit: Callable[Concatenate[E, P], E]) -> Callable[Concatenate[E, P], E]:
    """Restore the previous fit if this one fails."""

    @wraps(fit)
    def fitted(self: E, *args: P.args, **kwargs: P.kwargs) -> E:
        before = dict(vars(self))
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return cast(Callable[Concatenate[E, P], E], fitted)


@dataclass(kw_only=True, eq=False, repr=False)
class SearchParameters:
    """What every classifier takes that searches."""

    confidence: float | Confidence | None = None
    limits: SearchLimits | None = None
    pos_label: Any = None
    units: str | None = None
    random_state: Any = None
    verbose: int = 0


class GoalClassifier(DecidesBatches, ExplainsDecisions):
    """What the classifiers of all families do beside predicting: fit, evaluate, report."""

    evidence_: Evidence | None
    trace_: tuple[TracePoint, ...]
    baseline_column_: str | None

    goal: Any
    solver: Any
    limits: Any
    baseline: Any = None
    confidence: Any = None
    units: Any = None
    units_column_: str | None = None
    _family: ClassVar[str] = ""
    _fits_nothing: bool = False
    """Whether ``fit`` trains no model, so that all rows can choose the rule."""

    # ------------------------------------------------------------------ parameters
    def set_params(self, **params: Any) -> Self:
        """Set parameters, also those of a value, such as ``solver__name``, ``limits__seconds``.

        Parameters
        ----------
        **params
            By name.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If there is no such parameter, or the value does not take it.
        """
        inside = {key: params.pop(key) for key in list(params) if "__" in key}
        super().set_params(**params)  # a value before what is inside it
        inner: dict[str, dict[str, Any]] = {}
        for key in list(inside):
            name, _, rest = key.partition("__")
            if self._value_of(name) is not None:
                inner.setdefault(name, {})[rest] = inside.pop(key)
            elif name in self.get_params(False) and not hasattr(getattr(self, name), "set_params"):
                own = getattr(self, name)
                raise InputError(f"`{name}={own!r}` takes no parameters, got {rest!r}")
        super().set_params(**inside)
        for name, changes in inner.items():
            setattr(self, name, cast(Settings, self._value_of(name)).with_params(**changes))
        return self

    def _value_of(self, name: str) -> Settings | None:
        """What a parameter stands for, if that is a value with parameters of its own."""
        kind: Any = type(self)
        value, allowed = getattr(self, name, None), allowed_of(kind).get(name)
        if name == "solver" and self._family:
            return solver_of(value, self._family)
        if name == "confidence":
            return None if value is None else Confidence.of(value)
        for kind in allowed if isinstance(allowed, tuple) else (allowed,):
            if isinstance(kind, type) and issubclass(kind, Settings):
                check(self, {name: cast(Allowed, allowed)})
                return kind.of(value)
        return value if isinstance(value, Settings) else None

    def _goal(self) -> Goal:
        return Goal.parse(self.goal_report_.goal)

    # ------------------------------------------------------------------ on new rows
    def evaluate(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        sensitive_features: Any = None,
        baseline: Any = None,
        datasets: Mapping[str, Any] | None = None,
        goal: Goal | Expression | str | None = None,
        units: Any = None,
    ) -> GoalReport:
        """How far the rule reaches the goal on new rows.

        Parameters
        ----------
        X, y, sample_weight, sensitive_features, baseline, datasets, units
            As in ``fit``. A rule that draws is measured in expectation. Where the deployed
            model's decisions on X are available, the report compares with them, whether the
            goal refers to them or not.
        goal : Goal, str or metric, optional
            The goal to judge by; None: that of the fit. Where the fit asked for more than is
            meant, such as precision of 0.54 for 0.5, this is the goal that is meant: the
            report then holds both bounds.

        Returns
        -------
        GoalReport
            With status "evaluated".
        """
        rows = {
            "X": X, "y": y, "sample_weight": sample_weight, "baseline": baseline,
            "sensitive_features": sensitive_features, "datasets": datasets, "units": units,
        }  # fmt: skip
        return self._evaluated(goal, rows, {})[0]

    def _evaluated(
        self,
        goal: Goal | Expression | str | None,
        whole: Mapping[str, Any],
        known: Mapping[str | None, NDArray[np.float64]],
    ) -> tuple[GoalReport, CheckedData, ScoresOfSets, ScoresOfSets]:
        """The report, the rows checked, what `_scores` gives, and the chance of each answer."""
        check_is_fitted(self)
        own, X = self._goal(), whole["X"]
        goal = own if goal is None else as_goal(goal)
        self._check_deferring(goal)
        rows, seen = self._seen(goal, **whole)
        if rows[None].units is None and (name := self.units or self.units_column_):
            warn_caller(f"X has no column {name!r}, the unit of the fit: each row counts as a unit")
        inputs = replace(seen, decide_on=())
        given: dict[str | None, tuple[Any, Any]] = {None: (X, whole.get("sensitive_features"))}
        for name, d in as_datasets(whole.get("datasets")).items():
            given[name] = rows[name].X, d.sensitive_features
        raw = {n: known[n] if n in known else self._scores(given[n][0]) for n in inputs.tables}
        scores: ScoresOfSets = {
            name: self._beside_values(own_X, raw[name], columns)
            for name, (own_X, columns) in given.items()
        }
        segments = {name: self._segments(*given[name]) for name in inputs.tables}
        decided = {name: self._shares(goal, scores[name], segments[name]) for name in scores}
        warn_together(X, seen.evidence(raw), seen.tables[None].columns)
        linked, rule, fitted = link(goal, inputs.rows.codebook), self.rule_, self.goal_report_
        sections: list[Section] = []
        if rule.n_classes == 2 and rule.score_columns is None and len(inputs.answers) == 2:
            scored = seen.evidence(scores)
            points = operating_points(link(goal, scored.codebook), scored, rule)
            sections += [] if points is None else [OperatingSection(points)]
        if seen.rows.codebook.defers:
            deferred = deferral_points(seen.evidence(scores), rule)
            sections += [] if deferred is None else [DeferralSection(deferred)]
        measured = self._measured(goal, rows[None], scores[None], segments[None])
        report = report_on(linked, inputs.confusion(decided), objective=measured)
        drawn = inputs.rows.undecided(inputs.joined(decided)) if rule.randomized else 0.0
        table = inputs.tables[None]
        share = self._share_seen(X, table.weight)
        entries = with_searched_bounds(report.constraints, goal, own)
        report = replace(
            report,
            counts=replace(report.counts, seen=share),
            constraints=tuple(replace(e, seen=share > 0.0) for e in entries),
            sections=(*report.sections, *sections),
            search=Search(fitted.search.family, fitted.search.solver),
            rule=replace(fitted.rule, drawn=drawn),
            warnings=(*report.warnings, *self._unbound()),
        )
        against = against_deployed(goal, inputs.classes.labels, table, decided[None])
        named = {"" if name is None else f"{name}: ": part for name, part in rows.items()}
        report = self._signed(with_deployed(report, against), digests_of(named))
        return report, seen, raw, decided

    @property
    def _learnt(self) -> dict[str, Any]:
        """What the model has learnt, by the names of its attributes."""
        beside = _STORED_WITH_THE_MODEL | self.get_params(deep=False).keys()
        return {k: v for k, v in vars(self).items() if k not in beside}

    @property
    def _fingerprint(self) -> str:
        """Of what the model has learnt, and of its rule."""
        return fingerprint(self._learnt, self.rule_.to_json())

    def _bind(self) -> None:
        """Bind what is promised to the model and the rule that are there now, at the end of fit."""
        report = self.goal_report_
        if report.guarantee is not None:
            bound = replace(report.guarantee, binding=self._fingerprint)
            self.goal_report_ = replace(report, guarantee=bound)

    def _sign(self, given: Mapping[str, str]) -> None:
        """Write into the report what it was made from, once all of it is there."""
        self.goal_report_ = self._signed(self.goal_report_, given)

    def _signed(self, report: GoalReport, given: Mapping[str, str]) -> GoalReport:
        """A report of this model and rule with what it was made from."""
        versions = {**report.run.versions, **_learner_versions(self)}
        digests = {
            **given,
            "goal": text_digest(report.goal),
            "rule": text_digest(self.rule_.to_json()),
            "model": f"blake2b:{fingerprint(self._learnt)}",
        }
        return replace(report, run=replace(report.run, versions=versions, digests=digests))

    def _unbound(self) -> tuple[str, ...]:
        """A sentence where what was promised was promised of another model or rule."""
        guarantee = self.goal_report_.guarantee
        if guarantee is None or guarantee.binding in ("", self._fingerprint):
            return ()
        text = (
            f"The rule was {guarantee.state} for another model or rule: this one was changed "
            "afterwards, and nothing is promised of it."
        )
        warn_caller(text)
        return (text,)

    def _measured(self, goal: Goal, rows: GivenRows, scores: Any, segments: Any) -> Entry | None:
        """What a black box says of the rule; None for a goal with a formula."""
        metric = getattr(self, "goal", None)
        if not isinstance(metric, BlackBox) or metric.goal != goal:
            return None
        bound = blackbox.measured_on(metric, self._classes, rows, where=None)
        value = bound.of_rows(blackbox.shifted_by(self.rule_, scores, segments))
        return measured_entry(metric, bound, value)

    def explore(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        sensitive_features: Any = None,
        baseline: Any = None,
        by: str | Sequence[str] | None = None,
        goal: Goal | Expression | str | None = None,
        other_goal: Goal | Expression | str | None = None,
        check: float | Mapping[str, Any] | None = None,
    ) -> Explorer:
        """A page on which the bounds of the goal are dragged; see :func:`setpoint.explore`.

        Dragging is choosing, so it is done on the rows that the rule was chosen on in ``fit``, with
        the scores of then; X and y are rows for the check. Copies and model files do not
        hold those rows: then X and y are the rows to choose on, and `check` says which are held
        out.

        Parameters
        ----------
        path : path, optional
            Where to write the page; None: nowhere, and it is shown in a notebook.
        X, y, sample_weight, sensitive_features, baseline
            As in ``fit``.
        by : str or sequence of str, optional
            Columns whose groups are shown side by side. Of the rows of ``fit`` those that the goal
            names are known.
        goal : Goal, str or metric, optional
            None: that of the fit.
        other_goal : Goal, str or metric, optional
            A second goal, beside the first.
        check : float or dict, optional
            Rows for the check, where X and y are those to choose on: a share of them, drawn at
            random, or a dict of `X`, `y` and what else belongs to other rows. None: 0.3. 0: none.

        Returns
        -------
        Explorer

        Raises
        ------
        GoalError
            A goal names what the rows do not have.
        ValueError, TypeError
            If an argument is wrong; the message names it.
        """
        check_is_fitted(self)
        given = {
            "sample_weight": sample_weight, "sensitive_features": sensitive_features,
            "baseline": baseline,
        }  # fmt: skip
        wanted = _HELD_OUT if check is None else None if check == 0 else check
        apart, share = explorer.check_of(wanted, ("X", "y", *given))
        goals = [self._goal() if goal is None else as_goal(goal)]
        goals += [] if other_goal is None else [as_goal(other_goal)]
        names, both = explorer.names_of(by), explorer.joined(*goals)
        evidence = getattr(self, "evidence_", None)
        require_rows("explore", X, y, given, evidence)
        if evidence is not None and check is not None:
            raise InputError(
                "`check`: the rows of fit are there to choose on, and X and y are those of the "
                "check; leave it out"
            )
        rule, warnings = self.rule_, explorer.cautions(both)
        explorer.check_curve(both, len(self.classes_), rule.value_columns, self._defers)
        if rule.score_columns is not None:
            raise InputError(explorer.SEVERAL)

        def checked(of: str, X: Any, y: Any, **sides: Any) -> GivenScores:
            rows, inputs = self._seen(both, X, y, **sides)
            scores, weight = self._scores(X), inputs.tables[None].weight
            out = explorer.GivenScores.of(
                rows[None], inputs, scores, names, "The rows given to explore."
            )
            codes = self._segments(X, sides["sensitive_features"])
            codes = None if codes is None else codes[counted_rows(weight)]
            if seen := self._share_seen(X, weight):
                warnings.append(
                    f"{of}{percent(seen)} of the rows given were in the fit; they flatter the rule."
                )
            return out.decided(rule, codes)

        own: GivenScores | ScoredRows
        held: GivenScores | float | None = share
        if evidence is None:
            own = checked("", X, y, **given)
            if apart is not None:
                others = {name: apart.get(name) for name in ("X", "y", *given)}
                held = checked("The check: ", **others)
        else:
            held = None if X is None else checked("The check: ", X, y, **given)
            own = explorer.rows_of_fit(both, evidence, rule)
            for name in names:
                if name not in both.needs.columns.get(None, {}):
                    raise InputError(
                        "`by`: of the rows of fit the columns that the goal names are kept, not "
                        f"{name!r} ({nearest(name, both.needs.names)}); setpoint.explore takes "
                        "scores with any columns"
                    )
        page = explorer.explorer_of(goals, own, held, held_name="X", rule=rule, warnings=warnings)
        if path is not None:
            page.to_html(path)
        return page

    def _frontier(
        self,
        goal: Any = None,
        *,
        vary: Vary = None,
        values: Any = None,
        randomized: Randomized | None = None,
        X: Any = None,
        y: Any = None,
        **rows: Any,
    ) -> Frontier:
        """See :func:`setpoint.frontier`."""
        check_is_fitted(self)
        wanted, _ = search.vary_of(self._goal() if goal is None else as_goal(goal), vary)
        evidence = getattr(self, "evidence_", None)
        require_rows("frontier", X, y, rows, evidence)
        if X is not None:
            evidence = self._evidence(wanted, X, y, **rows)
        assert evidence is not None
        drawn = getattr(self, "randomized", False) if randomized is None else randomized
        return self._frontier_on(wanted, evidence, vary, values, drawn)

    def _frontier_on(
        self, goal: Goal, evidence: Evidence, vary: Vary, values: Any, randomized: Randomized
    ) -> Frontier:
        return search.frontier_exact(goal, evidence, vary, values, randomized=randomized)

    def __getstate__(self) -> dict[str, Any]:
        """Without the rows of ``fit``: they are not part of the model."""
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("evidence_", None)
        return state

    # ------------------------------------------------------------------ shared steps
    def _evidence(self, goal: Goal, *rows: Any, **named: Any) -> Evidence:
        """Rows with the scores that the rule decides by, and the segments that it looks at."""
        given, seen = self._seen(goal, *rows, **named)
        return seen.evidence({name: self._scores(given[name].X) for name in seen.tables})

    def _seen(
        self, goal: Goal, X: Any, y: Any = None, *sides: Any, datasets: Any = None, **named: Any
    ) -> tuple[dict[str | None, GivenRows], CheckedData]:
        """Rows for the fitted rule, as given and checked, with the columns that it looks at."""
        sets = self._datasets(datasets, X, getattr(self, "baseline_column_", None))
        rows = given_rows(self, goal, X, y, *sides, **named | {"datasets": sets})
        decides_on = list(self.goal_report_.rule.decides_on)
        return rows, CheckedData.check(goal, self._classes, rows, decides_on)

    # ------------------------------------------------------------------ fitting
    def _chosen(self) -> tuple[Solver, SearchLimits]:
        """The solver and its limits, once the parameters are checked."""
        check(self)
        solver = solver_of(self.solver, self._family)
        return solver, solver.limited(self.limits)

    def _check_fit(self, goal: Goal, X: Any, solver: Solver) -> None:
        """Refuse parameters, and goals of another kind, before any work."""
        self._check_named()
        self._check_draw(X)

    def _features(self, X: Any, column: str | None, reset: bool = False) -> Any:
        """X as the model takes it; `column` is the deployed model's and not a feature."""
        refuse_masked(X, "`X`")
        return without(X, self.units_column_)

    def _classes_for(self, goal: Goal, y: Any, weight: NDArray[np.float64] | None) -> ClassOrder:
        """The classes of the labels, in order."""
        raise NotImplementedError

    def _datasets(self, datasets: Any, X: Any, column: str | None) -> dict[str, Dataset]:
        """Further data sets beside X as the family takes them."""
        return as_datasets(datasets)

    def _decides_on(self, goal: Goal, given: Any, X: Any) -> DecideOn:
        """The columns that the rule may look at beside the score."""
        return None

    def _close(self, data: FitData, found: Found, report: GoalReport) -> None:
        """Keep the rule, its report and what predictions need."""
        rule, evidence = found.rule, found.rows
        names = column_names(without(data.X, self.units_column_))
        if data.promised is not None and np.array_equal(evidence.rows.true, data.true):
            warn_together(data.X, evidence, data.judged.tables[None].columns)
        if rule.randomized:
            self._check_drawable(data.X, data.key, names)
        self.rule_, self.goal_report_, self.trace_ = rule, report, found.trace
        self.classes_ = data.classes.sorted
        self.positive_ = data.classes.labels[1] if len(data.classes.labels) == 2 else None
        self.baseline_column_ = data.column
        self.evidence_ = evidence
        self.draw_key_, self.draw_columns_ = data.key, names
        # Rows that certify chose among rules: they show nothing of new ones either.
        self.digest_ = RowDigest.of(data.X, names, data.weight, data.true)
        if self.digest_ is not None and data.certifying is not None:
            more = data.certifying.given[None].X if data.index is None else data.whole
            self.digest_ |= RowDigest.of(more, names)
        sizes = evidence.segment_weights
        self.largest_segment_ = int(np.argmax(sizes[sizes > 0.0]))  # the rule has no others

    def _check_named(self) -> None:
        """What the constructor says of columns and of the deployed model has to last."""
        names, deployed = self.sensitive_features, Deployed.of(self.baseline)
        words = [] if names is None else [names] if isinstance(names, str) else names
        if not isinstance(words, (list, tuple)) or not all(isinstance(w, str) for w in words):
            raise InputError(
                "`sensitive_features` in the constructor names columns of X, one or a list, got a "
                f"{type(names).__name__}; pass columns of values to fit"
            )
        if not (self.units is None or isinstance(self.units, str)):
            raise InputError(
                f"`units` in the constructor is the name of a column of X, got {self.units!r:.60}; "
                "pass the column to fit"
            )
        if deployed is not None and not deployed.lasts:
            raise InputError(
                "`baseline` in the constructor is a column of X or a classifier, got a "
                f"{type(deployed.source).__name__}; pass predictions to fit"
            )


def _learner_versions(estimator: Any) -> dict[str, str]:
    """The versions of the packages that the models inside come from, as far as they say so."""
    inside = [estimator, *estimator.get_params(deep=True).values()]
    kinds = {kind for x in inside if hasattr(x, "__dict__") for kind in type(x).__mro__}
    names = {kind.__module__.partition(".")[0] for kind in kinds}
    out: dict[str, str] = {}
    for name in sorted(names - {*_OWN_PACKAGES, *sys.stdlib_module_names}):
        found: Any = None
        try:
            found = version(name)
        except PackageNotFoundError:
            found = getattr(sys.modules.get(name), "__version__", None)
        if isinstance(found, str):
            out[name] = found
    return out
