"""How far a stored model reaches its goal on the rows of a table."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from setpoint.errors import InputError
from setpoint.goals.goal import Goal, as_goal
from setpoint.tasks.loaded import LoadedModel, decide_new_groups, load_and_read
from setpoint.tasks.prediction import class_share_moved
from setpoint.tasks.reading import Journal, NamedMetric, Reading, only_one_stdin, open_model, read

if TYPE_CHECKING:
    import pandas as pd

    from setpoint.comparing import ChangedGroup, ModelComparison, Pair, Part
    from setpoint.guarantees import Guarantee
    from setpoint.report import GoalReport, TextSection
    from setpoint.report.facts import Comparison
    from setpoint.tables import TableModel


@dataclass(frozen=True, eq=False)
class EvaluatedTable:
    """A stored model, judged by a table."""

    report: GoalReport
    loaded: LoadedModel
    promised: Guarantee | None
    holds: bool
    notes: Sequence[str]

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
    journal: Journal | None = None,
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
    journal = Journal() if journal is None else journal
    loaded = load_and_read(
        model, table, Reading() if reading is None else reading, journal,
        trust=trust, target=target, baseline=baseline, files=datasets or {}, judging=True,
        metric=NamedMetric() if metric is None else metric, goal=goal,
        skip_unlabelled=skip_unlabelled,
    )  # fmt: skip
    classifier = loaded.model.classifier
    decide_new_groups(classifier, unknown_group)
    doing = journal.step("judging the rule")
    with journal.warnings_as_notes() as warned, doing, redirect_stdout(sys.stderr):
        found = classifier.evaluate(**loaded.rows(), goal=loaded.goal)
    shift = class_share_moved(found, classifier.goal_report_)
    if shift:
        journal.note(shift)
        warned.append(shift)
    more = tuple(note for note in warned if note not in found.warnings)
    found = replace(found, warnings=(*found.warnings, *more))
    return EvaluatedTable(found, loaded, *loaded.promised, tuple(journal.notes))


# --- Two stored models on the rows of a table -----------------------------------------------------


A, B = "A", "B"
"""What the two models are called: today's, and the candidate."""


@dataclass(frozen=True, eq=False)
class ComparedTables:
    """Two models on the same rows, the first of which is in use."""

    comparison: ModelComparison
    loaded: LoadedModel
    notes: Sequence[str]

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
    journal: Journal | None = None,
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
        from setpoint.comparing.pairs import judged_classifier
        from setpoint.comparing.result import comparison_of

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
    return ComparedTables(found, second, tuple(journal.notes))


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
    from setpoint.comparing.models import check_alike, check_same

    more = "; `target` names the column of this table, if both mean the same"
    if target is None:
        check_same("target", dict(zip(names, (a.target, b.target), strict=True)), more)
    check_alike(dict(zip(names, (a.classifier, b.classifier), strict=True)))


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
