"""Goals, and goals as sentences."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from html import escape
from typing import Literal, Protocol, runtime_checkable

from setpoint.errors import GoalError, GoalSyntaxError, InputTypeError, NoFormulaError
from setpoint.goals.entries import TABLE
from setpoint.goals.expressions import (
    MAX_CHARACTERS,
    Apply,
    Baseline,
    BlackBoxMetric,
    Const,
    Expression,
    Metric,
    Product,
    Quotient,
    Reduce,
    Sum,
    operand,
    walk,
)
from setpoint.goals.parse import metric_named, parse_goal
from setpoint.goals.populations import (
    REDUCERS,
    Constraint,
    Label,
    Population,
    column_in_words,
    literal,
    value_in_words,
)
from setpoint.goals.table import Requirements, requirements_of

# --- A goal as a sentence for people who do not write formulas ------------------------------------


_LONGEST = 700
"""A longer sentence is not read; the goal's own text says it better."""

_COMPOSITE = (Sum, Product, Quotient)
_BETTER = {"maximize": "higher", "minimize": "lower"}


def goal_in_words(goal: Goal, positive: Label | None = None) -> str:
    """The goal as one sentence.

    Examples
    --------
    >>> from setpoint import Goal
    >>> goal = Goal.parse("maximize recall subject to precision >= 0.97")
    >>> goal_in_words(goal, "malignant")
    'Find as many malignant cases as possible (recall as high as it goes), with precision at \
least 0.97'
    >>> goal_in_words(Goal.parse("maximize macro_f1 subject to churn <= 0.05"))
    'Make macro F1 as high as possible, with churn at most 0.05'
    >>> goal_in_words(Goal.parse('maximize blackbox("shop:revenue")'))
    'Make the metric shop:revenue as high as possible'
    """
    way = "high" if goal.sense == "maximize" else "low"
    out = f"Make {in_words(goal.objective)} as {way} as possible"
    aim = _aim(goal, positive)
    if aim:
        out = f"{aim} ({in_words(goal.objective)} as {way} as it goes)"
    if goal.constraints:
        out += f", with {_listed([_with_article(c) for c in goal.constraints])}"
    if len(out) > _LONGEST:
        held = f", under {len(goal.constraints)} constraints" if goal.constraints else ""
        return f"Make a custom metric as {way} as possible{held}"
    return out


def constraint_in_words(constraint: Constraint) -> str:
    """One constraint in words.

    Examples
    --------
    >>> from setpoint import Goal
    >>> goal = Goal.parse("maximize recall subject to recall.difference(sex) <= 0.05")
    >>> constraint_in_words(goal.constraints[0])
    'gap in recall between groups by sex at most 0.05'
    >>> goal = Goal.parse("maximize recall subject to precision >= 0.9 with confidence 0.99")
    >>> constraint_in_words(goal.constraints[0])
    'precision at least 0.9 (with 99 % confidence)'
    """
    relation = "at least" if constraint.relation == ">=" else "at most"
    words = f"{in_words(constraint.lhs)} {relation} {in_words(constraint.rhs)}"
    if constraint.confidence is not None:
        words += f" (with {100 * constraint.confidence:.10g} % confidence)"
    return words


@lru_cache(maxsize=256)
def in_words(x: Expression) -> str:
    """An expression in words.

    Examples
    --------
    >>> from setpoint import Goal
    >>> goal = Goal.parse("maximize abs(predicted_rate - prior).max()")
    >>> in_words(goal.objective)
    'largest distance between predicted rate and prior over the classes'
    >>> goal = Goal.parse("maximize recall.weighted(amount) subject to accuracy.decided >= 0.98")
    >>> in_words(goal.objective), in_words(goal.constraints[0].lhs)
    ('recall weighted by amount', 'accuracy of the rows decided')
    """
    if isinstance(x, Const):
        return literal(x.value)
    if isinstance(x, Metric):
        return _metric(x)
    if isinstance(x, BlackBoxMetric):
        return f"the metric {x.name}"
    if isinstance(x, Baseline):
        return f"{_part(x.inner)} of the deployed model"
    if isinstance(x, Reduce):
        return _reduce(x)
    if isinstance(x, Apply):
        return _apply(x)
    if isinstance(x, Sum):
        words = [f"{'plus' if s > 0 else 'minus'} {in_words(t)}" for s, t in x.terms]
        return " ".join(words).removeprefix("plus ")
    if isinstance(x, Product):
        return f"{_part(x.left)} times {_part(x.right)}"
    if isinstance(x, Quotient):
        return f"{_part(x.left)} over {_part(x.right)}"
    return str(x)


def glossary(goal: Goal) -> list[tuple[str, str]]:
    """What the metrics of a goal say where their names do not, in the order of the goal.

    Examples
    --------
    >>> from setpoint import Goal
    >>> glossary(Goal.parse("maximize recall subject to precision >= 0.97"))
    [('recall', 'share of the class that is found'), \
('precision', 'share of the accepted that are right')]
    """
    names = dict.fromkeys(m.name for m in goal.metrics)
    return [(_name(n), TABLE[n].words) for n in names if _name(n) != TABLE[n].words]


def cases(label: Label | None) -> str:
    """The rows of one class, as in a sentence.

    Examples
    --------
    >>> cases("malignant"), cases(1), cases(None)
    ('malignant cases', 'cases of class 1', 'positive cases')
    """
    if label is None:
        return "positive cases"
    return f"{label} cases" if _is_word(label) else f"cases of class {label}"


def _is_word(label: Label) -> bool:
    """Whether a label can stand in a sentence; yes, 1 and >50K cannot."""
    return isinstance(label, str) and label.isalpha() and 3 < len(label) < 30


def _with_article(c: Constraint) -> str:
    return f"{'the ' if isinstance(c.lhs, Reduce) else ''}{constraint_in_words(c)}"


def _aim(goal: Goal, positive: Label | None) -> str:
    """What the objective wants in plain words, where it is a metric people have words for."""
    x = goal.objective
    if not isinstance(x, Metric) or TABLE[x.name].better != _BETTER[goal.sense]:
        return ""
    if x.population.measure is not None or x.only_decided:
        return ""  # it is not the number of cases that counts
    return TABLE[x.name].aim.format(cases=cases(positive if x.label is None else x.label))


def _metric(x: Metric) -> str:
    given = dict(x.params)
    if x.name == "confusion_rate":
        words = f"share of {given['true']} predicted {given['predicted']}"
    elif x.name == "fbeta":
        words = f"F-measure with beta {literal(given['beta'])}"
    elif x.name == "micro_f1":
        words = f"micro F1 of all classes but {given['default']}"
    elif x.name == "prior_divergence" and given:
        words = "divergence of the predicted rates from the given priors"
    else:
        words = _name(x.name)
    if x.label is not None:
        words += f" of {x.label}" if _is_word(x.label) else f" of class {x.label}"
    if x.population.measure is not None:
        words += f" weighted by {column_in_words(x.population.measure)}"
    if x.only_decided:
        words += " of the rows decided"
    return words + _population(x.population)


def _name(name: str) -> str:
    return TABLE[name].called or name.replace("_", " ")


def _population(population: Population) -> str:
    parts = [f"{column_in_words(c)} = {value_in_words(v)}" for c, v in population.where]
    if population.dataset is not None:
        parts.insert(0, f"in the data set {population.dataset}")
    return f" ({', '.join(parts)})" if parts else ""


def _part(x: Expression) -> str:
    return f"({in_words(x)})" if isinstance(x, _COMPOSITE) else in_words(x)


def _reduce(x: Reduce) -> str:
    inner = _part(x.inner)
    of, over = "classes", "over the classes"
    if x.columns:
        of = f"groups by {_listed([column_in_words(c) for c in x.columns])}"
        over = f"over {of}"
    if x.kind == "difference":
        return f"gap in {inner} between {of if x.columns else 'the classes'}"
    if x.kind == "ratio":
        return f"smallest over largest {inner} of {of if x.columns else 'the classes'}"
    if x.kind == "deviation":
        return f"largest distance of {inner} in one group from that of all, {over}"
    if x.kind in ("min", "max", "mean"):
        return f"{'mean' if x.kind == 'mean' else REDUCERS[x.kind]} {inner} {over}"
    return f"{REDUCERS[x.kind]} of {inner} {over}"


def _apply(x: Apply) -> str:
    args = [_part(a) for a in x.args]
    if x.function == "abs":
        (inner,) = x.args
        if isinstance(inner, Sum) and sorted(s for s, _ in inner.terms) == [-1, 1]:
            return f"distance between {_listed([_part(t) for _, t in inner.terms])}"
        return f"size of {args[0]}"
    if x.function in ("log", "sqrt"):
        return f"{'logarithm' if x.function == 'log' else 'square root'} of {args[0]}"
    most = "largest" if x.function == "maximum" else "smallest"
    return f"the {most} of {_listed(args)}"


def _listed(words: list[str]) -> str:
    if len(words) == 1:
        return words[0]
    return f"{', '.join(words[:-1])} and {words[-1]}"


# --- Goals: one objective and any number of constraints -------------------------------------------


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
        _check_constraints(self.constraints)
        without = (e for x in self.sides for e in walk(x) if isinstance(e, BlackBoxMetric))
        found = next(without, None)
        if found is not None and (self.constraints or found is not self.objective):
            raise GoalError(
                f"{found} is the whole objective of a goal without constraints: it has no formula, "
                "so it is not a part of a larger expression and cannot be weighed against a "
                "constraint; a function can subtract its own penalty"
            )
        if len(str(self)) > MAX_CHARACTERS:
            raise GoalError(
                f"a goal has at most {MAX_CHARACTERS} characters as text, this one {len(str(self))}"
            )

    @cached_property
    def sides(self) -> tuple[Expression, ...]:
        """The objective, and both sides of each constraint."""
        return (self.objective, *(x for c in self.constraints for x in (c.lhs, c.rhs)))

    @property
    def is_blackbox(self) -> bool:
        """Whether the objective is a metric without a formula."""
        return isinstance(self.objective, BlackBoxMetric)

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics that it is made of, as often and in the order in which they are written."""
        return tuple(e for x in self.sides for e in walk(x) if isinstance(e, Metric))

    @cached_property
    def defers(self) -> bool:
        """Whether rows may be left undecided: the goal tells these from the others."""
        return any(m.defers for m in self.metrics)

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
        _check_constraints(constraints)
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
    try:
        return Goal(*parse_goal(text))
    except GoalSyntaxError:
        raise
    except (RecursionError, MemoryError):
        raise GoalSyntaxError("the text is nested too deeply") from None
    except GoalError as error:
        raise GoalSyntaxError(str(error)) from None


def _check_constraints(values: tuple[object, ...]) -> None:
    for value in values:
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
