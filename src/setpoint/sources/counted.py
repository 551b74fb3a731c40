"""Counts of rows that lie elsewhere, checked as rows are; and which of their columns are what.

A count has a line for each combination of values and bin. Lines are checked as rows are: the same
classes, strata and messages, on the distinct values alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.counts import (
    BAD_WEIGHT,
    INFINITE,
    MISSING,
    NO_NUMBER,
    BinCounts,
    Binning,
    ChangedTableError,
    Codebook,
    Confusion,
    Tally,
)
from setpoint.errors import EmptyPopulationError, GoalError, InputError, InputTypeError, nearest
from setpoint.goals import Goal, Label, require_plain
from setpoint.inputs import (
    CheckedData,
    ClassOrder,
    Dataset,
    DecideOn,
    GivenRows,
    classes_of,
    union_of,
    units_of,
)
from setpoint.rules import Rule
from setpoint.sources.engines import source_of
from setpoint.sources.source import GroupBy, Key, Rest, RowFilter, Source

MOST_GROUPS = 5_000
"""Values of a column that are groups of their own."""

Q = 20
"""Weights are counted in units of ``2**-Q``: exact for whole numbers and binary fractions."""


# --- Rows out of core, and which of their columns are what ----------------------------------------


@dataclass(frozen=True, eq=False)
class FrameRows:
    """One data set on an engine, and which of its columns are what."""

    source: Source
    y: str | None
    score: str | None = None
    weight: str | None = None
    columns: tuple[str, ...] = ()
    baseline: str | None = None
    decided: str | None = None
    units: str | None = None
    where: str = ""

    def __post_init__(self) -> None:
        """Refuse names that the table does not have, and columns of odd kinds."""
        known = self.source.schema()
        roles = {
            "y": self.y,
            "scores": self.score,
            "sample_weight": self.weight,
            "baseline": self.baseline,
            "y_pred": self.decided,
            "units": self.units,
        }
        named = [(role, name) for role, name in roles.items() if name is not None]
        for role, name in [*named, *(("sensitive_features", name) for name in self.columns)]:
            given: object = name
            if not isinstance(given, str):
                why = "; rules for two classes are found there" if role == "scores" else ""
                raise InputTypeError(
                    f"{self.where}`{role}` is the name of a column of the table, found "
                    f"{type(name).__name__}{why}"
                )
            if name not in known:
                raise InputError(
                    f"{self.where}`{role}`: the table has no column {name!r} "
                    f"({nearest(name, known)})"
                )
        for role in ("scores", "sample_weight"):
            column = roles[role]
            if column is not None and known[column] != "number":
                raise InputTypeError(
                    f"{self.where}`{role}`: the column {column!r} holds {known[column]}, allowed "
                    "are numbers"
                )

    def group_by(self, goal: Goal, dataset: str | None, decide_on: DecideOn, q: int = Q) -> GroupBy:
        """By label, decision, the deployed model's, the columns a rule may see, and by units."""
        splits = dict(goal.needs.columns.get(dataset, {}))
        for name in () if decide_on == "auto" else _names(decide_on):
            splits[name] = goal.needs.split_of(name)
        known = self.columns or tuple(self.source.schema())
        used = {self.y, self.score, self.weight, self.baseline, self.decided, *splits}
        if self.units is not None and self.units in used:
            raise InputError(f"{self.where}`units`: {self.units!r} has another role; name another")
        for name in splits:
            if name not in known:
                what = "`sensitive_features` does not name" if self.columns else "the table lacks"
                raise GoalError(
                    f"{self.where}the goal refers to the column {name!r}, which {what} "
                    f"({nearest(name, known)})"
                )
        baseline = self.baseline if dataset in goal.needs.baseline else None
        if self.baseline is not None and not goal.needs.baseline:
            raise InputError(
                f"{self.where}`baseline`: the goal does not refer to the deployed model, and a "
                f"table elsewhere is not compared with it; leave out {self.baseline!r}"
            )
        alone = [Key(n) for n in (self.y, self.decided, baseline) if n is not None]
        values = [
            Key(n, None if s is None else tuple(sorted(s, key=str))) for n, s in splits.items()
        ]
        # A rule is found by scores alone; what it does is counted by units.
        unit = self.units if self.score is None else None
        return GroupBy((*alone, *values), self.score, self.weight, q).and_by(unit)


def _names(given: str | Sequence[str] | None) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given or ())


def frame_rows_of(
    frame: Any,
    y: Any,
    columns: Any,
    datasets: Mapping[str, Any] | None,
    **roles: Any,
) -> dict[str | None, FrameRows]:
    """The table and further ones by the same names of columns."""
    out: dict[str | None, FrameRows] = {
        None: FrameRows(source_of(frame), y, columns=_names(columns), **roles)
    }
    for name, given in (datasets or {}).items():
        own = given if isinstance(given, Dataset) else Dataset(given)
        source = source_of(own.X)
        known = source.schema()
        label = y if own.y is None and y in known else own.y
        changed = {"weight": own.sample_weight, "baseline": own.baseline, "units": own.units}
        more = {k: v for k, v in roles.items() if k not in changed or v in known}
        more |= {k: v for k, v in changed.items() if v is not None}
        these = _names(own.sensitive_features)
        if own.sensitive_features is None:
            these = tuple(c for c in _names(columns) if c in known)
        where = f"`datasets[{name!r}]`: "
        out[name] = FrameRows(source, label, columns=these, where=where, **more)
    return out


def require_formula(goal: Goal) -> None:
    """Refuse a metric without a formula: it is called with rows."""
    if goal.is_blackbox:
        raise GoalError(
            f"{goal.objective} has no formula, and counts are all that is known of a table "
            "elsewhere; measure it on a sample in memory"
        )


# --- The counts of a pass, by the codes of one codebook -------------------------------------------


_MOST_BITS, _FINEST = 62, 1000
_BAD = {
    MISSING: ("score", "NULL"),
    NO_NUMBER: ("score", "NaN"),
    INFINITE: ("score", "infinite"),
    BAD_WEIGHT: ("weight", "NULL, NaN, infinite or negative"),
}


@dataclass(frozen=True, eq=False)
class CountedTable:
    """One data set, what it was grouped by, and the lines that came back."""

    rows: FrameRows
    by: GroupBy
    counts: BinCounts

    @classmethod
    def of(
        cls,
        rows: FrameRows,
        goal: Goal,
        dataset: str | None,
        decide_on: DecideOn,
        binning: Binning | None,
    ) -> CountedTable:
        """Count all rows, and check what was found."""
        by = rows.group_by(goal, dataset, decide_on)
        found = rows.source.count(by, binning)
        q = _fitting(found, rows)
        if q < Q or (q > Q and found.rounded.any()):
            # Too heavy for so fine a unit, or so light that a finer one is needed.
            by = replace(by, q=q)
            found = rows.source.count(by, binning)
        out = cls(rows, by, found)
        out.check()
        return out

    def check(self) -> None:
        """Refuse rows that cannot be counted."""
        own, counts = self.rows, self.counts
        if not counts.n_rows:
            raise InputError(f"{own.where}the table has no rows that count")
        for number, (role, what) in _BAD.items():
            bad = counts.bin == number
            if bad.any():
                name = own.score if role == "score" else own.weight
                argument = "scores" if role == "score" else "sample_weight"
                raise InputError(
                    f"{own.where}`{argument}`: {int(counts.rows[bad].sum())} of {counts.n_rows} "
                    f"rows have a {role} that is {what} in the column {name!r}; scores are finite "
                    "numbers, weights too and not negative"
                )
        for k, key in enumerate(self.by.keys):
            missing = np.array([v is None for v in counts.levels[k]], bool)
            if missing.any() and (gone := counts.rows[missing[counts.codes[k]]].sum()):
                roles = {own.y: "y", own.decided: "y_pred", own.baseline: "baseline"}
                role = (roles | {own.units: "units"}).get(key.name, "sensitive_features")
                raise InputError(
                    f"{own.where}`{role}`: {int(gone)} of {counts.n_rows} rows have no value in "
                    f"the column {key.name!r}; leave them out, or give them a value of their own"
                )

    def values(self, name: str) -> NDArray[Any]:
        """The values (lines,) of a column, as an array of one kind."""
        k = next(i for i, key in enumerate(self.by.keys) if key.name == name)
        levels = list(self.counts.levels[k])
        if Rest.REST in levels:
            others: list[Label] = [v for v in levels if v is not Rest.REST]
            levels = [_other_than(others) if v is Rest.REST else v for v in levels]
        types = {type(v) for v in levels}
        values = np.array(levels) if len(types) == 1 and types <= {int, float, bool} else None
        if values is None:
            values = np.empty(len(levels), object)
            values[:] = levels
        return np.asarray(values[self.counts.codes[k]])


Tables: TypeAlias = Mapping[str | None, CountedTable]


@dataclass(frozen=True, eq=False)
class CountedRows:
    """Counts of all data sets of a goal, by the codes of one codebook."""

    rows: Mapping[str | None, FrameRows]
    tables: Tables
    inputs: CheckedData

    @classmethod
    def first_pass(
        cls,
        goal: Goal,
        rows: Mapping[str | None, FrameRows],
        binning: Binning | None = None,
        *,
        stored: Tables | None = None,
        classes: Any = None,
        pos_label: Any = None,
        decide_on: DecideOn = "auto",
    ) -> CountedRows:
        """Count all rows, unless their counts are stored, and link what was found to the goal."""
        require_plain(
            goal,
            "a table that is counted elsewhere comes back as numbers of rows, without their "
            "values; read its rows into memory for such a goal",
        )
        tables = stored or {
            name: CountedTable.of(own, goal, name, decide_on, binning)
            for name, own in rows.items()
            if name is None or name in goal.needs.datasets  # CheckedData names the others
        }
        if classes is None:
            found = [
                table.values(column)
                for name, table in tables.items()
                for column in (table.rows.y, table.rows.decided)
                if column is not None and (name is None or table.rows.decided is not None)
            ]
            classes = union_of([(values, "y") for values in found])
        try:
            known = classes_of(classes, None, pos_label, "y", goal=goal)
        except TypeError as error:
            raise InputTypeError(f"`y`: {error}") from None
        return cls(rows, tables, _as_rows(goal, known, rows, tables, decide_on))

    @property
    def codebook(self) -> Codebook:
        """Classes, strata and columns."""
        return self.inputs.rows.codebook

    @property
    def is_weighted(self) -> bool:
        """Whether rows have weights."""
        return any(own.weight is not None for own in self.rows.values())

    @property
    def unit(self) -> float:
        """Weight of one in the counts."""
        return min(2.0**-t.by.q for t in self.tables.values()) if self.is_weighted else 1.0

    @property
    def rounded(self) -> bool:
        """Whether some weight was not a multiple of the unit."""
        return self.is_weighted and any(t.counts.rounded.any() for t in self.tables.values())

    @property
    def n_rows(self) -> int:
        """Number of rows that count."""
        return sum(t.counts.n_rows for t in self.tables.values())

    @property
    def decide_on(self) -> tuple[str, ...]:
        """The columns that the rule may look at."""
        return self.codebook.decide_on

    def tally(self) -> Tally:
        """The first pass as a tally."""
        return Tally.of_lines(self.codebook, self.lines(), self.unit, self.is_weighted)

    def again(
        self, counts: Mapping[str | None, BinCounts], *, checked: bool = False
    ) -> CountedRows:
        """The counts of another pass, by the same codebook; of all rows, they are checked."""
        tables = {name: replace(t, counts=counts[name]) for name, t in self.tables.items()}
        for table in tables.values() if checked else ():
            table.check()
        known = self.inputs.goal, self.inputs.classes, self.rows
        try:
            inputs = _as_rows(*known, tables, self.decide_on, again=True)
            inputs = replace(inputs, codebook=self.codebook)
            _ = inputs.rows
        except (EmptyPopulationError, ValueError) as error:
            raise ChangedTableError(
                f"the table changed between two passes, or is another one each time: {error}"
            ) from None
        return replace(self, inputs=inputs, tables=tables)

    def lines(self, *, by_score: bool = False) -> BinCounts:
        """The lines by stratum and class, their sums in one unit."""
        rows, low = self.inputs.rows, self._joined("low") + 0.0
        bins = np.unique(low, return_inverse=True)[1] if by_score else self._joined("bin")
        return BinCounts(
            (list(rows.codebook.strata), [*rows.codebook.classes, None]),
            np.array([rows.stratum, rows.true], np.int64),
            bins.astype(np.int64),
            self._joined("rows"),
            self._in_units("weight"),
            self._in_units("squares"),
            low,
            self._joined("high") + 0.0,
            *(self._joined(what) for what in ("least", "most", "rounded")),
        )

    def _joined(self, what: str) -> NDArray[Any]:
        """One number of each line of all data sets."""
        return np.concatenate([getattr(self.tables[n].counts, what) for n in self.inputs.tables])

    def _in_units(self, what: str) -> NDArray[np.int64]:
        """Sums of all data sets in the same unit."""
        out = []
        for table in map(self.tables.__getitem__, self.inputs.tables):
            each = 2.0**-table.by.q if table.rows.weight is not None else 1.0
            out.append(getattr(table.counts, what) * int(each / self.unit))
        return np.concatenate(out)

    def combinations(self) -> dict[int, dict[str | None, RowFilter]]:
        """For each segment the combinations of values that belong to it, without ranges."""
        out: dict[int, dict[str | None, RowFilter]] = {}
        segment = self.inputs.rows.segment
        start = 0
        for name in self.inputs.tables:
            counts, by = self.tables[name].counts, self.tables[name].by
            own = segment[start : start + counts.n_lines]
            start += counts.n_lines
            keys = tuple(i for i, key in enumerate(by.keys) if key.name in self.decide_on)
            if not keys:
                out.setdefault(0, {})[name] = RowFilter((), (), ())
                continue
            found: dict[int, dict[tuple[Any, ...], None]] = {}
            pairs = np.unique(np.vstack([own, counts.codes[list(keys)]]), axis=1)
            for s, *codes in pairs.T.tolist():
                values = tuple(counts.levels[k][c] for k, c in zip(keys, codes, strict=True))
                found.setdefault(s, {})[values] = None
            for s, these in found.items():
                out.setdefault(s, {})[name] = RowFilter(keys, tuple(these), ())
        return out

    def confusion(self, decided: NDArray[Any]) -> Confusion:
        """What decisions (lines,), or their probabilities (lines, n), of all lines do."""
        rows = self.inputs.rows
        weight, squares = (
            rows.weighted(np.float64(self.unit) * self._in_units(what)).confusion(decided)
            for what in ("weight", "squares")
        )
        numbers = np.zeros(weight.counts.shape[:2], np.int64)
        np.add.at(numbers, (rows.stratum, rows.true), self._joined("rows"))
        counts = weight.counts, squares.counts[None, None], numbers, self._smallest
        return Confusion(rows.codebook, *counts, weight.units)

    def confusion_of(self, rule: Rule) -> Confusion:
        """What a rule does whose thresholds lie between bins."""
        segment = self.inputs.rows.segment if rule.needs_segments else None
        return self.confusion(rule.distribution(self._joined("low"), segment))

    @property
    def _smallest(self) -> Floats:
        """The least weight of a row by stratum and true class."""
        rows = self.inputs.rows
        out = np.full((len(rows.codebook.strata), rows.codebook.n_classes + 1), np.inf)
        np.minimum.at(out, (rows.stratum, rows.true), self._joined("least"))
        return out


def _fitting(counts: BinCounts, own: FrameRows) -> int:
    """The finest unit, ``2**-q``, in which sums of these weights and their squares fit."""
    most = float(counts.most[counts.bin >= 0].max(initial=0.0)) if own.weight else 0.0
    if most == 0.0:
        return Q
    bits = np.log2(counts.n_rows) + np.log2(most) * (2.0 if most > 1.0 else 1.0)
    q = int(np.floor(_MOST_BITS - bits)) - 1
    if q < 0:
        raise InputError(
            f"{own.where}`sample_weight`: {counts.n_rows} rows of weights up to {most:.3g} are "
            "more than whole numbers of 63 bits can count; divide the weights by a number"
        )
    return min(q, _FINEST)


def _as_rows(
    goal: Goal,
    known: ClassOrder,
    rows: Mapping[str | None, FrameRows],
    tables: Tables,
    decide_on: DecideOn,
    again: bool = False,
) -> CheckedData:
    """Lines as rows, each of weight 1: what they count for is known beside."""
    given: dict[str | None, GivenRows] = {}
    for name, own in rows.items():
        if name not in tables:
            given[name] = GivenRows(1, None)
            continue
        table = tables[name]
        baseline = own.baseline if name in goal.needs.baseline else None
        # The first keys are these; a column of the goal may be one of them too.
        n_alone = sum(one is not None for one in (own.y, own.decided, baseline))
        columns = {key.name: table.values(key.name) for key in table.by.keys[n_alone:]}
        units = columns.pop(own.units or "", None)
        for key, levels in zip(table.by.keys, table.counts.levels, strict=True):
            for value in () if again else key.only or ():
                if value not in levels:
                    where = "`X`" if name is None else f"the data set {name!r}"
                    raise EmptyPopulationError(
                        f"the goal refers to {key.name} = {value!r}, and no row of {where} has "
                        "that value"
                    )
        given[name] = GivenRows(
            table.counts.n_lines,
            None if own.y is None else table.values(own.y),
            None,
            columns or None,
            None if baseline is None else table.values(baseline),
            units=units_of(units, None, table.counts.n_lines, called=own.units or ""),
        )
    return CheckedData.check(goal, known, given, decide_on, most_levels=MOST_GROUPS)


def _other_than(values: Sequence[Label]) -> Label:
    """A value of the same type that is not among some."""
    numbers = [v for v in values if isinstance(v, (int, float))]
    if values and len(numbers) == len(values):
        if all(isinstance(v, bool) for v in values):
            return not values[0]
        return (
            float(max(numbers)) + 1.0
            if any(isinstance(v, float) for v in numbers)
            else (int(max(numbers)) + 1)
        )
    return "other than " + ", ".join(map(str, values))
