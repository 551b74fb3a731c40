"""The segment of a row as nodes: columns of X in, codes out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from setpoint.goals.populations import Key, Label
from setpoint.plugin.onnx.errors import ExportError
from setpoint.plugin.onnx.nodes import DOUBLE, INT64, Nodes
from setpoint.rules.segments import fits_by_value

__all__ = ["GraphColumn", "segment_nodes"]


@dataclass(frozen=True)
class GraphColumn:
    """A column that the graph has.

    Parameters
    ----------
    name : str
        Of the value in the graph, (N, 1).
    text : bool
        Whether it holds text, else numbers.
    single : bool
        Whether its numbers are float32.
    """

    name: str
    text: bool = False
    single: bool = False


def segment_nodes(
    nodes: Nodes, segments: Sequence[Key], columns: Mapping[str, GraphColumn], largest: int | None
) -> str:
    """Add the look-up of each row's segment.

    Parameters
    ----------
    nodes : Nodes
    segments : sequence of Key
        As checked by :class:`~setpoint.rules.PerSegment`.
    columns : mapping of str to GraphColumn
    largest : int or None
        The segment of rows that are in none. None: their code lies beyond the last
        segment, and what looks it up fails when the graph runs, as ``predict`` does.

    Returns
    -------
    str
        Codes, int64 (N, 1).

    Raises
    ------
    ExportError
        If a column of text is compared with numbers alone.
    """
    fits = None
    for position, (name, _) in enumerate(segments[0]):
        values, here = fits_by_value([segment[position][1] for segment in segments])
        # One column more, which every row fits and which comes last; and one row more, of
        # missing values: ``predict`` refuses them, or takes them as any other value.
        table = np.ones((len(here) + 1, len(segments) + 1), dtype=np.int64)
        table[:-1, :-1] = here
        table[-1, :-1] = 0 if largest is None else here[-1]
        index = _index(nodes, name, columns[name], list(values))
        rows = nodes("Gather", [nodes.constant(table), index], axis=0)
        fits = rows if fits is None else nodes("Mul", [fits, rows])
    assert fits is not None
    code = nodes("ArgMax", [fits], axis=1, keepdims=1)
    if largest is None:
        return code
    unseen = nodes("Equal", [code, nodes.constant([[len(segments)]])])
    return nodes("Where", [unseen, nodes.constant([[largest]]), code])


def _index(nodes: Nodes, name: str, column: GraphColumn, values: list[Label]) -> str:
    """Which of the values each row has, ``len(values)`` for another, then missing; int64 (N,)."""
    flat = nodes("Reshape", [column.name, nodes.constant(np.array([-1]))])
    if column.text:
        texts = [value for value in values if isinstance(value, str)]
        if not texts:
            raise ExportError(
                f"the rule compares {name!r} with {values}, and that input of the graph is text"
            )
        return nodes(
            "LabelEncoder",
            [flat],
            op_domain="ai.onnx.ml",
            op_version=2,
            keys_strings=texts,
            values_int64s=[values.index(text) for text in texts],
            default_int64=len(values),
        )
    known = [k for k, value in enumerate(values) if not isinstance(value, str)]
    numbers = np.array([values[k] for k in known], dtype=np.float64)
    if column.single:
        numbers = numbers.astype(np.float32).astype(np.float64)
    if not known or len(np.unique(numbers)) < len(known):
        raise ExportError(
            f"the rule compares {name!r} with {values}, and that input of the graph is "
            f"{'float32, which cannot tell them apart' if known else 'numbers'}"
        )
    upright = nodes.cast(nodes("Reshape", [flat, nodes.constant(np.array([-1, 1]))]), DOUBLE)
    equal = nodes.cast(nodes("Equal", [upright, nodes.constant(numbers[None, :])]), DOUBLE)
    # A row equals one of them at most, so a sum is the place of that one.
    places = np.array(known, dtype=np.float64)[:, None] - len(values)
    place = nodes("MatMul", [equal, nodes.constant(places)])
    index = nodes("Add", [nodes.cast(place, INT64), nodes.constant([[len(values)]])])
    missing = nodes("IsNaN", [upright])
    index = nodes("Where", [missing, nodes.constant([[len(values) + 1]]), index])
    return nodes("Reshape", [index, nodes.constant(np.array([-1]))])
