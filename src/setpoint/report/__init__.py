"""Reports: what was reached, with intervals, for the person who set the goal."""

from typing import TYPE_CHECKING

from setpoint.packages import lazily

if TYPE_CHECKING:
    from setpoint.report.displays import style
    from setpoint.report.displays.frontier import MOST_MODELS, plot_frontier
    from setpoint.report.displays.groups import plot_groups
    from setpoint.report.displays.operating import plot_deferral, plot_objective, plot_operating
    from setpoint.report.displays.search import plot_convergence
    from setpoint.report.displays.style import Canvas, Display
    from setpoint.report.entry import LEVEL, Entry, GroupRow, entries_on, measured_entry
    from setpoint.report.facts import (
        SIZE,
        Certificate,
        Comparison,
        Facts,
        Picture,
        RuleFacts,
        Run,
        Search,
        Section,
        TextSection,
        compared,
    )
    from setpoint.report.findings import (
        covered,
        fitted_on,
        headline,
        lines_of,
        rule_lines,
        sentence,
    )
    from setpoint.report.numbers import (
        Counts,
        HeavyTailWarning,
        Unit,
        aligned,
        cleaned,
        heavy_tails,
        number,
        percent,
        plain,
        plural,
        printed,
        read,
        shortened,
        shown,
        shown_bound,
        unit_of,
    )
    from setpoint.report.operating import (
        DeferralPoints,
        OperatingPoints,
        deferral_points,
        operating_points,
    )
    from setpoint.report.page.page import (
        NO_RULE,
        UNCERTIFIED,
        Figure,
        command_for,
        figure_of,
        same_sides,
        with_searched_bounds,
        write_infeasible,
    )
    from setpoint.report.page.parts import Axis, Bar, Header, bar_on
    from setpoint.report.page.svg import rendered
    from setpoint.report.promised import between_bounds, goals_to_copy, more_rows, sure
    from setpoint.report.report import (
        FewRowsWarning,
        GoalReport,
        against_deployed,
        cutoffs_of,
        differences_of_constraints,
        measured_difference,
        report_on,
        report_on_found,
        rule_facts,
        warn_few_rows,
        with_deployed,
        with_guarantee,
        with_words,
    )
    from setpoint.report.sections import (
        DeferralSection,
        Frontiers,
        OperatingSection,
        Prices,
        SearchTrace,
    )
    from setpoint.report.text import card_text, entry_lines, refused, report_text, stricter_goal

if not TYPE_CHECKING:  # to a type checker a misspelt name stays an error
    __getattr__ = lazily(__name__)
