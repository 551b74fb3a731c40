"""Models compared by a goal on the same rows: which serves it better, and which rows change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import _num_samples, check_is_fitted

from setpoint.array_types import Codes, Floats
from setpoint.classifiers import GoalClassifier
from setpoint.counts import Evidence
from setpoint.errors import GoalError, InputError, InputTypeError, SetpointError
from setpoint.goals import Constraint, Expression, Goal, as_goal
from setpoint.inputs import (
    CheckedData,
    ClassOrder,
    Deployed,
    GivenRows,
    UnfittedError,
    aligned,
    classes_of,
    column_names,
    finite_scores,
    index_of,
    one_score,
    union_of,
)
from setpoint.judging.judge import CANDIDATE, TODAY, JudgedModel, pair_of, report_of
from setpoint.judging.result import ModelComparison
from setpoint.report import LEVEL, fitted_on
from setpoint.search import Frontier, Vary, frontier_exact, vary_of


def check_matching(models: Mapping[str, Any]) -> None:
    """Refuse models that do not decide the same."""
    own = _own(models)
    for name, model in own.items():
        if model._defers:
            raise InputError(
                f"{name} defers rows to a person, and models are compared that decide every row; "
                "evaluate each on these rows by a goal with deferral_rate instead"
            )
    classes = {n: list(m.classes_) for n, m in models.items() if hasattr(m, "classes_")}
    plain = {n: [getattr(x, "item", lambda x=x: x)() for x in c] for n, c in classes.items()}
    check_same("classes", plain)
    check_same("positive class", {n: m.positive_ for n, m in own.items()})


def _own(models: Mapping[str, Any]) -> dict[str, GoalClassifier]:
    """The classifiers of this library."""
    return {name: m for name, m in models.items() if isinstance(m, GoalClassifier)}


def check_same(what: str, found: Mapping[str, Any], more: str = "") -> None:
    """Refuse models of which one has something else than the first."""
    names = list(found)
    for name in names[1:]:
        one, other = found[names[0]], found[name]
        if one != other or str(one) != str(other):  # True and 1 are equal, and other labels
            raise InputError(
                f"the models do not decide the same: the {what} of {names[0]} is {one!r}, and of "
                f"{name} {other!r}{more}"
            )


# --- Compare fitted models, or decisions, by a goal, on the same rows -----------------------------


def compare(
    goal: Goal | Expression | str | None,
    models: Mapping[str, Any],
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    sensitive_features: Any = None,
    baseline: Any = None,
    pos_label: Any = None,
    datasets: Mapping[str, Any] | None = None,
    frontier: bool | Constraint | str = True,
    units: Any = None,
) -> ModelComparison:
    """Compare models by a goal: which serves it better, and which rows change.

    The test is of the goal's own objective, and of each constraint's side. Each difference is
    that of the pairs of decisions on the same rows, with its interval, so that it is known far
    better than from two values by themselves.

    Parameters
    ----------
    goal : Goal, str or metric
        Also of a classifier of this library it is this goal that it is judged by, and not that
        of its fit.
    models : dict of str to model
        Two or more, the first of which is in use. A model is a fitted classifier of this
        library, which decides by its own rule; any other fitted classifier, by its ``predict``;
        or decisions, as `baseline` takes them: an array of shape (N,), the name of a column of
        X, or a :class:`setpoint.Deployed` of scores and their threshold. Or all are models of
        tables, as model files hold them: X is then a table with labels, or its path, and `goal`
        may be None, for that of the first.
    X : array-like, sparse matrix or frame of shape (N, p), or None
        None where only decisions are compared. Rows that no model was fitted on.
    y : array-like of shape (N,)
        True labels.
    sample_weight : array-like of shape (N,), optional
    sensitive_features : column, dict, frame, or names of columns of X, optional
        The columns that the goal refers to, or that a rule looks at.
    baseline : array-like of shape (N,), str or classifier, optional
        The deployed model that the goal refers to. None: the first model.
    pos_label : label, optional
        The positive class of two, where neither the labels nor a classifier of this library say
        which it is.
    datasets : dict of str to table, optional
        Of models of tables: the further data sets that the goal refers to.
    frontier : bool, constraint or str
        Whether to find the best that each model's scores reach on these rows, for goals over two
        classes: as the bound of the goal's first constraint moves, or of the one named; of a goal
        without constraints, by the share of rows that is accepted at most.
    units : array-like of shape (N,) or str, optional
        The customer, document or case that each row belongs to, or the column of X that says so:
        limits then hold however the rows of one unit depend on each other. None: the column that
        a classifier of this library was fitted by, where X has it.

    Returns
    -------
    ModelComparison

    Raises
    ------
    InputError, InputTypeError
        If an argument is wrong, or models cannot be compared: of other classes, of another
        positive class, for other rows, or not fitted.
    GoalError
        If the goal names what the data do not have, or refers to other data sets.

    Notes
    -----
    With more than two models each is compared with the first, and their limits hold for all of
    them at once (Bonferroni).

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setpoint import PlugInClassifier, compare
    >>> X, y = make_classification(4000, weights=[0.8], class_sep=0.7, random_state=0)
    >>> today = LogisticRegression().fit(X[:2000], y[:2000])
    >>> new = PlugInClassifier(LogisticRegression(), "f1").fit(X[:2000], y[:2000])
    >>> found = compare("maximize f1", {"today": today, "new": new}, X[2000:], y[2000:])
    >>> found.verdict
    'shown to be better'
    >>> gain = found.differences["new"][0].difference
    >>> f"{gain.value:.3f}, on new rows {gain.low:.3f} to {gain.high:.3f}"
    '0.120, on new rows 0.087 to 0.156'
    """
    given: Any = models
    of_tables = next(iter(given.values()), None) if isinstance(given, Mapping) else None
    of_tables = getattr(of_tables, "_compared", None)
    if of_tables is not None:
        found: ModelComparison = of_tables(goal, models, X, datasets, frontier, units)
        return found
    asked: Any = goal
    goal = as_goal(asked)
    goal.require_formula("models are compared by goals that are counted")
    if goal.needs.datasets:
        raise GoalError(
            f"the goal refers to the data sets {list(goal.needs.datasets)}, and models are "
            "compared on the rows of X alone"
        )
    wanted = _moving(goal, frontier)
    given = _checked(models, X)
    if y is None:
        raise InputTypeError("`y` is the true labels of the rows, got None")
    n_rows = int(_num_samples(y))
    if X is not None and int(_num_samples(X)) != n_rows:
        raise InputError(f"`X` has {_num_samples(X)} rows, `y` has {n_rows}")
    order = _classes(goal, given, y, pos_label)
    true = order.codes(y, "y", n_rows)
    if len(order.labels) == 2 and len(np.unique(true)) == 1:  # shows nothing of what is traded
        raise InputError(
            f"`y`: all {n_rows:,} rows are {order.labels[true[0]]!r}, and models are compared on "
            "rows of both classes"
        )
    known = {
        name: _decided(name, m, order, X, n_rows, sensitive_features) for name, m in given.items()
    }
    first = order.sorted[np.array(order.order)][next(iter(known.values()))[0]]
    columns, named = sensitive_features, [m.sensitive_features for m in _own(given).values()]
    if columns is None and goal.needs.names:  # a model that knows of none takes those of the others
        columns = next((names for names in named if names is not None), None)
    if units is None:
        there, own = column_names(X) or (), [m.units_column_ for m in _own(given).values()]
        units = next((name for name in own if name in there), None)
    judged: list[JudgedModel] = []
    for name, model in given.items():
        codes, raw = known[name]
        is_first = baseline is None and not judged and not wanted.needs.baseline
        own = first if baseline is None and not is_first else baseline
        if isinstance(model, GoalClassifier):
            rows = {
                "X": X, "y": y, "sample_weight": sample_weight, "baseline": own,
                "sensitive_features": sensitive_features, "units": units,
            }  # fmt: skip
            judged.append(judged_classifier(name, model, goal, rows, {None: raw}))
            continue
        rest = GivenRows(n_rows, y, sample_weight, columns, own, X, units)
        scores = _scores(name, model, order, X) if len(order.labels) == 2 else None
        judged.append(judged_decisions(name, codes, scores, goal, order, rest))
    return comparison_of(goal, judged, X, vary=frontier, apart=baseline is not None)


def _moving(goal: Goal, frontier: Any) -> Goal:
    """The goal, with the constraint that moves where it is another one."""
    if isinstance(frontier, bool):
        return goal
    if not isinstance(frontier, (str, Constraint)):
        raise InputTypeError(
            "`frontier` is True, False, or the constraint whose bound moves, got "
            f"{type(frontier).__name__}"
        )
    try:
        return vary_of(goal, frontier)[0]
    except GoalError as error:
        raise GoalError(str(error).replace("`vary", "`frontier")) from None


def _checked(models: Any, X: Any) -> dict[str, Any]:
    """The models by name: two or more, each of which decides."""
    if not isinstance(models, Mapping):
        raise InputTypeError(
            "`models` is a dict from two or more names to what decides, got a "
            f"{type(models).__name__}"
        )
    if len(models) < 2:
        raise InputError(
            f"`models` holds two or more, the first of which is in use, got {len(models)}"
        )
    out: dict[str, Any] = {}
    for name, given in models.items():
        if not isinstance(name, str) or not name.strip():
            raise InputTypeError(f"`models`: a name is text, got {name!r}")
        where = f"`models[{name!r}]`"
        model = given.source if isinstance(given, Deployed) and given.is_model else given
        wide = getattr(model, "shape", ())[1:]
        if model is None or isinstance(model, type) or (wide and wide != (1,)):
            what = f"the class {model.__name__}" if isinstance(model, type) else repr(model)
            what = f"an array of shape {model.shape}" if wide else what
            raise InputTypeError(
                f"{where} is a fitted classifier, or its decisions, one a row; got {what:.60}"
            )
        out[name] = aligned(model, X, f"models[{name!r}]")
        if not hasattr(model, "predict"):
            continue
        if X is None:
            raise InputTypeError(f"{where} is a model, and `X` is None: pass the rows it decides")
        if isinstance(model, GoalClassifier):
            try:
                check_is_fitted(model)
            except NotFittedError:
                raise _unfitted(where, model) from None
    check_matching({f"{name!r}": model for name, model in out.items() if hasattr(model, "predict")})
    return out


def _unfitted(where: str, model: Any) -> UnfittedError:
    return UnfittedError(f"{where} is a {type(model).__name__} that is not fitted; fit it first")


def _classes(goal: Goal, models: Mapping[str, Any], y: Any, pos_label: Any) -> ClassOrder:
    """The classes that all models decide among, in order."""
    known = [m.classes_ for m in models.values() if hasattr(m, "classes_")]
    plain = [(y, "y")] + [
        (m, f"models[{name!r}]")
        for name, m in models.items()
        if not hasattr(m, "predict") and not isinstance(m, (str, Deployed))
    ]
    positive = {n: m.positive_ for n, m in _own(models).items()}
    for name, own in positive.items():
        if pos_label is not None and own != pos_label:
            raise InputError(
                f"`pos_label` is {pos_label!r}, and the positive class of {name!r} is {own!r}"
            )
    settled = next(iter(positive.values()), pos_label)
    return classes_of(y, known[0] if known else union_of(plain), settled, goal=goal)


def _decided(
    name: str,
    model: Any,
    classes: ClassOrder,
    X: Any,
    n_rows: int,
    sides: Any,
) -> tuple[Codes, Any]:
    """The class that a model decides for each row; its scores, if it is of this library."""
    where, raw, decides = f"models[{name!r}]", None, Deployed.of(model)
    assert decides is not None
    try:
        if isinstance(model, GoalClassifier):
            raw = model._scores(X)
            decides = Deployed(model._decided(X, raw, sides))
        return decides.codes(classes, X, n_rows, where), raw
    except NotFittedError:
        raise _unfitted(f"`{where}`", model) from None
    except SetpointError:
        raise
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"`{where}` cannot decide these rows: {error}") from error


def _scores(name: str, model: Any, classes: ClassOrder, X: Any) -> Floats | None:
    """One score a row, higher for the positive class; None where only decisions are known."""
    if isinstance(model, Deployed) and model.threshold is not None:
        return finite_scores(model._values(X, f"models[{name!r}]"), f"models[{name!r}]")
    for method in ("predict_proba", "decision_function"):
        if hasattr(model, method):
            found = np.asarray(getattr(model, method)(X))
            scores = one_score(found, classes, f"models[{name!r}]")
            return -scores if found.ndim == 1 and classes.positive_first else scores
    return None


# --- A model judged on rows with labels -----------------------------------------------------------


_NO_SCORE = "it decides by several scores, and a frontier is that of one"
_ONLY_DECISIONS = "only its decisions are known"


def judged_classifier(
    name: str,
    clf: GoalClassifier,
    goal: Goal,
    rows: Mapping[str, Any],
    known: Mapping[str | None, Floats],
) -> JudgedModel:
    """A fitted classifier of this library, judged on rows with labels."""
    report, seen, raw, shares = clf._evaluated(goal, rows, known)
    cuts = len(seen.classes.labels) == 2 and raw[None].ndim == 1
    decided = clf._decided(rows["X"], raw[None], rows.get("sensitive_features"))
    codes = seen.classes.codes(decided, "predict(X)")

    def trace(wanted: Goal, evidence: Evidence, vary: Vary) -> Frontier:
        return clf._frontier_on(wanted, evidence, vary, None, getattr(clf, "randomized", False))

    return JudgedModel(
        name, report, seen, codes, shares, raw, "" if cuts else _NO_SCORE,
        lambda wanted: clf._seen(wanted, **rows)[1], trace,
    )  # fmt: skip


def judged_decisions(
    name: str,
    codes: Codes,
    scores: Floats | None,
    goal: Goal,
    classes: ClassOrder,
    rows: GivenRows,
) -> JudgedModel:
    """Decisions of any other model, judged on rows with labels."""

    def seen_by(wanted: Goal) -> CheckedData:
        return CheckedData.check(wanted, classes, {None: rows}, None)

    seen, decided = seen_by(goal), dict[str | None, Codes]({None: codes})
    raw: dict[str | None, Floats] = {} if scores is None else {None: scores}
    why = _ONLY_DECISIONS if scores is None else ""
    report = report_of(goal, seen, decided)[0]
    return JudgedModel(name, report, seen, codes, decided, raw, why, seen_by, frontier_exact)


# --- The rows on which models decide otherwise than the one in use --------------------------------


def changed_rows(models: Sequence[JudgedModel], X: Any) -> dict[str, NDArray[Any]]:
    """The rows that at least one model decides otherwise than the first."""
    today, others = models[0], models[1:]
    table, classes = today.seen.tables[None], today.seen.classes
    moved = np.any([m.codes != today.codes for m in others], axis=0)
    if table.weight is not None:
        moved &= table.weight > 0.0
    rows = np.flatnonzero(moved)
    labels = classes.sorted[np.array(classes.order)]
    out: dict[str, NDArray[Any]] = {"row": rows}
    index = index_of(X)
    if index is not None:
        out["index"] = np.asarray(index)[rows]
    true = table.labels[rows]
    out["true"] = labels[true]
    if table.weight is not None:
        out["weight"] = table.weight[rows]
    out |= {f"decision_{m.name}": labels[m.codes[rows]] for m in models}
    out |= {f"score_{m.name}": m.scores[rows] for m in models if m.scores is not None}
    before = today.codes[rows]
    for m in others:
        after = m.codes[rows]
        kinds = [before == after, after == true, before == true]
        out[f"change_{m.name}"] = np.select(kinds, ["none", "win", "loss"], "other")
    return out


# --- The comparison of models that were judged on the same rows -----------------------------------


_BY_SHARE = "predicted_rate <= 1"
"""What moves where the goal bounds nothing: the share of rows that is accepted at most."""


def comparison_of(
    goal: Goal,
    models: Sequence[JudgedModel],
    X: Any = None,
    *,
    vary: bool | Constraint | str = True,
    apart: bool = False,
    named: bool = True,
) -> ModelComparison:
    """Compare models that were judged on the same rows."""
    today, others = models[0], models[1:]
    level = 1.0 - (1.0 - LEVEL) / len(others)
    pairs = {}
    for other in others:
        names = (f"{today.name!r}", f"{other.name!r}") if named else (TODAY, CANDIDATE)
        pairs[other.name] = pair_of(goal, today, other, apart=apart, level=level, names=names)
    notes = [
        f"{m.name} was judged on rows {fitted_on(m.report)}: they flatter it."
        for m in models
        if m.report.counts.seen > 0.0
    ]
    if today.report.rule.drawn:
        notes.append(f"{today.name} draws: the others are compared with what it drew here.")
    frontiers: dict[str, Frontier] = {}
    points: dict[str, tuple[float, float]] = {}
    if vary is not False and len(today.seen.classes.labels) == 2:
        moving: Any = vary if vary is not True else 0 if goal.constraints else _BY_SHARE
        wanted, place = vary_of(goal, moving)
        for m in models:
            points[m.name], found = m.stands(wanted, place)
            if isinstance(found, Frontier):
                frontiers[m.name] = found
            else:
                notes.append(f"There is no frontier of {m.name}: {found}.")
    elif vary is not False:
        notes.append("There are no frontiers: they are those of two classes.")
    reports = {m.name: m.report for m in models}
    changed = changed_rows(models, X)
    return ModelComparison(goal, reports, pairs, changed, frontiers, points, tuple(notes))
