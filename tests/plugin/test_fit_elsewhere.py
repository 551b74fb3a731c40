"""Fitting on tables elsewhere: the model on some rows, the rule on all others."""

import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from setpoint import GoalError, PlugInClassifier, SearchLimits, certify, frontier, solve
from setpoint.estimators import load_model, save_model
from setpoint.plugin.row_share import RowShare
from setpoint.solvers import HoldOut

pd = pytest.importorskip("pandas", reason="of the extra scale")
pa = pytest.importorskip("pyarrow", reason="of the extra scale")
pq = pytest.importorskip("pyarrow.parquet", reason="of the extra scale")
dask = pytest.importorskip("dask", reason="of the extra scale")
dd = pytest.importorskip("dask.dataframe", reason="of the extra scale")

# dask 2026.8 reads Parquet by what pandas 3.1 deprecates.
pytestmark = [
    pytest.mark.filterwarnings(
        r"ignore:The inplace keyword in DataFrame\.reset_index is deprecated"
    ),
    pytest.mark.filterwarnings("ignore:.*measured on few rows"),
]

F1 = "maximize f1"
FLOOR = "maximize recall subject to precision >= 0.6"
GROUPS = "maximize accuracy subject to recall.min(region) >= 0.4"
SHARE = HoldOut(rows_for_fit=600)
FEATURES = ["a", "b", "region"]


def rows(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n))
    region = rng.choice(["n", "s", "w"], n)
    chance = 1 / (1 + np.exp(-(1.5 * a - b + (region == "n") - 1.0)))
    return pd.DataFrame({
        "a": a, "b": b, "region": region,
        "target": np.where(rng.random(n) < chance, "yes", "no"),
        "w": rng.choice([0.0, 1.0, 2.0, 0.5], n),
        "today": np.where(a > 0.5, "yes", "no"),
    })  # fmt: skip


TABLE = rows()


def model():
    return make_pipeline(
        make_column_transformer((OneHotEncoder(), ["region"]), remainder="passthrough"),
        LogisticRegression(),
    )


def write(folder, frame, pieces=3, row_group=400):
    folder.mkdir(exist_ok=True)
    for i, part in enumerate(np.array_split(np.arange(len(frame)), pieces)):
        piece = pa.Table.from_pandas(frame.iloc[part], preserve_index=False)
        pq.write_table(piece, folder / f"{i}.parquet", row_group_size=row_group)
    return str(folder / "*.parquet")


def on_dask(frame, pieces=3):
    return dd.from_pandas(frame, npartitions=pieces, sort=False)


def parts(frame, n=600, key=0):
    """The rows for the model, in the order in which it sees them, and the others."""
    share = RowShare.of(n / len(frame), key, frame.columns)
    drawn = share.draws(frame)
    first = np.flatnonzero(drawn < share.share)
    order = first[np.argsort(drawn[first], kind="stable")]
    return frame.iloc[order].reset_index(drop=True), frame[drawn >= share.share]


def by_hand(goal, frame, features=FEATURES, estimator=None, weight=None, **more):
    """The model on the rows for it, and the rule in memory on the same scores."""
    first, others = parts(frame)
    estimator = model() if estimator is None else estimator
    params = {}
    if weight is not None:
        name = "sample_weight"
        if hasattr(estimator, "steps"):
            name = "logisticregression__sample_weight"
        params[name] = first[weight].to_numpy()
        more["sample_weight"] = others[weight].to_numpy()
    fitted = estimator.fit(first[features], np.asarray(first["target"]), **params)
    scores = fitted.predict_proba(others[features])[:, 1]
    return fitted, solve(goal, scores, np.asarray(others["target"]), **more)


def same_rule(a, b):
    assert a.to_json() == b.to_json()


@pytest.mark.parametrize("goal", [F1, FLOOR, "maximize balanced_accuracy"])
@pytest.mark.parametrize("where", ["dask", "parquet"])
def test_the_rule_of_memory_on_the_same_scores(tmp_path, goal, where):
    frame = TABLE[[*FEATURES, "target"]]
    X = on_dask(frame) if where == "dask" else write(tmp_path, frame)
    clf = PlugInClassifier(model(), goal, solver="exact", cv=SHARE).fit(X, "target")
    fitted, solution = by_hand(goal, frame)
    same_rule(clf.rule_, solution.rule)
    report = clf.goal_report_
    assert report.objective.value == solution.report.objective.value
    assert report.status == "optimal"
    assert report.counts.n_rows == solution.report.counts.n_rows
    coef = clf.estimator_[-1].coef_
    assert np.array_equal(coef, fitted[-1].coef_)
    assert list(clf.classes_) == ["no", "yes"]
    assert clf.positive_ == "yes"
    assert clf.n_features_in_ == 3
    assert clf.evidence_ is None


def test_a_certified_gap_is_enough(tmp_path):
    frame = TABLE[[*FEATURES, "target"]]
    _, solution = by_hand(F1, frame)
    clf = PlugInClassifier(model(), F1, cv=SHARE, limits=SearchLimits(tol=0.01))
    report = clf.fit(write(tmp_path, frame), "target").goal_report_
    assert report.objective.value >= solution.report.objective.value - 0.01
    assert report.certificate.gap <= 0.01


def test_neither_pieces_nor_their_order_matter(tmp_path):
    frame = TABLE[[*FEATURES, "target"]]
    shuffled = frame.sample(frac=1.0, random_state=3)
    clf = PlugInClassifier(model(), GROUPS, sensitive_features="region", solver="exact", cv=SHARE)
    pattern = write(tmp_path / "a", frame)
    write(tmp_path / "b", shuffled, 5, 150)
    files = sorted((tmp_path / "b").glob("*.parquet"))
    tables = [pattern, files[::-1], on_dask(frame, 1), on_dask(shuffled, 7), tmp_path / "a"]
    rules = [clone(clf).fit(X, "target").rule_ for X in tables]
    for rule in rules[1:]:
        same_rule(rule, rules[0])


def test_another_seed_chooses_other_rows():
    frame = on_dask(TABLE[[*FEATURES, "target"]])
    clf = PlugInClassifier(model(), F1, cv=SHARE)
    first = clf.fit(frame, "target").rule_
    again = clone(clf).fit(frame, "target").rule_
    other = clone(clf).set_params(random_state=5).fit(frame, "target").rule_
    same_rule(first, again)
    assert first.to_json() != other.to_json()


def test_groups_and_what_predict_needs(tmp_path):
    frame = TABLE[[*FEATURES, "target"]]
    _, others = parts(frame)
    side = {"region": np.asarray(others["region"])}
    _, solution = by_hand(GROUPS, frame, sensitive_features=side)
    X = on_dask(frame)
    clf = PlugInClassifier(model(), GROUPS, solver="exact", cv=SHARE)
    clf.fit(X, "target", sensitive_features=["region"])
    same_rule(clf.rule_, solution.rule)
    assert clf.rule_.needs_segments
    features = frame[FEATURES]
    decided = clf.predict(features)
    named = clf.predict(features, sensitive_features=frame["region"])
    assert np.array_equal(decided, named)
    # By the constructor, and by the goal's own names.
    for other in (clone(clf).set_params(sensitive_features=["region"]), clone(clf)):
        other.fit(X, "target")
        same_rule(other.rule_, clf.rule_)
        assert np.array_equal(other.predict(features), decided)
        report = other.evaluate(features, np.asarray(frame["target"]))
        assert report.counts.n_rows == len(frame)
    score_alone = clone(clf).set_params(decide_on=None).fit(X, "target")
    assert not score_alone.rule_.needs_segments


def test_weights_count_and_go_to_the_model(tmp_path):
    frame = TABLE[["a", "b", "target", "w"]]
    X = write(tmp_path, frame)
    clf = PlugInClassifier(LogisticRegression(), F1, solver="exact", cv=SHARE)
    clf.fit(X, "target", sample_weight="w")
    fitted, solution = by_hand(F1, frame, ["a", "b"], LogisticRegression(), weight="w")
    same_rule(clf.rule_, solution.rule)
    assert np.array_equal(clf.estimator_.coef_, fitted.coef_)
    clf = clone(clf).set_params(estimator=KNeighborsClassifier())
    with pytest.raises(ValueError, match=r"`sample_weight`: KNeighborsClassifier.fit takes none"):
        clf.fit(X, "target", sample_weight="w")


def test_a_deployed_model():
    frame = TABLE[["a", "b", "target", "today"]]
    goal = "maximize accuracy subject to churn <= 0.2"
    _, others = parts(frame)
    today = np.asarray(others["today"])
    _, solution = by_hand(goal, frame, ["a", "b"], LogisticRegression(), baseline=today)
    clf = PlugInClassifier(LogisticRegression(), goal, solver="exact", cv=SHARE)
    clf.fit(on_dask(frame), "target", baseline="today")
    same_rule(clf.rule_, solution.rule)
    assert list(clf.feature_names_in_) == ["a", "b"]
    with pytest.raises(GoalError, match="`baseline` names the column"):
        clone(clf).fit(on_dask(frame), "target")


def test_a_decision_function_and_a_positive_class_that_comes_first():
    frame = TABLE[["a", "b", "target"]]
    first, others = parts(frame)
    labels = np.asarray(first["target"])
    for estimator, pos_label in [(LinearSVC(), "yes"), (LogisticRegression(), "no")]:
        clf = PlugInClassifier(estimator, F1, solver="exact", pos_label=pos_label, cv=SHARE)
        clf.fit(on_dask(frame), "target")
        fitted = clone(estimator).fit(first[["a", "b"]], labels)
        if pos_label == "yes":
            scores = fitted.decision_function(others[["a", "b"]])
        else:
            scores = fitted.predict_proba(others[["a", "b"]])[:, 0]
        solution = solve(F1, scores, np.asarray(others["target"]), pos_label=pos_label)
        same_rule(clf.rule_, solution.rule)
        assert clf.positive_ == pos_label


@pytest.mark.parametrize("how", ["prefit", "frozen"])
def test_a_fitted_model_is_not_fitted_again(how, tmp_path):
    frame = TABLE[["a", "b", "target"]]
    fitted = LogisticRegression().fit(frame[["a", "b"]][:500], frame["target"][:500])
    estimator, cv = (fitted, "prefit") if how == "prefit" else (FrozenEstimator(fitted), None)
    clf = PlugInClassifier(estimator, FLOOR, cv=cv, solver="exact")
    clf.fit(write(tmp_path, frame), "target")
    scores = fitted.predict_proba(frame[["a", "b"]])[:, 1]
    solution = solve(FLOOR, scores, np.asarray(frame["target"]))
    same_rule(clf.rule_, solution.rule)
    assert clf.goal_report_.counts.n_rows == len(frame)
    assert "all 3,000 rows" in " ".join(str(clf.goal_report_).split())


def test_draws():
    frame = TABLE[["a", "b", "target"]]
    goal = "maximize recall subject to predicted_rate <= 0.123"
    clf = PlugInClassifier(LogisticRegression(), goal, randomized=True, cv=SHARE)
    clf.fit(on_dask(frame), "target")
    decided = clf.predict(frame[["a", "b"]])
    backwards = clf.predict(frame[["a", "b"]][::-1])
    assert np.array_equal(decided, backwards[::-1])


def test_afterwards_it_is_a_classifier_like_any(tmp_path):
    frame = TABLE[[*FEATURES, "target"]]
    clf = PlugInClassifier(model(), FLOOR, cv=SHARE).fit(on_dask(frame), "target")
    features, labels = frame[FEATURES], np.asarray(frame["target"])
    decided = clf.predict(features)
    assert set(decided) == {"no", "yes"}
    save_model(clf, tmp_path / "model.skops")
    copies = pickle.loads(pickle.dumps(clf)), load_model(tmp_path / "model.skops")
    for other in copies:
        assert np.array_equal(other.predict(features), decided)
        assert other.goal_report_.to_json() == clf.goal_report_.to_json()
    report = clf.evaluate(features, labels)
    assert report.counts.seen > 0.1  # the rows that the model was fitted on
    assert clf.predict_proba(features).shape == (len(frame), 2)
    with pytest.raises(ValueError, match="give X and y"):
        frontier(clf)
    # And fitted in memory again.
    clf.set_params(cv=None).fit(features, labels)
    assert clf.evidence_ is not None
    assert not hasattr(clf, "side_columns_")


def test_decisions_of_a_dask_frame(tmp_path):
    frame = TABLE[[*FEATURES, "target"]]
    clf = PlugInClassifier(model(), GROUPS, cv=SHARE).fit(on_dask(frame), "target")
    lazy = clf.predict(on_dask(frame[FEATURES], 4))
    assert type(lazy).__module__.startswith("dask")
    found = lazy.compute()
    assert np.array_equal(found.to_numpy(), clf.predict(frame[FEATURES]))
    assert found.index.equals(frame.index)
    nothing = on_dask(frame[FEATURES])
    nothing = clf.predict(nothing[nothing["a"] > 100.0]).compute()
    assert len(nothing) == 0
    with pytest.raises(TypeError, match="`sensitive_features`: of a dask DataFrame names"):
        clf.predict(on_dask(frame[FEATURES]), sensitive_features=frame["region"])


def test_the_report_says_what_happened(tmp_path):
    frame = TABLE[[*FEATURES, "target"]]
    clf = PlugInClassifier(model(), FLOOR, cv=SHARE).fit(write(tmp_path, frame), "target")
    first, others = parts(frame)
    text = " ".join(str(clf.goal_report_).split())
    assert f"fitted on {len(first):,} rows" in text
    assert f"on {len(others):,} others" in text
    assert "Parquet counted" in text
    assert "pass" in text
    assert clf.goal_report_.search.folds == 1


def test_categories(tmp_path):
    frame = TABLE[["a", "region", "target"]].astype({"region": "category"})
    estimator = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["region"]), remainder="passthrough"),
        RandomForestClassifier(20, max_depth=3, random_state=0),
    )
    clf = PlugInClassifier(estimator, F1, solver="exact", cv=SHARE)
    rules = [clone(clf).fit(X, "target").rule_ for X in (on_dask(frame), write(tmp_path, frame))]
    same_rule(*rules)


def test_settings_of_scikit_learn_hold_in_every_thread(tmp_path):
    frame = TABLE[["a", "b", "target"]]

    def named(X):
        return X[["a"]] if hasattr(X, "columns") else X[:, 1:] * np.nan

    estimator = make_pipeline(StandardScaler(), FunctionTransformer(named), LogisticRegression())
    clf = PlugInClassifier(estimator, F1, cv=SHARE)
    with config_context(transform_output="pandas"):
        clf.fit(write(tmp_path, frame), "target")
    assert clf.goal_report_.objective.value > 0.5


def test_certified_afterwards():
    frame = TABLE[["a", "b", "target"]]
    clf = PlugInClassifier(LogisticRegression(), FLOOR, cv=SHARE).fit(on_dask(frame), "target")
    new = rows(seed=1)
    found = certify(clf, FLOOR.replace("0.6", "0.5"), new[["a", "b"]], np.asarray(new["target"]))
    assert found.guarantee.state == "certified"


# ---------------------------------------------------------------------------- what is refused
def refused(match, X=None, y="target", error=ValueError, goal=F1, fit=None, **params):
    frame = TABLE[["a", "b", "target"]]
    clf = PlugInClassifier(LogisticRegression(), goal, **{"cv": SHARE, **params})
    with pytest.raises(error, match=match):
        clf.fit(on_dask(frame) if X is None else X, y, **(fit or {}))


def test_names():
    refused(
        "`y` is the name of a column of the table, found ndarray", y=np.zeros(3), error=TypeError
    )
    refused("`y` is the name of a column of the table, found NoneType", y=None, error=TypeError)
    refused("`y`: the table has no column 'tarjet'.*'target'", y="tarjet")
    refused("`sample_weight`: the table has no column 'w'", fit={"sample_weight": "w"})
    refused(
        "`sample_weight`: the column 'target' holds text",
        error=TypeError,
        fit={"sample_weight": "target"},
    )
    refused("`sensitive_features`: the table has no column", fit={"sensitive_features": ["c"]})
    refused("the goal refers to the column 'region'", error=GoalError, goal=GROUPS)
    refused("`X`: the table has no column beside", X=on_dask(TABLE[["target"]]))
    refused("there is no such file", X="nowhere.parquet", error=FileNotFoundError)
    refused("no Parquet files", X="nowhere/*.parquet", error=FileNotFoundError)


def test_rows_for_fit():
    refused("`rows_for_fit`: .* 1,000,000 rows .the default.*has 3,000", cv=None)
    refused(
        "`rows_for_fit`: the model is fitted on 3,000 rows.*has 3,000",
        cv=HoldOut(rows_for_fit=3000),
    )
    refused("`rows_for_fit`: the .* rows that were chosen", cv=HoldOut(rows_for_fit=1))
    with pytest.raises(ValueError, match="`rows_for_fit` is a whole number >= 1 or None, got 0"):
        HoldOut(rows_for_fit=0)
    with pytest.raises(ValueError, match=r"`cv`, `rows_for_fit`: .*leave one of them out"):
        HoldOut(0.2, rows_for_fit=10)
    with pytest.raises(ValueError, match=r"`rows_for_fit`: it splits tables elsewhere.*found 600"):
        PlugInClassifier(LogisticRegression(), F1, cv=SHARE).fit(
            TABLE[["a", "b"]], np.asarray(TABLE["target"])
        )
    clf = PlugInClassifier(LogisticRegression(), F1, cv=SHARE).set_params(cv__rows_for_fit=700)
    assert clf.cv.rows_for_fit == 700


def test_what_is_for_rows_in_memory():
    refused("`cv`: on a table elsewhere", cv=5)
    refused("`cv`: on a table elsewhere", cv=HoldOut(0.2))
    refused("`solver`, `evidence`: on a table elsewhere", solver="frank-wolfe")
    refused("`solver`, `evidence`: on a table elsewhere", evidence="soft")
    refused("`confidence`: .*setpoint.certify", error=GoalError, goal=FLOOR, confidence=0.9)
    refused("`datasets`: ", error=GoalError, fit={"datasets": {"new": TABLE}})
    refused("fit got .'groups'.", fit={"groups": [1]})
    refused("`baseline`: of a table elsewhere", error=TypeError, baseline=LogisticRegression())
    refused("`draw` is 'row', 'random' or a column", draw="customer")


def test_labels():
    frame = TABLE[["a", "b", "target"]]
    refused("`y` holds one class only", X=on_dask(frame[frame["target"] == "no"]))
    three = frame.assign(target=np.where(frame["a"] > 1.0, "maybe", frame["target"]))
    refused(
        "y holds 3 classes.*setpoint.solve",
        X=on_dask(three),
        error=GoalError,
        goal="maximize accuracy",
    )
    some = frame.assign(target=frame["target"].where(frame["b"] > -2.0))
    n = int(some["target"].isna().sum())
    refused(f"`y`: {n} of 3,000 rows have no value in the column 'target'", X=on_dask(some))
    rare = frame.assign(target=np.where(np.arange(3000) == 7, "yes", "no"))
    refused("`rows_for_fit`: .* hold 'no' alone|`rows_for_fit`: .*'no'", X=on_dask(rare))


def test_rows_that_are_too_much_alike():
    few = pd.DataFrame({"a": np.arange(3000) % 7, "target": np.arange(3000) % 2})
    refused("`X`: 100 % of the rows equal others", X=on_dask(few), cv=HoldOut(rows_for_fit=1000))


def test_engines_that_cannot_call_a_model():
    polars = pytest.importorskip("polars", reason="of the extra scale")
    refused("sink_parquet", X=polars.from_pandas(TABLE).lazy(), error=TypeError)
    duckdb = pytest.importorskip("duckdb", reason="of the extra scale")
    relation = duckdb.connect().from_arrow(pa.Table.from_pandas(TABLE))
    refused("write_parquet", X=relation, error=TypeError)


def test_without_pyarrow(tmp_path, monkeypatch):
    path = write(tmp_path, TABLE)
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    refused(r"pip install 'setpoint\[scale\]'", X=path, error=ImportError)


def test_words_in_a_list_are_rows_in_memory():
    from sklearn.feature_extraction.text import CountVectorizer

    words = ["good film", "bad film", "good", "bad"] * 10
    clf = PlugInClassifier(make_pipeline(CountVectorizer(), LogisticRegression()), F1)
    clf.fit(words, [1, 0, 1, 0] * 10)
    assert clf.predict(["good", "bad"]).tolist() == [1, 0]
