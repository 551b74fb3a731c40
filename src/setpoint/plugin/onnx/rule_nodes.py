"""A rule as nodes: scores, segments and draws in, class codes out.

Every step is the one that the rule itself takes, in float64 and in the same order, so that
the same scores give the same decisions to the last bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from setpoint.plugin.onnx.errors import ExportError
from setpoint.plugin.onnx.nodes import DOUBLE, INT64, Nodes
from setpoint.rules import Argmax, Mixture, PerSegment, Rule, Threshold

__all__ = ["RuleNodes"]

_BELOW_ONE = math.nextafter(1.0, 0.0)


@dataclass(frozen=True, eq=False)
class RuleNodes:
    """Adds the nodes of a rule.

    Parameters
    ----------
    nodes : Nodes
    scores : str
        Float64, (N, 1) for rules over one score, else (N, s).
    single : bool
        Whether the scores were computed in float32. A threshold is then rounded as they
        were: rounding keeps the order, so that a score at the threshold stays positive.
    segment : str or None
        Codes, int64 (N, 1), where the rule looks at segments.
    """

    nodes: Nodes
    scores: str
    single: bool
    segment: str | None

    def decisions(self, rule: Rule, u: str | None) -> str:
        """Class codes, int64 (N, 1), in the order of the library.

        Parameters
        ----------
        rule : Rule
        u : str or None
            Draws, float64 (N, 1), where the rule is randomised.
        """
        add = self.nodes
        if rule.value_columns:
            raise ExportError(
                f"rule_: it looks at the columns {list(rule.value_columns)} beside the scores, and "
                "has no form in ONNX; to_sql, expression and to_python write it"
            )
        if isinstance(rule, Mixture) and len(rule.atoms) == 1:
            return self.decisions(rule.atoms[0][1], u)
        if isinstance(rule, Argmax):
            return add("ArgMax", [self._totals(rule)], axis=1, keepdims=1)
        if rule.n_classes == 2:
            if not rule.randomized and (thresholds := _hard(rule)) is not None:
                return add.cast(self._reached(rule, thresholds), INT64)
            bound = u if rule.randomized and u is not None else add.constant([[0.0]])
            return add.cast(add("Greater", [self.positive(rule), bound]), INT64)
        if isinstance(rule, PerSegment):
            return self._chosen([self.decisions(part, u) for part in rule.rules], self._code(rule))
        if isinstance(rule, Mixture) and u is not None:
            return self._drawn(rule, u)
        raise ExportError(f"rule_: a {type(rule).__name__} has no form in ONNX")

    def positive(self, rule: Rule) -> str:
        """The probability with which one of two classes is decided positive, float64 (N, 1)."""
        add = self.nodes
        if isinstance(rule, Threshold) and rule.randomized:
            t, width = add.constant([[rule.threshold]]), add.constant([[rule.width]])
            scaled = add("Div", [add("Sub", [self.scores, t]), width])
            shifted = add("Add", [scaled, add.constant([[0.5]])])
            return add("Clip", [shifted, add.constant(0.0), add.constant(1.0)])
        if isinstance(rule, PerSegment):
            return self._chosen([self.positive(part) for part in rule.rules], self._code(rule))
        if isinstance(rule, Mixture):
            return self._mixed(rule)
        return add.cast(self.decisions(rule, None), DOUBLE)

    # ------------------------------------------------------------------ the kinds of rules
    def _reached(self, rule: Rule, thresholds: list[float]) -> str:
        """Whether the score reaches the threshold of its segment, bool (N, 1)."""
        add = self.nodes
        table = np.array(thresholds)
        if self.single:
            with np.errstate(over="ignore"):
                table = table.astype(np.float32).astype(np.float64)
        if isinstance(rule, PerSegment):
            bound = add("Gather", [add.constant(table), self._code(rule)], axis=0)
        else:
            bound = add.constant(table[:, None])
        return add("GreaterOrEqual", [self.scores, bound])

    def _totals(self, rule: Argmax) -> str:
        """What the argmax is taken of; not a matrix product, which adds in an order of its own."""
        add = self.nodes
        if rule.weights is not None:
            total = add("Mul", [self.scores, add.constant([rule.weights])])
        else:
            terms = [
                add("Mul", [add.column(self.scores, i), add.constant([row])])
                for i, row in enumerate(rule.matrix or ())
            ]
            total = terms[0]
            for term in terms[1:]:
                total = add("Add", [total, term])
        if rule.offset is not None:
            total = add("Add", [total, add.constant([rule.offset])])
        return total

    def _mixed(self, rule: Mixture) -> str:
        """The mixed probability; where all atoms agree it is 0 or 1 without a rounding error."""
        add = self.nodes
        one, zero = add.constant([[1.0]]), add.constant([[0.0]])
        positive, negative = zero, zero
        for p, atom in rule.atoms:
            here, share = self.positive(atom), add.constant([[p]])
            positive = add("Add", [positive, add("Mul", [share, here])])
            negative = add("Add", [negative, add("Mul", [share, add("Sub", [one, here])])])
        return add("Where", [add("Equal", [negative, zero]), one, add("Min", [positive, one])])

    def _drawn(self, rule: Mixture, u: str) -> str:
        """The decision of the atom that the draw falls on."""
        add = self.nodes
        ends = np.cumsum([p for p, _ in rule.atoms])
        below = add("Less", [u, add.constant([[*ends[:-1], math.inf]])])
        drawn = add("ArgMax", [add.cast(below, INT64)], axis=1, keepdims=1)
        out = []
        for k, (p, atom) in enumerate(rule.atoms):
            rest = None
            if atom.randomized:  # what is left of the draw, stretched to [0, 1) again
                start = add.constant([[float(ends[k - 1]) if k else 0.0]])
                scaled = add("Div", [add("Sub", [u, start]), add.constant([[p]])])
                rest = add("Clip", [scaled, add.constant(0.0), add.constant(_BELOW_ONE)])
            out.append(self.decisions(atom, rest))
        return self._chosen(out, drawn)

    def _code(self, rule: PerSegment) -> str:
        """Which of its rules decides a row, int64 (N, 1)."""
        if rule.by == "top":
            return self.nodes("ArgMax", [self.scores], axis=1, keepdims=1)
        assert self.segment is not None
        return self.segment

    def _chosen(self, columns: list[str], code: str) -> str:
        """The entry of each row that its code points at, (N, 1)."""
        return self.nodes("GatherElements", [self.nodes.side_by_side(columns), code], axis=1)


def _hard(rule: Rule) -> list[float] | None:
    """The threshold, or that of each segment, where a rule is nothing else."""
    parts = rule.rules if isinstance(rule, PerSegment) and rule.by == "segment" else (rule,)
    found = [part.threshold for part in parts if isinstance(part, Threshold)]
    return found if len(found) == len(parts) else None
