"""Two stored models on the same rows: which of them serves the goal better."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from setpoint.errors import InputError
from setpoint.goals.goal import Goal, as_goal
from setpoint.tasks.better import Part, which_is_better
from setpoint.tasks.journal import Journal
from setpoint.tasks.loaded import LoadedModel, decide_new_groups, load_and_read
from setpoint.tasks.reading import Reading, only_one_stdin, open_model, read

if TYPE_CHECKING:
    from setpoint.inputs.inputs import CheckedData
    from setpoint.report import Entry, GoalReport
    from setpoint.report.deployed import Comparison
    from setpoint.tables import TableModel

__all__ = ["ChangedGroup", "ComparedTables", "compare_tables"]

_MOST_GROUPS = 40


@dataclass(frozen=True)
class ChangedGroup:
    """What changes in one group.

    Parameters
    ----------
    column : str
    value : object
    changes : Comparison
    """

    column: str
    value: Any
    changes: Comparison


@dataclass(frozen=True, eq=False)
class ComparedTables:
    """Two models on the same rows, the first of which is in use.

    Parameters
    ----------
    goal : Goal
        Both are judged by.
    today, candidate : GoalReport
        Of each model; that of the candidate compares with the other model.
    parts : sequence of Part
        The objective, then the constraints: of both models, and the difference.
    groups : sequence of ChangedGroup
        Where the goal names columns.
    verdict : {"shown to be better", "shown to be worse", "too close to call"}
        Of the candidate.
    why : str
        A sentence.
    loaded : LoadedModel
        The candidate and the rows.
    notes : sequence of str
        What was said on the way.
    """

    goal: Goal
    today: GoalReport
    candidate: GoalReport
    parts: Sequence[Part]
    groups: Sequence[ChangedGroup]
    verdict: str
    why: str
    loaded: LoadedModel
    notes: Sequence[str]

    @property
    def changes(self) -> Comparison:
        """The decisions that change."""
        found = self.candidate.deployed
        assert found is not None
        return found

    @property
    def rows_needed(self) -> int | None:
        """About how many rows like these would show a difference of the objective.

        None where one is shown already, and where there is none that rows could show.
        """
        return _rows_needed(self.parts[0].difference, self.candidate.counts.n_rows)


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
    trust: Sequence[str] = (),
    reading: Reading | None = None,
    journal: Journal | None = None,
) -> ComparedTables:
    """Compare two stored models by a goal, on the same rows with labels.

    Each difference is measured by the pairs of decisions on each row, so that it is known far
    better than from the two values by themselves.

    Parameters
    ----------
    model_a : str, path or TableModel
        Today's. Where the goal refers to the deployed model, this is it.
    model_b : str, path or TableModel
        The candidate.
    table : str, path, frame or Table
        With the columns of both.
    goal : Goal or str, optional
        The goal to judge by; None: that which was meant in the fit of `model_a`.
    target : str, optional
        The column with the labels; None: as in the fits.
    datasets : mapping of str to table, optional
        The further data sets that the goal refers to.
    skip_unlabelled : bool
        Whether rows without a label are left out; else they are an error.
    unknown_group : {"raise", "largest"}
        What becomes of a group that a model has not seen.
    trust : sequence of str
        Types that the files may hold beside setpoint's and scikit-learn's.
    reading : Reading, optional
    journal : Journal, optional

    Returns
    -------
    ComparedTables

    Raises
    ------
    InputError, TableError, ModelFileError, GoalError
        If something does not fit, such as models of different classes.

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
    journal = Journal() if journal is None else journal
    reading = Reading() if reading is None else reading
    files = dict(datasets or {})
    only_one_stdin([table, *files.values()])
    a = open_model(model_a, trust, journal)
    b = open_model(model_b, trust, journal)
    names = _named(model_a, "the first model"), _named(model_b, "the second model")
    _check_alike(a, b, names, target)
    goal = _goal_of(a, names[0]) if goal is None else as_goal(goal)
    goal.require_formula("models are compared by goals that are counted")
    columns = _columns(a, b)
    table = read(table, reading, journal, columns)
    files = {name: read(one, reading, journal, columns) for name, one in files.items()}
    both = []
    for model in (a, b):
        decide_new_groups(model.classifier, unknown_group)
        both.append(
            load_and_read(
                model, table, reading, journal, target=target, files=files, judging=True,
                goal=goal, skip_unlabelled=skip_unlabelled, deployed_apart=True,
            )
        )  # fmt: skip
    first, second = both
    with journal.step("comparing the models"), journal.warnings_as_notes():
        decided = first.model.classifier.predict(first.part.X)
        of_sets = {
            name: first.model.classifier.predict(one.X)
            for name, one in first.datasets.items()
            if name in goal.needs.baseline
        }
        today = first.model.classifier.evaluate(**_rows(first, decided, of_sets), goal=goal)
        candidate = second.model.classifier.evaluate(**_rows(second, decided, of_sets), goal=goal)
        seen, shares = _decided(second, goal, _rows(second, decided, of_sets))
        parts = _parts(goal, today, candidate, seen, shares)
        groups = _groups(goal, second.part.groups, seen, shares)
    verdict, why = which_is_better(today, candidate, parts)
    return ComparedTables(
        goal, today, candidate, parts, groups, verdict, why, second, tuple(journal.notes)
    )


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


def _check_alike(a: TableModel, b: TableModel, names: tuple[str, str], target: str | None) -> None:
    """Refuse models that do not decide the same."""
    of_a, of_b = a.classifier, b.classifier
    for model, name in zip((a, b), names, strict=True):
        if model.classifier._defers:
            raise InputError(
                f"{name} defers rows to a person, and models are compared that decide every row; "
                "evaluate each on these rows by a goal with deferral_rate instead"
            )
    found = [
        ("classes", of_a.classes_.tolist(), of_b.classes_.tolist()),
        ("positive class", of_a.positive_, of_b.positive_),
    ]
    if target is None:
        found.insert(0, ("target", a.target, b.target))
    for what, one, other in found:
        if one != other or str(one) != str(other):  # True and 1 are equal, and other labels
            more = ""
            if what == "target":
                more = "; `target` names the column of this table, if both mean the same"
            raise InputError(
                f"the models do not decide the same: the {what} of {names[0]} is {one!r}, and of "
                f"{names[1]} {other!r}{more}"
            )


def _columns(a: TableModel, b: TableModel) -> tuple[Any, ...]:
    """The columns of both whose kinds agree; others are read as they are."""
    kinds = {c.name: c.kind for c in a.columns}
    both = {c.name: c for c in (*a.columns, *b.columns)}
    apart = {c.name for c in b.columns if kinds.get(c.name, c.kind) != c.kind}
    return tuple(c for name, c in both.items() if name not in apart)


def _rows(loaded: LoadedModel, decided: Any, of_sets: Mapping[str, Any]) -> dict[str, Any]:
    """Rows with the decisions of today's model as those of the deployed one."""
    rows = loaded.rows() | {"baseline": decided}
    if of_sets:
        rows["datasets"] = {
            name: replace(one, baseline=of_sets.get(name))
            for name, one in loaded.datasets.items()
        }  # fmt: skip
    return rows


def _decided(loaded: LoadedModel, goal: Goal, rows: Mapping[str, Any]) -> tuple[CheckedData, Any]:
    """The rows as checked, and the probability of each decision of the candidate."""
    clf, X, sides = loaded.model.classifier, rows["X"], rows["sensitive_features"]
    _, seen = clf._seen(goal, X, rows["y"], None, sides, rows["baseline"], rows["datasets"])
    return seen, clf._shares(goal, clf._rule_scores(X, sides), clf._segments(X, sides))


def _parts(
    goal: Goal, today: GoalReport, candidate: GoalReport, seen: CheckedData, shares: Any
) -> list[Part]:
    """The objective and the constraints, of both models."""
    from setpoint.report.paired import differences_of_constraints

    found = differences_of_constraints(goal, seen.classes.labels, seen.tables[None], shares)
    assert candidate.deployed is not None
    gains = [candidate.deployed.difference, *found]
    texts = [goal.objective, *(c.lhs for c in goal.constraints)]
    sides = zip(today.entries, candidate.entries, gains, texts, strict=True)
    n = candidate.counts.n_rows
    return [Part(one, other, gain, x, _rows_needed(gain, n)) for one, other, gain, x in sides]


def _rows_needed(gain: Entry | None, n_rows: int) -> int | None:
    """How many rows like these would show a difference as large as this one."""
    if gain is None or not gain.value or gain.low is None or gain.high is None:
        return None
    # An interval shrinks with the root of the number of rows.
    past = gain.low if gain.value > 0.0 else gain.high
    times = ((past - gain.value) / gain.value) ** 2
    return math.ceil(times * n_rows) if times > 1.0 else None


def _groups(goal: Goal, groups: Any, seen: CheckedData, shares: Any) -> list[ChangedGroup]:
    """The decisions that change, in each group of the columns that the goal names."""
    import numpy as np

    from setpoint.report.deployed import compared

    table = seen.tables[None]
    assert table.true is not None
    assert table.deployed is not None
    out = []
    for name in sorted(goal.needs.columns.get(None, {})):
        values = groups[name].to_numpy()
        for value in sorted(set(values.tolist()), key=str)[:_MOST_GROUPS]:
            rows = np.flatnonzero(values == value)
            changes = compared(table.true[rows], table.deployed[rows], shares[rows])
            out.append(ChangedGroup(name, value, changes))
    return out
