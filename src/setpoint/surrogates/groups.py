"""Which rows each surrogate looks at, and the surrogates of a sample from what a user names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.errors import InputError, InputTypeError
from setpoint.evidence.columns import Column
from setpoint.goals.errors import nearest
from setpoint.goals.populations import column_in_words, value_in_words
from setpoint.inputs.columns import as_columns
from setpoint.surrogates.losses import POINTWISE, Losses, Own, Pointwise, Term
from setpoint.surrogates.ranking import PRBEP, PrecisionAtK, PrecisionAtRecall, TopLoss

__all__ = ["RowGroup", "check_surrogates", "groups_of", "losses_on", "overlapping"]


_RECALLS = (0.25, 0.5, 0.75)
_RANKING = (PrecisionAtRecall, PrecisionAtK, PRBEP)
_BY_NAME: dict[str, tuple[Any, ...]] = {
    **{name: (name,) for name in POINTWISE},
    "quantile": tuple(PrecisionAtRecall(r) for r in _RECALLS),
    "prbep": (PRBEP(),),
}
"""What a name stands for."""


@dataclass(frozen=True, eq=False)
class RowGroup:
    """A subset of the rows."""

    name: str
    rows: NDArray[np.bool_]

    def take(self, index: NDArray[Any]) -> RowGroup:
        """The same among some of the rows."""
        return RowGroup(self.name, self.rows[index])


def check_surrogates(given: Any) -> tuple[Any, ...]:
    """The kinds of surrogates that a user names, one entry each.

    Examples
    --------
    >>> check_surrogates(["hinge", "prbep"])
    ('hinge', PRBEP())
    """
    several = isinstance(given, Sequence) and not isinstance(given, str)
    out: list[Any] = []
    for one in given if several else (given,):
        if isinstance(one, str):
            if one not in _BY_NAME:
                raise InputError(
                    f"`surrogates`: {one!r} is not one of {sorted(_BY_NAME)} "
                    f"({nearest(one, _BY_NAME)})"
                )
            out += _BY_NAME[one]
        elif isinstance(one, _RANKING) or callable(one):
            out.append(one)
        else:
            raise InputTypeError(
                f"`surrogates`: names among {sorted(_BY_NAME)}, PrecisionAtRecall, PrecisionAtK, "
                f"PRBEP or functions (scores, y, sample_weight) -> (value, gradient), got {one!r}"
            )
    if not out:
        raise InputError("`surrogates` is empty: name at least one")
    return tuple(out)


def groups_of(given: Any, sensitive_features: Any, X: Any, n_rows: int) -> list[RowGroup]:
    """The subsets that ``surrogate_groups`` names."""
    if given is None:
        return [RowGroup("", np.ones(n_rows, bool))]
    entries = [given] if isinstance(given, (str, Mapping)) else given
    if not isinstance(entries, Sequence) or not entries:
        raise InputTypeError(
            "`surrogate_groups` is None, names of columns, or dicts from a column to a value, got "
            f"{given!r}"
        )
    for e in entries:
        known = isinstance(e, str) or (isinstance(e, Mapping) and e)
        if not known or not all(isinstance(name, str) for name in e):
            raise InputTypeError(f"`surrogate_groups`: an entry is a column or a dict, got {e!r}")
    names = sorted({name for e in entries for name in ([e] if isinstance(e, str) else e)})
    split = {e for e in entries if isinstance(e, str)}
    columns = as_columns(
        sensitive_features,
        n_rows=n_rows,
        X=X,
        wanted=names,
        free=[name for name in names if name not in split],
        who="`surrogate_groups` names",
    )
    out = []
    for e in entries:
        if isinstance(e, str):
            levels, codes = columns[e].levels, columns[e].codes
            out += [
                RowGroup(f"{column_in_words(e)} = {value_in_words(v)}", codes == i)
                for i, v in enumerate(levels)
            ]
        else:
            out.append(_where(e, columns))
    return out


def overlapping(groups: Sequence[RowGroup], rows: NDArray[Any]) -> bool:
    """Whether one of some rows is in several groups."""
    return bool((np.sum([group.rows[rows] for group in groups], axis=0) > 1).any())


def _where(wanted: Mapping[str, Any], columns: Mapping[str, Column]) -> RowGroup:
    rows = None
    for column, value in wanted.items():
        levels, codes = columns[column].levels, columns[column].codes
        if value not in levels:
            raise InputError(
                f"`surrogate_groups`: no row has {column} = {value!r} ({nearest(value, levels)})"
            )
        here = codes == levels.index(value)
        rows = here if rows is None else rows & here
    assert rows is not None
    return RowGroup(
        " and ".join(f"{column_in_words(c)} = {value_in_words(v)}" for c, v in wanted.items()), rows
    )


def losses_on(
    kinds: Sequence[Any],
    groups: Sequence[RowGroup],
    true: NDArray[np.int64],
    weight: Floats | None,
    labels: tuple[Any, ...],
    where: str = "",
) -> Losses:
    """Every kind of surrogate on every group."""
    w = np.ones(len(true)) if weight is None else weight
    for group in groups:
        for side in (1, 0):
            if not (w * (group.rows & (true == side))).any():
                name = group.name or "any group"
                raise InputError(
                    f"`surrogate_groups`: no row{where} of {name} is of class {labels[side]!r}, "
                    "and a surrogate needs rows of both classes; leave the group out or join it "
                    "with another"
                )
    terms: list[Term] = []
    for kind in kinds:
        if isinstance(kind, str):
            terms.append(_pointwise(kind, groups, true, w))
            continue
        for group in groups:
            name = str(kind)
            if not isinstance(kind, _RANKING):
                name = getattr(kind, "__name__", type(kind).__name__)
            name += f", {group.name}" if group.name else ""
            if isinstance(kind, _RANKING):
                terms.append(TopLoss(kind, true, w * group.rows, (name,)))
            else:
                rows = None if group.rows.all() else np.flatnonzero(group.rows)
                terms.append(Own(kind, rows, true, w, (name,)))
    return Losses(terms)


def _pointwise(
    kind: str, groups: Sequence[RowGroup], true: NDArray[np.int64], w: Floats
) -> Pointwise:
    shares, names = [], []
    for group in groups:
        for side, word in ((1, "positives"), (0, "negatives")):
            share = w * (group.rows & (true == side))
            shares.append(share / share.sum())
            names.append(f"{kind} of {word}" + (f", {group.name}" if group.name else ""))
    return Pointwise(kind, np.where(true == 1, 1.0, -1.0), np.array(shares), tuple(names))
