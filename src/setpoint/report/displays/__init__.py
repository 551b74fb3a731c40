"""Pictures of a goal, each a function of numbers. They need matplotlib."""

from setpoint.report.displays.frontier import plot_frontier
from setpoint.report.displays.groups import plot_groups
from setpoint.report.displays.operating import plot_deferral, plot_objective, plot_operating
from setpoint.report.displays.search import plot_convergence, plot_rule_path
from setpoint.report.displays.style import Display

__all__ = [
    "Display",
    "plot_convergence",
    "plot_deferral",
    "plot_frontier",
    "plot_groups",
    "plot_objective",
    "plot_operating",
    "plot_rule_path",
]
