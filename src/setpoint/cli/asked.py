"""What ``setpoint fit`` is asked for: the goal, the goal that is meant, the class, the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from setpoint.cli.errors import CommandError
from setpoint.cli.metric import Named, metric_of
from setpoint.cli.session import current
from setpoint.cli.trained import Trained
from setpoint.goals.goal import Goal

if TYPE_CHECKING:
    from setpoint.blackbox.blackbox import BlackBox

__all__ = ["check_estimator", "goal_asked", "goal_meant", "say_positive"]


def goal_asked(text: str | None, named: Named) -> tuple[Goal, BlackBox | None]:
    """The goal, and its function where it has no formula.

    Parameters
    ----------
    text : str or None
        Of --goal.
    named : Named
        Of --metric, the one or the other.
    """
    from setpoint.goals import as_goal

    if (text is None) == (named.path is None):
        what = "one of the two is wanted" if text is None else "they are not taken together"
        raise click.UsageError(
            f"--goal 'maximize ...' says what is wanted, or --metric module:function does: {what}"
        )
    metric = metric_of(named)
    if metric is not None:
        return metric.goal, metric
    assert text is not None
    goal = as_goal(text)
    if goal.is_blackbox:
        raise CommandError("--goal names a metric without a formula: name its function, --metric")
    return goal, None


def goal_meant(text: str, goal: Goal, test_size: float) -> Goal:
    """The goal that rows held out are judged by; it differs from the other in its bounds alone.

    Parameters
    ----------
    text : str
        Of --judge-by.
    goal : Goal
        That of --goal.
    test_size : float
        The share of rows held out.

    Raises
    ------
    CommandError
        If no rows are held out, or the goals differ in more.
    """
    from setpoint.goals import as_goal
    from setpoint.report.worked import same_sides

    if test_size == 0:
        raise CommandError("--judge-by judges by rows held out, and --test-size 0 leaves none")
    meant = as_goal(text)
    if not same_sides(meant, goal):
        raise CommandError(
            f"--judge-by is --goal with the bounds that are meant, and '{meant}' differs from "
            f"'{goal}' in more; judge by another goal with setpoint evaluate --goal"
        )
    return meant


def check_estimator(name: str | None) -> None:
    """Know before a table is read that there is no such estimator."""
    from setpoint.tables import LEARNERS, learner_for

    if name is not None and name not in LEARNERS:
        learner_for(name)


def say_positive(trained: Trained, goal: Goal, asked: str | None) -> None:
    """Note which class is positive, where nobody said so and the goal refers to it."""
    from setpoint.inputs.positive import refers_to_positive

    positive = trained.report.counts.positive
    if positive is not None and asked is None and refers_to_positive(goal):
        current().note(f"the positive class is {positive!r}; --positive names another")
