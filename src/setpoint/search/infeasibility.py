"""Goals that cannot be met: what is to blame, and what is reachable."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from setpoint.counts import Evidence
from setpoint.errors import SetpointError, ShapeError
from setpoint.goals import Goal
from setpoint.parameters import SATISFIED
from setpoint.program import Program, ProgramConstraint
from setpoint.search.achievable import AchievableSet, Found, Optimum
from setpoint.search.limits import StoppedError, StoppedWarning

# --- Goals that cannot be met: what is reachable --------------------------------------------------


S = TypeVar("S", bound=AchievableSet)
_MOST_CALLS = 1000


class InfeasibleError(SetpointError, ValueError):
    """No rule of the kind asked for meets the goal on these rows.

    Attributes
    ----------
    remedy : str
        What else can be done in Python, at the end of the message; may be empty.
    violation : float
        The least violation that a rule of this kind reaches, in the user's units.
    blame : dict of str to float
        The constraints that cannot hold together, with their shares of the proof.
    reachable : dict of str to float
        For each of them the best value of its left side, the other constraints kept.
    evidence : Evidence or None
        The rows that were searched, where a frontier may still be asked for; not copied.
    goal : Goal or None
        The goal, where it is not the one that was passed; not copied.
    """

    evidence: Evidence | None = None
    goal: Goal | None = None

    def __init__(
        self,
        message: str,
        *,
        remedy: str = "",
        violation: float = float("nan"),
        blame: dict[str, float] | None = None,
        reachable: dict[str, float] | None = None,
    ) -> None:
        super().__init__(f"{message} ({remedy})" if remedy else message)
        self.remedy = remedy
        self.violation = violation
        self.blame = blame or {}
        self.reachable = reachable or {}

    def __reduce__(self) -> tuple[object, ...]:
        names = ("remedy", "violation", "blame", "reachable")
        return partial(InfeasibleError, self.finding, **{n: getattr(self, n) for n in names}), ()


def not_found(
    error: InfeasibleError, who: str, rules: str, blame: dict[str, float] | None = None
) -> InfeasibleError:
    """The error for a model: what is certain of rules on its scores is not of other models."""
    what = f"the least violation of all bounds is {error.violation:.4g}"
    if error.reachable:
        best = "; ".join(f"{text}: {value:.4g}" for text, value in error.reachable.items())
        what = f"for each bound the best that its {rules} reach is ({best}), and {what}"
    return InfeasibleError(
        f"{who[:1].upper()}{who[1:]}, which does not say that no model can. With the scores of the "
        f"best one {what}",
        remedy="`on_infeasible='nearest'` returns it",
        violation=error.violation,
        blame=blame or error.blame,
        reachable=error.reachable,
    )


def explain(
    space: S,
    program: Program,
    nearest: Found,
    found: Optimum,
    solve: Callable[[S, Program], Optimum],
) -> InfeasibleError:
    """The error for a goal that no rule meets; `solve` finds how far one side can be taken."""
    violation = float(program.violation(nearest.values))
    certain = found.status == "optimal"
    if found.drawing_helps:
        meets = "meets" if certain else "was found to meet"
        return InfeasibleError(
            f"No rule without draws {meets} the goal (the least violation is {violation:.4g}); a "
            "mixture of rules does: allow it with `randomized='auto'`",
            violation=violation,
        )
    # Words are worth no more than so many calls.
    limits = space.limits.rest()
    limits.max_calls = min(limits.max_calls or _MOST_CALLS, _MOST_CALLS)
    space = space.within(limits)
    alone = {c: _reach(space, program, c, (), solve) for c in program.constraints}
    hopeless = [c for c, r in alone.items() if r and c.sign * (c.level - r[0]) > SATISFIED]
    blamed = hopeless or [c for c in program.constraints if str(c) in nearest.blame]
    blamed = blamed or list(program.constraints)
    reachable: dict[str, float] = {}
    lines = []
    cannot, best = ("cannot be", "reachable") if certain else ("was not", "found")
    for c in blamed:
        others = tuple(o for o in program.constraints if o is not c)
        reached = alone[c] if c in hopeless else _reach(space, program, c, others, solve)
        if reached is None:
            lines.append(str(c))
            continue
        value, objective = reached
        reachable[str(c)] = value
        word = "highest" if c.sign > 0 else "lowest"
        at = f"{_apart(value, c.level)}, at {program.goal.objective} = {objective:.4g}"
        if c in hopeless:
            lines.append(f"{c} {cannot} met: the {word} {best} is {at}")
        else:
            lines.append(f"{c} (with the others met the {word} {best} is {at})")
    together = "These cannot hold together: " if certain else "No rule found meets these: "
    message = "; ".join(lines) if hopeless else together + "; ".join(lines)
    return InfeasibleError(
        f"{message}. The least violation of all constraints is {violation:.4g}",
        remedy="`on_infeasible='nearest'` returns that rule",
        violation=violation,
        blame=dict(nearest.blame) or {str(c): 1.0 / len(blamed) for c in blamed},
        reachable=reachable,
    )


def _apart(value: float, level: float) -> str:
    """The value with four digits, or as many as tell it from the bound."""
    digits = next((d for d in range(4, 17) if f"{value:.{d}g}" != f"{level:.{d}g}"), 17)
    return f"{value:.{digits}g}"


def _reach(
    space: S,
    program: Program,
    c: ProgramConstraint,
    others: tuple[ProgramConstraint, ...],
    solve: Callable[[S, Program], Optimum],
) -> tuple[float, float] | None:
    """How far the left side of one constraint can be taken, and the objective there."""
    furthest = replace(program, objective=c.function, constraints=others, sense=c.sign)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StoppedWarning)
            found = solve(space, furthest)
    except (ShapeError, StoppedError):
        return None
    if not found.choice:
        return None
    v = space.features(found.choice)
    return float(furthest.value(v)), float(program.value(v))
