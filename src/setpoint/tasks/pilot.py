"""The rows of a pilot study: labels and decisions, by a stored model or in a column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from setpoint.goals.goal import Goal
from setpoint.goals.populations import DEFER
from setpoint.tasks.journal import Journal
from setpoint.tasks.labels import check_positive, label_of, value_named
from setpoint.tasks.loaded import LoadedModel
from setpoint.tasks.reading import Reading, check_datasets, note_reading, only_one_stdin, read
from setpoint.tasks.rows import rows_of

if TYPE_CHECKING:
    from setpoint.tables import Table

__all__ = ["pilot_of_model", "pilot_of_table"]


def pilot_of_model(loaded: LoadedModel) -> dict[str, Any]:
    """The rows of a table, and what a model decides on them."""
    from setpoint.inputs import Dataset

    clf, part = loaded.model.classifier, loaded.part
    sets = {
        name: Dataset(
            clf.predict(d.X), d.y, sensitive_features=d.sensitive_features, baseline=d.baseline
        )
        for name, d in loaded.datasets.items()
    }
    return {
        "y_true": part.y, "y_pred": clf.predict(part.X), "classes": clf.classes_,
        "pos_label": getattr(clf, "positive_", None), "datasets": sets or None, **part.sides(),
    }  # fmt: skip


def pilot_of_table(
    goal: Goal,
    data: Any,
    *,
    target: str,
    prediction: str,
    pos_label: Any = None,
    baseline: str | None = None,
    datasets: Mapping[str, Any] | None = None,
    reading: Reading | None = None,
    journal: Journal | None = None,
    defer_label: str = DEFER,
) -> dict[str, Any]:
    """The rows of a table with labels and decisions, as the library takes them."""
    import numpy as np

    from setpoint.inputs import Dataset

    journal = Journal() if journal is None else journal
    reading = Reading() if reading is None else reading
    files = dict(datasets or {})
    only_one_stdin([data, *files.values()])
    files = check_datasets(goal, files, journal)
    used = {
        *goal.needs.names,
        *goal.needs.measure_names,
        target,
        prediction,
        *([] if baseline is None else [baseline]),
    }
    table = read(data, reading, journal)
    others = {name: read(path, reading, journal) for name, path in files.items()}
    for one in (table, *others.values()):
        note_reading(one, used, journal)
    part = rows_of(table, (), goal, target, None, baseline=baseline, journal=journal)
    assert part.y is not None
    decided = _decisions(table, prediction, part.y, goal, defer_label)
    sets = {}
    for name, other in others.items():
        own = rows_of(
            other, (), goal, target, None, dataset=name, baseline=baseline, journal=journal
        )
        sets[name] = Dataset(
            _decisions(other, prediction, part.y, goal, defer_label),
            own.y,
            sensitive_features=own.groups,
            baseline=own.deployed,
        )
    found = {*np.unique(part.y).tolist(), *decided.tolist()}
    labels = sorted(found - {DEFER} if goal.defers else found, key=str)
    pos_label = label_of(pos_label, labels, target)
    if pos_label is None:
        check_positive(labels, goal, target, table.name)
    return {
        "y_true": part.y, "y_pred": decided, "pos_label": pos_label, "datasets": sets or None,
        **part.sides(),
    }  # fmt: skip


def _decisions(table: Table, prediction: str, y: Any, goal: Goal, defer_label: str) -> Any:
    """The decisions in a column; beside rows that are deferred, labels of the type of `y`."""
    import numpy as np

    from setpoint.tables import labels_of

    found = labels_of(table, prediction)
    if not goal.defers or (found.dtype != object and defer_label == DEFER):
        return found
    labels = np.unique(y).tolist()
    known: dict[str, Any] = {defer_label: DEFER}
    for text in set(map(str, found.tolist())) - {defer_label}:
        label = value_named(text, labels)
        known[text] = text if label is None else label
    return np.array([known[str(text)] for text in found.tolist()], dtype=object)
