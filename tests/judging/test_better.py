"""Which of two models is better: by the objective, subject to the constraints."""

from setpoint.judging import Part
from setpoint.judging.judge import BETTER, WORSE, which_is_better
from setpoint.report import Entry, GoalReport
from thinning import over


def entry(value, verdict, relation=">="):
    low, high = {"s": (0.6, 0.8), "o": (0.4, 0.6), "f": (0.2, 0.4)}[verdict]
    return Entry("precision >= 0.5", value, 0.5, low=low, high=high, relation=relation)


def report(verdict):
    return GoalReport(
        "maximize recall subject to precision >= 0.5", Entry("recall", 0.5), (entry(0.5, verdict),)
    )


def parts(today, candidate, gain, side=0.0):
    def difference(at):
        return Entry("", at, 0.0, low=at - 0.1, high=at + 0.1, relation=">=")

    objective = Entry("recall", 0.5)
    return [
        Part(objective, objective, difference(gain), None),
        Part(entry(0.5, today), entry(0.5, candidate), difference(side), None),
    ]


@over(
    ("today", "candidate", "gain", "side", "verdict"),
    [
        ("s", "s", 0.2, 0.0, BETTER),
        ("s", "s", -0.2, 0.0, WORSE),
        ("s", "s", 0.05, 0.0, "too close to call"),
        ("o", "o", 0.2, 0.0, BETTER),
        ("o", "o", 0.2, -0.2, "too close to call"),  # bought by the constraint
        ("o", "o", -0.2, 0.2, "too close to call"),
        ("s", "s", 0.2, -0.2, BETTER),  # the bound is all that the goal asks for
        ("s", "o", 0.2, 0.0, "too close to call"),
        ("o", "s", 0.2, 0.0, BETTER),
        ("f", "s", -0.2, 0.0, BETTER),
        ("s", "f", 0.2, 0.0, WORSE),
        ("f", "f", 0.2, 0.0, "too close to call"),
        ("o", "f", 0.2, 0.0, "too close to call"),
        ("f", "o", 0.2, 0.0, BETTER),
    ],
)
def test_which_is_better(today, candidate, gain, side, verdict):
    found = which_is_better(
        report(today), report(candidate), parts(today, candidate, gain, side), 0.1
    )
    assert found[0] == verdict
