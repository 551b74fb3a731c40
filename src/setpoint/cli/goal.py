"""``setpoint goal``: what a goal means, before there are data."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import click

from setpoint.cli.errors import CommandError
from setpoint.cli.output import print_json

if TYPE_CHECKING:
    from setpoint.goals.goal import Goal

__all__ = ["goal"]

_NO_FORMULA = "no formula"


@click.command(
    epilog="\b\nFor example:\n"
    "  setpoint goal 'maximize recall subject to precision >= 0.9'\n"
    "  setpoint goal g_mean"
)
@click.argument("text", metavar="[TEXT|METRIC]", required=False)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def goal(text: str | None, as_json: bool) -> None:
    """Say what a goal means and how it would be solved, or list the metrics."""
    from setpoint.goals import as_goal
    from setpoint.goals.synonyms import SYNONYMS, why_unknown
    from setpoint.goals.table import TABLE, VOCABULARY

    name = "" if text is None else SYNONYMS.get(text.lower(), text.lower())
    if text is None or name in TABLE:
        from setpoint.cli.metrics import all_in_words, as_dict, one_in_words

        if as_json:
            entries = [TABLE[name]] if name else list(TABLE.values())
            print_json({"command": "goal", "metrics": {e.name: as_dict(e) for e in entries}})
        else:
            click.echo(one_in_words(TABLE[name]) if name else all_in_words())
        return
    if text.isidentifier() and name not in VOCABULARY:
        raise CommandError(f"there is no metric {text!r}: {why_unknown(text)}")
    found = _described(as_goal(text))
    if as_json:
        print_json({"command": "goal", **found})
    else:
        click.echo(_text(found))


def _described(goal: Goal) -> dict[str, Any]:
    from setpoint.cli.made_up import solved, trained
    from setpoint.goals.words import constraint_in_words, glossary, goal_in_words

    needs = goal.needs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of made-up rows
        two, more = (_measured(), None) if goal.is_blackbox else (solved(goal, 2), solved(goal, 3))
    shapes = two or more or {}
    constraints = [
        {"text": str(c), "words": constraint_in_words(c), "shape": shape}
        for c, shape in zip(
            goal.constraints,
            shapes.get("constraints", [None] * len(goal.constraints)),
            strict=True,
        )
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
            "columns": {
                name or "": sorted(columns) for name, columns in needs.columns.items() if columns
            },
            "numbers": {
                name or "": sorted(columns) for name, columns in needs.measures.items() if columns
            },
            "datasets": list(needs.datasets),
            "deployed": None in needs.baseline or bool(needs.baseline),
        },
        "solver": {
            "two classes": None if two is None else two["solver"],
            "more classes": None if more is None else more["solver"],
        },
        "trained": trained(goal),
    }


def _measured() -> dict[str, Any]:
    """What stands for the shapes and the solver of a metric without a formula."""
    from setpoint.solvers import SOLVERS, PostShift

    found = f"{PostShift.name}, {SOLVERS[PostShift.name].does}"
    return {"objective": _NO_FORMULA, "constraints": [], "solver": found}


def _text(found: dict[str, Any]) -> str:
    lines = [click.style(found["words"] + ".", bold=True), "", f"Goal       {found['goal']}"]
    lines.append(f"Objective  {found['objective']['text']}: {_shape(found['objective'])}")
    lines += [f"Constraint {c['text']}: {c['words']}; {_shape(c)}" for c in found["constraints"]]
    if found["glossary"]:
        lines += ["", "Words"]
        lines += [f"  {name}: {words}" for name, words in found["glossary"].items()]
    lines += ["", "Needs"]
    needs = [
        f"the column{'s' if len(columns) > 1 else ''} {', '.join(columns)}"
        + (f" in the data set {name}" if name else "")
        for name, columns in found["needs"]["columns"].items()
    ]
    needs += [
        f"numbers in the column{'s' if len(columns) > 1 else ''} {', '.join(columns)}"
        + (f" of the data set {name}" if name else "")
        for name, columns in found["needs"]["numbers"].items()
    ]
    if found["objective"]["shape"] == _NO_FORMULA:
        needs.append("the function: --metric, and the columns that its parameters name")
    needs += [f"the data set {name}: --dataset {name}=FILE" for name in found["needs"]["datasets"]]
    if found["needs"]["deployed"]:
        needs.append("what the deployed model says: --baseline COL")
    lines += [f"  {line}" for line in needs or ["nothing beside the target"]]
    lines += ["", "Solved"]
    for name, solver in found["solver"].items():
        why_not = "not for so many" if name == "more classes" else "it names more than two"
        lines.append(f"  {name}: {solver or why_not}")
    if found["trained"]:
        lines += ["", "A model can be trained for it"]
        lines += [f"  --solver {name}: {does}" for name, does in found["trained"].items()]
    return "\n".join(lines)


def _shape(part: dict[str, Any]) -> str:
    return "no shape without data" if part["shape"] is None else f"{part['shape']}"
