"""The language of goals: metrics, expressions and goals, without data."""

from setpoint.goals.entries import TABLE, Event, LinearForm, MetricEntry
from setpoint.goals.expressions import (
    Apply,
    Baseline,
    BlackBoxMetric,
    Const,
    Expression,
    Metric,
    Product,
    Quotient,
    Reduce,
    Sum,
    log,
    map_metrics,
    maximum,
    minimum,
    sqrt,
    walk,
)
from setpoint.goals.goal import (
    Goal,
    as_goal,
    constraint_in_words,
    expression_of,
    glossary,
    goal_in_words,
    in_words,
    maximize,
    minimize,
)
from setpoint.goals.parse import why_unknown
from setpoint.goals.populations import (
    DEFER,
    EVERYWHERE,
    Constraint,
    Key,
    Label,
    Other,
    Population,
    Relation,
    column_in_words,
    literal,
    plain_label,
    value_in_words,
)
from setpoint.goals.table import (
    SYNONYMS,
    VOCABULARY,
    Requirements,
    at_most,
    example_of,
    formula_of,
    inside_of,
    require_plain,
    require_rows_alone,
    requirements_of,
)
