"""Solve and evaluate on tables that engines count: what arrays give, by any engine."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from setpoint import GoalError, InfeasibleError, NotCertifiable, StoppedWarning, evaluate, solve
from setpoint.counts import ChangedTableError
from setpoint.solvers import Confidence
from thinning import over

duckdb = pytest.importorskip("duckdb", reason="tables are counted by DuckDB here")
polars = pytest.importorskip("polars", reason="and by Polars")
dd = pytest.importorskip("dask.dataframe", reason="and by dask")
pytestmark = [
    pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning"),
    # dask itself resets an index in the way that pandas 3.1 is giving up
    pytest.mark.filterwarnings("ignore:.*inplace.*"),
]

ENGINES = {
    "duckdb": lambda frame: duckdb.connect().from_df(frame),
    "polars": lambda frame: polars.from_pandas(frame).lazy(),
    "dask": lambda frame: dd.from_pandas(frame.reset_index(drop=True), npartitions=3),
}
DUCKDB, POLARS = ENGINES["duckdb"], ENGINES["polars"]
NAMES = {"y": "label", "scores": "score"}
GROUPS = {"sensitive_features": ["region"]}
WEIGHTED = {**NAMES, "sample_weight": "w"}


def table(seed=0, n=3_000, decimals=None):
    rng = np.random.default_rng(seed)
    label = (rng.random(n) < 0.3).astype(int)
    score = rng.normal(size=n) + 1.2 * label
    return pd.DataFrame(
        {
            "score": score if decimals is None else np.round(score, decimals),
            "label": label,
            "region": rng.choice(["north", "south", "east"], n),
            "old": np.where(rng.random(n) < 0.2, 1 - label, label),
            "w": rng.integers(1, 9, n) / 4,
        }
    )


def close():
    """Scores of which many are so close that they share a bin."""
    frame = table(16)
    return frame.assign(score=np.round(3 * frame["score"]) + 1e-12 * frame["score"])


GOALS = (
    "maximize f1", "maximize mcc", "maximize jaccard", "maximize h_mean", "maximize macro_f1",
    "maximize recall subject to precision >= 0.4", "minimize fn + 2 * fp",
    "maximize precision subject to recall >= 0.5", "maximize recall.min(region)",
    "maximize balanced_accuracy subject to predicted_rate <= 0.5",
    "maximize accuracy subject to recall.min(region) >= 0.3",
    "maximize accuracy subject to recall.on(region='north') >= 0.5",
    "maximize recall subject to precision >= 0.5 and recall.difference(region) <= 0.1",
    "maximize g_mean subject to churn <= 0.4",
    "maximize recall subject to precision >= 0.5 and accuracy.on('audit') >= 0.7",
    "maximize recall subject to predicted_rate.on('later') <= 0.3",
)  # fmt: skip


def random_problem(seed):
    rng = np.random.default_rng((seed, 77))
    frame = table(seed, int(rng.integers(20, 400)), decimals=rng.choice([None, None, 1, 2]))
    goal = str(rng.choice(GOALS))
    options = {**NAMES, **GROUPS, "decide_on": "region" if rng.random() < 0.3 else None}
    if rng.random() < 0.3:
        options["sample_weight"] = "w"
    if "churn" in goal:
        options["baseline"] = "old"
    return frame, goal, options


def further(goal, make):
    """The further data sets of a goal, of which one has no labels."""
    audit, later = table(8, 300), table(10, 200).drop(columns="label")
    return {name: make(f) for name, f in (("audit", audit), ("later", later)) if name in goal}


@pytest.mark.filterwarnings("ignore::setpoint.ConstantGoalWarning")
@over("engine, seed", [(list(ENGINES)[k % 3], k) for k in range(300)], every=25)
def test_random_problems_have_the_rule_and_the_report_of_the_rows(engine, seed):
    frame, goal, options = random_problem(seed)
    make = ENGINES[engine]
    try:
        mine = solve(goal, frame, **options, datasets=further(goal, lambda f: f) or None)
    except (InfeasibleError, GoalError) as error:  # the same is refused
        with pytest.raises(type(error), match=re.escape(str(error))):
            solve(goal, make(frame), **options, datasets=further(goal, make) or None, exact=True)
        return
    theirs = solve(goal, make(frame), **options, datasets=further(goal, make) or None, exact=True)
    assert theirs.rule == mine.rule
    if options["decide_on"] is None:
        assert theirs.report.status == mine.report.status == "optimal"
        assert [e.value for e in theirs.report.entries] == pytest.approx(
            [e.value for e in mine.report.entries], abs=1e-12
        )


def test_the_report_and_the_judgement_of_the_rows():
    frame, make = table(n=1_000), POLARS
    goal = "maximize accuracy subject to recall.min(region) >= 0.5 and churn <= 0.4"
    named = {**GROUPS, "baseline": "old"}
    mine = solve(goal, frame, **NAMES, **named, decide_on=None)
    theirs = solve(goal, make(frame), **NAMES, **named, decide_on=None, exact=True)
    assert theirs.rule == mine.rule
    for name in ("entries", "groups", "counts", "status"):
        assert getattr(theirs.report, name) == getattr(mine.report, name)
    decided = make(frame.assign(decided=mine.rule.decide(frame["score"])))
    again = evaluate(goal, decided, y_true="label", y_pred="decided", **named)
    assert [e.value for e in again.entries] == [e.value for e in mine.report.entries]


@over("engine", list(ENGINES))
def test_units_are_counted_as_in_memory_in_any_order(engine):
    frame = table(3, 900).assign(customer=np.random.default_rng(0).integers(0, 90, 900))
    frame["customer"] = "c" + frame["customer"].astype(str)
    frame["decided"] = (frame["score"] > 0.8).astype(int)
    goal = "maximize recall subject to precision >= 0.4 and recall.difference(region) <= 0.5"
    both = {**GROUPS, "units": "customer"}
    ways = (
        lambda rows, **_: evaluate(
            goal, rows, y_true="label", y_pred="decided", sample_weight="w", **both
        ),
        lambda rows, **how: solve(goal, rows, **NAMES, **both, **how).report,
    )
    for way, how in zip(ways, ({}, {"exact": True}), strict=True):
        mine = way(frame)
        theirs = way(ENGINES[engine](frame.sample(frac=1, random_state=1)), **how)
        for own, other in zip(theirs.entries, mine.entries, strict=True):
            limits = other.value, other.low, other.high
            assert (own.value, own.low, own.high) == pytest.approx(limits, abs=1e-12)
    assert mine.objective.low != ways[1](frame.drop(columns="customer").assign(
        customer=range(900))).objective.low  # fmt: skip


def test_weights_are_counted_as_whole_numbers():
    """Light ones have a finer unit: shares that add up to one are not rounded away."""
    frame = table(3)
    light = frame.assign(w=np.random.default_rng(0).exponential(size=len(frame)))
    light["w"] /= 1e9 * light["w"].sum()
    for rows in (frame, light, frame.assign(w=frame["w"] * 2.0**18)):
        mine = solve(GOALS[5], rows, **WEIGHTED)
        theirs = solve(GOALS[5], DUCKDB(rows), **WEIGHTED, exact=True)
        assert theirs.rule == mine.rule
        assert ("rounded" in str(theirs.report)) == (rows is light)
    with pytest.raises(ValueError, match="more than whole numbers of 63 bits can count"):
        solve("maximize f1", DUCKDB(frame.assign(w=1e300)), **WEIGHTED)


def test_a_general_goal_that_may_draw():
    rows = close().replace({"region": {"east": "south"}})[:1_500]
    goal = "maximize recall * precision"
    named = {**NAMES, **GROUPS, "decide_on": "region", "randomized": "auto"}
    mine, theirs = solve(goal, rows, **named), solve(goal, POLARS(rows), **named, exact=True)
    assert theirs.report.objective.value == mine.report.objective.value


@over(
    "goal",
    [
        "maximize precision subject to recall.difference(region) <= 0.01 and recall >= 0.3",
        "maximize g_mean subject to fpr.difference(region) <= 0.02",
    ],
)
def test_coupled_thresholds_are_proved_as_in_memory(goal):
    frame, passes = table(22, 5_000).sort_values("region"), []
    named = {**NAMES, **GROUPS, "decide_on": "region"}
    report = solve(goal, DUCKDB(frame), **named, exact=True, watch=passes.append).report
    assert (report.status, report.certificate.gap, passes[-1].gap) == ("optimal", 0.0, 0.0)
    assert report.objective.value == solve(goal, frame, **named).report.objective.value


def test_tolerance_ends_passes():
    passes = []
    near = solve("f1", DUCKDB(table(6, 20_000)), **NAMES, tol=0.05, watch=passes.append)
    assert len(passes) == 1
    assert near.report.certificate.gap <= 0.05
    assert str(passes[0]).startswith("pass 1: 20,000 rows; gap at most")


NESTED = "maximize precision subject to recall >= 0.8"
SPLIT = "maximize recall subject to precision >= 0.55"
PROMISED = ("state", "confidence", "rows", "attempt", "tried", "passed", "reached", "method",
            "next_rows", "constraints")  # fmt: skip
SURE = {**NAMES, "confidence": 0.95}


@over(
    ("engine", "goal", "options"),
    [
        ("dask", "maximize f1 subject to recall >= 0.6 and predicted_rate <= 0.6", SURE),
        ("polars", NESTED, {**NAMES, "confidence": Confidence(0.95, for_next=50)}),
        ("dask", f"{NESTED} with confidence 0.99", NAMES),
        (
            "duckdb",
            "maximize precision subject to recall.on(region='north') >= 0.7",
            {**NAMES, **GROUPS, "decide_on": "region", "confidence": 0.9},
        ),
    ],
)
def test_where_constraints_nest_all_rows_certify_as_in_memory(engine, goal, options):
    frame = table(n=1_000, decimals=2)  # each score is a bin
    mine, theirs = (solve(goal, rows, **options) for rows in (frame, ENGINES[engine](frame)))
    assert theirs.rule == mine.rule
    assert theirs.report.entries == mine.report.entries
    for name in PROMISED:
        assert getattr(theirs.report.guarantee, name) == getattr(mine.report.guarantee, name)


def test_bins_of_several_scores_nest_too():
    found = solve(NESTED, POLARS(close()), **SURE, tol=0.5)
    best = solve(NESTED, close(), **SURE)
    assert found.report.guarantee.state == "certified"
    assert 0.0 < best.rule.threshold - found.rule.threshold < 1.0  # less than a bin


@over(
    ("goal", "options", "error", "message"),
    [
        (SPLIT, SURE, GoalError, r"only loosen .* give them to setpoint.certify"),
        (NESTED, {**SURE, "randomized": "auto"}, GoalError, "its rule may draw"),
        ("f1", SURE, ValueError, "`confidence` promises constraints"),
        (NESTED, {**SURE, **WEIGHTED}, GoalError, "nothing can be promised for weighted rows"),
        (NESTED.replace("0.8", "0.99"), SURE, NotCertifiable, "takes 299 rows"),
    ],
)
def test_what_is_not_promised(goal, options, error, message):
    with pytest.raises(error, match=message):
        solve(goal, POLARS(table(n=500)), **options)


def spoiled(frame, name, rows, value):
    """A table of which some rows hold something else."""
    kind = {"score": "float64[pyarrow]", "label": "Int64"}.get(name) if value is None else None
    out = frame.astype({name: kind}) if kind else frame.copy()
    out.loc[: rows - 1, name] = value
    return out


def test_rows_that_cannot_be_counted_are_numbered():
    frame = table(12, 1_000)
    large = frame.assign(score=2**60 + frame["score"].rank().astype("int64"))
    goal = "maximize f1 subject to recall.min(region) >= 0.1"
    for bad, message in (
        (spoiled(frame, "score", 3, None), "`scores`: 3 of 1000 rows have a score that is NULL"),
        (spoiled(frame, "score", 4, np.inf), "`scores`: 4 of 1000 rows have a score that is inf"),
        (spoiled(frame, "label", 7, None), "`y`: 7 of 1000 rows have no value in the column 'la"),
        (spoiled(frame, "region", 2, None), "`sensitive_features`: 2 of 1000 rows have no value"),
        (spoiled(frame, "old", 2, None), "`units`: 2 of 1000 rows have no value in the column"),
        (spoiled(frame, "w", 5, -1.0), "`sample_weight`: 5 of 1000 rows have a weight that is"),
        (large, r"whole numbers beyond 2\*\*53"),
    ):
        with pytest.raises(ValueError, match=message):
            solve(goal, DUCKDB(bad), **WEIGHTED, **GROUPS, units="old")


@over(
    ("goal", "options", "error", "message"),
    [
        ("f1", {"scores": "scor"}, ValueError, "`scores`: the table has no column 'scor' "),
        ("f1", {"y": "target"}, ValueError, "`y`: the table has no column 'target'"),
        ("f1", {"scores": "region"}, TypeError, "`scores`: the column 'region' holds text"),
        ("f1", {"scores": ["score", "w"]}, TypeError, "`scores` is the name of a column"),
        ("f1", {"scores": None}, TypeError, "`scores`: of a table"),
        ("maximize recall.min(country)", {}, GoalError, "refers to the column 'country'"),
        ("maximize recall.on(region='west')", {}, GoalError, "region = 'west', and no row"),
        ("f1", {"units": "regoin"}, ValueError, "`units`: the table has no column 'regoin' "),
        ("f1", {"units": "label"}, ValueError, "`units`: 'label' has another role"),
        ("maximize recall.min(region)", {"units": "region"}, ValueError, "`units`: 'region' has"),
        (NESTED, {**SURE, "units": "w"}, ValueError, "nothing is certified by units on a table"),
        ("f1", {"tol": -1}, ValueError, "`tol` is a number from 0 to 1"),
        ("f1", {"tol": 0.1, "exact": True}, ValueError, "`exact=True` is `tol=0`"),
    ],
)
def test_names_are_checked_before_any_pass(goal, options, error, message):
    with pytest.raises(error, match=message):
        solve(goal, DUCKDB(table(13, 200)), **{**NAMES, **options})


def test_rows_in_memory_and_tables_do_not_mix():
    frame = table(13, 200)
    with pytest.raises(ValueError, match="rows in memory are always solved exactly"):
        solve("maximize f1", frame["score"], frame["label"], exact=True)
    with pytest.raises(TypeError, match="`y_pred` is the name of a column"):
        evaluate("maximize f1", DUCKDB(frame), y_true="label", y_pred=frame["label"])


def test_many_groups_are_refused_but_those_that_are_named():
    frame = table(14, 12_000).assign(region=[f"r{i // 2}" for i in range(12_000)])
    with pytest.raises(ValueError, match=r"6000 distinct values, at most 5000"):
        solve("maximize f1 subject to recall.min(region) >= 0", POLARS(frame), **NAMES, **GROUPS)
    named = "maximize f1 subject to predicted_rate.on(region='r7') <= 1"
    assert solve(named, POLARS(frame), **NAMES, **GROUPS).report.satisfied


@over(
    ("options", "message"),
    [({"exact": True}, "^(?!.*counted).*changed between two"), ({"tol": 0.5}, "counted again by")],
)
def test_a_table_that_changes_between_passes_is_caught(options, message):
    connection, passes = duckdb.connect(), []
    connection.from_df(close()).create("t")

    def watch(one):
        passes.append(one)
        connection.execute("UPDATE t SET label = 1 - label WHERE rowid < 50")

    with pytest.raises(ChangedTableError, match=message):
        solve("f1", connection.table("t"), **NAMES, watch=watch, **options)
    assert len(passes) == 1


def test_ctrl_c_in_a_pass_keeps_the_rule_before(monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("setpoint.sources.passes.Passes.again", interrupt)
    with pytest.warns(StoppedWarning, match="interrupted"):
        report = solve("f1", DUCKDB(close()), **NAMES, exact=True).report
    assert report.certificate.gap > 0.0
    assert report.satisfied is not False


def test_a_checkpoint_is_gone_on_from(tmp_path):
    frame, path = table(17, 1_000), tmp_path / "counts.npz"

    def solved(rows=frame, goal="f1", checkpoint=path, **options):
        return solve(goal, DUCKDB(rows), **NAMES, checkpoint=checkpoint, **options)

    near = solved(tol=0.5)
    exact = solved(exact=True)
    sure = {"goal": NESTED, "confidence": 0.95, "checkpoint": tmp_path / "nested.npz"}
    assert solved(**sure).rule == solved(**sure).rule
    assert exact.rule == solve("f1", frame, **NAMES).rule
    assert near.report.objective.value <= exact.report.objective.value
    for other, message in (
        ({"goal": "mcc"}, "of another goal"),
        ({"rows": table(18, 400)}, "of another table"),
        ({"rows": table(21, 1_000)}, "of another table"),  # of as many rows
        ({"pos_label": 0}, "of another pos_label"),
        ({"checkpoint": tmp_path}, "is a folder"),
        ({"checkpoint": tmp_path / "no" / "counts.npz"}, "there is no folder"),
    ):
        with pytest.raises(ValueError, match=message):
            solved(**other)
    whole = path.read_bytes()
    for damaged in (b"something else", whole[: len(whole) // 2], whole[:-300] + bytes(300)):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="is not one, or is damaged"):
            solved()
