"""The best mixture over an achievable set, by the shape of the goal.

An :class:`~setpoint.search.achievable.AchievableSet` has columns of features, and a way
to find the best one for a linear objective. Here are the programs over its mixtures.
"""

from typing import TYPE_CHECKING

from setpoint.packages import lazily

if TYPE_CHECKING:
    from setpoint.search.achievable import (
        SAME,
        AchievableSet,
        Certificate,
        ConstantGoalWarning,
        FeatureTable,
        Found,
        MixtureWeights,
        Optimum,
        Priced,
        Randomized,
        Status,
        found_of,
        measure,
        nearest_of,
        nothing,
        warn_constant,
    )
    from setpoint.search.binary.cutoffs import CutoffSet, Segment
    from setpoint.search.binary.deterministic import least_violation, sweep
    from setpoint.search.binary.solver import find_rule, frontier_exact, solve_exact
    from setpoint.search.binary.tallied import CountPass, Ranges, solve_tallied
    from setpoint.search.frontier import (
        Frontier,
        Vary,
        levels_of,
        shown_gaps,
        solve_levels,
        trace_frontier,
        vary_of,
        words_of,
    )
    from setpoint.search.infeasibility import InfeasibleError, explain, not_found
    from setpoint.search.limits import (
        INTERRUPTED,
        Limits,
        Progress,
        StoppedError,
        StoppedWarning,
        TracePoint,
        now,
    )
    from setpoint.search.linear_program import (
        IncrementalLP,
        UnfinishedError,
        nearest_trusted,
        tangent,
    )
    from setpoint.search.master import (
        InfeasibleMasterError,
        Master,
        Region,
        solve_and_recount,
        worked_with,
    )
    from setpoint.search.mixtures import best_mixture, least_violating, nearest_mixture

if not TYPE_CHECKING:  # to a type checker a misspelt name stays an error
    __getattr__ = lazily(__name__)
