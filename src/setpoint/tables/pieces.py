"""Pieces of a table that is read elsewhere, brought to the columns that a model takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sklearn.base import BaseEstimator, TransformerMixin

from setpoint.tables.schema import Column, conform
from setpoint.tables.table import Table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["AsInTable"]


class AsInTable(TransformerMixin, BaseEstimator):
    """The first step of a pipeline that is called with pieces as an engine reads them.

    The next step is given what it would be given of a file, see
    :meth:`setpoint.tables.TableModel.frame`.

    Parameters
    ----------
    columns : sequence of Column
        The columns that the model takes, with their kinds.

    Examples
    --------
    >>> import pandas as pd
    >>> piece = pd.DataFrame({"code": [1, 2]})
    >>> AsInTable([Column("code", "category")]).fit_transform(piece)["code"].tolist()
    ['1', '2']
    """

    columns: Sequence[Column]

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = columns

    def fit(self, X: Any, y: Any = None) -> AsInTable:
        """Nothing is learnt."""
        return self

    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        """The columns, in their order and of their kinds.

        Raises
        ------
        TableError
            If a column holds a value of another kind.
        """
        return conform(Table("a piece of the table", X), self.columns)

    def __sklearn_is_fitted__(self) -> bool:
        return True
