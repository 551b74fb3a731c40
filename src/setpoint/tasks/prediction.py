"""What a stored model decides, and how it is judged and compared."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from setpoint.errors import InputError, nearest
from setpoint.estimators import check_at_most
from setpoint.goals import Goal, as_goal
from setpoint.inputs import one_column
from setpoint.tables import note, step, warnings_as_notes
from setpoint.tasks.loaded import LoadedModel, decide_new_groups, load_and_read
from setpoint.tables.rows import (
    NamedMetric,
    Reading,
    columns_named,
    note_reading,
    only_one_stdin,
    open_model,
    read,
)

if TYPE_CHECKING:
    import pandas as pd

    from setpoint.comparing import ChangedGroup, ModelComparison, Pair, Part
    from setpoint.guarantees import Guarantee
    from setpoint.report import Comparison, GoalReport, TextSection
    from setpoint.tables import Table, TableModel


# --- What of new rows is not as it was where a rule was chosen, in words --------------------------


_ERRORS, _RATIO = 4.0, 1.2
_NAMED = 3


def moved(share: float, n: int, before: float, n_before: float) -> bool:
    """Whether two shares differ by more than chance, and by a fifth.

    Examples
    --------
    >>> moved(0.033, 10_000, 0.117, 30_000), moved(0.12, 10_000, 0.117, 30_000)
    (True, False)
    """
    if n_before <= 0 or n == 0:
        return False
    pooled = (share * n + before * n_before) / (n + n_before)
    error = math.sqrt(max(pooled * (1 - pooled), 0.0) * (1 / n + 1 / n_before))
    low, high = sorted((share, before))
    return abs(share - before) > _ERRORS * error and high > _RATIO * low


def odd_rows(model: TableModel, frame: Any, decisions: Any) -> str:
    """One line on what is odd about rows that were decided; "" if nothing is."""
    from setpoint.tables import odd_columns

    counts = model.classifier.goal_report_.counts
    parts: list[str] = []
    if len(counts.classes) == 2 and counts.confusion:
        n, positive = len(decisions), counts.classes[1]
        share = float((decisions == positive).mean())
        total = counts.total
        before = sum(row[1] for row in counts.confusion) / total if total else 0.0
        if moved(share, n, before, min(total, counts.n_rows)):
            parts.append(
                f"{positive!r} for {_percent(share)} of {n:,} rows, and for {_percent(before)} "
                "where the rule was chosen"
            )
    found = odd_columns(frame, model.profile)
    parts += found[:_NAMED]
    if len(found) > _NAMED:
        parts.append(f"{len(found) - _NAMED:,} more columns")
    return "; ".join(parts)


def class_share_moved(report: GoalReport, before: GoalReport) -> str:
    """A sentence on the class whose share differs from that of the fit; "" if none does."""
    now, then = report.counts, before.counts
    if not now.confusion or not then.confusion or now.classes != then.classes:
        return ""
    n, n_before = now.labelled, then.labelled
    if not n or not n_before:
        return ""
    moves = []
    for code, label in enumerate(now.classes):
        share, was = now.of_class(code) / n, then.of_class(code) / n_before
        if moved(share, now.n_rows, was, then.n_rows):
            moves.append((abs(share - was), label, share, was))
    if not moves:
        return ""
    # Of two classes that moved alike, the positive one stands last.
    _, label, share, was = max(enumerate(moves), key=lambda m: (round(m[1][0], 9), m[0]))[1]
    return (
        f"class {label!r} is {_percent(share)} of these rows, and {_percent(was)} of those that "
        "the rule was chosen on: what held there need not hold here"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


# --- Room for so many rows of a table, in all or in each group ------------------------------------


Array = NDArray[Any]


@dataclass(frozen=True)
class Room:
    """How many rows of a table may be decided positive.

    Examples
    --------
    >>> Room.asked({"north": 20, "south": 5}, "branch").by
    'branch'
    """

    at_most: int | Mapping[Any, int]
    by: str | None

    @classmethod
    def asked(cls, at_most: Any, by: str | None) -> Room:
        """What was asked for, checked before anything is read."""
        if at_most is None:
            raise InputError("`by` names the groups that share no room; `at_most` says how much")
        check_at_most(at_most, by is not None)
        return cls(at_most, by)

    def check(self, classifier: Any) -> None:
        """Refuse models that do not rank rows."""
        labels = classifier.classes_.tolist()
        if len(labels) != 2:
            raise InputError(
                f"`at_most` is for two classes, and the model decides among {len(labels)}"
            )
        classifier._ranked_class(None)

    def decide(
        self, model: TableModel, table: Table, X: pd.DataFrame, scores: NDArray[np.float64]
    ) -> Array:
        """Decisions for which there is room."""
        clf = model.classifier
        groups, at_most = None, self.at_most
        if self.by is not None:
            there = list(map(str, table.frame))
            if self.by not in there:
                raise InputError(
                    f"`by`: {table.name} has no column {self.by!r} ({nearest(self.by, there)})"
                )
            groups = one_column(table.column(self.by), "by")
            at_most = _as_written(at_most, groups)
        capacity = clf._capacity(X, at_most, groups, None)
        decided: Array = clf._decide_batch(X, scores, capacity, 1)
        return decided

    def note(self, model: TableModel, free: Array, decided: pd.DataFrame) -> None:
        """Say how many rows the rule accepts and how many of them stay so."""
        clf = model.classifier
        accepted = free == clf.positive_
        kept = accepted & (decided["prediction"] == clf.positive_).to_numpy()
        n, n_kept = int(accepted.sum()), int(kept.sum())
        if n == n_kept:
            return
        where, least = f", by group of {self.by}," if self.by is not None else "", ""
        one_score = clf.rule_.score_columns is None and not clf.rule_.needs_segments
        if self.by is None and one_score:
            least = f", with a score of at least {decided['score'].to_numpy()[kept].min():.6g}"
        lost = ""
        if clf.goal_report_.constraints:
            lost = "; whether the goal's constraints hold for them was not counted"
        note(
            f"the rule decides {clf.positive_!r} for {n:,} of {len(free):,} rows, and the "
            f"{n_kept:,} best{where} keep that{least}{lost}"
        )


def _as_written(at_most: Any, groups: Array) -> Any:
    """Room for groups that are named by text, where the column holds numbers or booleans."""
    if not isinstance(at_most, Mapping):
        return at_most
    here = dict.fromkeys(value for value in groups.tolist() if not isinstance(value, str))
    named = {str(value): value for value in here}
    return {named.get(group, group): most for group, most in at_most.items()}


# --- Decisions for the rows of a table, by a stored model -----------------------------------------


@dataclass(frozen=True, eq=False)
class DecidedTable:
    """Decisions for the rows of a table."""

    columns: dict[str, Any]
    n_kept: int = 0
    decimal: Literal[".", ","] = "."

    @property
    def scores(self) -> list[str]:
        """The columns of scores, and of shares where the rule draws."""
        return list(self.columns)[self.n_kept + 1 :]

    def to_frame(self) -> pd.DataFrame:
        """The columns as a pandas frame."""
        from setpoint.tables import needed

        frame: pd.DataFrame = needed("pyarrow").table(self.columns).to_pandas()
        return frame


def predict_table(
    model: Any,
    table: Any,
    *,
    keep: Sequence[str] = (),
    adapt: bool = False,
    at_most: int | Mapping[Any, int] | None = None,
    by: str | None = None,
    unknown_group: str = "raise",
    trust: Sequence[str] = (),
    reading: Reading | None = None,
) -> DecidedTable:
    """Decide the rows of a table.

    Examples
    --------
    >>> from setpoint.tables import tumours
    >>> from setpoint.tasks import fit_table, predict_table
    >>> fitted = fit_table(tumours(), "f1", target="diagnosis", pos_label="malignant")
    >>> list(predict_table(fitted.model, tumours()).to_frame())
    ['prediction', 'score']
    """
    room = None if at_most is None and by is None else Room.asked(at_most, by)
    found = open_model(model, trust)
    decide_new_groups(found.classifier, unknown_group)
    if room is not None:
        room.check(found.classifier)
    rows = read(table, Reading() if reading is None else reading, found.columns)
    if adapt:
        _adapt(found, rows)
    with step("deciding"):
        columns = decide_rows(found, rows, keep, room)
    comma = rows.decimal == "," or "decimal comma" in rows.notes
    n_kept = list(columns).index("prediction")
    return DecidedTable(columns, n_kept, "," if comma else ".")


def decide_rows(
    model: TableModel,
    table: Table,
    keep: Sequence[str],
    room: Room | None = None,
) -> dict[str, Any]:
    """The columns to write, as Arrow arrays: those kept as they stood in the file."""
    from setpoint.inputs import Deployed
    from setpoint.tables import needed, scores_of

    keep = [keep] if isinstance(keep, str) else keep
    kept = columns_named("keep", keep, list(map(str, table.frame)), table.name)
    note_reading(table, {*kept, *(c.name for c in model.columns)})
    deployed = Deployed.of(model.classifier.baseline)
    if deployed is not None and deployed.threshold is not None:
        scores_of(table, str(deployed.column))  # a feature that has to be there
    with warnings_as_notes():
        X = model.frame(table)
        free: list[Array] = []  # decisions as if there were room for all

        def capped(scores: NDArray[np.float64], decisions: Array) -> Array:
            free.append(decisions)
            return decisions if room is None else room.decide(model, table, X, scores)

        decided = model.decided(X, capped)
        odd = odd_rows(model, X, free[0])
    deferred = _deferred(model.classifier, decided["prediction"])
    if deferred:
        note(f"{table.name}: {deferred}")
    if odd:
        note(f"{table.name}: {odd}")
    if room is not None:
        room.note(model, free[0], decided)
    for name in kept:
        if name in decided:
            raise InputError(
                f"`keep`: the column {name!r} has the name of one that is written beside it; "
                "rename it in the table"
            )
    pa = needed("pyarrow")
    out = {name: table.column(name) for name in kept}
    out |= {
        str(name): pa.chunked_array([pa.array(_of_one_kind(decided[name]))]) for name in decided
    }
    return out


def _of_one_kind(values: Any) -> Any:
    """Answers as a column of a file holds them: numbers beside the word for deferring are text."""
    if values.dtype.kind != "O":
        return values
    each = {v: str(v).lower() if isinstance(v, bool) else str(v) for v in set(values.tolist())}
    return values.map(each)


def _deferred(classifier: Any, answers: Any) -> str:
    """How many rows are left to a person; "" where the rule decides all rows of any table."""
    if not classifier._defers:
        return ""
    n, n_rows = int((answers == classifier._answers.defer_label).sum()), len(answers)
    return f"{n:,} of {n_rows:,} rows {'is' if n == 1 else 'are'} deferred to a person"


def _adapt(model: TableModel, table: Table) -> None:
    """Find the rule anew on rows without labels."""
    classifier = model.classifier
    if not hasattr(classifier, "adapt"):
        raise InputError(
            f"`adapt` finds the rule of a model anew, and {type(classifier).__name__} was trained "
            "for its goal as a whole; leave it out"
        )
    named = list(classifier.goal_report_.rule.decides_on)
    with step("finding the rule for these rows"), warnings_as_notes():
        X = model.frame(table)
        classifier.adapt(X, sensitive_features=X[named] if named else None)
    note("the rule was found anew on these rows, with probabilities in place of labels")


# --- How far a stored model reaches its goal on the rows of a table -------------------------------


@dataclass(frozen=True, eq=False)
class EvaluatedTable:
    """A stored model, judged by a table."""

    report: GoalReport
    loaded: LoadedModel
    promised: Guarantee | None
    holds: bool

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return self.loaded.part.n_rows

    def about(self) -> list[TextSection]:
        """Sections of the page: the data, and the model."""
        from setpoint.report import TextSection

        table, model = self.loaded.table, self.loaded.model
        return [
            TextSection("The data", (f"{self.n_rows:,} rows from {table.name}", *table.notes)),
            TextSection("The model and the rows it was fitted on", model.notes),
        ]


def evaluate_table(
    model: Any,
    table: Any,
    *,
    goal: Any = None,
    metric: NamedMetric | None = None,
    target: str | None = None,
    baseline: str | None = None,
    datasets: Mapping[str, Any] | None = None,
    skip_unlabelled: bool = False,
    unknown_group: str = "raise",
    trust: Sequence[str] = (),
    reading: Reading | None = None,
) -> EvaluatedTable:
    """Judge a stored model by a table with labels.

    Examples
    --------
    >>> from setpoint.tables import tumours
    >>> from setpoint.tasks import evaluate_table, fit_table
    >>> fitted = fit_table(
    ...     tumours(), "f1", target="diagnosis", pos_label="malignant", estimator="logistic"
    ... )
    >>> round(evaluate_table(fitted.model, tumours()).report.objective.value, 2)
    0.92
    """
    loaded = load_and_read(
        model, table, Reading() if reading is None else reading,
        trust=trust, target=target, baseline=baseline, files=datasets or {}, judging=True,
        metric=NamedMetric() if metric is None else metric, goal=goal,
        skip_unlabelled=skip_unlabelled,
    )  # fmt: skip
    classifier = loaded.model.classifier
    decide_new_groups(classifier, unknown_group)
    doing = step("judging the rule")
    with warnings_as_notes() as warned, doing, redirect_stdout(sys.stderr):
        found = classifier.evaluate(**loaded.rows(), goal=loaded.goal)
    shift = class_share_moved(found, classifier.goal_report_)
    if shift:
        note(shift)
        warned.append(shift)
    more = tuple(note for note in warned if note not in found.warnings)
    found = replace(found, warnings=(*found.warnings, *more))
    return EvaluatedTable(found, loaded, *loaded.promised)


# --- Two stored models on the rows of a table -----------------------------------------------------


A, B = "A", "B"
"""What the two models are called: today's, and the candidate."""


@dataclass(frozen=True, eq=False)
class ComparedTables:
    """Two models on the same rows, the first of which is in use."""

    comparison: ModelComparison
    loaded: LoadedModel

    @property
    def goal(self) -> Goal:
        """The goal that both are judged by."""
        return self.comparison.goal

    @property
    def today(self) -> GoalReport:
        """The report of the model in use."""
        return self.comparison.reports[A]

    @property
    def candidate(self) -> GoalReport:
        """The report of the candidate, which compares with the model in use."""
        return self.comparison.reports[B]

    @property
    def pair(self) -> Pair:
        """The candidate against the model in use."""
        return self.comparison.pairs[B]

    @property
    def parts(self) -> Sequence[Part]:
        """The objective, then the constraints: of both models, and the difference."""
        return self.pair.parts

    @property
    def groups(self) -> Sequence[ChangedGroup]:
        """What changes in each group, where the goal names columns."""
        return self.pair.groups

    @property
    def changes(self) -> Comparison:
        """The decisions that change."""
        return self.pair.changes

    @property
    def verdict(self) -> str:
        """Of the candidate: shown to be better, shown to be worse, or too close to call."""
        return self.pair.verdict

    @property
    def why(self) -> str:
        """What the verdict stands on, in a sentence."""
        return self.pair.why

    @property
    def rows_needed(self) -> int | None:
        """About how many rows like these would show a difference of the objective."""
        return self.pair.rows_needed

    def changed_frame(self) -> pd.DataFrame:
        """The rows that change, with the columns of the table behind."""
        import pandas as pd

        own = pd.DataFrame(self.comparison.changed)
        rest = self.loaded.table.frame.iloc[own["row"].to_numpy()].reset_index(drop=True)
        taken = {name: f"{name} (column)" for name in rest.columns if name in own.columns}
        return pd.concat([own, rest.rename(columns=taken)], axis=1)


def compare_tables(
    model_a: Any,
    model_b: Any,
    table: Any,
    *,
    goal: Any = None,
    target: str | None = None,
    datasets: Mapping[str, Any] | None = None,
    skip_unlabelled: bool = False,
    unknown_group: str = "raise",
    frontier: bool = False,
    trust: Sequence[str] = (),
    reading: Reading | None = None,
) -> ComparedTables:
    """Compare two stored models by a goal, on the same rows with labels.

    Examples
    --------
    >>> from setpoint.tables import tumours
    >>> from setpoint.tasks import compare_tables, fit_table
    >>> goals = "recall", "maximize recall subject to precision >= 0.9"
    >>> models = [
    ...     fit_table(tumours()[::2], goal, target="diagnosis", pos_label="malignant").model
    ...     for goal in goals
    ... ]
    >>> found = compare_tables(
    ...     *models, tumours()[1::2], goal="maximize recall subject to precision >= 0.8"
    ... )
    >>> found.verdict
    'shown to be better'
    >>> found.why
    'The candidate is shown to meet the goal, and the model of today is shown to fail it.'
    """
    reading = Reading() if reading is None else reading
    files = dict(datasets or {})
    only_one_stdin([table, *files.values()])
    a = open_model(model_a, trust)
    b = open_model(model_b, trust)
    names = _named(model_a, "the first model"), _named(model_b, "the second model")
    _check_matching(a, b, names, target)
    goal = _goal_of(a, names[0]) if goal is None else as_goal(goal)
    goal.require_formula("models are compared by goals that are counted")
    columns = _columns(a, b)
    table = read(table, reading, columns)
    files = {name: read(one, reading, columns) for name, one in files.items()}
    both = []
    for model in (a, b):
        decide_new_groups(model.classifier, unknown_group)
        both.append(
            load_and_read(
                model, table, reading, target=target, files=files, judging=True,
                goal=goal, skip_unlabelled=skip_unlabelled, deployed_apart=True,
            )
        )  # fmt: skip
    first, second = both
    with step("comparing the models"), warnings_as_notes():
        from setpoint.comparing import comparison_of, judged_classifier

        today = first.model.classifier
        given: dict[str | None, Any] = {None: first.part.X}
        given |= {n: one.X for n, one in first.datasets.items() if n in goal.needs.baseline}
        raw = {name: today._scores(X) for name, X in given.items()}
        decided = {name: today._decided(X, raw[name]) for name, X in given.items()}
        judged = [
            judged_classifier(name, one.model.classifier, goal, _rows(one, decided), own)
            for name, one, own in ((A, first, raw), (B, second, {}))
        ]
        found = comparison_of(goal, judged, vary=frontier, named=False)
    return ComparedTables(found, second)


def _named(model: Any, name: str) -> str:
    from setpoint.tables import TableModel

    return name if isinstance(model, TableModel) else str(model)


def _goal_of(model: TableModel, name: str) -> Goal:
    """The goal that was meant."""
    goal = Goal.parse(model.judge_by or model.classifier.goal_report_.goal)
    if goal.is_blackbox:
        raise InputError(
            f"{name}: its goal is a metric without a formula, {goal.objective}, by which no two "
            "models are compared; give another with `goal`"
        )
    return goal


def _check_matching(
    a: TableModel, b: TableModel, names: tuple[str, str], target: str | None
) -> None:
    """Refuse models that do not decide the same."""
    from setpoint.comparing import check_matching, check_same

    more = "; `target` names the column of this table, if both mean the same"
    if target is None:
        check_same("target", dict(zip(names, (a.target, b.target), strict=True)), more)
    check_matching(dict(zip(names, (a.classifier, b.classifier), strict=True)))


def _columns(a: TableModel, b: TableModel) -> tuple[Any, ...]:
    """The columns of both whose kinds agree; others are read as they are."""
    kinds = {c.name: c.kind for c in a.columns}
    both = {c.name: c for c in (*a.columns, *b.columns)}
    apart = {c.name for c in b.columns if kinds.get(c.name, c.kind) != c.kind}
    return tuple(c for name, c in both.items() if name not in apart)


def _rows(loaded: LoadedModel, decided: Mapping[str | None, Any]) -> dict[str, Any]:
    """Rows with the decisions of today's model as those of the deployed one."""
    rows = loaded.rows() | {"baseline": decided[None]}
    if len(decided) > 1:
        rows["datasets"] = {
            name: replace(one, baseline=decided.get(name))
            for name, one in loaded.datasets.items()
        }  # fmt: skip
    return rows
