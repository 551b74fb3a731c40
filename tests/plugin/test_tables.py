"""Solve and evaluate on tables elsewhere: what arrays give, by any engine."""

from __future__ import annotations

import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest

from setpoint import Dataset, GoalError, InfeasibleError, StoppedWarning, evaluate, solve
from setpoint.counts import ChangedTableError
from setpoint.rules import Rule
from setpoint.sources import FrameRows
from sources.reference import ArraySource
from thinning import thinned

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
NAMES = {"y": "label", "scores": "score"}
GROUPS = {"sensitive_features": ["region"]}


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


GOALS = (
    "maximize f1",
    "maximize mcc subject to predicted_rate <= 0.4",
    "maximize recall subject to precision >= 0.6",
    "maximize recall subject to precision >= 0.5 and recall.difference(region) <= 0.1",
    "maximize accuracy subject to recall.on(region='north') >= 0.5",
    "maximize g_mean subject to churn <= 0.4",
    "minimize fn + 2 * fp",
)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("goal", GOALS)
def test_the_rule_of_the_rows(goal, engine):
    frame = table()
    named = {**NAMES, **GROUPS, "baseline": "old" if "churn" in goal else None, "decide_on": None}
    mine = solve(goal, frame, **named)
    theirs = solve(goal, ENGINES[engine](frame), **named, exact=True)
    assert theirs.rule == mine.rule
    assert theirs.report.status == mine.report.status == "optimal"
    assert theirs.report.entries == mine.report.entries
    assert theirs.report.groups == mine.report.groups
    assert theirs.report.counts == mine.report.counts
    again = evaluate(
        goal,
        ENGINES[engine](frame.assign(decided=mine.rule.decide(frame["score"]))),
        y_true="label",
        y_pred="decided",
        baseline=named["baseline"],
        **GROUPS,
    )
    assert [e.value for e in again.entries] == [e.value for e in mine.report.entries]


def random_problem(seed):
    rng = np.random.default_rng((seed, 77))
    n = int(rng.integers(20, 400))
    frame = table(seed, n, decimals=rng.choice([None, None, 1, 2]))
    goals = (
        "maximize f1", "maximize mcc", "maximize jaccard", "maximize h_mean",
        "maximize recall subject to precision >= 0.4", "minimize fn + 3 * fp",
        "maximize precision subject to recall >= 0.5", "maximize macro_f1",
        "maximize balanced_accuracy subject to predicted_rate <= 0.5",
        "maximize recall.min(region)", "maximize accuracy subject to recall.min(region) >= 0.3",
    )  # fmt: skip
    by_region = rng.random() < 0.3
    return frame, str(rng.choice(goals)), "region" if by_region else None


@pytest.mark.filterwarnings("ignore::setpoint.ConstantGoalWarning")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("block", thinned(range(100), 50))
def test_a_thousand_random_problems(engine, block):
    for seed in range(10 * block, 10 * block + 10):
        frame, goal, column = random_problem(seed)
        named = {**NAMES, **GROUPS, "decide_on": column}
        try:
            mine = solve(goal, frame, **named)
        except (InfeasibleError, GoalError) as error:  # the same is refused
            with pytest.raises(type(error), match=re.escape(str(error))):
                solve(goal, ENGINES[engine](frame), **named, exact=True)
            continue
        theirs = solve(goal, ENGINES[engine](frame), **named, exact=True)
        assert theirs.rule == mine.rule, (seed, goal)


def test_weights_are_counted_as_whole_numbers():
    frame = table(3)
    for goal in GOALS[:3]:
        mine = solve(goal, frame, **NAMES, sample_weight="w")
        theirs = solve(goal, ENGINES["duckdb"](frame), **NAMES, sample_weight="w", exact=True)
        assert theirs.rule == mine.rule
        assert theirs.report.objective.value == pytest.approx(
            mine.report.objective.value, abs=1e-12
        )
        assert "rounded" not in str(theirs.report)
    # Light ones have a finer unit: shares that add up to one are not rounded away.
    rng = np.random.default_rng(0)
    light = frame.assign(w=rng.exponential(size=len(frame)))
    light["w"] /= 1e9 * light["w"].sum()
    mine = solve(GOALS[2], light, **NAMES, sample_weight="w")
    theirs = solve(GOALS[2], ENGINES["duckdb"](light), **NAMES, sample_weight="w", exact=True)
    assert theirs.rule == mine.rule


def test_weight_two_is_the_row_twice_and_zero_leaves_it_out():
    frame = table(4, 500)
    heavy = frame.assign(w=np.where(np.arange(500) % 3 == 0, 0, np.where(frame["label"], 2, 1)))
    rows = pd.concat([heavy[heavy["w"] > 0], heavy[heavy["w"] == 2]])
    for goal in GOALS[:3]:
        one = solve(goal, ENGINES["polars"](heavy), **NAMES, sample_weight="w", exact=True)
        two = solve(goal, ENGINES["polars"](rows), **NAMES, exact=True)
        assert one.rule == two.rule


def test_a_general_goal_that_may_draw():
    rng = np.random.default_rng(0)
    label = (rng.random(1_500) < 0.3).astype(int)
    z = rng.normal(label * 1.5, 1)
    region = rng.choice(["a", "b"], 1_500)
    score = np.round(z * 3) + (z - z.min()) * 1e-12  # many in a bin
    frame = pd.DataFrame({"score": score, "label": label, "region": region})
    named = {**NAMES, **GROUPS, "decide_on": "region", "randomized": "auto"}
    mine = solve("maximize recall * precision", frame, **named)
    theirs = solve("maximize recall * precision", ENGINES["polars"](frame), **named, exact=True)
    assert theirs.report.objective.value == mine.report.objective.value


@pytest.mark.parametrize(
    "goal",
    [
        "maximize precision subject to recall.difference(region) <= 0.01 and recall >= 0.3",
        "maximize f1 subject to predicted_rate.difference(region) <= 0.03",
        "maximize g_mean subject to fpr.difference(region) <= 0.02",
    ],
)
def test_coupled_thresholds_are_proved_as_in_memory(goal):
    frame, passes = table(22, 20_000).sort_values("region"), []
    named = {**NAMES, **GROUPS, "decide_on": "region"}
    report = solve(goal, ENGINES["duckdb"](frame), **named, exact=True, watch=passes.append).report
    assert (report.status, report.certificate.gap, passes[-1].gap) == ("optimal", 0.0, 0.0)
    assert report.objective.value == solve(goal, frame, **named).report.objective.value


def test_orders_and_engines_give_the_same_bits():
    frame = table(5, 2_000, decimals=2)
    rng = np.random.default_rng(0)
    goal = "maximize f1 subject to recall.min(region) >= 0.4"
    found = set()
    for order in (np.arange(2_000), rng.permutation(2_000), np.argsort(frame["score"])):
        for make in ENGINES.values():
            solution = solve(goal, make(frame.iloc[order]), **NAMES, **GROUPS, exact=True)
            found.add((solution.rule.to_json(), solution.report.objective.value))
    assert len(found) == 1


def test_tolerance_ends_passes():
    frame, passes = table(6, 20_000), []
    near = solve("maximize f1", ENGINES["duckdb"](frame), **NAMES, tol=0.05, watch=passes.append)
    assert len(passes) == 1
    assert near.report.certificate.gap <= 0.05
    assert str(passes[0]).startswith("pass 1: 20,000 rows; gap at most")


def test_data_sets_by_name():
    first, second = table(7), table(8, 900)
    goal = "maximize recall subject to precision >= 0.5 and accuracy.on('audit') >= 0.7"
    mine = solve(
        goal,
        first,
        **NAMES,
        datasets={"audit": Dataset(second["score"], second["label"])},
    )
    make = ENGINES["duckdb"]
    theirs = solve(goal, make(first), **NAMES, datasets={"audit": make(second)}, exact=True)
    assert theirs.rule == mine.rule
    assert theirs.report.entries == mine.report.entries
    eager = solve(goal, first, **NAMES, datasets={"audit": second})
    assert eager.rule == mine.rule


def test_a_data_set_without_labels():
    first, second = table(9), table(10, 700).drop(columns="label")
    goal = "maximize recall subject to predicted_rate.on('later') <= 0.3"
    mine = solve(goal, first, **NAMES, datasets={"later": Dataset(second["score"])})
    make = ENGINES["polars"]
    theirs = solve(goal, make(first), **NAMES, datasets={"later": make(second)}, exact=True)
    assert theirs.rule == mine.rule


def test_infeasible_is_proved():
    with pytest.raises(InfeasibleError, match=r"recall >= 0\.99|cannot"):
        solve(
            "maximize accuracy subject to recall >= 0.99 and precision >= 0.9",
            ENGINES["duckdb"](table(11)),
            **NAMES,
            exact=True,
        )


# ---------------------------------------------------------------------- what is refused
@pytest.mark.parametrize("engine", ENGINES)
def test_rows_that_cannot_be_counted_are_numbered(engine):
    frame = table(12, 1_000)
    make = ENGINES[engine]
    missing = frame.assign(score=frame["score"].astype("float64[pyarrow]"))
    missing.loc[:2, "score"] = None
    infinite = frame.copy()
    infinite.loc[10:13, "score"] = np.inf
    unlabelled = frame.assign(label=frame["label"].astype("Int64"))
    unlabelled.loc[5:11, "label"] = pd.NA
    homeless = frame.copy()
    homeless.loc[:1, "region"] = None
    wrong = frame.copy()
    wrong.loc[:4, "w"] = -1.0
    cases = [
        (missing, "`scores`: 3 of 1000 rows have a score that is NULL"),
        (infinite, "`scores`: 4 of 1000 rows have a score that is infinite"),
        (unlabelled, "`y`: 7 of 1000 rows have no value in the column 'label'"),
        (homeless, "`sensitive_features`: 2 of 1000 rows have no value in the column 'region'"),
        (wrong, "`sample_weight`: 5 of 1000 rows have a weight that is NULL, NaN"),
    ]
    goal = "maximize f1 subject to recall.min(region) >= 0.1"
    for bad, message in cases:
        with pytest.raises(ValueError, match=message):
            solve(goal, make(bad), **NAMES, **GROUPS, sample_weight="w")


def test_names_are_checked_before_any_pass():
    make, frame = ENGINES["duckdb"], table(13, 200)
    lazy = make(frame)
    with pytest.raises(ValueError, match=r"`scores`: the table has no column 'scor' .*'score'"):
        solve("maximize f1", lazy, y="label", scores="scor")
    with pytest.raises(ValueError, match="`y`: the table has no column 'target'"):
        solve("maximize f1", lazy, y="target", scores="score")
    with pytest.raises(TypeError, match="`scores`: the column 'region' holds text"):
        solve("maximize f1", lazy, y="label", scores="region")
    with pytest.raises(TypeError, match="`scores`: of a table"):
        solve("maximize f1", lazy, y="label")
    with pytest.raises(GoalError, match=r"refers to the column 'country'"):
        solve("maximize f1 subject to recall.min(country) >= 0.1", lazy, **NAMES)
    with pytest.raises(GoalError, match="region = 'west', and no row"):
        solve("maximize f1 subject to recall.on(region='west') >= 0.1", lazy, **NAMES)
    with pytest.raises(ValueError, match="`tol` is a number from 0 to 1"):
        solve("maximize f1", lazy, **NAMES, tol=-1)
    with pytest.raises(ValueError, match="`exact=True` is `tol=0`"):
        solve("maximize f1", lazy, **NAMES, tol=0.1, exact=True)
    with pytest.raises(ValueError, match="rows in memory are always solved exactly"):
        solve("maximize f1", frame["score"], frame["label"], exact=True)
    with pytest.raises(TypeError, match="`y_pred` is the name of a column"):
        evaluate("maximize f1", lazy, y_true="label", y_pred=frame["label"])


@pytest.mark.parametrize("engine", ENGINES)
def test_whole_numbers_that_a_float_cannot_tell_apart(engine):
    frame = table(23, 400)
    frame["score"] = 2**60 + frame["score"].rank().astype("int64")
    with pytest.raises(ValueError, match=r"whole numbers beyond 2\*\*53"):
        solve("maximize f1", ENGINES[engine](frame), **NAMES)


def test_too_many_groups_are_refused_and_those_named_are_not():
    n = 12_000
    frame = table(14, n).assign(region=[f"r{i // 2}" for i in range(n)])
    lazy = ENGINES["polars"](frame)
    with pytest.raises(ValueError, match=r"6000 distinct values, at most 5000"):
        solve("maximize f1 subject to recall.min(region) >= 0", lazy, **NAMES, **GROUPS)
    named = "maximize f1 subject to predicted_rate.on(region='r7') <= 1"
    assert solve(named, lazy, **NAMES, **GROUPS).report.satisfied


def test_weights_that_overflow():
    frame = table(15, 300).assign(w=1e300)
    with pytest.raises(ValueError, match="more than whole numbers of 63 bits can count"):
        solve("maximize f1", ENGINES["duckdb"](frame), **NAMES, sample_weight="w")
    large = table(15, 300).assign(w=lambda f: f["w"] * 2.0**18)
    mine = solve("maximize f1", large, **NAMES, sample_weight="w")
    theirs = solve("maximize f1", ENGINES["duckdb"](large), **NAMES, sample_weight="w", exact=True)
    assert theirs.rule == mine.rule


class Coarse(ArraySource):
    """Its sample represents nothing: there is a second pass."""

    def sample(self, score, label, n):
        return np.linspace(-1e5, 1e5, 40)


def test_a_table_that_changes_between_passes_is_caught():
    class Changing(Coarse):
        def count(self, by, binning=None, parts=()):
            if parts:
                self.table["label"][:50] = [1 - v for v in self.table["label"][:50]]
            return super().count(by, binning, parts)

    frame = table(16, 4_000)
    source = Changing({k: frame[k].tolist() for k in ("score", "label")})
    with pytest.raises(ChangedTableError, match="changed between two passes"):
        solve_on(source)

    class LyingAtTheEnd(Coarse):
        def count(self, by, binning=None, parts=()):
            if binning is not None and len(binning.edges) == 3:  # by the threshold
                self.table["label"][0] = 1 - self.table["label"][0]
            return super().count(by, binning, parts)

    with pytest.raises(ChangedTableError, match="counted again by the engine"):
        solve_on(LyingAtTheEnd({k: frame[k].tolist() for k in ("score", "label")}))


def solve_on(source):
    from setpoint.goals import as_goal
    from setpoint.plugin import Options
    from setpoint.plugin.solving import solve_counted

    rows = {None: FrameRows(source, "label", "score")}
    options = Options(randomized=False)
    found = solve_counted(as_goal("maximize f1"), rows, options, {}, within=0.0)
    return found.rule, found.report


# ---------------------------------------------------------------------- checkpoints
def test_a_checkpoint_is_gone_on_from(tmp_path):
    frame = table(17, 5_000)
    lazy, path = ENGINES["duckdb"](frame), tmp_path / "counts.npz"
    near = solve("maximize f1", lazy, **NAMES, tol=0.5, checkpoint=path)
    assert path.exists()
    passes = []
    exact = solve("maximize f1", lazy, **NAMES, exact=True, checkpoint=path, watch=passes.append)
    assert exact.rule == solve("maximize f1", frame, **NAMES).rule
    assert near.report.objective.value <= exact.report.objective.value
    with pytest.raises(ValueError, match="of another goal"):
        solve("maximize mcc", lazy, **NAMES, checkpoint=path)
    with pytest.raises(ValueError, match="of another table"):
        solve("maximize f1", ENGINES["duckdb"](table(18, 400)), **NAMES, checkpoint=path)
    with pytest.raises(ValueError, match="of another table"):  # of as many rows
        solve("maximize f1", ENGINES["duckdb"](table(21, 5_000)), **NAMES, checkpoint=path)
    with pytest.raises(ValueError, match="of another pos_label"):
        solve("maximize f1", lazy, **NAMES, checkpoint=path, pos_label=0)
    whole = path.read_bytes()
    for damaged in (b"something else", whole[: len(whole) // 2], whole[:-300] + bytes(300)):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="is not one, or is damaged"):
            solve("maximize f1", lazy, **NAMES, checkpoint=path)
    with pytest.raises(ValueError, match="is a folder"):
        solve("maximize f1", lazy, **NAMES, checkpoint=tmp_path)
    with pytest.raises(ValueError, match="there is no folder"):
        solve("maximize f1", lazy, **NAMES, checkpoint=tmp_path / "no" / "counts.npz")


def test_ctrl_c_in_a_pass_keeps_the_rule_before():
    class Interrupted(Coarse):
        def count(self, by, binning=None, parts=()):
            if parts:
                raise KeyboardInterrupt
            return super().count(by, binning, parts)

    frame = table(19, 3_000)
    source = Interrupted({k: frame[k].tolist() for k in ("score", "label")})
    with pytest.warns(StoppedWarning, match="interrupted"):
        _, report = solve_on(source)
    assert report.certificate.gap > 0.0
    assert report.satisfied is not False


def test_the_report_survives_json(tmp_path):
    solution = solve("maximize f1", ENGINES["duckdb"](table(20, 500)), **NAMES)
    data = json.loads(solution.report.to_json())
    assert "How the rows were counted" in str(data)
    assert Rule.from_json(solution.rule.to_json()) == solution.rule
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution.report.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "How the rows were counted" in page
