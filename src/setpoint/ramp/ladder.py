"""Models of a training that are tried on rows that certify, beside the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.deciding import Found
from setpoint.estimators.linear_rule import linear_scores, most_models
from setpoint.evidence import Evidence
from setpoint.ramp.fitting import Prepared
from setpoint.ramp.problem import Row
from setpoint.ramp.selection import Model
from setpoint.ramp.solvers.search import Solved
from setpoint.rules import Threshold
from setpoint.tolerances import SATISFIED

__all__ = ["meets_floors", "models_of", "with_parameters"]

_SHIFTS = np.linspace(0.02, 0.98, 25)
"""Shares of the rows below the cut-offs that are tried of a model that draws."""


def with_parameters(found: Found, prepared: Prepared) -> Found:
    """What was found, its model for features as the preprocessor leaves them."""
    return replace(found, model=prepared.unscaled(found.model))


def models_of(
    found: Found,
    prepared: Prepared,
    solved: Solved,
    rivals: Sequence[Model],
    randomized: bool,
) -> list[Found]:
    """The iterates of a training, and the models that were there before it."""
    weights = [solved.best.w, *(m.w for m in rivals)]
    n = max(most_models(found.evidence.n_rows) - len(weights), 1)
    some = np.unique(np.linspace(0, len(solved.path) - 1, n).astype(int))
    weights += [solved.path[i].w for i in some.tolist()]
    different = {w.tobytes(): w for w in weights}.values()
    out = [found]
    for w in different:
        scored = Evidence(prepared.rows, linear_scores(prepared.problem.X, w))
        other = replace(found, evidence=scored, model=prepared.unscaled(w))
        out += _drawn(other, prepared) if randomized else [other]
    return out


def _drawn(found: Found, prepared: Prepared) -> list[Found]:
    """A model that draws, at several cut-offs."""
    program, out = prepared.problem.program, []
    for cut in (0.0, *np.unique(np.quantile(found.rows.scores, _SHIFTS)).tolist()):
        rule = Threshold(float(cut), width=1.0)
        confusion = found.evidence.confusion(rule)
        outcome = replace(
            found.outcome,
            rule=rule,
            v=program.rates_of(confusion.counts),
            confusion=confusion,
            randomized_share=found.rows.undecided(rule),
        )
        out.append(replace(found, outcome=outcome))
    return out


def meets_floors(floors: Sequence[Row], counts: Floats) -> NDArray[np.bool_]:
    """Whether rules (m,) keep the denominators off 0, by counts (entries, m)."""
    accepted = counts[1::2]
    out = np.ones(counts.shape[1], bool)
    for row in floors:
        out &= row.coefs @ accepted + row.const <= SATISFIED
    return out
