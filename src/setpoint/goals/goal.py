"""Goals: one objective and any number of constraints, as an immutable value."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from html import escape
from typing import Literal, Protocol, runtime_checkable

from setpoint.errors import InputTypeError
from setpoint.goals.constraints import Constraint
from setpoint.goals.entries import TABLE
from setpoint.goals.errors import GoalError, GoalSyntaxError, NoFormulaError
from setpoint.goals.expressions import (
    MAX_CHARACTERS,
    BlackBoxMetric,
    Expression,
    Metric,
    operand,
    walk,
)
from setpoint.goals.parse import parse_goal
from setpoint.goals.requirements import Requirements, requirements_of
from setpoint.goals.synonyms import metric_named

__all__ = ["Goal", "SupportsGoal", "as_goal", "expression_of", "maximize", "minimize"]


@dataclass(frozen=True, repr=False)
class Goal:
    """What is wanted: an objective and constraints, over rates.

    A goal holds no data and knows no solver. Build it with :func:`maximize` and
    :func:`minimize`, or read it with :meth:`parse`.

    Parameters
    ----------
    sense : {"maximize", "minimize"}
    objective : Expression
    constraints : tuple of Constraint

    Examples
    --------
    >>> from setpoint import Goal
    >>> goal = Goal.parse("maximize recall s.t. precision >= 0.9, recall.difference(sex) <= 0.05")
    >>> print(goal)
    maximize recall subject to precision >= 0.9 and recall.difference("sex") <= 0.05
    >>> Goal.parse(str(goal)) == goal
    True
    """

    sense: Literal["maximize", "minimize"]
    objective: Expression
    constraints: tuple[Constraint, ...] = ()

    def __post_init__(self) -> None:
        if self.sense not in ("maximize", "minimize"):
            raise GoalError(f"`sense` is 'maximize' or 'minimize', got {self.sense!r}")
        object.__setattr__(self, "objective", operand(self.objective))
        object.__setattr__(self, "constraints", tuple(self.constraints))
        if not any(isinstance(e, (Metric, BlackBoxMetric)) for e in walk(self.objective)):
            raise GoalError(f"the objective {self.objective} holds no metric")
        for c in self.constraints:
            _check_constraint(c)
        self._check_external()
        if len(str(self)) > MAX_CHARACTERS:
            raise GoalError(
                f"a goal has at most {MAX_CHARACTERS} characters as text, this one {len(str(self))}"
            )

    def _check_external(self) -> None:
        """A metric without a formula is the whole goal, or no part of it."""
        found = next(
            (e for x in self.sides for e in walk(x) if isinstance(e, BlackBoxMetric)), None
        )
        if found is not None and (self.constraints or found is not self.objective):
            raise GoalError(
                f"{found} is the whole objective of a goal without constraints: it has no formula, "
                "so it is not a part of a larger expression and cannot be weighed against a "
                "constraint; a function can subtract its own penalty"
            )

    @property
    def sides(self) -> tuple[Expression, ...]:
        """The objective, and both sides of each constraint."""
        return (self.objective, *(x for c in self.constraints for x in (c.lhs, c.rhs)))

    @property
    def is_blackbox(self) -> bool:
        """Whether the objective is a metric without a formula."""
        return isinstance(self.objective, BlackBoxMetric)

    @cached_property
    def defers(self) -> bool:
        """Whether rows may be left undecided: the goal tells these from the others."""
        return any(isinstance(e, Metric) and e.defers for x in self.sides for e in walk(x))

    def require_formula(self, otherwise: str) -> None:
        """Refuse a metric without a formula.

        Parameters
        ----------
        otherwise : str
            How the message goes on: who takes it.

        Raises
        ------
        NoFormulaError
        """
        if self.is_blackbox:
            raise NoFormulaError(f"{self.objective} has no formula; {otherwise}")

    def subject_to(self, *constraints: Constraint) -> Goal:
        """This goal with more constraints.

        Raises
        ------
        TypeError
            If an argument is not a constraint, such as the bool that ``x == c`` gives.
        """
        for c in constraints:
            _check_constraint(c)
        return replace(self, constraints=self.constraints + constraints)

    @classmethod
    def parse(cls, text: str) -> Goal:
        """Read a goal from its text; see the page on the language.

        Raises
        ------
        GoalSyntaxError
            Whatever is wrong; it names the word, the place and the nearest known names.
        """
        if not isinstance(text, str):
            raise GoalSyntaxError(f"a goal's text is a str, got {type(text).__name__}")
        return _parsed(text)

    def __str__(self) -> str:
        text = f"{self.sense} {self.objective}"
        if self.constraints:
            text += " subject to " + " and ".join(str(c) for c in self.constraints)
        return text

    def __getstate__(self) -> dict[str, object]:
        """What is stored and copied: the goal, not what was derived from it."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def __repr__(self) -> str:
        return f"Goal.parse({str(self)!r})"

    def _repr_html_(self) -> str:
        """For notebooks: the goal in words, its text, and what its words say."""
        from setpoint.goals.words import glossary, goal_in_words

        words = "".join(f"<li>{escape(name)}: {escape(text)}</li>" for name, text in glossary(self))
        return (
            f'<div class="setpoint-goal"><p><strong>{escape(goal_in_words(self))}.</strong></p>'
            f"<p><code>{escape(str(self))}</code></p><ul>{words}</ul></div>"
        )

    @cached_property
    def needs(self) -> Requirements:
        """The columns, data sets and deployed predictions that the goal refers to."""
        return requirements_of(self.sides)


@lru_cache(maxsize=256)
def _parsed(text: str) -> Goal:
    """Goals are values: the same text gives the same one."""
    parts = parse_goal(text)
    try:
        return Goal(*parts)
    except GoalError as error:
        raise GoalSyntaxError(str(error)) from None


def _check_constraint(value: object) -> None:
    if isinstance(value, bool):
        raise InputTypeError(
            f"subject_to got {value}: == compares how two expressions are written; for a "
            "constraint write abs(x - c) <= tolerance"
        )
    if not isinstance(value, Constraint):
        raise InputTypeError(f"a constraint is written with >= or <=, got {value!r}")


def maximize(objective: Expression) -> Goal:
    """A goal that maximises `objective`.

    Examples
    --------
    >>> from setpoint import maximize
    >>> from setpoint.metrics import precision, recall
    >>> print(maximize(recall).subject_to(precision >= 0.9))
    maximize recall subject to precision >= 0.9
    """
    return Goal("maximize", objective)


def minimize(objective: Expression) -> Goal:
    """A goal that minimises `objective`.

    Examples
    --------
    >>> from setpoint import minimize
    >>> from setpoint.metrics import cost, recall
    >>> price = cost({("no", "yes"): 1, ("yes", "no"): 5})
    >>> print(minimize(price).subject_to(recall >= 0.8))
    minimize cost({("no", "yes"): 1, ("yes", "no"): 5}) subject to recall >= 0.8
    """
    return Goal("minimize", objective)


@runtime_checkable
class SupportsGoal(Protocol):
    """What stands where a goal stands, such as a metric without a formula."""

    def __goal__(self) -> Goal:
        """The goal it stands for."""
        ...


def as_goal(goal: Goal | SupportsGoal | Expression | str) -> Goal:
    """A goal from a goal, its text, a black box, or a bare score metric ("f1": "maximize f1")."""
    if isinstance(goal, Goal):
        return goal
    if isinstance(goal, SupportsGoal) and not isinstance(goal, type):
        return goal.__goal__()
    if isinstance(goal, str):
        bare = metric_named(goal.strip())
        if not isinstance(bare, Metric):
            return Goal.parse(goal)
        goal = bare
    if isinstance(goal, Metric) and TABLE[goal.name].better == "higher":
        return maximize(goal)
    if isinstance(goal, Expression):
        raise GoalError(f"say which way: 'maximize {goal}' or 'minimize {goal}'")
    raise InputTypeError(
        "`goal` is a Goal, its text, a metric, or a function as a black box, got "
        f"{type(goal).__name__}"
    )


@lru_cache(maxsize=256)
def expression_of(text: str) -> Expression:
    """The expression that a text stands for.

    Examples
    --------
    >>> print(expression_of("recall.difference(sex)"))
    recall.difference("sex")
    """
    return Goal.parse(f"maximize {text}").objective
