"""A model fitted on a table in one call."""

from setpoint.tables import TableModel

ROWS = ("datasets", "validation", "certify_on", "skip_unlabelled")


def fit_table(table, goal, **asked):
    """A table model, fitted."""
    rows = {name: asked.pop(name) for name in ROWS if name in asked}
    return TableModel(goal, **asked).fit(table, **rows)
