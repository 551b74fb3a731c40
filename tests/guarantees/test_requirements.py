"""A constraint holds exactly where its statements do, whatever the rates."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setpoint import Goal
from setpoint.counts import Codebook, Confusion, Stratum
from setpoint.guarantees import Requirement, Several, requirements_of
from setpoint.guarantees import requirements as kinks
from setpoint.guarantees.requirements import leaves, needs_one_of_several
from setpoint.program import link

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


@pytest.mark.parametrize("text", CONSTRAINTS)
@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_a_constraint_holds_where_its_statements_do(text, seed):
    rng = np.random.default_rng(seed)
    counts = np.zeros((3, 4, 3))
    counts[:, :3] = rng.integers(1, 30, (3, 3, 3))
    program, v = program_of(text, counts)
    [constraint] = program.constraints
    part = requirements_of(constraint)
    assert holds(part, v) == (float(constraint.violation(v)) <= 1e-12)


def test_no_kink_is_left_inside_a_statement():
    counts = np.ones((3, 4, 3))
    counts[:, 3] = 0.0
    for text in CONSTRAINTS:
        program, _ = program_of(text, counts)
        assert not any(
            x.function.has_kinks for x in leaves(requirements_of(program.constraints[0]))
        )


def test_one_of_several_inside_all_of_several():
    counts = np.ones((3, 4, 3))
    counts[:, 3] = 0.0
    program, _ = program_of("recall.min() - accuracy.min(sex) >= -0.3", counts)
    part = requirements_of(program.constraints[0])
    assert isinstance(part, Several)
    assert part.every
    assert [inner.every for inner in part.parts] == [False] * 3
    assert len(list(leaves(part))) == 9
    assert needs_one_of_several(part)
    program, _ = program_of("recall.min() - accuracy.max(sex) >= -0.3", counts)
    assert not needs_one_of_several(requirements_of(program.constraints[0]))


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_where_no_side_is_the_good_one_every_arm_is_asked_for(seed):
    rng = np.random.default_rng(seed)
    counts = np.zeros((3, 4, 3))
    counts[:, :3] = rng.integers(1, 30, (3, 3, 3))
    program, v = program_of("recall.max() * (recall(label='a') - accuracy) >= -0.05", counts)
    [constraint] = program.constraints
    part = requirements_of(constraint)
    assert isinstance(part, Several)
    assert part.every
    assert len(part.parts) == 3
    if holds(part, v):
        assert float(constraint.violation(v)) <= 1e-12


def test_too_many_statements_are_left_together_where_that_is_safe(monkeypatch):
    monkeypatch.setattr(kinks, "MOST", 8)
    counts = np.ones((3, 4, 3))
    counts[:, 3] = 0.0
    # A floor falls where a smallest value is drawn too small; under a largest one it does not.
    program, _ = program_of("recall.min() + precision.min() >= 0.1", counts)
    assert isinstance(requirements_of(program.constraints[0]), Requirement)
    program, _ = program_of("recall.max() + precision.max() >= 0.1", counts)
    assert len(list(leaves(requirements_of(program.constraints[0])))) == 9


def test_pairs_are_ordered_and_the_largest_is_one_of_several():
    counts = np.ones((3, 4, 3))
    counts[:, 3] = 0.0
    program, _ = program_of("recall.difference() <= 0.3", counts)
    part = requirements_of(program.constraints[0])
    assert isinstance(part, Several)
    assert part.every
    assert len(part.parts) == 6
    program, _ = program_of("recall.max() >= 0.3", counts)
    part = requirements_of(program.constraints[0])
    assert isinstance(part, Several)
    assert not part.every
    assert len(list(leaves(part))) == 3
