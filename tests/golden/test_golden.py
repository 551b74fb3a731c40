"""Today's answers against the stored ones, and the comparison against made-up differences."""

import copy

import pytest

from golden.cases import KINDS, N_CASES, case
from golden.compare import differences, lines, renamed
from golden.store import compared, stored

BLOCKS = {
    f"block {b}": [d + 10 * ((8 * b + 7 * d) % 50) for d in range(len(KINDS))] for b in range(6)
}
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


def test_a_case_is_drawn_alike_and_apart():
    assert case(7).digest() == case(7).digest()
    assert len({case(7, 0).digest(), case(7, 1).digest(), case(17).digest()}) == 3


@pytest.mark.parametrize("change", [1e-15, 1e-6])
def test_floats_are_compared_to_the_bit_or_nearly(records, change):
    old = records[0]
    new = copy.deepcopy(old)
    new["solve"]["report"]["objective"]["value"] += change
    exact = differences(old, new, exact=True)
    assert [path for path, *_ in exact] == ["solve.report.objective.value"]
    assert differences(old, new) == (exact if change > 1e-9 else [])


def test_differences_name_their_place():
    old = {"a": [1, {"b": "one two"}], "gone": None, "n": 1, "t": True}
    new = {"a": [1, {"b": "one too"}], "come": 2, "n": 1.0, "t": 1}
    found = {path: (a, b) for path, a, b in differences(old, new)}
    assert found == {
        "a[1].b": ("one two", "one too"),
        "gone": (None, "(absent)"),
        "n": (1, 1.0),
        "t": (True, 1),
        "come": ("(absent)", 2),
    }
    assert differences(old, new, ignored=("a", "gone", "come", "n", "t")) == []
    assert differences([1, 2], [1, 2, 3]) == [("", [1, 2], [1, 2, 3])]


def test_of_unsteady_cases_only_the_outcome_counts(records, monkeypatch):
    number = next(n for n, r in records.items() if "report" in r["solve"])
    now = {k: v for k, v in records[number].items() if k != "unsteady"}
    old = copy.deepcopy(now)
    old["solve"]["report"]["objective"]["value"] += 0.1
    monkeypatch.setattr("golden.store.record", lambda number, sub: now)
    assert len(compared(number, old)) == 1
    assert compared(number, {**old, "unsteady": True}) == []
    assert len(compared(number, {**old, "unsteady": True}, exact=True)) == 1
    old["solve"]["report"]["status"] = "infeasible"
    assert len(compared(number, {**old, "unsteady": True})) == 1


def test_digests_count_only_to_the_bit():
    old = {"length": 50, "first": 0.1, "last": 0.5, "digest": "one"}
    new = {**old, "first": 0.1 + 1e-16, "digest": "two"}
    assert differences(old, new) == []
    assert [path for path, *_ in differences(old, new, exact=True)] == ["first", "digest"]


def test_names_that_changed_on_purpose():
    old = {"segment": "per_segment by segment", "segments": ["segment", 1]}
    new = {"segment": "per_segment by segment", "segments": ["segment", 1]}
    assert differences(renamed(old, {"segment": "segment"}), new) == []
