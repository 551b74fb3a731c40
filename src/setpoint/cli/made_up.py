"""Rows made up for a goal, so that its shapes and its solver are found out, not guessed."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from setpoint.goals.errors import EmptyPopulationError, GoalError, ShapeError
from setpoint.goals.expressions import Metric, walk
from setpoint.goals.goal import Goal
from setpoint.goals.populations import DEFER, Label
from setpoint.program.link import link

if TYPE_CHECKING:
    from setpoint.evidence import Evidence
    from setpoint.program.program import Program
    from setpoint.search.outcome import Outcome

__all__ = ["solved", "trained"]

_REPEATS, _MOST_ROWS = 48, 5_000
_CALLS, _SECONDS = 30, 2.0


def solved(goal: Goal, n_classes: int) -> dict[str, Any] | None:
    """Shapes of a goal and the solver it gets, for so many classes; groups have two values."""
    from setpoint.program.link import waits_for_class

    named = _labels(goal)
    if len(named) > n_classes or (n_classes > 2 and waits_for_class(goal)):
        return None
    evidence = _evidence(goal, n_classes, named)
    try:
        program = link(goal, evidence.codebook).at(evidence.marginals)
    except EmptyPopulationError:
        return None
    except GoalError as error:
        if "on these data" in str(error):
            return None
        raise
    out: dict[str, Any] = {
        "objective": program.objective.shape_name,
        "constraints": [c.function.shape_name for c in program.constraints],
    }
    try:
        found = _found(goal, evidence, program)
    except ShapeError as error:
        return {**out, "solver": f"no method takes it: {error}"}
    # The first clause names the method; the rest refers to the rows, which are made up.
    how = "" if found.status == "nearest" else found.why.partition(";")[0]
    solver = f"{found.solver}, {how}" if how else found.solver
    numbers = goal.needs.measures.get(None, {})
    if numbers and not goal.needs.datasets:
        solver += f"; or a rule that looks at {' and '.join(sorted(numbers))}, by cross-validation"
    return {**out, "solver": solver}


def _found(goal: Goal, evidence: Evidence, program: Program) -> Outcome:
    """What the solver finds that the goal gets: no report, which would load much more."""
    from setpoint.plugin.parameters import Options
    from setpoint.solvers import SearchLimits

    if evidence.n_scores is None:
        from setpoint.exact import solve_exact

        options = Options(on_infeasible="nearest")
        return solve_exact(
            program, evidence, randomized=options.randomized, on_infeasible="nearest",
            tol=options.tol, limits=options.watch(),
        )  # fmt: skip
    from setpoint.plugin.searching import search_rule

    limits = SearchLimits(calls=_CALLS, seconds=_SECONDS)
    options = Options(evidence="soft", on_infeasible="nearest", limits=limits)
    return search_rule(goal, evidence, options)


def trained(goal: Goal) -> dict[str, str]:
    """The solvers that train a model for a goal, and what each does."""
    from setpoint.solvers import SOLVERS, solvers_of

    named = _labels(goal)
    if len(named) > 2 or goal.needs.measures or goal.defers:
        return {}
    found: list[str] = []
    if not goal.is_blackbox:
        evidence = _evidence(goal, 2, named)
        found += [*_penalties(goal, evidence), *_ramps(goal, evidence)]
    if not goal.needs.datasets:
        found += solvers_of("surrogates")
    return {name: SOLVERS[name].does for name in found}


def _penalties(goal: Goal, evidence: Evidence) -> tuple[str, ...]:
    """The solvers for goals over the rows as a whole, if it is one."""
    from setpoint.penalty.problem import Tradeoff
    from setpoint.solvers import solvers_of

    first, second = evidence.codebook.labels
    try:
        Tradeoff(goal, _REPEATS, _REPEATS, (first, second))
    except GoalError:
        return ()
    return solvers_of("penalty")


def _ramps(goal: Goal, evidence: Evidence) -> tuple[str, ...]:
    """The solvers for rates on data sets, by the bounds and the objective."""
    from setpoint.program.functions import Affine
    from setpoint.ramp.problem import rows_of
    from setpoint.solvers import AugmentedLagrangian, solvers_of

    try:
        program = link(goal, evidence.codebook).at(evidence.marginals)
        rows_of(program, 1.0)
    except GoalError:
        return ()
    sums = isinstance(program.objective, Affine)
    return solvers_of("ramp") if sums else (AugmentedLagrangian.name,)


def _labels(goal: Goal) -> list[Label]:
    """The classes that the goal names."""
    found: dict[Label, None] = {}
    for metric in (m for side in goal.sides for m in walk(side) if isinstance(m, Metric)):
        if metric.label is not None:
            found[metric.label] = None
        params: dict[str, Any] = dict(metric.params)
        for name in ("default", "true", "predicted"):
            if name in params:
                found[params[name]] = None
        entries = (*params.get("costs", ()), *params.get("values", ()))
        pairs = [label for pair, _ in entries for label in pair if label != DEFER]
        pairs += [label for label, _ in params.get("priors", ())]
        found |= dict.fromkeys(pairs)
    return list(found)


def _evidence(goal: Goal, n_classes: int, named: list[Label]) -> Evidence:
    """Rows of every group, class and deployed class, with scores that tell something."""
    import numpy as np

    from setpoint.evidence import Evidence
    from setpoint.evidence.codebook import DEFERRED

    made = (f"class {i}" for i in range(1, n_classes + 1))
    classes = [*named, *(c for c in made if c not in named)][:n_classes]
    rng = np.random.default_rng(0)
    needs = goal.needs
    of_rows = needs.columns.get(None, {})
    decide_on = [c for c in of_rows if all(c in known for known in needs.columns.values())]
    parts = []
    for dataset in (None, *needs.datasets):
        splits = needs.columns.get(dataset, {})
        levels = {
            name: ["a", "b"] if split is None else [*sorted(split, key=str), "(other)"]
            for name, split in splits.items()
        }
        size = prod(map(len, levels.values()))
        n_rows = min(_REPEATS * size, _MOST_ROWS)
        row = np.arange(n_rows)
        true = row // size % n_classes
        columns, rest = {}, row % size
        for name, values in levels.items():
            columns[name] = np.array(values, dtype=object)[rest % len(values)]
            rest = rest // len(values)
        for name in needs.measures.get(dataset, {}):
            columns[name] = rng.exponential(size=n_rows)
        scores = rng.dirichlet(np.ones(n_classes), n_rows) + np.eye(n_classes)[true]
        scores /= scores.sum(axis=1, keepdims=True)
        parts.append(
            Evidence.from_arrays(
                [*classes, DEFERRED] if goal.defers else classes,
                scores[:, 1].copy() if n_classes == 2 else scores,
                true,
                needs=needs,
                dataset=dataset,
                columns=columns,
                baseline=row // (size * n_classes) % n_classes,
                decide_on=decide_on,
            )
        )
    return Evidence.concat(parts)
