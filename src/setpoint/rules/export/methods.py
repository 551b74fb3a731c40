"""How a rule leaves Python: methods that every rule has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from setpoint.goals.populations import Label
from setpoint.rules.export.questions import Questions

if TYPE_CHECKING:
    import narwhals as nw

__all__ = ["Exportable"]


class Exportable(ABC):
    """What decides by questions that other languages can ask.

    All exports decide as :meth:`setpoint.rules.Rule.decide` does, to the last bit where
    the engine computes in IEEE doubles, one operation after the other. Two totals of an
    :class:`~setpoint.rules.Argmax` that agree within rounding may be ordered otherwise by
    an engine that does not. Where ``decide`` refuses a row, an export decides
    nothing (NULL, None): a score is missing or NaN (or infinite, where there are several),
    the row is in no segment, or its draw is missing or outside [0, 1).

    Examples
    --------
    >>> from setpoint.rules import Threshold
    >>> print(Threshold(0.25).to_sql("score"))
    CASE
      WHEN CAST("score" AS DOUBLE PRECISION) IS NULL THEN NULL
      WHEN CAST("score" AS DOUBLE PRECISION) >= CAST('0.25' AS DOUBLE PRECISION) THEN 1
      ELSE 0
    END
    """

    @abstractmethod
    def _questions(self) -> Questions:
        """The rule as questions."""

    def to_sql(
        self,
        score: str | Sequence[str],
        *,
        dialect: str = "ansi",
        columns: Mapping[str, str] | None = None,
        classes: Sequence[Label] | None = None,
        hash_column: str | None = None,
    ) -> str:
        """Write the rule as one SQL expression, to stand where a column can stand.

        Every name is quoted and every value escaped. Numbers are written so that the
        database reads the same float: as ``CAST('0.25' AS DOUBLE)``, and as a fraction of
        two whole numbers where such a cast may miss the last bit (sqlite, clickhouse).

        Parameters
        ----------
        score : str or sequence of str
            The column with the score; for a rule over several scores the columns, in
            their order. A :class:`~setpoint.rules.ValueAware` rule takes those of the
            probabilities, and finds its columns of values by their own names; of two classes
            the probability of class 1 is enough, and that of class 0 is 1 less it.
        dialect : str
            "ansi", "bigquery", "clickhouse", "databricks", "duckdb", "mysql", "postgres",
            "redshift", "snowflake", "spark", "sqlite", "trino" or "tsql". "ansi" has no
            NaN: name the dialect of a database whose scores may be NaN.
        columns : mapping of str to str, optional
            What the columns that the rule looks at are called in the table, where they
            are called otherwise.
        classes : sequence of str, int, float or bool, optional
            The labels by class index; in binary problems (negative, positive). Without
            them the index is the decision.
        hash_column : str, optional
            A column that holds one uniform number in [0, 1) for each row, such as a hash
            of its id divided by the number of hashes. Needed if `randomized`, else ignored.

        Returns
        -------
        str
            With class 1 of two if and only if the number is below the probability of
            class 1, as ``decide`` has it of `u`. Over n classes an
            :class:`~setpoint.rules.Argmax` needs n(n - 1) / 2 comparisons.

        Raises
        ------
        TypeError, ValueError
            If a name is missing, unknown or cannot be written; the message names the
            argument.

        Examples
        --------
        >>> from setpoint.rules import PerSegment, Threshold
        >>> rule = PerSegment([Threshold(0.3), Threshold(0.6)], [(("sex", "F"),), (("sex", "M"),)])
        >>> print(rule.to_sql("p", dialect="duckdb", columns={"sex": "Sex"}, classes=("no", "yes")))
        CASE
          WHEN CAST("p" AS DOUBLE) IS NULL OR isnan(CAST("p" AS DOUBLE)) THEN NULL
          WHEN "Sex" = 'F' THEN
            CASE
              WHEN CAST("p" AS DOUBLE) >= CAST('0.3' AS DOUBLE) THEN 'yes'
              ELSE 'no'
            END
          WHEN "Sex" = 'M' THEN
            CASE
              WHEN CAST("p" AS DOUBLE) >= CAST('0.6' AS DOUBLE) THEN 'yes'
              ELSE 'no'
            END
          ELSE NULL
        END
        """
        from setpoint.rules.export.sql import written

        return written(self._questions(), score, dialect, columns, classes, hash_column)

    def expression(
        self,
        score: str | Sequence[str],
        *,
        columns: Mapping[str, str] | None = None,
        classes: Sequence[Label] | None = None,
        hash_column: str | None = None,
    ) -> nw.Expr:
        """Write the rule as a narwhals expression, for eager and lazy frames.

        Parameters
        ----------
        score, columns, classes, hash_column
            As in :meth:`to_sql`.

        Returns
        -------
        narwhals.Expr
            In pandas and dask, where a whole number cannot be missing, decisions become
            floats as soon as a row has none.

        Raises
        ------
        TypeError, ValueError
            As in :meth:`to_sql`.

        Examples
        --------
        >>> import narwhals as nw
        >>> import pandas as pd
        >>> from setpoint.rules import Threshold
        >>> frame = nw.from_native(pd.DataFrame({"score": [0.2, 0.25, 0.9]}))
        >>> frame.with_columns(d=Threshold(0.25).expression("score"))["d"].to_list()
        [0, 1, 1]
        """
        from setpoint.rules.export.frames import expression

        return expression(self._questions(), score, columns, classes, hash_column)

    def to_python(self, name: str = "decide", *, classes: Sequence[Label] | None = None) -> str:
        """Write the rule as the source of a Python function that imports nothing.

        Its parameters are ``score`` (or ``scores``, a sequence, for a rule over several),
        and by keyword ``columns``, a mapping from the columns that the rule looks at to
        the row's values, and ``u``, its uniform number in [0, 1). Those that the rule
        needs have no default.

        Parameters
        ----------
        name : str
            The function's name.
        classes : sequence of str, int, float or bool, optional
            As in :meth:`to_sql`.

        Raises
        ------
        TypeError, ValueError
            If the name is not an identifier, or `classes` are not labels.

        Examples
        --------
        >>> from setpoint.rules import Threshold
        >>> print(Threshold(0.25).to_python(classes=("no", "yes")))
        def decide(score, *, columns=None, u=None):
            if score is None:
                return None
            score = float(score)
            if score != score:
                return None
            if score >= 0.25:
                return 'yes'
            return 'no'
        """
        from setpoint.rules.export.source import source

        return source(self._questions(), name, classes)
