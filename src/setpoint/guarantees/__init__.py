"""Promises on new rows: what counts of some rows show of the population they are drawn from.

P-values of constraints, tests along a path of rules, and the guarantee that follows. Knows
confusions and rules, and nothing of how a rule was found.
"""

from setpoint.guarantees.e_process import Bets, Crossing, Increments, Wealth, bets_of, increments_of
from setpoint.guarantees.planning import Fewest, Pilot, RowsPlan, fewest_rows_of, rows_of
from setpoint.guarantees.promise import (
    MARGINS,
    Guarantee,
    PathRule,
    Promise,
    RuleTests,
    Shown,
    State,
    fixed_sequence,
    holm,
    level_of_try,
    path_rules_of,
)
from setpoint.guarantees.requirements import AllHold, Part, Requirement, Some, requirements_of
