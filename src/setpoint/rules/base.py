"""What every rule can do."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, ClassVar, Self, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from setpoint.array_types import Codes, Floats
from setpoint.counts import Column
from setpoint.errors import InputError, InputTypeError, quoted
from setpoint.goals import Key, Label
from setpoint.rules import codec
from setpoint.rules import questions as q
from setpoint.rules.codec import LONGEST, SHORTEST, ClassNames, first_lines
from setpoint.rules.segments import segment_codes

Ints: TypeAlias = Codes
Array: TypeAlias = NDArray[Any]


def plain_number(value: Any, what: str) -> float:
    """Return `value` as a Python float; -0 becomes 0.

    Examples
    --------
    >>> plain_number(3, "width")
    3.0
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputTypeError(
            f"{quoted(what)} must be a number, got {value!r} ({type(value).__name__})"
        )
    try:
        number = float(value) + 0.0
    except OverflowError:
        raise InputError(f"{quoted(what)} is too large for a float64") from None
    if math.isnan(number):
        raise InputError(f"{quoted(what)} must not be NaN")
    return number


class Rule(ABC):
    """Decides from scores: small immutable data that knows neither goal nor rows.

    Rules compare by value, hash and pickle. Class index 1 is the positive class of
    a binary rule.

    One uniform draw a row settles everything random. Binary rules decide 1 if and
    only if ``u < P(1)``, so that one draw is monotone in the score and in every
    threshold; rules over more classes pick an atom of the mixture by `u`.

    All exports decide as :meth:`decide` does, to the last bit where
    the engine computes in IEEE doubles, one operation after the other. Two totals of an
    :class:`Argmax` that agree within rounding may be ordered otherwise by
    an engine that does not. Where ``decide`` refuses a row, an export decides
    nothing (NULL, None): a score is missing or NaN (or infinite, where there are several),
    the row is in no segment, or its draw is missing or outside [0, 1).

    Examples
    --------
    >>> from setpoint.rules import Rule, Threshold
    >>> rule = Threshold(0.5)
    >>> rule.decide([0.2, 0.5, 0.9])
    array([0, 1, 1])
    >>> Rule.from_json(rule.to_json()) == rule
    True
    """

    _types: ClassVar[dict[str, type[Rule]]] = {}
    _stored: ClassVar[Mapping[str, codec.StoredAs]]
    """How the stored format has each argument of a class that it knows."""

    def __init_subclass__(
        cls, written_as: str = "", stored: Mapping[str, codec.StoredAs] | None = None, **more: Any
    ) -> None:
        """Enter the class under the type by which the stored format knows it."""
        super().__init_subclass__(**more)
        if stored is not None:
            Rule._types[written_as], cls._stored = cls, stored

    @property
    def n_classes(self) -> int:
        """The number of classes that can be decided."""
        return self.children[0].n_classes

    @property
    def score_columns(self) -> int | None:
        """The columns that `scores` must have; None: one score a row, shape (N,)."""
        return self.children[0].score_columns

    @property
    def children(self) -> tuple[Rule, ...]:
        """The rules that this one is made of, if any."""
        return ()

    @property
    def randomized(self) -> bool:
        """Whether any row's decision depends on a draw."""
        return any(rule.randomized for rule in self.children)

    @property
    def segment_keys(self) -> tuple[Key, ...]:
        """The segments that the codes in `segments` count through; () where none are needed."""
        for rule in self.children:
            if rule.segment_keys:
                return rule.segment_keys
        return ()

    @property
    def value_columns(self) -> tuple[str, ...]:
        """The columns whose numbers are the last columns of `scores`, behind the posteriors.

        () where the scores are all that a decision looks at.

        Examples
        --------
        >>> from setpoint.rules import Threshold
        >>> Threshold(0.5).value_columns
        ()
        """
        return self.children[0].value_columns if self.children else ()

    @property
    def needs_segments(self) -> bool:
        """Whether a decision looks at the row's segment."""
        return bool(self.segment_keys)

    def decide(
        self, scores: ArrayLike, segments: ArrayLike | None = None, u: ArrayLike | None = None
    ) -> Ints:
        """Decide a class index for each row.

        Parameters
        ----------
        scores : array, (N,) or (N, s)
            One score a row, higher is more positive; or one column for each class.
        segments : int array, (N,), optional
            Codes into `segment_keys`, as `segment_codes` gives them. Needed if `needs_segments`.
        u : array, (N,), optional
            Uniform draws in [0, 1). Needed if `randomized`, else ignored.

        Returns
        -------
        int64 array, (N,)

        Raises
        ------
        ValueError
            If a needed argument is missing or misshapen, a score is NaN, a row's segment
            is unseen, or a draw lies outside [0, 1). The message names the argument.
        """
        s = self._checked_scores(scores)
        codes = self._checked_segments(segments, len(s))
        return self._decide(s, codes, self._checked_draws(u, len(s)))

    def distribution(self, scores: ArrayLike, segments: ArrayLike | None = None) -> Floats:
        """Return the probability with which each class is decided.

        Parameters
        ----------
        scores, segments
            As in `decide`.

        Returns
        -------
        float64 array, (N, n_classes)
            Rows sum to 1.

        Raises
        ------
        ValueError
            As in `decide`.
        """
        s = self._checked_scores(scores)
        return self._distribution(s, self._checked_segments(segments, len(s)))

    def margins(
        self, scores: ArrayLike, segments: ArrayLike | None = None, code: int = 1
    ) -> Floats:
        """Return by how much a class leads in each row: the order in which its rows are best.

        In the units of the scores. Of a threshold the score less the threshold, of each segment
        its own; of an argmax the total of the class less the largest other total. No row for
        which the class is decided has a margin below 0.

        Parameters
        ----------
        scores, segments
            As in `decide`.
        code : int
            The class.

        Returns
        -------
        float64 array, (N,)
            Infinite where the rule decides without looking at the score.

        Raises
        ------
        ValueError
            As in `decide`; if the rule draws, or there is no such class.

        Examples
        --------
        >>> from setpoint.rules import Argmax, Threshold
        >>> Threshold(0.5).margins([0.25, 0.5, 0.75])
        array([-0.25,  0.  ,  0.25])
        >>> Argmax.weighted([1, 2, 4]).margins([[0.5, 0.25, 0.25]], code=2)
        array([0.5])
        """
        return self._ranking(scores, segments, code, False)

    def decide_without(
        self, scores: ArrayLike, segments: ArrayLike | None = None, code: int = 1
    ) -> Ints:
        """Decide for the best class but one: what rows get that this class has no room for.

        Parameters
        ----------
        scores, segments, code
            As in `margins`.

        Returns
        -------
        int64 array, (N,)

        Raises
        ------
        ValueError
            As in `margins`.

        Examples
        --------
        >>> from setpoint.rules import Argmax, Threshold
        >>> Threshold(0.5).decide_without([0.25, 0.75])
        array([0, 0])
        >>> Argmax.weighted([1, 2, 4]).decide_without([[0.5, 0.3, 0.2]], code=2)
        array([1])
        """
        return self._ranking(scores, segments, code, True)

    def _ranking(
        self, scores: ArrayLike, segments: ArrayLike | None, code: int, instead: bool
    ) -> Array:
        s = self._checked_scores(scores)
        codes = self._checked_segments(segments, len(s))
        if self.randomized:
            raise InputError("this rule draws, so that no order of the rows says which are best")
        if not 0 <= code < self.n_classes:
            raise InputError(f"`code` is 0 to {self.n_classes - 1}, got {code!r}")
        found = self._ranked(s, codes, code, instead)
        if found is None:
            what = "which class comes next" if instead else "which rows are best"
            raise InputError(f"a rule of type {type(self).__name__} does not say {what}")
        return found

    def segment_codes(self, columns: Mapping[str, Column | ArrayLike]) -> Ints:
        """Each row's segment code, -1 where unseen; see :func:`setpoint.rules.segment_codes`.

        Raises
        ------
        ValueError
            If this rule looks at no segment, or a column is missing.
        """
        if not self.needs_segments:
            raise InputError("this rule looks at no segment: leave `segments` out")
        return segment_codes(self.segment_keys, columns)

    def _repr_html_(self) -> str:
        """For notebooks: the rule in words, by class numbers, and whether it draws."""
        words = first_lines(self.explain(ClassNames(tuple(range(self.n_classes)))))
        drawn = "<p>It draws: the same score may be decided either way.</p>"
        return (
            f'<div class="setpoint-rule"><pre>{escape(words)}</pre>'
            f"{drawn if self.randomized else ''}</div>"
        )

    def explain(self, names: ClassNames) -> str:
        """Put the rule in words, for the person who set the goal.

        Numbers have four significant digits, and more where two different parts of
        the rule would else read the same.

        Parameters
        ----------
        names : ClassNames
            What the classes and the score are called.

        Raises
        ------
        ValueError
            If the number of class names is not `n_classes`.
        """
        if len(names.classes) != self.n_classes:
            raise InputError(
                f"`names`: the rule decides between {self.n_classes} classes, "
                f"got {len(names.classes)} names"
            )
        digits = SHORTEST
        if leaves := set(self._leaves()) if self.children else set():
            most = len({rule._words(names, LONGEST) for rule in leaves})
            while len({rule._words(names, digits) for rule in leaves}) < most:
                digits += 1
        return self._words(names, digits)

    def to_dict(self) -> dict[str, Any]:
        """Write the rule as plain lists, dicts and scalars, with the format version."""
        return {"format": codec.FORMAT, "rule": self._written()}

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Read the rule that `to_dict` wrote.

        Raises
        ------
        RuleFormatError
            (a ValueError) naming the place, what was found and what is allowed. A class
            other than `Rule` reads only its own kind.
        """
        body = codec.body_of(data)
        try:
            rule = cls._read(body, "rule")
        except RecursionError:
            raise codec.RuleFormatError("rule: nested too deeply") from None
        if not isinstance(rule, cls):
            raise codec.RuleFormatError(
                f"rule: found a {type(rule).__name__}, expected a {cls.__name__}"
            )
        return rule

    def to_json(self) -> str:
        """Write the rule as one line of JSON; floats survive to the last bit."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the rule that `to_json` wrote.

        Raises
        ------
        RuleFormatError
            (a ValueError) if the text is not JSON, or as in `from_dict`.
        """
        return cls.from_dict(codec.parse(text))

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
        from setpoint.rules.sql import SqlWriter

        return SqlWriter(self, dialect, (score, columns, classes, hash_column)).whole()

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
        from setpoint.rules.export import FrameWriter

        return FrameWriter(self, score, columns, classes, hash_column).whole()

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
        from setpoint.rules.export import PythonWriter

        return PythonWriter(self, classes).whole(name)

    def _written(self) -> dict[str, Any]:
        """The rule as an object of the stored format."""
        # exact types: a subclass that decides otherwise must not come back as its parent
        for name, known in Rule._types.items():
            if type(self) is known:
                own = {key: one.write(self._field(key)) for key, one in self._stored.items()}
                return {"type": name, **own}
        names = ", ".join(codec.TYPES)
        raise InputTypeError(f"the format has no {type(self).__name__}, only {names}")

    @staticmethod
    def _read(data: Any, where: str) -> Rule:
        """The rule that `_written` wrote; errors name the place."""
        kind = Rule._types[codec.type_of(data, where)]
        codec.fields_of(data, where, ("type", *kind._stored))
        try:
            return kind._from_fields(
                {
                    name: one.read(data[name], f"{where}.{name}")
                    for name, one in kind._stored.items()
                }
            )
        except codec.RuleFormatError:
            raise
        except (TypeError, ValueError) as error:
            raise codec.RuleFormatError(f"{where}: {error}") from None

    def _field(self, name: str) -> Any:
        """An argument as the rule keeps it."""
        return getattr(self, name)

    @classmethod
    def _from_fields(cls, fields: dict[str, Any]) -> Rule:
        """The rule with these arguments."""
        return cls(**fields)

    @abstractmethod
    def _decide(self, scores: Floats, segments: Ints | None, u: Floats | None) -> Ints:
        """`decide` on checked arrays."""

    def _distribution(self, scores: Floats, segments: Ints | None) -> Floats:
        """`distribution` on checked arrays, of a rule that does not draw."""
        out = np.zeros((len(scores), self.n_classes))
        out[np.arange(len(scores)), self._decide(scores, segments, None)] = 1.0
        return out

    def _ranked(
        self, scores: Floats, segments: Ints | None, code: int, instead: bool
    ) -> Array | None:
        """Margins, or what is decided `instead`, on checked arrays; None where neither is known."""
        return None

    @abstractmethod
    def _words(self, names: ClassNames, digits: int) -> str:
        """`explain` with the digits chosen."""

    def _answer(self, u: q.Number | None) -> q.Answer:
        """What `_decide` does to a row whose draw is `u`; without one P(1), by no segment."""
        raise NotImplementedError

    def _cuts(self) -> tuple[float, ...] | None:
        """Scores from which on the probability of class 1 is another, where it goes in steps."""
        parts = [rule._cuts() for rule in self.children]
        steps = [part for part in parts if part is not None]
        if not parts or len(steps) < len(parts):
            return None
        return tuple(sorted({cut for part in steps for cut in part}))

    def _leaves(self) -> Iterator[Rule]:
        if not self.children:
            yield self
        for rule in self.children:
            yield from rule._leaves()

    def _checked_scores(self, scores: ArrayLike) -> Floats:
        s = np.asarray(scores, dtype=np.float64)
        columns = self.score_columns
        if columns is None:
            if s.ndim != 1:
                raise InputError(
                    f"`scores` must have shape (N,), the score of the positive class, got {s.shape}"
                )
            wrong = np.asarray(np.isnan(s))
            what = "NaN"
        else:
            if s.ndim != 2 or s.shape[1] != columns:
                raise InputError(f"`scores` must have shape (N, {columns}), got {s.shape}")
            wrong = np.asarray(~np.isfinite(s).all(axis=1))
            what = "NaN or infinite"
        if wrong.any():
            raise InputError(f"`scores`: {int(wrong.sum())} of {len(s)} rows are {what}")
        return s

    def _checked_segments(self, segments: ArrayLike | None, n_rows: int) -> Ints | None:
        keys = self.segment_keys
        if not keys:
            return None
        if segments is None:
            raise InputError(
                "`segments` is needed: this rule decides segment by segment (segment_codes gives "
                "the codes)"
            )
        if isinstance(segments, Mapping):
            raise InputError(
                "`segments` holds integer codes, found columns: rule.segment_codes(columns) makes "
                "codes of them, and rule.expression decides the rows of a frame"
            )
        codes = np.asarray(segments)
        if codes.shape != (n_rows,):
            raise InputError(f"`segments` must have shape ({n_rows},), got {codes.shape}")
        if codes.dtype.kind not in "iu" and n_rows:
            raise InputError(f"`segments` must be integer codes, got dtype {codes.dtype}")
        unseen = (codes < 0) | (codes >= len(keys))
        if unseen.any():
            raise InputError(
                f"`segments`: {int(unseen.sum())} of {n_rows} rows have an unseen segment "
                f"(the first is row {int(unseen.argmax())}); the rule has {len(keys)} segments, "
                f"codes 0 to {len(keys) - 1}"
            )
        return codes.astype(np.int64)

    def _checked_draws(self, u: ArrayLike | None, n_rows: int) -> Floats | None:
        if not self.randomized:
            return None
        if u is None:
            raise InputError("`u` is needed: this rule is randomised, one uniform draw a row")
        draws = np.asarray(u, dtype=np.float64)
        if draws.shape != (n_rows,):
            raise InputError(f"`u` must have shape ({n_rows},), got {draws.shape}")
        outside = ~((draws >= 0.0) & (draws < 1.0))
        if outside.any():
            raise InputError(f"`u`: {int(outside.sum())} of {n_rows} draws lie outside [0, 1)")
        return draws


RULE = codec.StoredAs(lambda rule: rule._written(), Rule._read)
"""A rule inside a rule."""
