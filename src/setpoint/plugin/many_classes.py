"""From a table elsewhere to a rule: many classes, posteriors, by passes over all rows.

Rules are found on samples first and counted together in one pass; the search then goes on over
all rows, each of its questions one more pass. Bound and gap are those of the whole table.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from setpoint.caller import warn_caller, without_races
from setpoint.deciding.decide import of_seen
from setpoint.errors import InputError
from setpoint.evidence import Evidence
from setpoint.evidence.blocks import Blocks
from setpoint.evidence.streamed import StreamedEvidence
from setpoint.goals.errors import GoalError
from setpoint.goals.goal import Goal
from setpoint.inputs.frames import FrameRows
from setpoint.inputs.inputs import DecideOn
from setpoint.inputs.posterior_rows import PosteriorRows
from setpoint.plugin.atoms import Atom, DiagonalPricer, Pricer, Tensor
from setpoint.plugin.choose_evidence import MissedBoundsWarning
from setpoint.plugin.parameters import Options
from setpoint.plugin.problem import Achievable
from setpoint.plugin.scaled import Pass
from setpoint.plugin.searching import limited, search_space
from setpoint.plugin.streamed import StreamedAchievable
from setpoint.program.link import link
from setpoint.program.program import LinkedGoal
from setpoint.report import GoalReport, report_on_outcome
from setpoint.report.facts import Search
from setpoint.report.reporting import warn_few_rows
from setpoint.report.section import TextSection
from setpoint.rules import Rule
from setpoint.search.limits import INTERRUPTED, Limits, StoppedError, TracePoint, now
from setpoint.search.master import InfeasibleMasterError
from setpoint.search.mixtures import UnfinishedError, best_mixture
from setpoint.search.outcome import Outcome
from setpoint.tolerances import SATISFIED

__all__ = ["solve_many_classes"]

_SAMPLES, _ROWS, _NUMBERS = 4, 100_000, 10_000_000
"""How many, their rows, and their posteriors at most."""
_ASKED = 3
"""The last rules of a sample's search are kept beside those that its mixture uses."""
_CALLS = 200
_SHARE = 0.5
"""Of the seconds that there are, for all samples."""
_SOLVERS = ("auto", "column-generation")


@dataclass
class _Found:
    """What samples led to: rules, and how they are best counted."""

    atoms: list[Atom] = field(default_factory=list)
    pricer: Pricer | None = None
    blocks: Blocks | None = None
    samples: int = 0
    rows: int = 0


@dataclass
class _Watch:
    """Passes and what was known after each."""

    rows: int
    limits: Limits
    call: Callable[[Pass], None] | None
    n: int = 0
    said: int = 0
    gap: float = float("inf")

    def passed(self, n: int) -> None:
        """All rows were read; what that led to is known later, but for the first time."""
        if self.said < n - 1 or n == 1:
            self.say(max(n - 1, 1))
        self.n = n

    def known(self, now: TracePoint) -> None:
        """What the search knows."""
        self.gap = abs(now.bound - now.objective)
        if self.said < self.n:
            self.say(self.n)

    def say(self, n: int) -> None:
        """What is known after a pass."""
        self.said = n
        if self.call is not None:
            self.call(Pass(n, self.rows, self.gap, 0))


def solve_many_classes(
    goal: Goal,
    own: FrameRows,
    options: Options,
    *,
    within: float | None,
    classes: Any = None,
    pos_label: Any = None,
    decide_on: DecideOn = "auto",
    watch: Callable[[Pass], None] | None = None,
) -> tuple[Rule, GoalReport]:
    """The rule over posteriors that reaches a goal on a table elsewhere, and its report.

    Parameters
    ----------
    goal : Goal
    own : FrameRows
        With its columns of posteriors.
    options : Options
        Calls are passes over all rows.
    within : float or None
        The certified gap at which passes end; None: the `tol` of the options.
    classes, pos_label, decide_on
        As :func:`setpoint.solve` takes them.
    watch : callable, optional
        Called after each pass.

    Raises
    ------
    InfeasibleError, StoppedError, GoalError, ValueError, TypeError
        As :func:`setpoint.solve` raises them.
    ChangedTableError
        If passes do not agree.
    """
    options = replace(options, started=now())
    if within is not None:
        options = replace(options, limits=replace(options.limits, tol=within))
    _check(goal, options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rows = PosteriorRows.first_pass(
            goal, own, classes=classes, pos_label=pos_label, decide_on=decide_on
        )
        linked = link(goal, rows.codebook)
        if rows.codebook.hides_strata:
            raise GoalError(
                f"`decide_on`: with several columns of posteriors the rule has to see every group "
                f"that the goal names, and some are hidden from it ({rows.codebook.decide_on} is "
                "what it sees); leave `decide_on='auto'`, or solve a sample in memory"
            )
        linked.at(rows.labelled.marginals)  # posteriors would fill in for a class without rows
        limits = limited(options)
        seen = _Watch(rows.n_rows, limits, watch)
        limits.report = seen.known
        streamed = StreamedEvidence(rows.labelled, rows.codebook, rows.batches, watch=seen.passed)
        found = _on_samples(linked, rows, limits, 0.25 * options.tol)
        outcome = _on_all(linked, streamed, found, limits, options)
        outcome = replace(
            outcome,
            rule=of_seen(outcome.rule, streamed),
            why="; ".join(x for x in (outcome.why, _why(options)) if x),
        )
        seen.say(streamed.passes)
        _warn_missed(linked, outcome)
    assert options.started is not None
    meant = without_races(caught)
    report = report_on_outcome(
        linked,
        outcome,
        streamed,
        Search("plugin", ""),
        notes=[*(str(w.message) for w in meant), *rows.notes],
        seconds=now() - options.started,
    )
    how = _how(rows, streamed, found, outcome)
    report = replace(report, sections=(*report.sections, how))
    for w in meant:
        warn_caller(w.message)
    warn_few_rows(report)
    return outcome.rule, report


def _check(goal: Goal, options: Options) -> None:
    """Refuse what is not counted by passes.

    Raises
    ------
    ValueError, GoalError
        It names the argument.
    """
    if options.solver not in _SOLVERS:
        raise InputError(
            f"`solver`: a table elsewhere with several columns of posteriors is solved by one of "
            f"{list(_SOLVERS)}, found {options.solver!r}"
        )
    if options.evidence == "label":
        raise InputError(
            "`evidence`: a table elsewhere with several columns of posteriors is solved by soft "
            "evidence, whose gap is certified, found 'label'; 'auto' and 'soft' are allowed, and "
            "a sample in memory takes 'label'"
        )
    if goal.needs.baseline:
        raise GoalError(
            "`baseline`: with several columns of posteriors decisions on a table elsewhere are not "
            "compared with a deployed model's yet; solve a sample in memory"
        )
    if goal.needs.datasets:
        raise GoalError(
            "`datasets`: with several columns of posteriors a goal on a table elsewhere is of "
            f"that table alone, and it refers to {list(goal.needs.datasets)}"
        )


def _on_samples(linked: LinkedGoal, rows: PosteriorRows, limits: Limits, gap: float) -> _Found:
    """Rules that are best on samples, or nearly: what a search over all rows begins with."""
    found = _Found()
    size = min(_ROWS, max(_NUMBERS // len(rows.own.posteriors), 1))
    for sample in rows.samples(_SAMPLES, size):
        if limits.is_late or limits.stopped:
            break
        found.samples += 1
        found.rows += sample.n_rows
        _on_sample(linked, sample, limits, gap, found)
    return found


def _on_sample(
    linked: LinkedGoal, sample: Evidence, limits: Limits, gap: float, found: _Found
) -> None:
    soft = sample.with_posteriors()
    own = limits.rest()
    own.max_calls = _CALLS
    own.max_seconds = None if limits.max_seconds is None else _SHARE * limits.max_seconds
    with (
        # A sample may lack what all rows have; its rules are worth counting all the same.
        suppress(GoalError, InfeasibleMasterError, UnfinishedError, StoppedError),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        program = linked.at(soft.marginals)
        space = Achievable(program.table, sample, soft, limits=own)
        found.pricer, found.blocks = space.pricer, space.plan
        n, used = space.counted.n_classes, set[int]()
        try:
            mixed = best_mixture(space, program, gap)
            used = {k for part in mixed.choice for k, p in part.items() if p > 0.0}
        finally:
            last = range(max(n, len(space.atoms) - _ASKED), len(space.atoms))
            kept = sorted({k for k in used if k >= n} | set(last))
            found.atoms += [space.atoms[k] for k in kept]
    if own.stopped == INTERRUPTED:
        limits.stopped = INTERRUPTED


def _on_all(
    linked: LinkedGoal,
    streamed: StreamedEvidence,
    found: _Found,
    limits: Limits,
    options: Options,
) -> Outcome:
    """The search over all rows: one pass over what samples found, then one a question."""
    soft = streamed.with_posteriors()
    if found.pricer is not None and found.blocks is not None:
        fitting = [atom for atom in found.atoms if _fits(atom, found.pricer)]
        soft.foresee([found.pricer.response(atom) for atom in fitting], found.blocks)
    program = linked.at(soft.marginals)
    limits.calls = streamed.passes
    space = StreamedAchievable(program.table, streamed, soft, limits=limits)
    for atom in found.atoms:
        if _fits(atom, space.pricer):
            space.add(atom)
    return search_space(space, program, options)


def _fits(atom: Atom, pricer: Pricer) -> bool:
    """Whether a rule of one sample can be counted as those of another are."""
    return not (isinstance(atom, Tensor) and isinstance(pricer, DiagonalPricer))


def _warn_missed(linked: LinkedGoal, outcome: Outcome) -> None:
    if outcome.status == "nearest":
        return
    counted = outcome.confusion
    program = linked.at(counted.marginals)
    past = float(program.violation(program.rates_of(counted.counts)))
    if past > SATISFIED:
        warn_caller(
            f"'{linked.goal}': by labels the rule misses a constraint by {past:.3g}; "
            f"{StreamedAchievable.remedies}",
            MissedBoundsWarning,
        )


def _why(options: Options) -> str:
    if options.evidence == "soft":
        return ""
    return "soft evidence, by which a table elsewhere is counted"


def _how(
    rows: PosteriorRows, streamed: StreamedEvidence, found: _Found, outcome: Outcome
) -> TextSection:
    """Who counted, in how many passes, and what each was for."""
    n = streamed.passes
    lines = [
        f"{rows.own.source.engine} grouped {rows.n_rows:,} rows by their labels, and they were "
        f"read {n} {'time' if n == 1 else 'times'}: for {len(found.atoms)} rules that "
        f"{found.samples} {'sample' if found.samples == 1 else 'samples'} of {found.rows:,} rows "
        "in all had led to, for each question of the search, and for the rule by its labels."
    ]
    if outcome.gap is not None:
        lines.append("The gap is one over all rows, by their posteriors.")
    return TextSection("How the rows were counted", lines)
