"""Nodes of a graph, added one at a time: a thin layer over skl2onnx's container."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["DOUBLE", "FLOAT", "INT64", "Nodes"]

# As onnx.TensorProto numbers them; the numbers are part of the format.
FLOAT, INT64, STRING, DOUBLE = 1, 7, 8, 11


@dataclass(frozen=True, eq=False)
class Nodes:
    """Adds nodes and constants, under names that the graph does not have yet.

    Parameters
    ----------
    scope, container
        As skl2onnx gives them to a converter.
    """

    scope: Any
    container: Any

    def __call__(self, kind: str, inputs: Sequence[str], out: str = "", **attributes: Any) -> str:
        """Add a node with one output and return the name of that output.

        Parameters
        ----------
        kind : str
            The operator of ONNX.
        inputs : sequence of str
        out : str
            The name of the output; "": a new one.
        **attributes
            Of the operator; ``op_domain`` and ``op_version`` where it is not one of the core.
        """
        result = out or self.scope.get_unique_variable_name(f"setpoint_{kind.lower()}")
        name = self.scope.get_unique_operator_name(kind)
        self.container.add_node(kind, list(inputs), result, name=name, **attributes)
        return str(result)

    def constant(self, values: ArrayLike) -> str:
        """Add float64, int64 or text values, in their shape, and return their name."""
        array = np.asarray(values)
        kind = {"f": DOUBLE, "i": INT64}.get(array.dtype.kind, STRING)
        content = array.ravel().tolist()
        if kind == STRING:
            content = [str(value).encode() for value in content]
        name = str(self.scope.get_unique_variable_name("setpoint_constant"))
        self.container.add_initializer(name, kind, list(array.shape), content)
        return name

    def cast(self, name: str, kind: int, out: str = "") -> str:
        """Add a conversion to another type."""
        return self("Cast", [name], out, to=kind)

    def column(self, name: str, index: int) -> str:
        """One column (N, 1) of a matrix; -1 is the last."""
        return self("Gather", [name, self.constant(np.array([index]))], axis=1)

    def side_by_side(self, names: Sequence[str]) -> str:
        """Matrices joined along the columns."""
        return names[0] if len(names) == 1 else self("Concat", names, axis=1)
