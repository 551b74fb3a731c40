"""The rule from counts of bins is that of the whole sort."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from golden.problems import case
from search.binary.tallies import counted_again, tally_of
from setpoint import Goal, InfeasibleError, StoppedWarning, solve
from setpoint.counts import ChangedTableError, Evidence
from setpoint.errors import ShapeError
from setpoint.program import link
from setpoint.search import solve_exact, solve_tallied
from thinning import over


class Asked(Exception):
    """What a solve asks of the exact solver."""


def asked(number, monkeypatch):
    """Program, evidence and arguments of the exact solver in one golden case."""
    given = case(number)

    def stop(program, evidence, **arguments):
        raise Asked(program, evidence, arguments)

    monkeypatch.setattr("setpoint.search.solve_exact", stop)
    try:
        solve(given.goal, given.rows.scores, given.rows.y, **given.arguments())
    except Asked as error:
        return error.args
    except Exception:  # noqa: BLE001 - the golden set has cases that are refused
        pytest.skip("the case is refused before it is solved")
    return pytest.skip("the case is not for the exact solver")


def caught(function, *arguments, **named):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*arguments, **named)[0]
        except (InfeasibleError, ShapeError) as error:
            return str(error)


@over("number", [n for n in range(500) if n % 10 < 5], every=12)
def test_as_by_the_whole_sort(number, monkeypatch):
    program, evidence, arguments = asked(number, monkeypatch)
    rng = np.random.default_rng(number)
    unit = 0.25 if evidence.is_weighted else 1.0
    tally = tally_of(evidence, int(rng.choice([8, 16, 64])), unit)
    again = counted_again(evidence, unit=unit)
    found = caught(
        solve_tallied, program.linked, tally, again,
        within=0.0, collected=int(rng.integers(1, 50)), **arguments,
    )  # fmt: skip
    true = caught(lambda: (solve_exact(program, evidence, **arguments),))
    if isinstance(true, str):
        assert isinstance(found, str)
        return
    if true.status != "optimal":  # several thresholds that nothing bounds but mixtures
        return
    best, value = program.score_at(true.values), program.score_at(found.values)
    if found.status != "optimal":  # several thresholds are searched to a limit
        assert len(evidence.segments) > 1
        assert value <= best + 1e-9 <= value + found.certificate.gap + 2e-9
        return
    assert abs(value - best) <= 1e-9
    one_sweep = len(evidence.segments) == 1 and "sweep" in true.why and "sweep" in found.why
    if one_sweep and not evidence.is_weighted:
        assert found.rule == true.rule


def problem(seed, goal, scale=None):
    rng = np.random.default_rng(seed)
    true = (rng.random(400) < 0.3).astype(int)
    scores = rng.normal(size=400) + 1.5 * true
    evidence = Evidence.from_arrays((0, 1), scale(scores) if scale else scores, true)
    return link(Goal.parse(goal), evidence.codebook), evidence


GOALS = (
    "maximize f1",
    "maximize mcc",
    "maximize g_mean",
    "maximize h_mean",
    "maximize recall subject to precision >= 0.6",
    "maximize precision subject to recall >= 0.4",
    "minimize fn + 2 * fp",
    "maximize accuracy subject to 0.2 <= predicted_rate <= 0.3",
    "maximize macro_f1",
    "maximize min_recall",
)


@over("goal", GOALS)
def test_the_gap_after_one_pass_holds(goal):
    for seed in range(4):
        linked, evidence = problem(seed, goal)
        program = linked.at(evidence.marginals)
        best = program.score_at(solve_exact(program, evidence).values)
        try:
            found, step = solve_tallied(linked, tally_of(evidence, 24), None, within=np.inf)
        except InfeasibleError:  # none of the cut-offs between bins will do
            continue
        value = program.score_at(found.values)
        assert value <= best + 1e-12 <= value + found.certificate.gap + 2e-12
        assert step.gap == pytest.approx(found.certificate.gap, abs=1e-12)


SCORES = {
    "ties": np.round,
    "tiny": lambda s: 10.0 ** (50.0 * s - 250.0),
    "heavy": lambda s: np.sign(s) * np.exp(np.minimum(np.abs(3 * s) ** 3, 700.0)),
    "one": lambda s: np.full(len(s), 0.5),
    "sorted": np.sort,
    "single": lambda s: s.astype(np.float32).astype(float),
}
HOSTILE = [
    (goal, kind, 0)
    for goal in ("maximize f1", "maximize recall subject to precision >= 0.2")
    for kind in SCORES
]


@pytest.mark.filterwarnings("ignore::setpoint.ConstantGoalWarning")  # one score says nothing
@over(("goal", "kind", "seed"), [(g, None, k) for g in GOALS for k in range(6)] + HOSTILE, every=3)
def test_one_threshold_is_the_same_to_the_bit(goal, kind, seed):
    linked, evidence = problem(seed, goal, SCORES.get(kind))
    true = solve_exact(linked.at(evidence.marginals), evidence)
    nothing = np.linspace(0.0, 1.0, 50)  # a sample that represents nothing
    for sample, bins, collected in ((None, 16, 5), (nothing, 32, 3), (nothing, 32, 50)):
        tally, again = tally_of(evidence, bins, sample=sample), counted_again(evidence)
        found, step = solve_tallied(linked, tally, again, within=0.0, collected=collected)
        assert (found.rule, found.certificate.gap, found.status) == (true.rule, 0.0, "optimal")
        assert step.bins == 0
        assert np.array_equal(found.confusion.counts, true.confusion.counts)


def test_a_pass_that_lies_is_caught():
    linked, evidence = problem(1, "maximize f1")
    honest = counted_again(evidence)

    def drops_a_row(tally, ranges, by_score):
        lines = honest(tally, ranges, by_score)
        return lines.take(np.arange(len(lines.low)) != len(lines.low) // 2)

    def swaps_two(tally, ranges, by_score):
        lines = honest(tally, ranges, by_score)
        lines.codes[1] = 1 - lines.codes[1]
        return lines

    for lie in (drops_a_row, swaps_two):
        with pytest.raises(ChangedTableError, match="changed between two passes"):
            solve_tallied(linked, tally_of(evidence, 16), lie, within=0.0)


def test_ctrl_c_keeps_the_rule_of_the_passes_before():
    linked, evidence = problem(2, "maximize f1")

    def interrupted(tally, ranges, by_score):
        raise KeyboardInterrupt

    with pytest.warns(StoppedWarning, match="interrupted"):
        found, step = solve_tallied(linked, tally_of(evidence, 16), interrupted, within=0.0)
    assert found.certificate.gap > 0.0
    assert found.status == "feasible"
    assert step.rows > 0
