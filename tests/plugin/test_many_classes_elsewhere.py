"""Many classes on tables elsewhere: within the certified gap of the same rows in memory."""

import functools
import itertools
import warnings

import numpy as np
import pytest

from counting.reference import ArraySource
from setpoint import SearchLimits, solve
from setpoint.evidence import Evidence, streamed
from setpoint.evidence.streamed import StreamedEvidence
from setpoint.evidence.tally import ChangedTableError
from setpoint.goals.errors import GoalError
from setpoint.goals.goal import as_goal
from setpoint.inputs import posterior_rows
from setpoint.plugin import many_classes
from setpoint.plugin.choose_evidence import MissedBoundsWarning
from setpoint.plugin.parameters import Options
from setpoint.plugin.tables import solve_lazy
from setpoint.report.reporting import FewRowsWarning
from setpoint.search.infeasibility import InfeasibleError
from setpoint.search.limits import StoppedWarning

pytestmark = [
    pytest.mark.filterwarnings("ignore::setpoint.report.reporting.FewRowsWarning"),
    pytest.mark.filterwarnings("ignore::setpoint.plugin.choose_evidence.MissedBoundsWarning"),
]

GOALS = [
    "g_mean",
    "maximize min_recall",
    "maximize accuracy subject to recall(label=0) >= 0.8",
    "maximize balanced_accuracy subject to predicted_rate(label=1) <= 0.2",
    "maximize accuracy subject to predicted_rate(label=1).difference(g) <= 0.02",
    "maximize min_recall subject to recall(label=2).on(g='b') >= 0.7",
]


def rows(n=3, n_rows=3000, seed=0):
    """Calibrated posteriors, labels drawn from them, and two groups of which one is harder."""
    rng = np.random.default_rng(seed)
    g = np.where(rng.random(n_rows) < 0.4, "b", "a")
    sharp = np.where(g == "a", 0.4, 1.0)[:, None]
    P = rng.gamma(np.repeat(sharp, n, axis=1)) + 1e-6
    P *= np.linspace(1.0, 0.5, n)
    P /= P.sum(axis=1, keepdims=True)
    y = (rng.random(n_rows)[:, None] > P.cumsum(axis=1)).sum(axis=1).clip(max=n - 1)
    return P, y, g


def names(n):
    return [f"p{k}" for k in range(n)]


def columns(P, y, g, weight=None):
    out = dict(zip(names(P.shape[1]), P.T, strict=True)) | {"y": y, "g": g}
    return out if weight is None else out | {"w": weight}


def lazy(engine, table):
    if engine == "dask":
        dd = pytest.importorskip("dask.dataframe")
        return dd.from_pandas(pytest.importorskip("pandas").DataFrame(table), npartitions=3)
    if engine == "polars":
        return pytest.importorskip("polars").DataFrame(table).lazy()
    duckdb = pytest.importorskip("duckdb")
    pa = pytest.importorskip("pyarrow")
    return duckdb.connect().from_arrow(pa.table(table))


def elsewhere(goal, table, engine="polars", **options):
    n = sum(name[0] == "p" for name in table)
    options = {"randomized": "auto", "y": "y", "scores": names(n)} | options
    return solve(goal, lazy(engine, table), **options)


class Cut(ArraySource):
    """Rows in batches of some size."""

    def __init__(self, table, size):
        super().__init__({k: np.asarray(v).tolist() for k, v in table.items()})
        self.size, self.arrays = size, table
        self.readings = 0

    def batches(self, wanted):
        self.readings += 1
        for start in range(0, self.rows(), self.size):
            yield {k: self.arrays[k][start : start + self.size] for k in wanted}


def from_source(goal, source, n=3, **options):
    settings = Options.of("auto", options.pop("limits", None), randomized="auto")
    given = {"sensitive_features": ["g"]} | options
    return solve_lazy(as_goal(goal), source, "y", names(n), settings, **given)


@functools.cache
def in_memory(goal, n):
    P, y, g = rows(n)
    return solve(goal, P, y, sensitive_features={"g": g}, evidence="soft", randomized="auto").report


# ------------------------------------------------------------------------------ the same answer


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("n", [3, 4])
@pytest.mark.parametrize("goal", GOALS)
def test_it_is_within_the_gap_of_what_memory_finds(goal, n, engine):
    P, y, g = rows(n)
    known = in_memory(goal, n)
    found = elsewhere(goal, columns(P, y, g), engine, sensitive_features=["g"])
    report = found.report
    gap = report.certificate.gap
    assert 0.0 <= gap <= 1e-4
    assert report.search.evidence == "soft"
    assert abs(report.objective.posteriors - known.objective.posteriors) <= 1e-4
    assert known.objective.posteriors <= report.objective.posteriors + gap + 1e-9
    # What the report says of the labels is what the rule does to them.
    right = found.rule.distribution(P, codes(found.rule, g))[np.arange(len(y)), y]
    counted = sum(w for i, j, w in report.counts.table() if i == j)
    assert counted == pytest.approx(right.sum(), abs=1e-6)


def codes(rule, g):
    """Segments of rows; a goal that names one group has one for the rest."""
    if not rule.needs_segments:
        return None
    known = [key[0][1] for key in rule.segments]
    rest = next((i for i, v in enumerate(known) if v not in ("a", "b")), None)
    return np.array([known.index(v) if v in known else rest for v in g])


@pytest.mark.parametrize("goal", GOALS[:3])
def test_samples_that_are_few_cost_passes_alone(monkeypatch, goal):
    P, y, g = rows(3)
    monkeypatch.setattr(many_classes, "_ROWS", 150)
    report = elsewhere(goal, columns(P, y, g), sensitive_features=["g"]).report
    assert report.certificate.gap <= 1e-4
    assert abs(report.objective.posteriors - in_memory(goal, 3).objective.posteriors) <= 1e-4


def test_a_table_sorted_by_group_and_class_gives_samples_from_end_to_end(monkeypatch):
    P, y, g = rows(3)
    order = np.lexsort((y, g))
    monkeypatch.setattr(many_classes, "_ROWS", 100)
    report = elsewhere(
        GOALS[4], columns(P[order], y[order], g[order]), sensitive_features=["g"]
    ).report
    assert report.certificate.gap <= 1e-4
    assert abs(report.objective.posteriors - in_memory(GOALS[4], 3).objective.posteriors) <= 1e-4


def test_without_draws_constraints_are_met_and_the_gap_is_named():
    P, y, g = rows(4)
    for goal in GOALS[1:4]:
        known = solve(goal, P, y, sensitive_features={"g": g}, evidence="soft").report
        found = elsewhere(goal, columns(P, y, g), sensitive_features=["g"], randomized=False)
        report = found.report
        assert report.certificate.violation <= 1e-9
        assert np.isin(found.rule.distribution(P, codes(found.rule, g)), (0.0, 1.0)).all()
        reached = report.objective.posteriors
        assert known.objective.posteriors <= reached + report.certificate.gap + 1e-9
        assert abs(reached - known.objective.posteriors) <= 2e-3


def test_sums_of_ratios_end_at_a_stationary_point_as_in_memory():
    P, y, g = rows(3)
    known = in_memory("macro_f1", 3)
    report = elsewhere("macro_f1", columns(P, y, g)).report
    assert report.status == known.status == "stationary"
    assert report.objective.posteriors == pytest.approx(known.objective.posteriors, abs=1e-4)


def test_costs_of_pairs_of_classes_are_counted_by_a_tensor():
    P, y, g = rows(3)
    goal = "minimize error_rate subject to recall(label=0) - recall(label=1) <= 0.05"
    known = in_memory(goal, 3)
    report = elsewhere(goal, columns(P, y, g)).report
    assert report.objective.posteriors == pytest.approx(known.objective.posteriors, abs=1e-4)


# -------------------------------------------------------------------- cuts, weights, two classes


@pytest.mark.parametrize("goal", ["g_mean", GOALS[2], GOALS[4]])
def test_how_rows_are_cut_does_not_matter(monkeypatch, goal):
    P, y, g = rows(3, 400)
    table = columns(P, y, g)
    found = []
    for size in (1, 7, 1000):
        monkeypatch.setattr(posterior_rows, "_BATCH", size)
        _rule, report = from_source(goal, Cut(table, 1000))
        found.append(report)
    for report in found[1:]:
        assert report.objective.posteriors == pytest.approx(
            found[0].objective.posteriors, abs=1e-12
        )
        assert report.objective.value == pytest.approx(found[0].objective.value, abs=1e-12)


def test_how_the_engine_cuts_rows_changes_not_a_bit():
    P, y, g = rows(3, 400)
    one, *others = (from_source("g_mean", Cut(columns(P, y, g), size)) for size in (1, 7, 1000))
    for rule, report in others:
        assert rule == one[0]
        assert report.objective == one[1].objective


def test_a_weight_of_two_is_the_row_twice_and_one_of_zero_is_not_there():
    P, y, g = rows(3, 900)
    weight = np.random.default_rng(1).integers(0, 3, 900).astype(float)
    twice = np.repeat(np.arange(900), weight.astype(int))
    for goal in ("g_mean", GOALS[2], GOALS[4]):
        one = elsewhere(
            goal, columns(P, y, g, weight), sample_weight="w", sensitive_features=["g"]
        ).report
        two = elsewhere(
            goal, columns(P[twice], y[twice], g[twice]), sensitive_features=["g"]
        ).report
        assert one.certificate.gap <= 1e-4
        assert one.objective.posteriors == pytest.approx(two.objective.posteriors, abs=1e-4)


def test_answers_add_up_over_batches():
    P, y, _g = rows(4, 300)
    weight = np.random.default_rng(2).random(300) + 0.5
    whole = Evidence.from_arrays((0, 1, 2, 3), P, y, weight=weight)
    labelled = whole.rows.confusion(np.zeros(300, np.int64))
    W, B = np.array([[1.0, 2.0, 0.5, 1.5]]), np.array([[0.0, 0.1, 0.0, -0.1]])
    G = np.random.default_rng(3).random((1, 4, 4))
    for cuts in ([0, 300], [0, 1, 2, 150, 300], [0, 299, 300]):
        parts = [whole.take(np.arange(a, b)) for a, b in itertools.pairwise(cuts)]
        read = StreamedEvidence(labelled, whole.codebook, lambda _, parts=parts: iter(parts))
        soft, known = read.with_posteriors(), whole.with_posteriors()
        tops = np.arange(4)
        for mine, theirs in (
            (soft.block_features(W, B), known.block_features(W, B)),
            (
                soft.block_features(W, B, soft.blocks(tops)),
                known.block_features(W, B, known.blocks(tops)),
            ),
            (
                soft.tensor_counts(G, soft.blocks(tops)),
                known.tensor_counts(G, known.blocks(tops)),
            ),
            (
                soft.block_weights(soft.blocks(tops)),
                known.block_weights(known.blocks(tops)),
            ),
            (soft.marginals.weights, known.marginals.weights),
            (read.marginals.weights, whole.marginals.weights),
            (soft.loss_tensor(G), known.loss_tensor(G)),
            (read.labelled_squares, whole.labelled_squares),
        ):
            np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-12 * 300)
        passes = soft.passes
        soft.block_features(W, B)  # the same question: known
        assert soft.passes == passes
        with pytest.raises(ValueError, match="no curve"):
            read.curve(0)
        with pytest.raises(ValueError, match="cut-off"):
            read.confusion_of_accepted(np.zeros((1, 5)))


def test_answers_that_do_not_fit_in_memory_together_are_asked_for_again(monkeypatch):
    P, y, g = rows(3, 400)
    plenty = from_source(GOALS[2], Cut(columns(P, y, g), 100))[1]
    monkeypatch.setattr(streamed, "_ANSWERS", 1)
    scarce = from_source(GOALS[2], Cut(columns(P, y, g), 100))[1]
    assert scarce.objective == plenty.objective


def test_two_classes_by_their_posteriors():
    P, y, g = rows(2)
    known = solve("f1", P, y, evidence="soft", randomized="auto").report
    found = elsewhere("f1", columns(P, y, g)).report
    assert found.objective.posteriors == pytest.approx(known.objective.posteriors, abs=1e-4)
    text = np.where(y == 1, "ill", "well")
    turned = elsewhere("f1", columns(P[:, ::-1], text, g), pos_label="ill").report
    assert turned.objective.posteriors == pytest.approx(known.objective.posteriors, abs=1e-4)


@pytest.mark.parametrize("engine", ["polars", "duckdb", "dask"])
def test_labels_of_text_and_groups_of_numbers(engine):
    P, y, g = rows(3)
    text = np.array(["ape", "bee", "cat"])[y]
    report = elsewhere(
        "maximize accuracy subject to recall(label='cat').on(g=2) >= 0.7",
        columns(P, text, np.where(g == "a", 1, 2)),
        engine,
    ).report
    assert report.certificate.violation <= 1e-9
    assert report.certificate.gap <= 1e-4


# ----------------------------------------------------------------------- passes, limits, reports


def test_the_report_says_who_counted_and_how_often():
    P, y, g = rows(3)
    seen = []
    source = Cut(columns(P, y, g), 500)
    _, report = from_source("g_mean", source, watch=seen.append)
    section = report.sections[-1]
    assert section.title == "How the rows were counted"
    assert "NumPy grouped 3,000 rows" in str(section.sentences)
    # The sample is one more reading.
    assert f"read {source.readings - 1} times" in str(section.sentences)
    assert source.passes == 1
    assert source.readings <= 5
    assert [one.number for one in seen] == list(range(1, source.readings))
    assert seen[0].gap == np.inf
    assert seen[-1].gap <= 1e-4
    assert "soft evidence" in report.search.why


def test_limits_on_passes_keep_the_best_so_far():
    P, y, g = rows(3)
    with pytest.warns(StoppedWarning, match="best found so far"):
        found = elsewhere(
            GOALS[2], columns(P, y, g), limits=SearchLimits(calls=1), sensitive_features=["g"]
        )
    assert found.report.certificate.violation <= 1e-9


def test_an_interrupt_keeps_the_best_so_far(monkeypatch):
    P, y, g = rows(3)
    monkeypatch.setattr(many_classes, "_ROWS", 100)

    class Interrupted(Cut):
        def batches(self, wanted):
            if self.readings == 2:  # the sample's, and that of its rules, are over
                self.readings += 1
                raise KeyboardInterrupt
            yield from super().batches(wanted)

    with pytest.warns(StoppedWarning, match="interrupted"):
        _, report = from_source("g_mean", Interrupted(columns(P, y, g), 500))
    known = in_memory("g_mean", 3).objective.posteriors
    assert abs(report.objective.posteriors - known) <= 0.02


def test_a_goal_out_of_reach_is_refused_with_what_is_reachable():
    P, y, g = rows(3)
    goal = "maximize accuracy subject to recall(label=0) >= 0.95, recall(label=1) >= 0.95"
    source = Cut(columns(P, y, g), 5000)
    with pytest.raises(InfeasibleError):
        from_source(goal, source)
    assert source.readings <= 45
    goal = "maximize accuracy subject to recall(label=0) >= 0.95, recall(label=1) >= 0.95"
    with pytest.raises(InfeasibleError):
        elsewhere(goal, columns(P, y, g))
    near = elsewhere(goal, columns(P, y, g), on_infeasible="nearest").report
    assert near.status == "nearest"


def test_bounds_that_labels_miss_are_warned_of():
    P, y, g = rows(3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        elsewhere(GOALS[2], columns(P, (y + 1) % 3, g))
    assert any(w.category is MissedBoundsWarning for w in caught)
    assert not any(w.category is FewRowsWarning for w in caught)


# ------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda P: _set(P, 3, 0, np.nan), "1 of 300 rows have a posterior that is NULL, NaN"),
        (lambda P: _set(P, [3, 9], 1, np.inf), "2 of 300 rows have a posterior that is NULL, NaN"),
        (lambda P: _set(P, 5, 2, -0.5), "1 of 300 rows have a posterior below 0"),
        (lambda P: _set(P, [5, 6, 7], 2, 1.5), "3 of 300 rows have posteriors whose sum is off"),
    ],
)
@pytest.mark.parametrize("size", [7, 1000])
def test_rows_without_posteriors_are_numbered(change, said, size):
    P, y, g = rows(3, 300)
    with pytest.raises(ValueError, match=said):
        from_source("g_mean", Cut(columns(change(P.copy()), y, g), size))


def _set(P, at, column, value):
    P[at, column] = value
    return P


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_null_posteriors_are_numbered(engine):
    P, y, g = rows(3, 300)
    table = columns(P, y, g)
    table["p1"] = [None if i in (4, 44) else v for i, v in enumerate(table["p1"].tolist())]
    with pytest.raises(ValueError, match="2 of 300 rows have a posterior that is NULL"):
        elsewhere("g_mean", table, engine)


def test_posteriors_off_one_a_little_are_renormalised_and_the_report_says_so():
    P, y, g = rows(3, 300)
    report = elsewhere("g_mean", columns(P * 1.0005, y, g)).report
    assert any("renormalised" in text for text in report.warnings)


def test_bad_arguments_are_named():
    P, y, g = rows(3, 300)
    table = columns(P, y, g)
    with pytest.raises(ValueError, match=r"`scores` names 2 columns .* 3 classes"):
        elsewhere("g_mean", table, scores=["p0", "p1"])
    with pytest.raises(ValueError, match="`scores`: y holds 3 classes, found one column"):
        elsewhere("g_mean", table, scores="p0", randomized=False)
    with pytest.raises(ValueError, match=r"`scores` names 3 columns .* 2 classes"):
        elsewhere("g_mean", columns(P, np.minimum(y, 1), g))
    with pytest.raises(ValueError, match="`scores`: the table has no column 'q'"):
        elsewhere("g_mean", table, scores=["p0", "p1", "q"])
    with pytest.raises(ValueError, match="`scores`: the column 'p1' is named twice"):
        elsewhere("g_mean", table, scores=["p0", "p1", "p1"])
    with pytest.raises(TypeError, match="`scores`: the column 'g' holds text"):
        elsewhere("g_mean", table, scores=["p0", "p1", "g"])
    with pytest.raises(ValueError, match=r"`evidence`: .* found 'label'"):
        elsewhere("g_mean", table, evidence="label")
    with pytest.raises(ValueError, match=r"`solver`: .* found 'frank-wolfe'"):
        elsewhere("g_mean", table, solver="frank-wolfe")
    with pytest.raises(ValueError, match=r"`exact`: .* certified gap"):
        elsewhere("g_mean", table, exact=True)
    with pytest.raises(ValueError, match="`checkpoint`: "):
        elsewhere("g_mean", table, checkpoint="counts.json")
    with pytest.raises(ValueError, match="`classes` are in sorted order"):
        elsewhere("g_mean", table, classes=[2, 1, 0])
    with pytest.raises(ValueError, match="tol"):
        elsewhere("g_mean", table, tol=2.0)
    with pytest.raises(GoalError, match="`decide_on`: "):
        elsewhere(GOALS[4], table, sensitive_features=["g"], decide_on=None)
    with pytest.raises(GoalError, match="'h'"):
        elsewhere("maximize accuracy subject to accuracy.on(h='b') >= 0.1", table)


def test_a_class_without_rows_is_known_by_its_name():
    P, y, g = rows(3, 300)
    y = np.minimum(y, 1)
    report = elsewhere("accuracy", columns(P, y, g), classes=[0, 1, 2]).report
    assert report.certificate.gap <= 1e-4


def test_a_table_that_changes_between_passes_is_noticed():
    P, y, g = rows(3, 300)

    class Other(Cut):
        def batches(self, wanted):
            if self.readings >= 2:
                self.arrays = self.arrays | {"p0": P[:, 1], "p1": P[:, 0]}
            yield from super().batches(wanted)

    with pytest.raises(ChangedTableError, match="the table changed"):
        from_source("g_mean", Other(columns(P, y, g), 100))
