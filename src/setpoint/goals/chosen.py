"""Which rows an expression is measured on, and how much each counts; pushed to its metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from setpoint.goals.populations import Label, chosen_rows, measure_name

if TYPE_CHECKING:
    from setpoint.goals.expressions import Expression, Metric

__all__ = ["HasRows"]


class HasRows:
    """The methods that choose and weigh the rows of each metric of an expression."""

    __slots__ = ()

    def _of_metrics(self, change: Callable[[Metric], Expression]) -> Expression:
        raise NotImplementedError

    def on(self, /, *population: str | Mapping[str, Label], **where: Label) -> Expression:
        """The same expression on part of the rows.

        Examples
        --------
        >>> from setpoint.metrics import recall
        >>> print(recall.on("audit", country="IN"))
        recall.on("audit", country="IN")
        """
        dataset, values = chosen_rows(population, where)
        return self._of_metrics(lambda m: m.narrowed(dataset, values))

    def weighted(self, column: str) -> Expression:
        """The same expression, each row counted by its number in a column.

        Examples
        --------
        >>> from setpoint.metrics import recall
        >>> print(recall.weighted("amount"))
        recall.weighted("amount")
        """
        name = measure_name(column)
        return self._of_metrics(lambda m: m.weighted_by(name))

    @property
    def decided(self) -> Expression:
        """The same expression over the rows that are decided, where some are deferred.

        Examples
        --------
        >>> from setpoint.metrics import accuracy
        >>> print(accuracy.decided >= 0.98)
        accuracy.decided >= 0.98
        """
        return self._of_metrics(lambda m: m.without_deferred())
