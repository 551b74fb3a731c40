"""What a model file says of itself, to be read without building the model."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from setpoint.estimators.model_archive import (
    FACTS,
    ModelFileError,
    as_size,
    open_archive,
    read_member,
)

__all__ = ["FORMAT", "ModelFileFacts", "describe_model", "facts_in", "facts_of"]

FORMAT = 3
"""Version of model files; a reader refuses any other."""

_LONGEST = 1 << 20
"""Bytes of the facts: 30,000 names of columns. As objects JSON takes up to 24 times as many."""

_LISTED = 6
"""Names that the text shows before it goes on with a number."""


@dataclass(frozen=True)
class ModelFileFacts:
    """What :func:`describe_model` finds; None, or empty: the file does not say.

    Parameters
    ----------
    path : str
    n_bytes : int
        The size of the file.
    format : int or None
        None for a file that skops itself wrote.
    setpoint, scikit_learn, numpy : str or None
        The versions that wrote it.
    written : str or None
        When, in UTC, as in ISO 8601.
    model : str or None
        The class of the model, by its full name.
    chosen : str or None
        The model inside, where it was chosen among several under the goal.
    goal : str or None
    target : str or None
        The column that it was trained to predict, where it takes whole tables.
    classes : tuple of labels
    columns : tuple of str
        Names of the columns that it takes.
    n_columns : int or None
        Their number, which is known too where they have no names.
    n_rows : int or None
        The rows that its rule was found on, as in the report of the fit.

    Examples
    --------
    >>> facts = ModelFileFacts("a.skops", 89_305, columns=("age", "city"), n_columns=2)
    >>> print(facts)
    a.skops, 87 KiB
      columns  2: age, city
    """

    path: str
    n_bytes: int
    format: int | None = None
    setpoint: str | None = None
    scikit_learn: str | None = None
    numpy: str | None = None
    written: str | None = None
    model: str | None = None
    chosen: str | None = None
    goal: str | None = None
    target: str | None = None
    classes: tuple[Any, ...] = ()
    columns: tuple[str, ...] = ()
    n_columns: int | None = None
    n_rows: int | None = None

    def __str__(self) -> str:
        first = [self.path, as_size(self.n_bytes)]
        if self.model:
            first.append(self.model.split(".")[-1])
        by = {"setpoint": self.setpoint, "scikit-learn": self.scikit_learn, "numpy": self.numpy}
        versions = ", ".join(f"{name} {found}" for name, found in by.items() if found)
        columns = None if self.n_columns is None else f"{self.n_columns:,}"
        if self.columns:
            columns = f"{len(self.columns):,}: {_listed(self.columns)}"
        lines = {
            "inside": self.chosen,
            "goal": self.goal,
            "target": self.target,
            "classes": _listed(self.classes) or None,
            "columns": columns,
            "rows": None if self.n_rows is None else f"{self.n_rows:,}",
            "written": self.written,
            "by": versions or None,
        }
        shown = [f"  {name:<7}  {text}" for name, text in lines.items() if text is not None]
        return "\n".join(_printable(line) for line in [", ".join(first), *shown])


def _listed(names: Iterable[Any]) -> str:
    shown = [str(name) for name in names]
    more = len(shown) - _LISTED
    return ", ".join(shown[:_LISTED]) + (f" and {more:,} more" if more > 0 else "")


def _printable(text: str) -> str:
    """The text as one line that moves no cursor: a file may name a column as it likes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def describe_model(path: str | os.PathLike[str]) -> ModelFileFacts:
    """What a model file says of itself; the model is neither built nor expanded.

    Parameters
    ----------
    path : path

    Returns
    -------
    ModelFileFacts
        Printed it is a text. It says what the writer wrote: of a file from elsewhere believe it
        as much as you believe the file.

    Raises
    ------
    ModelFileError
        If the file is not a model file, or of another format.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from setpoint import PlugInClassifier, save_model
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = PlugInClassifier(GaussianNB(), "f1", pos_label=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(clf, f"{folder}/tumours.skops")
    ...     facts = describe_model(f"{folder}/tumours.skops")
    >>> facts.goal, facts.classes, facts.n_columns, facts.n_rows
    ('maximize f1', (0, 1), 30, 569)
    """
    with Path(path).open("rb") as file, open_archive(file, path) as archive:
        found = facts_in(archive, path)
        return _facts(found, path, os.fstat(file.fileno()).st_size)


def facts_of(model: Any) -> bytes:
    """What a file of this model will say of itself, as JSON."""
    import numpy
    import sklearn

    classifier = getattr(model, "classifier", model)
    own = vars(classifier) if hasattr(classifier, "__dict__") else {}
    report = own.get("goal_report_")
    goal = own.get("goal") if report is None else report.goal
    columns = [c.name for c in getattr(model, "columns", ())] or own.get("feature_names_in_", ())
    classes = own.get("classes_", ())
    facts: dict[str, Any] = {
        "format": FORMAT,
        "setpoint": version("setpoint"),
        "scikit_learn": sklearn.__version__,
        "numpy": numpy.__version__,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "model": f"{type(model).__module__}.{type(model).__qualname__}",
        "chosen": getattr(own.get("choice_"), "chosen", None),
        "goal": None if goal is None else str(goal),
        "target": getattr(model, "target", None),
        "classes": [_plain(label) for label in classes],
        "columns": [str(name) for name in columns],
        "n_columns": own.get("n_features_in_", len(columns) or None),
        "n_rows": None if report is None else report.counts.n_rows,
    }
    # What readers would refuse is left out: names by the ten thousand are in the model itself.
    for name in ("columns", "classes", "goal"):
        if len(json.dumps(facts)) > _LONGEST:
            facts[name] = None if name == "goal" else []
    return json.dumps(facts).encode()


def _plain(label: Any) -> Any:
    """A label as JSON has it; what JSON does not know becomes text."""
    plain = label.item() if hasattr(label, "item") else label
    return plain if isinstance(plain, str | int | bool) else str(plain)


def facts_in(archive: zipfile.ZipFile, path: str | os.PathLike[str]) -> dict[str, Any]:
    """What an open archive says of itself; nothing for a file that skops itself wrote.

    Raises
    ------
    ModelFileError
        If it is too long, no such facts, or of another format.
    """
    if FACTS not in archive.namelist():
        return {}
    info = archive.getinfo(FACTS)
    if info.file_size > _LONGEST:
        raise ModelFileError(
            f"{path} is not a model file: its {FACTS} takes {as_size(info.file_size)}, "
            f"{as_size(_LONGEST)} are allowed"
        )
    try:
        found = json.loads(read_member(archive, info, path))
        written = found["format"]
        if not isinstance(written, int) or isinstance(written, bool):
            raise KeyError("format")
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(
            f"{path} is damaged: its {FACTS} is not what setpoint writes"
        ) from None
    if written != FORMAT:
        mend = "install a newer one" if written > FORMAT else "fit the model again and save it"
        by = _printable(str(found.get("setpoint", "?")))
        raise ModelFileError(
            f"{path} was written by setpoint {by} in format {written}; this is setpoint "
            f"{version('setpoint')}, which reads format {FORMAT}: {mend}"
        )
    return dict(found)


_KINDS: Mapping[str, tuple[type, ...]] = {
    "format": (int,),
    "n_columns": (int,),
    "n_rows": (int,),
    "classes": (list,),
    "columns": (list,),
}
"""What the facts are; text, where it is not said."""


def _facts(found: Mapping[str, Any], path: str | os.PathLike[str], n_bytes: int) -> ModelFileFacts:
    given: dict[str, Any] = {}
    for field in fields(ModelFileFacts):
        value = found.get(field.name)
        if field.name in ("path", "n_bytes") or value is None:
            continue
        kinds = _KINDS.get(field.name, (str,))
        plain = [value] if not isinstance(value, list) else value
        if not isinstance(value, kinds) or not all(isinstance(v, str | int) for v in plain):
            raise ModelFileError(
                f"{path} is damaged: {field.name!r} in its {FACTS} is not what setpoint writes"
            )
        given[field.name] = tuple(value) if isinstance(value, list) else value
    return ModelFileFacts(str(path), n_bytes, **given)
