"""Pictures of a goal, each a function of numbers. They need matplotlib."""

from typing import TYPE_CHECKING

from setpoint.packages import lazily

if TYPE_CHECKING:
    from setpoint.report.displays.frontier import plot_frontier
    from setpoint.report.displays.groups import plot_groups
    from setpoint.report.displays.operating import plot_deferral, plot_objective, plot_operating
    from setpoint.report.displays.search import plot_convergence, plot_rule_path
    from setpoint.report.displays.style import Display

if not TYPE_CHECKING:  # to a type checker a misspelt name stays an error
    __getattr__ = lazily(__name__)
