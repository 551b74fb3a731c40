"""A constraint holds exactly where its statements do, whatever the rates."""

import numpy as np

from setpoint import Goal
from setpoint.counts import Codebook, Confusion, Stratum
from setpoint.guarantees import Requirement, Several, requirements_of
from setpoint.guarantees.requirements import leaves, needs_one_of_several
from setpoint.program import link
from thinning import over

CLASSES = ("a", "b", "c")
GROUPS = tuple(Stratum(None, (("sex", s),)) for s in ("f", "m", "x"))

CONSTRAINTS = [
    "recall.min() >= 0.4",
    "recall.max() <= 0.7",
    "recall.max() >= 0.7",
    "recall.min() <= 0.3",
    "recall.difference() <= 0.3",
    "recall.difference() >= 0.3",
    "recall.ratio() >= 0.5",
    "recall.ratio() <= 0.5",
    "accuracy.difference(sex) <= 0.1",
    "accuracy.deviation(sex) <= 0.1",
    "abs(accuracy - recall.mean()) <= 0.1",
    "abs(recall.mean() - 0.5) >= 0.0001",
    "1 - accuracy.ratio(sex) <= 0.3",
    "maximum(accuracy, 0.2) >= 0.3",
    "macro_f1 >= 0.4",
    "precision.min() >= 0.3",
    "recall.max() - accuracy >= 0.05",
    "recall.max() - accuracy <= 0.2",
    "recall(label='a').min(sex) - accuracy.max(sex) >= -0.2",
    "recall.difference() + accuracy >= 0.6",
    "recall.difference() + accuracy <= 0.6",
    "recall.ratio() + accuracy >= 1.0",
    "sqrt(recall.max()) - accuracy >= 0.4",
    "recall.min() * precision.max() >= 0.2",
    "abs(recall(label='a') - recall(label='b')) + abs(accuracy - 0.3) <= 0.4",
]


def program_of(constraint, counts):
    groups, _, classes = counts.shape
    found = Confusion.of_units(Codebook.of(CLASSES[:classes], GROUPS[:groups]), counts)
    linked = link(Goal.parse(f"maximize accuracy s.t. {constraint}"), found.codebook)
    program = linked.at(found.marginals, fixed=False)
    return program, program.table.of(counts)


def holds(part, v):
    if isinstance(part, Requirement):
        return bool(part.slack(v) >= -1e-12)
    found = [holds(inner, v) for inner in part.parts]
    return all(found) if part.every else any(found)


def met_and_shown(text, counts):
    """Whether the constraint holds there, and whether its statements do."""
    program, v = program_of(text, counts)
    [constraint] = program.constraints
    shown = holds(requirements_of(constraint), v)
    return float(constraint.violation(v)) <= 1e-12, shown


def drawn(rng, groups=3, classes=3):
    counts = np.zeros((groups, classes + 1, classes))
    counts[:, :classes] = rng.integers(1, 30, (groups, classes, classes))
    return counts


def part_of(text):
    program, _ = program_of(text, drawn(np.random.default_rng(0)))
    return requirements_of(program.constraints[0])


@over("text", CONSTRAINTS)
def test_a_constraint_holds_where_its_statements_do(text):
    assert not any(x.function.has_kinks for x in leaves(part_of(text)))
    for seed in range(20):
        met, shown = met_and_shown(text, drawn(np.random.default_rng(seed)))
        assert shown == met


KINKS = {
    "recall.max(sex) / (1 + accuracy.min(sex)) >= 0.4": True,
    "recall.max(sex) / (accuracy - 2) <= -0.3": True,
    "abs(recall.max(sex) - precision.min(sex)) <= 0.2": True,
    "abs(recall.max(sex) + 0.5) <= 0.9": True,
    "log(recall.min(sex) + 0.5) >= -0.2": True,
    # Across zero a factor turns round: then each arm has to meet the bound, which is safe.
    "recall.max(sex) / (accuracy.max(sex) - 0.5) >= 0.4": False,
    "(recall.max(sex) - 0.5) * (precision.min(sex) - 0.5) >= 0.01": False,
}


@over("text", KINKS)
def test_a_kink_inside_other_functions(text):
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(100):
        met, shown = met_and_shown(text, drawn(rng, groups=2, classes=2))
        assert met or not shown
        assert shown == met or not KINKS[text]
        seen.add(shown)
    assert seen == {True, False}


@over("text, every, parts, number", [
    ("recall.difference() <= 0.3", True, [None] * 6, 6),  # pairs are ordered
    ("recall.max() >= 0.3", False, [None] * 3, 3),
    ("recall.min() - accuracy.min(sex) >= -0.3", True, [False] * 3, 9),
])  # fmt: skip
def test_all_of_several_and_one_of_several(text, every, parts, number):
    part = part_of(text)
    assert isinstance(part, Several)
    assert part.every is every
    assert [getattr(inner, "every", None) for inner in part.parts] == parts
    assert len(list(leaves(part))) == number
    assert needs_one_of_several(part) is (False in parts or not every)
    assert not needs_one_of_several(part_of("recall.min() - accuracy.max(sex) >= -0.3"))


def test_too_many_statements_are_left_together_where_that_is_safe(monkeypatch):
    monkeypatch.setattr("setpoint.guarantees.requirements.MOST", 8)
    # A floor falls where a smallest value is drawn too small; under a largest one it does not.
    assert isinstance(part_of("recall.min() + precision.min() >= 0.1"), Requirement)
    assert len(list(leaves(part_of("recall.max() + precision.max() >= 0.1")))) == 9
