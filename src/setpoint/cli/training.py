"""From a table to a classifier that was fitted and judged: the work of ``setpoint fit``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from setpoint.cli.errors import CommandError, in_shell_words
from setpoint.cli.families import classifier_for, fit_classifier
from setpoint.cli.layout import Choices, Layout
from setpoint.cli.output import step
from setpoint.cli.session import current, heeded
from setpoint.cli.tables import Part, part_of
from setpoint.goals.errors import nearest
from setpoint.goals.goal import Goal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from setpoint.data import Table
    from setpoint.report import GoalReport

__all__ = ["Trained", "label_of", "train"]

_MOST_CLASSES = 200
_FOLDS = 5  # of PlugInClassifier
_DOES = {
    False: "fitting the model and finding the rule",
    True: "training the model for the goal",
}


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
    datasets : dict of str to (int, int)
        Rows of further data sets, fitted and held out.
    """

    classifier: Any
    report: GoalReport
    held_out: GoalReport | None
    classes: Mapping[str, int]
    n_fitted: int
    n_held_out: int
    trained: bool = False
    datasets: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def judged(self) -> GoalReport:
        """The report that decides."""
        return self.report if self.held_out is None else self.held_out

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
            whole = replace(whole, baseline=labels_of(table, baseline, classes))
        if scores is not None and choices.baseline_threshold is not None:
            _check_threshold(whole.X[scores], choices.baseline_threshold, table.name)
        parts = {name: prepared(other, classes, name) for name, other in others.items()}
        fitted, held = _halves(whole, choices, table.name)
        halves = {name: _halves(part, choices, None) for name, part in parts.items()}
        classifier = classifier_for(layout, fitted.X, goal, choices, positive)
    if not choices.way.trains:
        _check_folds(fitted.y, counts, table.name)
    with heeded() as notes, step(_DOES[choices.way.trains]), _time_enough():
        datasets = {name: part.as_dataset() for name, (part, _) in halves.items()}
        fit_classifier(classifier, choices.way.family, fitted, datasets)
    report = _with_notes(classifier.goal_report_, notes)
    told = None
    if held is not None:
        with heeded() as notes, step("judging the rule on rows held out"):
            datasets = {
                name: (part if rest is None else rest).as_dataset()
                for name, (part, rest) in halves.items()
            }
            told = classifier.evaluate(held.X, held.y, datasets=datasets, **held.sides())
        told = _with_notes(told, notes)
    rows = {name: (a.n_rows, 0 if b is None else b.n_rows) for name, (a, b) in halves.items()}
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


def _halves(part: Part, choices: Choices, name: str | None) -> tuple[Part, Part | None]:
    """Rows to fit on and rows to judge by; a data set too small for two halves is both."""
    if choices.test_size == 0:
        return part, None
    import numpy as np
    from sklearn.model_selection import train_test_split

    y, n_rows = part.y, part.n_rows
    if y is not None:
        found, counts = np.unique(y, return_counts=True)
        n_test = int(np.ceil(choices.test_size * n_rows))
        if counts.min() < 2 or min(n_test, n_rows - n_test) < len(found):
            if name is not None:
                few = found.tolist()[int(counts.argmin())]
                raise CommandError(
                    f"{name}: there are too few rows to hold some out (class {few!r} has "
                    f"{counts.min()} of {n_rows}); add rows, or judge by cross-validation with "
                    "--test-size 0"
                )
            y = None  # a small data set is split without looking at its labels
    if n_rows < 2:
        return part, None
    index: NDArray[np.int64] = np.arange(n_rows)
    kept, held = train_test_split(
        index, test_size=choices.test_size, stratify=y, random_state=choices.seed
    )
    return part.taken(np.sort(kept)), part.taken(np.sort(held))


def _check_threshold(scores: Any, threshold: float, name: str) -> None:
    """Say where the deployed model would decide the same for everybody."""
    n, n_rows = int((scores >= threshold).sum()), len(scores)
    if n in (0, n_rows):
        current().note(
            f"--baseline-threshold {threshold:g}: so the deployed model decides positive for "
            f"{n:,} of the {n_rows:,} rows of {name}, whose scores go from {scores.min():g} to "
            f"{scores.max():g}"
        )


def _check_folds(y: Any, counts: Mapping[str, int], name: str) -> None:
    import numpy as np

    few = min(counts, key=lambda label: counts[label])
    if y is not None and np.unique(y, return_counts=True)[1].min() < _FOLDS:
        raise CommandError(
            f"{name}: class {few!r} has {counts[few]} rows, too few for cross-validation in "
            f"{_FOLDS} folds; add rows, or leave the class out"
        )


def _with_notes(report: GoalReport, notes: Sequence[str]) -> GoalReport:
    """The report with what else was warned of, in words of the shell."""
    more = tuple(note for note in notes if note not in report.warnings)
    return replace(report, warnings=tuple(map(in_shell_words, (*report.warnings, *more))))
