"""Errors about names arise in bind, and say what is known; needs say what has to be known."""

import numpy as np
import pytest

from goals.samples import BINARY, FIVE, Schema, grouped, linear_rows, plain, program_of
from setpoint import Goal, GoalError
from setpoint.counts import Stratum
from setpoint.errors import EmptyPopulationError
from setpoint.goals import Other
from setpoint.program import diagonal_form
from thinning import over

BINARY_DATA = grouped(BINARY, 0, baseline=True, datasets=True)[0]
FIVE_DATA = grouped(FIVE, 0)[0]


def bind(text, schema=BINARY_DATA):
    return program_of(Goal.parse(f"maximize {text}"), schema)


@over(
    ("text", "message"),
    [
        ("recall.min(sxe)", r"unknown column 'sxe' \(did you mean 'sex'\?\); columns come from"),
        ("recall.on(contry=IN)", r"unknown column 'contry' \(did you mean 'country'\?\)"),
        ("recall.on(audit, sex=F)", r"unknown column 'sex' in the data set 'audit'"),
        ("recall.on(country=XX)", r"has no value 'XX' \(known: 'IN'\)"),
        ("recall.on(sex=f)", r"has no value 'f' \(known: 'F', 'M', 'X'\)"),
        ("recall(label=Yes)", r"unknown label 'Yes' \(did you mean 'yes'\?\)"),
        ("cost({(no, maybe): 1})", r"unknown label 'maybe'"),
        ("confusion_rate(no, maybe)", r"unknown label 'maybe'"),
        ("recall.on(nowhere).mean(sex)", r"unknown data set 'nowhere'"),
        ("prior_divergence({no: 0.5, maybe: 0.5})", r"unknown label 'maybe'"),
        ("recall.on(audits)", r"unknown data set 'audits' \(did you mean 'audit'\?\)"),
        ("recall.on(unlabelled)", r"needs labels, and the rows of data set 'unlabelled' have none"),
        ("recall.on(sex=F).mean(sex)", r"column 'sex' is already fixed by .on"),
        ("(recall + recall.on(audit)).mean(country)", r"groups of one data set"),
        ("recall.mean().min()", r"goes over the classes, and .* is not of one class"),
        ("accuracy.mean()", r"\.mean\('sex'\)"),
        ("recall(label=yes).mean()", r"is not of one class"),
        ("log(recall - specificity)", r"log needs a value >= 0, this one goes down to -1"),
        ("mcc.geometric_mean(sex)", r"needs values >= 0, these go down to -1"),
        ("(recall - 0.5).ratio(sex)", r"needs values >= 0, these go down to -0.5"),
        ("recall subject to precision >= 1.5", r"bound 1.5 is outside the range of precision"),
        ("recall subject to precision >= -0.1", r"which is \[0, 1\]$"),
        ("recall subject to recall >= precision + 1.5", r"the left side minus the right one"),
        ("recall subject to win_loss_ratio >= -1", r"\[0, inf\]"),
    ],
)
def test_errors_of_names_and_bounds(text, message):
    with pytest.raises(GoalError, match=message):
        bind(text)


@over(
    ("text", "message"),
    [
        ("recall", r"is a metric of one class and there are 5: write recall\(label='a'\)"),
        ("precision.mean(sex)", r"Name it, as in precision\(label=\"a\"\).mean\(\"sex\"\)"),
        ("recall.min(sex)", r"over the classes first, as in recall.mean\(\).min\(\"sex\"\)$"),
        ("recall.baseline().mean()", r"needs the deployed model's predictions: give `baseline`"),
        ("churn", r"give `baseline`"),
    ],
)
def test_errors_of_several_classes(text, message):
    with pytest.raises(GoalError, match=message):
        bind(text, FIVE_DATA)


def test_a_goal_without_groups_names_none():
    schema, _ = plain(BINARY)
    with pytest.raises(GoalError, match=r"unknown column 'sex' \(there are none\)"):
        bind("recall.min(sex)", schema)
    with pytest.raises(GoalError, match=r"unknown data set 'audit' \(there are none\)"):
        bind("recall.on(audit)", schema)


def test_empty_populations():
    counts = np.ones((2, 3, 2))
    counts[:, 2] = 0
    counts[1, 1] = 0  # the second group has no positives
    strata = tuple(Stratum(None, (("sex", s),)) for s in "FM")
    schema = Schema.of_counts(BINARY, strata, counts)
    for text in ("recall.min(sex)", "recall.on(sex=M)", "false_negative_rate.difference(sex)"):
        with pytest.raises(EmptyPopulationError, match="sex = M hold none with the true class"):
            bind(text, schema)
    # Rates of all rows of the group are there; a denominator that can be 0 is not an error.
    v = bind("precision.min(sex) + predicted_rate.max(sex) + f1.min(sex)", schema)
    assert np.isfinite(v.value(v.rates_of(counts)))
    named = Schema.of_counts(
        BINARY,
        (Stratum(None, (("country", Other(("IN",))),)),),
        np.ones((1, 3, 2)) * [[1], [1], [0]],
    )
    with pytest.raises(EmptyPopulationError, match="country = IN hold none"):
        bind("accuracy.on(country=IN)", named)
    assert issubclass(EmptyPopulationError, GoalError)


def test_denominators_that_are_always_zero():
    counts = np.zeros((1, 3, 2))
    counts[0, 1] = [3, 4]  # positives only, and the deployed model finds none
    schema = Schema.of_counts(BINARY, (Stratum(None, (), 0),), counts)
    for text, value in [("win_loss_ratio", np.inf), ("fp / (2 * fp)", 0.0), ("losses / wins", 0.0)]:
        program = bind(text, schema)
        assert program.value(program.rates_of(counts)) == value
        assert program.objective.low <= value <= program.objective.high
    program = bind("recall subject to fp / fp >= 0", schema)
    assert program.violation(program.rates_of(counts)) == 0


def test_columns_that_are_known_but_not_split():
    counts = np.ones((1, 3, 2))
    counts[0, 2] = 0
    marginals = counts.sum(axis=2)
    smallest = np.where(marginals > 0, 1.0, np.inf)
    schema = Schema(BINARY, (Stratum(),), marginals, smallest, {None: ("sex",)})
    with pytest.raises(GoalError, match="not split"):
        bind("recall.min(sex)", schema)


def test_other_than():
    schema, counts = grouped(BINARY, 2)
    program = bind("accuracy.on(country=IN)", schema)
    held = [i for i, c in enumerate(schema.strata) if dict(c.key)["country"] == "IN"]
    assert program.rates[0].strata == tuple(held)
    value = program.value(program.rates_of(counts))
    assert value == pytest.approx(counts[held][:, [0, 1], [0, 1]].sum() / counts[held].sum())


@over("text, columns, baseline, labels", [
    ("recall", {None: {}}, set(), {None}),
    ("predicted_rate", {None: {}}, set(), set()),
    ("recall.on(sex=F)", {None: {"sex": {"F"}}}, set(), {None}),
    ("recall.on(sex=F) + recall.on(sex=M)", {None: {"sex": {"F", "M"}}}, set(), {None}),
    ("churn.on(free) + recall", {None: {}, "free": {}}, {"free"}, {None}),
    ("predicted_rate.baseline()", {None: {}}, {None}, set()),
    ("prior_divergence", {None: {}}, set(), {None}),
    ("prior_divergence({no: 0.5, yes: 0.5})", {None: {}}, set(), set()),
    ("f1.min(sex).on(audit)", {"audit": {"sex": None}}, set(), {"audit"}),
    ("f1.on(a=1).min(b, c)", {None: {"a": {1}, "b": None, "c": None}}, set(), {None}),
    ("recall s.t. recall.on(audit, a=1) >= predicted_rate.baseline().on(free)",
     {None: {}, "audit": {"a": {1}}, "free": {}}, {"free"}, {None, "audit"}),
])  # fmt: skip
def test_needs(text, columns, baseline, labels):
    needs = Goal.parse(f"maximize {text}").needs
    assert {d: dict(c) for d, c in needs.columns.items()} == columns
    assert needs.baseline == baseline
    assert needs.labels == labels


def test_many_classes_have_three_rates_and_two_rows_each():
    n = 100
    strata = tuple(Stratum(None, (("g", i),)) for i in range(4))
    counts = np.random.default_rng(0).integers(0, 3, (4, n + 1, n)).astype(float)
    counts[:, n] = 0
    schema = Schema.of_counts(tuple(range(n)), strata, counts)
    program = bind("macro_f1 subject to precision.min() >= 0.0001", schema)
    v = program.rates_of(counts)
    assert len(v) == 3 * n
    c = counts.sum(axis=0)[:n]
    want = (2 * np.diag(c) / (c.sum(axis=0) + c.sum(axis=1))).mean()
    assert program.value(v) == pytest.approx(want, abs=1e-12)
    assert sum(len(rows) for _, rows in linear_rows(program)) == 2 * n
    form = diagonal_form(program.table)
    assert form.diagonal.nnz + form.columns.nnz <= 6 * n * 4


def test_a_bound_that_these_data_make_idle_is_not_an_error():
    """`fp <= 0.9` can slip on other data; a deployed model's poor rate is not a slip either."""
    for text in ("fp <= 0.9", "recall >= recall.baseline() - 0.99"):
        assert bind(f"recall subject to {text}").constraints
    with pytest.raises(GoalError, match="on these data"):
        bind("recall subject to tp >= 0.99")
