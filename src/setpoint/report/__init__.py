"""Reports: what was reached, with intervals, for the person who set the goal."""

from typing import TYPE_CHECKING

from setpoint.packages import lazily

if TYPE_CHECKING:
    from setpoint.report.advice import refused, stricter_goal
    from setpoint.report.displays import style
    from setpoint.report.displays.frontier import MOST_MODELS, plot_frontier
    from setpoint.report.displays.groups import plot_groups
    from setpoint.report.displays.operating import plot_deferral, plot_objective, plot_operating
    from setpoint.report.displays.search import plot_convergence
    from setpoint.report.displays.sections import (
        DeferralSection,
        Frontiers,
        OperatingSection,
        Prices,
        SearchTrace,
    )
    from setpoint.report.displays.style import Canvas, Display
    from setpoint.report.document import (
        NO_RULE,
        UNCERTIFIED,
        card_text,
        goal_table,
        infeasible_document,
        report_document,
        report_text,
    )
    from setpoint.report.entry import (
        LEVEL,
        CountedGoal,
        Entry,
        GroupRow,
        entries_on,
        measured_entry,
    )
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
    from setpoint.report.findings import covered, fitted_on, headline, rule_lines, sentence
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
    from setpoint.report.page.page import as_page, rendered
    from setpoint.report.promised import (
        between_bounds,
        goals_to_copy,
        same_sides,
        sure,
        with_searched_bounds,
    )
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
    from setpoint.report.text import (
        Axis,
        Cell,
        Chapter,
        Document,
        Figures,
        Grid,
        Header,
        Prose,
        Tone,
        as_notebook,
        as_text,
        bar_on,
        command_for,
        frontier_text,
    )

if not TYPE_CHECKING:  # to a type checker a misspelt name stays an error
    __getattr__ = lazily(__name__)
