"""What a metric and a goal mean before there are data: words, shapes, the solver it would get."""

from __future__ import annotations

import textwrap
import warnings
from contextlib import suppress
from itertools import islice, product
from typing import TYPE_CHECKING, Any

import numpy as np

from setpoint.errors import EmptyPopulationError, GoalError, ShapeError
from setpoint.goals import (
    DEFER,
    TABLE,
    Goal,
    Label,
    MetricEntry,
    constraint_in_words,
    example_of,
    formula_of,
    glossary,
    goal_in_words,
    maximize,
)  # fmt: skip
from setpoint.program import Affine, link, waits_for_class
from setpoint.solvers import SOLVERS, AugmentedLagrangian, PostShift, SearchLimits, solvers_of

if TYPE_CHECKING:
    from setpoint.counts import Evidence
    from setpoint.program import Program
    from setpoint.search import Found


# --- Rows made up for a goal, so that its shapes and its solver are found out ---------------------


_REPEATS, _MOST_ROWS = 48, 5_000
_CALLS, _SECONDS = 30, 2.0


def solved(goal: Goal, n_classes: int) -> dict[str, Any] | None:
    """Shapes of a goal and the solver it gets, for so many classes; groups have two values."""
    if len(_labels(goal)) > n_classes or (n_classes > 2 and waits_for_class(goal)):
        return None
    evidence = _evidence(goal, n_classes)
    try:
        program = _program(goal, evidence)
    except GoalError as error:
        if isinstance(error, EmptyPopulationError) or "on these data" in str(error):
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


def _found(goal: Goal, evidence: Evidence, program: Program) -> Found:
    """What the solver finds that the goal gets: no report, which would load much more."""
    if evidence.n_scores is None:
        from setpoint.search import solve_exact

        return solve_exact(program, evidence, randomized="auto", on_infeasible="nearest")
    from setpoint.plugin import Options, search_rule

    limits = SearchLimits(calls=_CALLS, seconds=_SECONDS)
    options = Options(evidence="soft", on_infeasible="nearest", limits=limits)
    return search_rule(goal, evidence, options)


def _program(goal: Goal, evidence: Evidence) -> Program:
    """The goal over rows made up."""
    return link(goal, evidence.codebook).at(evidence.marginals)


def trained(goal: Goal) -> dict[str, str]:
    """The solvers that train a model for a goal, and what each does."""
    from setpoint.penalty import Tradeoff
    from setpoint.ramp import rows_of

    if len(_labels(goal)) > 2 or goal.needs.measures or goal.defers:
        return {}
    found: list[str] = []
    if not goal.is_blackbox:
        evidence = _evidence(goal, 2)
        first, second = evidence.codebook.labels
        with suppress(GoalError):  # if it is one over the rows as a whole
            Tradeoff(goal, _REPEATS, _REPEATS, (first, second))
            found += solvers_of("penalty")
        with suppress(GoalError):  # by the bounds and the objective
            program = _program(goal, evidence)
            rows_of(program, 1.0)
            sums = isinstance(program.objective, Affine)
            found += solvers_of("ramp") if sums else (AugmentedLagrangian.name,)
    if not goal.needs.datasets:
        found += solvers_of("surrogates")
    return {name: SOLVERS[name].does for name in found}


def _labels(goal: Goal) -> list[Label]:
    """The classes that the goal names."""
    found: list[Any] = []
    for metric in goal.metrics:
        params: dict[str, Any] = dict(metric.params)
        found += [metric.label, *(params.get(name) for name in ("default", "true", "predicted"))]
        for pair, _ in (*params.get("costs", ()), *params.get("values", ())):
            found += pair
        found += [label for label, _ in params.get("priors", ())]
    return [label for label in dict.fromkeys(found) if label is not None and label != DEFER]


def _evidence(goal: Goal, n_classes: int) -> Evidence:
    """Rows of every group, class and deployed class, with scores that tell something."""
    from setpoint.counts import DEFERRED, Evidence

    made = (f"class {i}" for i in range(1, n_classes + 1))
    classes = list(dict.fromkeys([*_labels(goal), *made]))[:n_classes]
    rng, needs = np.random.default_rng(0), goal.needs
    of_rows = needs.columns.get(None, {})
    decide_on = [c for c in of_rows if all(c in known for known in needs.columns.values())]
    parts = []
    for dataset in (None, *needs.datasets):
        levels = {
            name: ["a", "b"] if split is None else [*sorted(split, key=str), "(other)"]
            for name, split in needs.columns.get(dataset, {}).items()
        }
        cells = list(islice(product(*levels.values()), _MOST_ROWS))
        row = np.arange(min(_REPEATS * len(cells), _MOST_ROWS))
        true, of_cells = row // len(cells) % n_classes, row % len(cells)
        columns: dict[str, Any] = {
            name: np.array([cell[i] for cell in cells], dtype=object)[of_cells]
            for i, name in enumerate(levels)
        }
        columns |= {
            name: rng.exponential(size=row.size) for name in needs.measures.get(dataset, {})
        }
        scores = rng.dirichlet(np.ones(n_classes), row.size) + np.eye(n_classes)[true]
        scores /= scores.sum(axis=1, keepdims=True)
        parts.append(
            Evidence.from_arrays(
                [*classes, DEFERRED] if goal.defers else classes,
                scores[:, 1].copy() if n_classes == 2 else scores,
                true,
                needs=needs,
                dataset=dataset,
                columns=columns,
                baseline=row // (len(cells) * n_classes) % n_classes,
                decide_on=decide_on,
            )
        )
    return Evidence.concat(parts)


# --- The vocabulary in words: what a metric counts, its formula, an example -----------------------


def shape_of(entry: MetricEntry) -> str:
    """The shape of a metric over two classes with a deployed model, as the program finds it."""
    goal = maximize(example_of(entry))
    return _program(goal, _evidence(goal, 2)).objective.shape_name


TITLES = {
    "rate": "Rates",
    "formula": "Formulas over rates",
    "with parameters": "Metrics with parameters",
}


def metric_facts(entry: MetricEntry) -> dict[str, Any]:
    """A metric for JSON."""
    return {
        "kind": entry.kind,
        "words": entry.words,
        "formula": formula_of(entry),
        "example": str(example_of(entry)),
        "parameters": list(entry.params),
        "of_one_class": entry.of_class,
        "better": entry.better,
        "low": entry.low,
        "high": entry.high,
        "shape": shape_of(entry),
    }


def metric_text(entry: MetricEntry) -> str:
    """What a metric is."""
    lines = [
        f"{entry.name}: {entry.words}",
        f"  formula  {formula_of(entry)}",
        f"  range    {entry.range}" + (f", {entry.better} is better" if entry.better else ""),
        f"  shape    {shape_of(entry)}, over two classes",
    ]
    if entry.params:
        lines.append(f"  takes    {', '.join(entry.params)}")
    if entry.of_class:
        lines.append("  k is the positive class of two, or the one that label= names")
    return "\n".join(lines)


def vocabulary_text() -> str:
    """The list of metrics."""
    out = []
    wide = max(map(len, TABLE))
    first, more = " " * (wide + 5), " " * (wide + 7)
    folded = textwrap.TextWrapper(96, initial_indent=first, subsequent_indent=more)
    for kind, title in TITLES.items():
        out.append(title)
        for entry in TABLE.values():
            if entry.kind != kind:
                continue
            arrow = {"higher": "↑", "lower": "↓", None: " "}[entry.better]
            odd = (entry.low, entry.high) != (0.0, 1.0)
            words = f"{entry.words} ({entry.range})" if odd else entry.words
            out.append(f"  {entry.name:<{wide}} {arrow} {words}")
            out += folded.wrap(formula_of(entry))
        out.append("")
    out += [
        "↑ higher is better, ↓ lower is better. k is the positive class of two, or the one that",
        "label= names. Any metric can be measured on part of the rows, .on(country='IN'), and by",
        "group, .difference(sex); where a rule may defer, on the rows that it decides,",
        "accuracy.decided. Rows count by a column of numbers in recall.weighted(amount) and in",
        "profit(tp=amount - 5, fp=-5); at_most(200, per=10_000) is predicted_rate <= 0.02.",
        "Other names, such as tpr, are understood: setpoint goal tpr",
        "A metric of your own is a Python function: setpoint train --metric shop:revenue",
    ]
    return "\n".join(out)


# --- A goal in words ------------------------------------------------------------------------------


_NO_FORMULA = "no formula"


def goal_facts(goal: Goal) -> dict[str, Any]:
    """What a goal says, what it needs, and what would solve it, as plain values."""
    needs = goal.needs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of made-up rows
        by = f"{PostShift.name}, {SOLVERS[PostShift.name].does}"
        measured = {"objective": _NO_FORMULA, "constraints": [], "solver": by}
        two = measured if goal.is_blackbox else solved(goal, 2)
        more = None if goal.is_blackbox else solved(goal, 3)
    shapes = two or more or {"constraints": [None] * len(goal.constraints)}
    constraints = [
        {"text": str(c), "words": constraint_in_words(c), "shape": shape}
        for c, shape in zip(goal.constraints, shapes["constraints"], strict=True)
    ]
    return {
        "goal": str(goal),
        "words": goal_in_words(goal),
        "objective": {
            "text": str(goal.objective),
            "sense": goal.sense,
            "shape": shapes.get("objective"),
        },
        "constraints": constraints,
        "glossary": dict(glossary(goal)),
        "needs": {
            **{
                what: {name or "": sorted(columns) for name, columns in each.items() if columns}
                for what, each in (("columns", needs.columns), ("numbers", needs.measures))
            },
            "datasets": list(needs.datasets),
            "deployed": bool(needs.baseline),
        },
        "solver": {
            "two classes": None if two is None else two["solver"],
            "more classes": None if more is None else more["solver"],
        },
        "trained": trained(goal),
    }


def goal_text(found: dict[str, Any]) -> str:
    """The same in words."""
    lines = [f"{found['words']}.", "", f"Goal       {found['goal']}"]
    lines.append(f"Objective  {found['objective']['text']}: {_shape(found['objective'])}")
    lines += [f"Constraint {c['text']}: {c['words']}; {_shape(c)}" for c in found["constraints"]]
    if found["glossary"]:
        lines += ["", "Words"]
        lines += [f"  {name}: {words}" for name, words in found["glossary"].items()]
    needs = []
    for kind, what, of in (
        ("columns", "the column", "in"), ("numbers", "numbers in the column", "of")
    ):  # fmt: skip
        for name, columns in found["needs"][kind].items():
            line = f"{what}{'s' if len(columns) > 1 else ''} {', '.join(columns)}"
            needs.append(f"{line} {of} the data set {name}" if name else line)
    if found["objective"]["shape"] == _NO_FORMULA:
        needs.append("the function: --metric, and the columns that its parameters name")
    needs += [f"the data set {name}: --dataset {name}=FILE" for name in found["needs"]["datasets"]]
    if found["needs"]["deployed"]:
        needs.append("what the deployed model says: --baseline COL")
    needs = needs or ["nothing beside the target"]
    lines += ["", "Needs", *(f"  {line}" for line in needs), "", "Solved"]
    for name, solver in found["solver"].items():
        why_not = "not for so many" if name == "more classes" else "it names more than two"
        lines.append(f"  {name}: {solver or why_not}")
    if found["trained"]:
        lines += ["", "A model can be trained for it"]
        lines += [f"  --solver {name}: {does}" for name, does in found["trained"].items()]
    return "\n".join(lines)


def _shape(part: dict[str, Any]) -> str:
    return "no shape without data" if part["shape"] is None else f"{part['shape']}"
