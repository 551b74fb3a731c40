"""Tables that a classifier is fitted on where they lie: dask frames and Parquet files."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import Any

from setpoint.counting.opening import is_lazy
from setpoint.counting.partitions import Partitions
from setpoint.errors import InputError, InputTypeError
from setpoint.goals.errors import nearest
from setpoint.inputs.arrays import some

__all__ = ["FitTable", "is_dask", "is_elsewhere"]


def is_elsewhere(X: Any, y: Any = None) -> bool:
    """Whether X is a table whose rows are not in memory: a lazy frame, or paths of files.

    A list of words is one of paths only where `y` names a column.

    Examples
    --------
    >>> is_elsewhere("rows/*.parquet"), is_elsewhere([[0.2], [0.7]])
    (True, False)
    >>> is_elsewhere(["a.parquet"], "label"), is_elsewhere(["a text"], [1])
    (True, False)
    """
    if isinstance(X, (str, PathLike, Partitions, FitTable)):
        return True
    if isinstance(X, (list, tuple)):
        paths = all(isinstance(x, (str, PathLike)) for x in X)
        return isinstance(y, str) and paths and len(X) > 0
    return is_lazy(X)


def is_dask(frame: Any) -> bool:
    """Whether something is a dask DataFrame."""
    return type(frame).__module__.partition(".")[0] == "dask" and hasattr(frame, "map_partitions")


@dataclass(frozen=True, eq=False)
class FitTable:
    """A table in pieces, and which of its columns are what.

    Parameters
    ----------
    source : Partitions
    y : str
        The column of labels.
    features : tuple of str
        What the model is called with.
    weight, baseline : str, optional
        Columns of weights and of what the deployed model says.
    side : tuple of str
        Columns that the goal may refer to; () where its own names are looked up.
    """

    source: Partitions
    y: str
    features: tuple[str, ...]
    weight: str | None = None
    baseline: str | None = None
    side: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        sensitive_features: Any = None,
        baseline: Any = None,
        kept: Any = None,
    ) -> FitTable:
        """The table, names checked; all columns that have no other part are features.

        Parameters
        ----------
        X : dask DataFrame, Partitions, path or sequence of paths, or FitTable
            The last says itself which columns are what.
        y, sample_weight, baseline : str
        sensitive_features : str or sequence of str
            They stay features.
        kept : str, optional
            The deployed model's column where it is a feature, too.

        Raises
        ------
        TypeError, ValueError
            If something is not the name of a column; the message says what was found.
        FileNotFoundError
            If there are no files.
        """
        if isinstance(X, cls):
            return X
        source = _source_of(X)
        known = source.columns()
        side = sensitive_features
        names = [side] if isinstance(side, str) else list(side or ())
        one = {"y": y, "sample_weight": sample_weight, "baseline": baseline, "the baseline": kept}
        given = [(role, name) for role, name in one.items() if name is not None or role == "y"]
        for role, name in [*given, *(("sensitive_features", name) for name in names)]:
            if not isinstance(name, str):
                raise InputTypeError(
                    f"`{role}` is the name of a column of the table, found {type(name).__name__}"
                )
            if name not in known:
                raise InputError(
                    f"`{role}`: the table has no column {name!r} ({nearest(name, known)})"
                )
        if sample_weight is not None and known[sample_weight] != "number":
            raise InputTypeError(
                f"`sample_weight`: the column {sample_weight!r} holds {known[sample_weight]}, "
                "allowed are numbers"
            )
        taken = {y, sample_weight, baseline}
        features = tuple(name for name in known if name not in taken)
        if not features:
            raise InputError(
                f"`X`: the table has no column beside {some([n for n in taken if n])}, and the "
                "model needs features"
            )
        deployed = kept if baseline is None else baseline
        return cls(source, y, features, sample_weight, deployed, tuple(names))

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns."""
        return tuple(self.source.columns())

    @property
    def score(self) -> str:
        """A name for the scores that no column has."""
        name = "score"
        while name in self.columns:
            name = f"model {name}"
        return name


def _source_of(X: Any) -> Partitions:
    """The pieces of a table.

    Raises
    ------
    TypeError
        If its engine cannot call a model.
    """
    if isinstance(X, Partitions):
        return X
    if is_dask(X):
        return Partitions.of_dask(X)
    if is_lazy(X):
        raise InputTypeError(
            "`X`: a model is fitted and asked piece by piece, on dask DataFrames and Parquet "
            f"files, found {type(X).__module__}.{type(X).__name__}; write it to Parquet "
            "(sink_parquet of Polars, write_parquet of DuckDB) and give the path"
        )
    return Partitions.of_parquet(X)
