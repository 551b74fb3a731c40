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
    found = Confusion.of_units(Codebook.of(CLASSES, GROUPS), counts)
    linked = link(Goal.parse(f"maximize accuracy s.t. {constraint}"), found.codebook)
    program = linked.at(found.marginals, fixed=False)
    return program, program.table.of(counts)


def holds(part, v):
    if isinstance(part, Requirement):
        return bool(part.slack(v) >= -1e-12)
    found = [holds(inner, v) for inner in part.parts]
    return all(found) if part.every else any(found)


def drawn(seed):
    rng = np.random.default_rng(seed)
    counts = np.zeros((3, 4, 3))
    counts[:, :3] = rng.integers(1, 30, (3, 3, 3))
    return counts


def part_of(text):
    program, _ = program_of(text, drawn(0))
    return requirements_of(program.constraints[0])


@over("text", CONSTRAINTS)
def test_a_constraint_holds_where_its_statements_do(text):
    assert not any(x.function.has_kinks for x in leaves(part_of(text)))
    for seed in range(20):
        program, v = program_of(text, drawn(seed))
        [constraint] = program.constraints
        met = float(constraint.violation(v)) <= 1e-12
        assert holds(requirements_of(constraint), v) == met


def test_where_no_side_is_the_good_one_every_arm_is_asked_for():
    for seed in range(40):
        text = "recall.max() * (recall(label='a') - accuracy) >= -0.05"
        program, v = program_of(text, drawn(seed))
        [constraint] = program.constraints
        part = requirements_of(constraint)
        assert isinstance(part, Several)
        assert (part.every, len(part.parts)) == (True, 3)
        assert not holds(part, v) or float(constraint.violation(v)) <= 1e-12


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
