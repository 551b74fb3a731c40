"""Statistics of counts: what some rows say about the population that they were drawn from.

Intervals of any expression, verdicts on a bound, exact tails of a binomial, and the sign
test. Knows goals and confusions, and nothing of rules or of how they were found.
"""

from typing import TYPE_CHECKING

from setpoint.packages import lazily

if TYPE_CHECKING:
    from setpoint.inference.delta import influence_of, influence_of_entries, worst_of
    from setpoint.inference.intervals import (
        FAILS,
        OPEN,
        SHOWN,
        Interval,
        Verdict,
        interval,
        interval_of,
        is_group_gap,
        verdict_of,
    )
    from setpoint.inference.means import Proxied, gaffke_p, halved, rounded_down
    from setpoint.inference.profiles import (
        CountedRates,
        KnownWeights,
        Largest,
        Profiles,
        Weights,
        bind_counted,
        rounded,
        summed,
    )
    from setpoint.inference.tails import (
        CONFIDENCE,
        POWER,
        ROUNDING,
        FreshLabels,
        Trials,
        added_by,
        at_least,
        clopper_pearson,
        exact_limits,
        fresh_labels,
        limits_of_shares,
        of_two_sorts,
        quantile,
        share_needed,
        successes_needed,
        trials_of,
    )
    from setpoint.inference.units import FEW_UNITS, design_effect, rests_on, together

if not TYPE_CHECKING:  # to a type checker a misspelt name stays an error
    __getattr__ = lazily(__name__)
