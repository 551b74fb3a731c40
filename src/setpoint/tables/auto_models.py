"""The models that race under a goal, each with what it takes of the columns of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from setpoint.tables.features import transformer_for
from setpoint.tables.schema import Column

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["auto_model_for"]


def auto_model_for(
    frame: pd.DataFrame, columns: Sequence[Column], *, seed: int = 0
) -> dict[str, Any]:
    """Candidates of scikit-learn for a frame of mixed columns with missing values.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"age": [31, 45, None, 27]})
    >>> list(auto_model_for(X, [Column("age", "number")]))
    ['logistic', 'boosting of 30 rounds', 'boosting of 120 rounds']
    """
    from sklearn.pipeline import Pipeline

    from setpoint.plugin.auto.candidates import BOOSTING, LOGISTIC

    n_codes = sum(column.kind == "category" for column in columns)
    made: dict[str, Any] = {}
    for kind in (LOGISTIC, *BOOSTING):
        encoder = transformer_for(
            frame, columns, "logistic" if kind.linear else "hist-gradient-boosting"
        )
        model = kind.make(seed, 0 if kind.linear else n_codes)
        made[kind.name] = Pipeline([("columns", encoder), ("model", model)])
    return made
