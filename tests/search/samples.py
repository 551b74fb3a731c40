"""Programs over the cut-offs of two classes, which the tests of the search share."""

import numpy as np

from setpoint import Evidence, Goal
from setpoint.program import link
from setpoint.search import CutoffSet


def linked(text, scores, true, *, classes=(0, 1), **more):
    """A goal's program at some rows, and these."""
    goal = Goal.parse(text)
    evidence = Evidence.from_arrays(classes, scores, true, needs=goal.needs, **more)
    return link(goal, evidence.codebook).at(evidence.marginals), evidence


def cutoffs(text, scores, true, group, **more):
    """The cut-offs of each group, and the program over them."""
    program, evidence = linked(
        text, scores, true, columns={"g": group}, **{"decide_on": ("g",), **more}
    )
    return CutoffSet(program.table, evidence), program


def drawn(text, seed, groups, n):
    """Rows in the order of their groups, with many equal scores, twice, or of few positives."""
    rng = np.random.default_rng([seed, groups])
    true = (rng.random(n) < rng.choice([0.2, 0.5])).astype(int)
    group = np.sort(np.arange(n) % groups)
    first = np.unique(group, return_index=True)[1]
    true[first], true[first + 1] = 0, 1
    scores = np.round(rng.normal(size=n) + true, int(rng.integers(1, 3)))
    rows = np.repeat(np.arange(n), 1 + (rng.random(n) < 0.2))
    more = {"weight": rng.integers(1, 4, len(rows)).astype(float)} if seed % 2 else {}
    if "churn" in text:
        more["baseline"] = rng.integers(0, 2, len(rows))
    return cutoffs(text, scores[rows], true[rows], group[rows].astype(str), **more)
