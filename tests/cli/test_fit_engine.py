"""``setpoint fit --set engine dask``: the model on some rows of Parquet files, the rule on "
"the rest."""

import json
import re
from functools import partial

import numpy as np
import pytest
from sklearn.pipeline import Pipeline

from setpoint import PlugInClassifier, load_model, tables
from setpoint.solvers import HoldOut
from setpoint.tables import Column, model_for, read_table

pd = pytest.importorskip("pandas", reason="of the extra scale")
pa = pytest.importorskip("pyarrow", reason="of the extra scale")
pq = pytest.importorskip("pyarrow.parquet", reason="of the extra scale")

N, FOR_FIT = 3_000, 600
GOAL = "maximize recall subject to precision >= 0.6"
GROUPS = "maximize accuracy subject to recall.min(region) >= 0.4"
CHURN = "maximize accuracy subject to churn <= 0.3"


def table(seed=0):
    r = np.random.default_rng(seed)
    a, b = r.normal(size=(2, N))
    region = r.choice(["n", "s", "w"], N)
    chance = 1 / (1 + np.exp(-(1.5 * a - b + (region == "n") - 1.0)))
    y = np.where(r.random(N) < chance, "yes", "no")
    flag = np.where(r.random(N) < 0.1, None, r.random(N) < 0.5)
    return pd.DataFrame({
        "a": a,
        "b": np.where(r.random(N) < 0.1, np.nan, b),
        "kind": r.choice(["x", "y", None], N),
        "flag": pd.array(flag, dtype="boolean"),
        "n": r.integers(0, 9, N),
        "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(r.integers(0, 900, N), "D"),
        "region": region,
        "y": y,
        "old": np.where(a > 0.5, "yes", "no"),
        "id": np.arange(N),
        "part": "2024",
    })  # fmt: skip


FRAME = table()
PLAIN = ["a", "b", "n", "y"]


def put(at, frame, pieces=3):
    """The rows in a file for each third of them; the second has whole numbers without a gap."""
    at.mkdir(exist_ok=True)
    for i, rows in enumerate(np.array_split(np.arange(len(frame)), pieces)):
        part = pa.Table.from_pandas(frame.iloc[rows], preserve_index=False)
        pq.write_table(part, at / f"{i}.parquet", row_group_size=400)
    return str(at / "*.parquet")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return put(tmp_path_factory.mktemp("rows"), FRAME)


@pytest.fixture
def fit(run, tmp_path):
    def invoke(data, *args, goal=GOAL, **more):
        given = {"--target": "y", "--goal": goal, "--model": tmp_path / "m.skops"}
        given |= {"--set rows-for-fit": FOR_FIT, "--set engine": "dask", **more}
        words = []
        for name, value in given.items():
            if value is not None:
                option, _, setting = name.partition(" ")
                words += [option, f"{setting}={value}" if setting else value]
        return run("fit", data, *words, *args)

    return invoke


def said(done):
    return json.loads(done.stdout)


def test_the_rule_is_that_of_the_classifier_in_python(fit, tmp_path):
    frame = FRAME[PLAIN]
    files = put(tmp_path / "plain", frame)
    done = fit(files, "--json")
    assert done.exit_code in (0, 4), done.output
    columns = [Column(name, "number") for name in ("a", "b", "n")]
    clf = PlugInClassifier(
        model_for(frame, columns), GOAL, randomized=False, cv=HoldOut(rows_for_fit=FOR_FIT)
    ).fit(files, "y")
    model = load_model(tmp_path / "m.skops")
    found = model.classifier
    assert found.rule_.to_json() == clf.rule_.to_json()
    assert np.array_equal(found.estimator_[-1].coef_, clf.estimator_[-1].coef_)
    counts = clf.goal_report_.counts.n_rows
    assert said(done)["rows"]["fitted"] == N - counts
    assert said(done)["fitted"]["counts"]["n_rows"] == counts
    assert said(done)["run"]["engine"] == "dask"


def test_the_model_file_is_one_as_always(fit, run, files, tmp_path):
    done = fit(files, "--drop", "id", "--baseline", "old", "--decide-on", "region", goal=GROUPS)
    assert done.exit_code in (0, 3, 4), done.output
    assert "How the rows were counted" in done.stdout
    assert "rows that the rule was chosen on" in done.stdout
    assert "'part': the same value in every row" in done.stderr
    model = load_model(tmp_path / "m.skops")
    assert isinstance(model.classifier.estimator_, Pipeline)
    names = [name for name, _ in model.classifier.estimator_.steps]
    assert names == ["columns", "model"]
    assert [c.name for c in model.columns] == ["a", "b", "kind", "flag", "n", "since", "region"]
    new = table(1)
    new.to_csv(tmp_path / "new.csv", index=False)
    put(tmp_path / "new", new, 1)
    decided = []
    for path in ("new.csv", "new/0.parquet"):
        out = tmp_path / "out.csv"
        done = run("predict", tmp_path / "m.skops", tmp_path / path, "-o", out)
        assert done.exit_code == 0, done.output
        decided.append(pd.read_csv(out)[["prediction", "score"]])
    assert decided[0].equals(decided[1])
    assert set(decided[0]["prediction"]) == {"yes", "no"}
    FRAME.to_csv(tmp_path / "same.csv", index=False)
    for name, seen in {"new.csv": False, "same.csv": True}.items():
        done = run("evaluate", tmp_path / "m.skops", tmp_path / name, "--json")
        assert done.exit_code in (0, 3, 4), done.output
        assert (said(done)["evaluated"]["counts"]["seen"] > 0.1) is seen


def test_pieces_are_given_to_the_model_as_tables_are(fit, files, tmp_path):
    """The rows that were counted, decided from the whole table in memory, count the same."""
    from setpoint.plugin.row_share import RowShare

    done = fit(files, "--drop", "id", "--json", "--estimator", "hist-gradient-boosting")
    assert done.exit_code in (0, 3, 4), done.output
    model = load_model(tmp_path / "m.skops")
    pq.write_table(pa.concat_tables(
        [pq.read_table(p) for p in sorted((tmp_path / files).parent.glob("*.parquet"))]
    ), tmp_path / "all.parquet")  # fmt: skip
    whole = read_table(tmp_path / "all.parquet")
    share = RowShare.of(FOR_FIT / N, 0, FRAME.columns)
    rest = share.rest(pq.read_table(tmp_path / "all.parquet").to_pandas())
    decided = model.predict(whole)["prediction"].to_numpy()[rest]
    labels = FRAME["y"].to_numpy()[rest]
    recall = (decided[labels == "yes"] == "yes").mean()
    assert said(done)["fitted"]["objective"]["value"] == pytest.approx(recall, abs=1e-12)


def test_a_rule_that_does_not_look_at_the_groups(fit, run, files, tmp_path):
    done = fit(files, "--drop", "id", "--decide-on", "none", goal=GROUPS)
    assert done.exit_code in (0, 3, 4), done.output
    assert "region" not in [c.name for c in load_model(tmp_path / "m.skops").columns]
    table(1).drop(columns="region").to_csv(tmp_path / "new.csv", index=False)
    done = run("predict", tmp_path / "m.skops", tmp_path / "new.csv", "-o", tmp_path / "out.csv")
    assert done.exit_code == 0, done.output


def test_a_deployed_model(fit, files, tmp_path):
    done = fit(files, "--baseline", "old", goal=CHURN)
    assert done.exit_code in (0, 4), done.output
    assert "old" not in [c.name for c in load_model(tmp_path / "m.skops").columns]
    assert "'id': it counts the rows" in done.stderr
    done = fit(files, goal=CHURN)
    assert done.exit_code == 1
    assert "--baseline" in done.stderr


def test_the_page(fit, files, tmp_path):
    done = fit(files, "--report", tmp_path / "page.html")
    assert done.exit_code in (0, 4), done.output
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "How the rows were counted" in page
    assert "How the model was fitted" in page
    assert "3,000 rows and 11 columns in 3 files" in page
    assert "--judge-by" not in page


def test_a_goal_that_no_rule_meets(fit, files, tmp_path):
    goal = "maximize recall subject to precision >= 0.999 and recall >= 0.9"
    done = fit(files, goal=goal)
    assert done.exit_code == 3
    assert "no model was written" in done.stdout
    assert not (tmp_path / "m.skops").exists()


def test_a_cluster(fit, files, tmp_path):
    distributed = pytest.importorskip("distributed", reason="of the extra scale")
    assert fit(files).exit_code in (0, 4)
    here = load_model(tmp_path / "m.skops").classifier.rule_.to_json()
    settings = {"n_workers": 1, "threads_per_worker": 2, "processes": False}
    with distributed.LocalCluster(**settings, dashboard_address=None) as cluster:
        done = fit(files, **{"--set scheduler": cluster.scheduler_address})
    assert done.exit_code in (0, 4), done.output
    assert "on dask" in done.stdout
    assert load_model(tmp_path / "m.skops").classifier.rule_.to_json() == here


def test_no_scheduler_answers(fit, files, monkeypatch):
    pytest.importorskip("distributed", reason="of the extra scale")
    from setpoint.counting import cluster

    connect = cluster.connect
    monkeypatch.setattr(cluster, "connect", lambda address: connect(address, timeout=0.2))
    done = fit(files, **{"--set scheduler": "tcp://127.0.0.1:1"})
    assert done.exit_code == 1
    assert "--set scheduler: no dask scheduler answers at tcp://127.0.0.1:1" in done.stderr


@pytest.mark.parametrize("args", [
    ("--test-size", "0.2"), ("--confidence", "0.95"), ("--set", "strict"), ("--test-by", "y"),
    ("--skip-unlabelled",),
    ("--set", "solver=exact"), ("--dataset", "a=b.csv"),
    ("--judge-by", GOAL), ("--set", "max-seconds=3"),
    ("--set", "separator=;"), ("--set", "certification-size=0.3"),
])  # fmt: skip
def test_options_for_tables_in_memory(fit, files, args):
    done = fit(files, *args)
    assert done.exit_code == 1
    option = f"--set {args[1].partition('=')[0]}" if args[0] == "--set" else args[0]
    assert f"{option} is for tables in memory" in done.stderr
    assert "beside it go --target, --goal" in done.stderr


def test_options_for_tables_elsewhere(fit, files):
    for option, value in {"--set scheduler": "tcp://a:1", "--set rows-for-fit": 5}.items():
        done = fit(files, **{"--set engine": None, "--set rows-for-fit": None, option: value})
        assert done.exit_code == 1
        assert f"{option} is for tables that are counted where they lie" in done.stderr


@pytest.mark.parametrize(("change", "message"), [
    ({"--target": "z"}, "--target: .* has no column 'z'"),
    ({"--drop": "z"}, "--drop: .* has no column 'z'"),
    ({"--sensitive": "z"}, "--sensitive: .* has no column 'z'"),
    ({"--decide-on": "z"}, "--decide-on: .* has no column 'z'"),
    ({"--baseline": "z"}, "--baseline: .* has no column 'z'"),
    ({"--goal": "maximize accuracy subject to recall.min(z) >= 0.1"}, "column 'z'"),
    ({"--target": "kind"}, "rows of .* have no label in column 'kind'"),
    ({"--target": "region"}, "holds 3 different values"),
    ({"--positive": "maybe"}, "--positive: column 'y' holds no class 'maybe'"),
    ({"--set rows-for-fit": None}, "--set rows-for-fit: .* 1,000,000 rows .the default.*has 3,000"),
    ({"--set rows-for-fit": N}, "--set rows-for-fit: .* 3,000 rows and the rule"),
    ({"--set rows-for-fit": 1}, "--set rows-for-fit: the .* rows that were chosen"),
    ({"--goal": GOAL + " with confidence 0.9"}, "does not certify"),
    ({"--goal": "maximize accuracy subject to recall.on(n='1') >= 0.1"}, "'n' as a category"),
    ({"--estimator": "sklearn.svm.SVD"}, "sklearn.svm has no 'SVD'"),
])  # fmt: skip
def test_what_does_not_fit(fit, files, change, message):
    done = fit(files, **change)
    assert done.exit_code == 1
    assert re.search(message, " ".join(done.stderr.split())), done.stderr
    assert "unexpected" not in done.stderr
    assert "rows_for_fit" not in done.stderr


def test_files(fit, tmp_path):
    done = fit(tmp_path / "none*.parquet")
    assert done.exit_code == 1
    assert "DATA: no Parquet files" in done.stderr
    (tmp_path / "a.csv").write_text("a,y\n1,no\n", "utf-8")
    done = fit(tmp_path / "a.csv")
    assert done.exit_code == 1
    assert "what is counted is Parquet files" in done.stderr
    done = fit("-")
    assert done.exit_code == 1
    assert "DATA is stdin" in done.stderr


def test_rows_that_are_alike(fit, tmp_path):
    few = pd.DataFrame({"a": np.arange(3000) % 7, "y": np.arange(3000) % 2})
    done = fit(put(tmp_path / "few", few), **{"--set rows-for-fit": 1000})
    assert done.exit_code == 1
    assert "100 % of the rows equal others" in done.stderr
    assert "in Python" in done.stderr


def test_a_value_that_no_model_takes(fit, tmp_path, monkeypatch):
    frame = FRAME[PLAIN].assign(a=FRAME["a"].where(np.arange(N) != 2_900, np.inf))
    done = fit(put(tmp_path / "odd", frame, 1), **{"--set rows-for-fit": 2_000})
    assert done.exit_code == 1
    assert "row 2901: column 'a' holds an infinite number" in done.stderr
    # Beyond the rows that are looked at first.
    monkeypatch.setattr(tables, "parquet_sample", partial(tables.parquet_sample, rows=500))
    done = fit(str(tmp_path / "odd"), **{"--set rows-for-fit": 2_000})
    assert done.exit_code == 1
    assert "a piece of the table, row" in done.stderr
    assert "column 'a' holds an infinite number" in done.stderr
    ragged = put(tmp_path / "ragged", FRAME[PLAIN])
    pq.write_table(pa.table({"a": [1.0], "y": ["no"]}), tmp_path / "ragged" / "9.parquet")
    done = fit(ragged)
    assert done.exit_code == 1
    assert "do not have the same columns: b, n" in done.stderr


def test_without_a_package(fit, files, monkeypatch):
    from setpoint import packages

    def absent(name):
        return None if name == "distributed" else True

    monkeypatch.setattr(packages, "find_spec", absent)
    done = fit(files, **{"--set scheduler": "tcp://127.0.0.1:1"})
    assert done.exit_code == 1
    assert "--set scheduler needs distributed: pip install 'setpoint[scale]'" in done.stderr
    assert fit(files).exit_code in (0, 4)
