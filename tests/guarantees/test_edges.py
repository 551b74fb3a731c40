"""Statements, p-values and plans at the edges of what they take."""

import numpy as np

from setpoint import Goal
from setpoint.counts import Codebook, Confusion, Stratum
from setpoint.guarantees import Requirement, requirements_of
from setpoint.program import link
from thinning import over

GROUPS = tuple(Stratum(None, (("sex", s),)) for s in ("f", "m"))


def constraint_of(text, counts):
    """The linked constraint at these counts (groups, 3, 2), and the features there."""
    found = Confusion.of_units(Codebook.of(("no", "yes"), GROUPS), counts)
    linked = link(Goal.parse(f"maximize accuracy s.t. {text}"), found.codebook)
    program = linked.at(found.marginals, fixed=False)
    return program.constraints[0], program.table.of(counts)


def holds(part, v):
    if isinstance(part, Requirement):
        return bool(part.slack(v) >= -1e-12)
    found = [holds(inner, v) for inner in part.parts]
    return all(found) if part.every else any(found)


KINKS = {
    "recall.max(sex) / (1 + accuracy.min(sex)) >= 0.4": True,
    "recall.max(sex) / (accuracy - 2) <= -0.3": True,
    "abs(recall.max(sex) - precision.min(sex)) <= 0.2": True,
    "abs(recall.max(sex) + 0.5) <= 0.9": True,
    "log(recall.min(sex) + 0.5) >= -0.2": True,
    # Across zero a factor turns round: then each arm has to meet the bound, which is safe.
    "recall.max(sex) / (accuracy.max(sex) - 0.5) >= 0.4": False,
    "(recall.max(sex) - 0.5) * (precision.min(sex) - 0.5) >= 0.01": False,
}


@over("text", KINKS)
def test_a_kink_inside_other_functions(text):
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(100):
        counts = np.zeros((2, 3, 2))
        counts[:, :2] = rng.integers(1, 30, (2, 2, 2))
        constraint, v = constraint_of(text, counts)
        met = float(constraint.violation(v)) <= 1e-12
        shown = holds(requirements_of(constraint), v)
        assert met or not shown
        assert shown == met or not KINKS[text]
        seen.add(shown)
    assert seen == {True, False}
