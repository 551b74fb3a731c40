"""Promises on new rows: what counts of some rows show of the population they are drawn from.

P-values of constraints, tests along a path of rules, and the guarantee that follows. Knows
confusions and rules, and nothing of how a rule was found.
"""

from setpoint.guarantees.promise import Guarantee, Shown
from setpoint.guarantees.requirements import AllHold, Requirement, Some, requirements_of

__all__ = ["Every", "Guarantee", "Requirement", "Shown", "Some", "requirements_of"]
