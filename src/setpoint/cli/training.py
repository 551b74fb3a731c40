"""From a table to a classifier that was fitted and judged: the work of ``setpoint fit``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from setpoint.cli.errors import CommandError, in_shell_words
from setpoint.cli.families import classifier_for, fit_classifier
from setpoint.cli.layout import Choices, Layout
from setpoint.cli.output import step
from setpoint.cli.session import current, heeded
from setpoint.cli.splitting import counted, halves_of
from setpoint.cli.tables import Part, check_threshold, part_of
from setpoint.goals.errors import nearest
from setpoint.goals.goal import Goal

if TYPE_CHECKING:
    from setpoint.data import Table
    from setpoint.report import GoalReport

__all__ = ["Rows", "Trained", "label_of", "train"]

_MOST_CLASSES = 200
_FOLDS = 5  # of PlugInClassifier
_EVALUATE = re.compile(r"; evaluate it on rows held out")
_DOES = {
    False: "fitting the model and finding the rule",
    True: "training the model for the goal",
}


@dataclass(frozen=True)
class Rows:
    """How many rows a data set has.

    Parameters
    ----------
    fitted, held_out : int
        With none held out, those fitted judge.
    shared : int
        Those that are rows of the table or of an earlier set too.
    """

    fitted: int
    held_out: int
    shared: int = 0


@dataclass(frozen=True)
class Trained:
    """A classifier and how it was judged.

    Parameters
    ----------
    classifier : PlugInClassifier, ExactPenaltyClassifier or RampClassifier
    report : GoalReport
        On the rows that the rule was found on: out-of-fold, or those that a training was
        chosen by.
    held_out : GoalReport or None
    classes : dict of str to int
        Rows of each class.
    n_fitted, n_held_out : int
    trained : bool
        Whether the model was trained for the goal, not only its rule found.
    datasets : dict of str to Rows
        The further data sets.
    """

    classifier: Any
    report: GoalReport
    held_out: GoalReport | None
    classes: Mapping[str, int]
    n_fitted: int
    n_held_out: int
    trained: bool = False
    datasets: Mapping[str, Rows] = field(default_factory=dict)

    @property
    def judged(self) -> GoalReport:
        """The report that decides."""
        return self.report if self.held_out is None else self.held_out

    @property
    def where(self) -> str:
        """The rows of `judged` in words."""
        if self.held_out is None:
            return self.chosen_on
        out = counted(self.n_held_out) + " held out"
        for name, rows in self.datasets.items():
            if not rows.held_out:
                out += f", and on the {counted(rows.fitted)} of {name}, not held out"
        return out

    @property
    def candidates(self) -> list[dict[str, Any]]:
        """What a training tried, the best first; empty where it is one way."""
        return list(getattr(self.classifier, "candidates_", ()))

    @property
    def chosen_on(self) -> str:
        """The rows of `report` in words."""
        n = self.report.n_rows
        if not self.trained:
            return f"{n:,} rows, by cross-validation"
        if n >= self.n_fitted:  # and those of further data sets
            return f"the {n:,} rows that the model was trained on"
        return f"the {n:,} rows by which the model was chosen"


def label_of(text: str | None, labels: Sequence[Any], target: str) -> Any:
    """The class that was named on the command line, of the type that the table has.

    Raises
    ------
    CommandError
        If there is none.

    Examples
    --------
    >>> label_of("1", [0, 1], "y"), label_of("true", [False, True], "y"), label_of(None, [0], "y")
    (1, True, None)
    """
    if text is None:
        return None
    if len(labels) > 2:
        raise CommandError(
            f"--positive is for two classes, and column {target!r} holds {len(labels)}; name a "
            "class in the goal, as in recall(label='a')"
        )
    for label in labels:
        if text == str(label) or (isinstance(label, bool) and text.lower() == str(label).lower()):
            return label
    for label in labels:
        if isinstance(label, (int, float)) and not isinstance(label, bool) and _is(text, label):
            return label
    raise CommandError(
        f"--positive: column {target!r} holds no class {text!r} ({nearest(text, labels)})"
    )


def _is(text: str, label: float) -> bool:
    try:
        return float(text) == label
    except ValueError:
        return False


def train(
    table: Table, others: Mapping[str, Table], goal: Goal, choices: Choices, layout: Layout
) -> Trained:
    """Split, fit and judge.

    Parameters
    ----------
    table : Table
    others : mapping of str to Table
        The further data sets.
    goal : Goal
    choices : Choices
    layout : Layout

    Raises
    ------
    Infeasible
        If no rule meets the constraints.
    TableError, CommandError, GoalError
        If something does not fit; whatever can be known before the fit is.
    """
    with step("preparing the columns"):
        import numpy as np

        from setpoint.data import labels_of

        decide = [c.name for c in layout.decides_on]
        scores = None if layout.scores is None else layout.scores.name
        # Where the goal is silent on the deployed model, the rows held out are compared with it.
        wanted = goal.needs.baseline or choices.test_size > 0 or choices.way.family == "ramp"
        baseline = choices.baseline if wanted else None

        def prepared(table: Table, classes: Any = None, dataset: str | None = None) -> Part:
            return part_of(
                table, layout.columns, goal, choices.target, classes,
                dataset=dataset, baseline=baseline, scores=scores, groups=decide,
            )  # fmt: skip

        whole = prepared(table)
        labels, counts = _classes(whole.y, choices.target, table.name)
        if choices.way.trains and len(labels) > 2:
            raise CommandError(
                f"{table.name}: column {choices.target!r} holds {len(labels)} classes, and "
                f"--solver {choices.way.solver} trains models for two; leave out --solver"
            )
        if isinstance(labels[0], str):
            # Text of fixed width sorts several times faster than objects.
            whole = replace(whole, y=np.asarray(whole.y).astype(str))
        positive = label_of(choices.positive, labels, choices.target)
        classes = np.array(labels)
        if (
            baseline is not None and scores is None
        ):  # a label that is no class is told with its line, before the fit
            whole = replace(whole, baseline=labels_of(table, baseline, classes, deployed=True))
        if scores is not None and choices.baseline_threshold is not None:
            check_threshold(whole.X[scores], choices.baseline_threshold, table.name)
        parts = {name: prepared(other, classes, name) for name, other in others.items()}
        first, halves = halves_of(whole, parts, choices, table.name)
        fitted, held = first.fitted, first.judging
        classifier = classifier_for(layout, fitted.X, goal, choices, positive)
    if not choices.way.trains:
        _check_folds(fitted.y, counts, table.name)
    with heeded() as notes, step(_DOES[choices.way.trains]), _time_enough():
        datasets = {name: made.fitted.as_dataset() for name, made in halves.items()}
        fit_classifier(classifier, choices.way.family, fitted, datasets)
    report = _with_notes(classifier.goal_report_, notes, held_out=held is not None)
    told = None
    if held is not None:
        small = [
            _not_held(name, made.part.n_rows)
            for name, made in halves.items()
            if made.judging is None
        ]
        for note in small:
            current().note(note)
        with heeded() as notes, step("judging the rule on rows held out"):
            datasets = {
                name: (made.judging or made.fitted).as_dataset() for name, made in halves.items()
            }
            told = classifier.evaluate(held.X, held.y, datasets=datasets, **held.sides())
        told = _with_notes(told, [*small, *notes], held_out=True)
    rows = {
        name: Rows(made.fitted.n_rows, int(made.held.sum()), made.shared)
        for name, made in halves.items()
    }
    n_held = 0 if held is None else held.n_rows
    trained = choices.way.trains
    return Trained(classifier, report, told, counts, fitted.n_rows, n_held, trained, rows)


@contextmanager
def _time_enough() -> Iterator[None]:
    """Say what to do where the limit on seconds left nothing to keep."""
    from setpoint.search.watch import StoppedError

    try:
        yield
    except StoppedError as error:
        if not str(error).startswith("stopped after"):
            raise
        raise CommandError(
            f"{error}, before there was anything to keep; give more with --max-seconds, or leave "
            "it out"
        ) from error


def _classes(y: Any, target: str, name: str) -> tuple[list[Any], dict[str, int]]:
    """The classes in sorted order, and how many rows each has."""
    import numpy as np

    found, counts = np.unique(y, return_counts=True)
    labels = found.tolist()
    if len(labels) < 2:
        raise CommandError(
            f"{name}: column {target!r} holds one class only, {labels[0]!r}; there is nothing to "
            "decide"
        )
    if len(labels) > _MOST_CLASSES or any(isinstance(v, float) and v % 1 for v in labels):
        raise CommandError(
            f"{name}: column {target!r} holds {len(labels)} different values, from {labels[0]!r} "
            f"to {labels[-1]!r}; a target has classes, {_MOST_CLASSES} at most: make some, or "
            "name another column with --target"
        )
    return labels, {str(label): int(n) for label, n in zip(labels, counts, strict=True)}


def _check_folds(y: Any, counts: Mapping[str, int], name: str) -> None:
    import numpy as np

    few = min(counts, key=lambda label: counts[label])
    if y is not None and np.unique(y, return_counts=True)[1].min() < _FOLDS:
        raise CommandError(
            f"{name}: class {few!r} has {counts[few]} rows, too few for cross-validation in "
            f"{_FOLDS} folds; add rows, or leave the class out"
        )


def _not_held(name: str, n_rows: int) -> str:
    """What to say of a data set of which no row is held out."""
    if n_rows == 1:
        return f"{name}: 1 row, too few to hold some out: what is counted on it was trained on"
    return (
        f"{name}: {n_rows:,} rows, and none could be held out: what is counted on them was "
        "trained on"
    )


def _with_notes(report: GoalReport, notes: Sequence[str], *, held_out: bool) -> GoalReport:
    """The report with what else was warned of, in words of the shell."""
    told = [*report.warnings, *(note for note in notes if note not in report.warnings)]
    if held_out:
        told = [_EVALUATE.sub("; the rows held out judge it", note) for note in told]
    return replace(report, warnings=tuple(map(in_shell_words, told)))
