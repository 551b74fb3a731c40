"""Promises on new rows: what counts of some rows show of the population they are drawn from.

P-values of constraints, tests along a path of rules, and the guarantee that follows. Knows
confusions and rules, and nothing of how a rule was found.
"""

from typing import TYPE_CHECKING

from setpoint.packages import lazily

if TYPE_CHECKING:
    from setpoint.guarantees.certifying import Certification, certified, number_of_try, times_of
    from setpoint.guarantees.e_process import (
        Bets,
        Crossing,
        Increments,
        Wealth,
        bets_of,
        increments_of,
        on_units,
    )
    from setpoint.guarantees.paths import MARGINS, monotone_constraints
    from setpoint.guarantees.planning import Pilot, RowsPlan, fewest_rows, rows_of
    from setpoint.guarantees.promise import (
        Guarantee,
        Promise,
        RuleTests,
        Shown,
        State,
        Tried,
        capped,
        fixed_sequence,
        holm,
        level_of_try,
    )
    from setpoint.guarantees.refusal import (
        BestBounds,
        NotCertifiable,
        Unshown,
        best_shown,
        check_enough,
        tests_on,
    )
    from setpoint.guarantees.requirements import Part, Requirement, Several, requirements_of

if not TYPE_CHECKING:  # to a type checker a misspelt name stays an error
    __getattr__ = lazily(__name__)
