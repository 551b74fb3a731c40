"""Programs over the cut-offs of two classes, which the tests of the search share."""

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
