"""Today's answers against the stored ones."""

import copy

import pytest

from golden.compare import differences, lines
from golden.problems import N_CASES
from golden.store import compared, stored

BLOCKS = {f"block {b}": [d + 10 * ((8 * b + 7 * d) % 50) for d in range(10)] for b in range(6)}
"""Sixty cases, in each block one of every kind."""


@pytest.fixture(scope="module")
def records():
    return stored()


def check(numbers, records):
    differing = []
    for number in numbers:
        if found := compared(number, records[number]):
            differing += [f"case {number}: {records[number]['goal']}", *lines(found[:5])]
    assert not differing, "\n" + "\n".join(differing)


@pytest.mark.parametrize("block", BLOCKS)
def test_some(block, records):
    check(BLOCKS[block], records)


@pytest.mark.long
@pytest.mark.parametrize("start", range(0, N_CASES, 50))
def test_all(start, records):
    check(range(start, start + 50), records)


def test_the_file_holds_every_case(records):
    assert list(records) == list(range(N_CASES))
    ends = [r["solve"]["report"]["status"] for r in records.values() if "report" in r["solve"]]
    assert {"optimal", "feasible", "stationary", "nearest", "evaluated"} == set(ends)
    assert len(ends) > 0.75 * N_CASES
    assert sum("unsteady" in r for r in records.values()) < 0.06 * N_CASES
    assert sum("probabilities" in r["solve"] for r in records.values()) > 50
    assert sum("report" in r.get("evaluate", {}) for r in records.values()) > 140


def test_a_difference_is_found(records, monkeypatch):
    """Beyond rounding or, exactly, to the bit; of unsteady cases only in the outcome."""
    number = next(n for n, r in records.items() if "report" in r["solve"])
    now = {k: v for k, v in records[number].items() if k != "unsteady"}
    monkeypatch.setattr("golden.store.record", lambda number: now)
    for change, exact, unsteady, n in (
        (1e-15, False, False, 0),
        (1e-15, True, False, 1),
        (1e-6, False, False, 1),
        (1e-6, False, True, 0),
        (1e-6, True, True, 1),
    ):
        old = copy.deepcopy(now)
        if unsteady:
            old["unsteady"] = True
        old["solve"]["report"]["objective"]["value"] += change
        found = compared(number, old, exact=exact)
        assert [path for path, *_ in found] == ["solve.report.objective.value"] * n
    old["solve"]["report"]["status"] = "infeasible"
    assert len(compared(number, old)) == 1
    missing = {"a": [1, {"b": "x"}], "n": 1, "t": True}
    changed = {"a": [1, {"b": "y"}], "come": 2, "n": 1.0, "t": 1}
    assert [path for path, *_ in differences(missing, changed)] == ["a[1].b", "n", "t", "come"]
