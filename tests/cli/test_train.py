"""``setpoint train``: models trained for the goal, further tables, limits, Ctrl-C."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from cli.samples import SCORED, scored, write
from setpoint import ExactPenaltyClassifier, RampClassifier, SearchLimits, load_model, packages
from thinning import over

GOAL = "maximize recall subject to precision >= 0.4"
PLAIN = "minimize error_rate subject to predicted_rate <= 0.5"
FAIR = (
    "minimize error_rate subject to predicted_rate.difference(sex) <= 0.2 and churn <= 0.2 "
    "and recall.on(egregious) >= 0.5"
)
NOWHERE = "maximize recall subject to precision >= 0.999 and recall >= 0.95"
TRAIN = "train rare.csv --target y --model m.skops"
RAMP = "train ramp.csv --target y --model m.skops --solver augmented-lagrangian"
SCORES = "--baseline score --set baseline-threshold=0"


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """rare.csv has gaps, a category and one positive in six; ramp.csv a deployed model's scores."""
    at = tmp_path_factory.mktemp("train")
    for seed, name in enumerate(("rare.csv", "later.csv")):
        r = np.random.default_rng(seed)
        rows = []
        for _ in range(600):
            a, b = r.normal(size=2)
            kind, sex = r.choice(["x", "y", "z"]), r.choice(["f", "m"])
            y = "yes" if a + 0.6 * b * b + (kind == "z") + r.normal() > 2.4 else "no"
            rows.append(f"{a:.4f},{'' if r.random() < 0.05 else f'{b:.4f}'},{kind},{sex},{y}")
        write(at / name, rows, "a,b,kind,sex,y")
    for seed, (name, n) in enumerate((("ramp", 700), ("months", 300), ("egregious", 80))):
        write(at / f"{name}.csv", scored(n, seed), SCORED)
    return at


@pytest.fixture
def here(tables, tmp_path, monkeypatch):
    for path in tables.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows_of(done):
    """Decision and score of each row."""
    head, *lines = done.out.splitlines()
    assert head == "prediction,score"
    return [(line.split(",")[0], float(line.split(",")[1])) for line in lines]


# ---------------------------------------------------------------------- the whole way
@over("scores", [False, True])
def test_groups_the_deployed_model_and_a_further_table(run, here, scores):
    said = f"{SCORES} --drop old" if scores else "--baseline old --drop score"
    further = "--dataset egregious=egregious.csv"
    page = " --report r.html" if scores else ""
    done = run(f"{RAMP} {said} {further} --json{page} --goal", FAIR)
    assert done.code in (0, 3, 4), done.err
    found = done.json
    assert (found["family"], found["solver"]) == ("ramp", "augmented-lagrangian")
    assert found["datasets"] == {"egregious": {"fitted": 60, "held_out": 20, "shared": 0}}
    columns = found["columns"]
    assert (columns["decides_on"], set(columns["features"])) == ({}, {"city", "age", "since"})
    assert columns["scores"] == ("score" if scores else None)
    assert columns["hidden"]["sex"] == "sensitive"
    assert ("score" in columns["hidden"]) != scores
    if scores:
        page = (here / "r.html").read_text("utf-8")
        for words in (
            "A linear model, trained for the goal by augmented-lagrangian, seed 0",
            "The data set egregious: 80 rows from egregious.csv, 20 of them held out",
            "Against the deployed model",
            "model&#39;s scores, score, are one more feature; it decides positive from 0",
        ):
            assert words in page
    stored = load_model("m.skops")
    clf = stored.classifier
    assert isinstance(clf, RampClassifier)
    assert ("score" in [c.name for c in stored.columns]) == scores
    rows = rows_of(run("predict m.skops months.csv"))
    assert all((decision == "yes") == (s >= clf.threshold_) for decision, s in rows)
    judged = run(f"evaluate m.skops months.csv {further} --json").json["evaluated"]
    # The same by hand: what was decided against what the deployed model says.
    later = [line.split(",") for line in (here / "months.csv").read_text().splitlines()[1:]]
    pairs = list(zip(rows, later, strict=True))
    churn = np.mean([decision != row[5] for (decision, _), row in pairs])
    error = np.mean([decision != row[6] for (decision, _), row in pairs])
    assert judged["constraints"][1]["value"] == pytest.approx(churn)
    assert judged["objective"]["value"] == pytest.approx(error)
    assert judged["deployed"]["changed"] == pytest.approx(churn)


def test_options_reach_the_classifier(run, here):
    options = ["inverse-regularization=0.5", "min-positives=7", "seed=3", "max-seconds=60"]
    more = "".join(f" --set {one}" for one in options)
    fit = f"{RAMP.replace('augmented-lagrangian', 'cutting-plane')} --positive no"
    done = run(f"{fit} {more} --goal", PLAIN)
    assert done.code in (0, 3, 4), done.err
    clf = load_model("m.skops").classifier
    assert (clf.C, clf.min_positives, clf.random_state) == (0.5, 7, 3)
    assert (clf.limits, clf.solver, clf.positive_) == (
        SearchLimits(seconds=60), "cutting-plane", "no",
    )  # fmt: skip


def test_rows_that_judge_and_rows_that_choose(run, here):
    done = run(f"{TRAIN} --solver ero --test-size 0 --goal", GOAL)
    assert done.code == 4, done.err
    first = done.out.splitlines()[0]
    assert first == "Too close to call on the 600 rows that the model was trained on."
    more = "--solver ero --set validation-fraction=0.2 --set min-positives=7"
    found = run(f"{TRAIN} {more} --json --goal", GOAL).json
    assert (found["solver"], found["family"], found["module"]) == ("ero", "penalty", "linear")
    assert found["rows"] == {"fitted": 450, "held_out": 150, "certifying": 0}
    assert found["fitted"]["counts"]["n_rows"] == 90
    stored = load_model("m.skops").classifier
    assert isinstance(stored, ExactPenaltyClassifier)
    assert (stored.validation_fraction, stored.min_positives) == (0.2, 7)
    # The score is what the rule goes by, so the threshold that is reported is one for this column.
    rows = rows_of(run("predict m.skops later.csv"))
    assert {decision for decision, _ in rows} == {"yes", "no"}
    assert all((decision == "yes") == (s >= stored.threshold_) for decision, s in rows)
    text = run(f"{TRAIN} {more} --test-size 0 --goal", GOAL).out
    assert " on the 120 rows by which the model was chosen." in text.splitlines()[0]


def test_a_network(run, here):
    pytest.importorskip("torch")
    pytest.importorskip("safetensors")
    more = "--solver profiled --module mlp --test-size 0 --set checkpoint=state --report r.html"
    done = run(f"{TRAIN} {more} --goal", GOAL)
    assert done.code == 4, done.err
    assert not (here / "state").exists()
    page = (here / "r.html").read_text("utf-8")
    assert "A network with three layers of 64, trained for the goal by profiled, seed 0" in page
    assert run("predict m.skops later.csv").out.count("\n") == 601


# ---------------------------------------------------------------------- the deployed model
@over("command", ["fit", "train"])
def test_a_deployed_model_that_the_goal_does_not_refer_to(run, here, command):
    head, *lines = (here / "rare.csv").read_text().splitlines()
    lines = [f"{line},{'yes' if float(line.split(',')[0]) > 1 else 'no'}" for line in lines]
    write(here / "t.csv", lines, f"{head},old")
    way = "--solver cross-entropy" if command == "train" else "--set solver=auto"
    fit = f"{command} t.csv --target y --model m.skops {way} --goal '{GOAL}'"
    found = run(f"{fit} --baseline old --json").json
    text = (
        "--baseline old: the goal does not refer to the deployed model, so the column is only "
        "compared with"
    )
    # A training does not look at it, and a rule is compared with it where it is found too.
    assert text + (", on the rows held out" if command == "train" else "") in found["notes"]
    assert found["columns"]["hidden"]["old"] == "what the deployed model says"
    assert found["held_out"]["deployed"]["rows"] == 150
    fitted = found["fitted"]["deployed"]
    assert fitted is None if command == "train" else fitted["rows"] == 450


def test_scores_of_the_deployed_model(run, here):
    found = run(f"{RAMP} {SCORES} --json --goal", PLAIN).json
    assert not any("is only compared" in note for note in found["notes"])
    assert found["columns"]["scores"] == "score"
    done = run(f"{RAMP} --baseline score --set baseline-threshold=99 --model x.skops --goal", PLAIN)
    assert (
        "--set baseline-threshold=99: so the deployed model decides positive for 0 of the 700 rows"
    ) in done.err
    rows = scored(5, 1)
    write(here / "none.csv", [row.rsplit(",", 3)[0] for row in rows], SCORED.rsplit(",", 3)[0])
    assert run("predict m.skops none.csv").error.endswith("; it holds the deployed model's scores")
    cells = rows[2].split(",")
    rows[2] = ",".join([*cells[:4], "", *cells[5:]])
    write(here / "gap.csv", rows, SCORED)
    gap = "gap.csv: 1 row has no score of the deployed model in column 'score', in line 4"
    for line in ("predict m.skops gap.csv", f"{RAMP.replace('ramp.csv', 'gap.csv')} {SCORES}"):
        more = ("--goal", PLAIN) if "train" in line else ()
        assert gap in run(line, *more).error
    words = "is not a number, and the column holds the deployed model's scores"
    assert words in run("evaluate m.skops months.csv --baseline old").error


# ---------------------------------------------------------------------- further tables
def labelled(n_rows, seed=0):
    r = np.random.default_rng(seed)
    out = []
    for _ in range(n_rows):
        x = r.normal(size=3)
        old, y = (int(x[0] + r.normal() > 0.3) for _ in range(2))
        out.append([*(f"{v:.6f}" for v in x), r.choice(["f", "m"]), str(old), str(y)])
    return out


LABELLED = "x0,x1,x2,sex,old,y"
SETS = RAMP.replace("ramp.csv", "d.csv") + " --set seed=1"


def stored(path, rows, head=LABELLED):
    return write(path, [",".join(row) for row in rows], head)


def test_noise_is_not_learnt_through_a_copy(run, here):
    r = np.random.default_rng(0)
    n, p = 400, 120
    head = ",".join([*(f"f{i}" for i in range(p)), "y"])
    rows = [[*map(repr, r.normal(size=p).tolist()), r.choice(["a", "b"])] for _ in range(n)]
    stored(here / "d.csv", rows, head)
    stored(here / "c.csv", [rows[i] for i in r.permutation(n)], head)
    stored(here / "l.csv", [row[:-1] for row in rows[:50]], head[:-2])
    goal = (
        "maximize accuracy subject to accuracy.on(copy) >= 0.1 and predicted_rate.on(later) <= 0.99"
    )
    sets = "--dataset copy=c.csv --dataset later=l.csv --positive b"
    found = run(f"train d.csv --target y --model m.skops {sets} --json --goal", goal).json
    assert found["datasets"]["copy"] == {"fitted": 300, "held_out": 100, "shared": 400}
    assert found["datasets"]["later"]["shared"] == 50
    # The copy differs in nothing: what is counted on it is what is counted on DATA.
    on_copy = found["held_out"]["constraints"][0]["value"]
    assert on_copy == found["held_out"]["objective"]["value"] < 0.62
    for name, count in (("copy", 400), ("later", 50)):
        assert (
            f"{name}: {count} of its {count} rows are rows of d.csv too, held out where those are"
        ) in found["notes"]


def test_rows_that_two_sets_share(run, here):
    """Other labels and numbers written otherwise are the same rows."""
    whole = [[*row[:2], str(i % 7), *row[3:]] for i, row in enumerate(labelled(240))]
    stored(here / "d.csv", whole)
    stored(here / "a.csv", [[*row[:2], f"{row[2]}.0", *row[3:-1], "1"] for row in whole])
    stored(here / "b.csv", labelled(60, 5))
    stored(here / "c.csv", labelled(40, 6) + labelled(60, 5))
    goal = "maximize accuracy s.t. recall.on(a) >= 0.1 and accuracy.on(b) >= 0.1"
    sets = "--dataset a=a.csv --dataset b=b.csv --dataset c=c.csv"
    found = run(f"{SETS} {sets} --json --goal", f"{goal} and accuracy.on(c) >= 0.1").json
    assert found["datasets"]["a"] == {"fitted": 180, "held_out": 60, "shared": 240}
    assert [found["datasets"][name]["shared"] for name in "bc"] == [0, 60]
    assert any("60 of its 100 rows are rows of the data set b too" in n for n in found["notes"])


def test_a_set_too_small_for_two_halves(run, here):
    goal = "maximize accuracy s.t. predicted_rate.on(audit) >= 0"
    train = f"{SETS} --dataset audit=audit.csv --goal '{goal}'"
    stored(here / "d.csv", labelled(240))
    stored(here / "audit.csv", labelled(1, 9))
    done = run(f"{train} --report r.html")
    line = "audit: 1 row, too few to hold some out: what is counted on it was trained on"
    assert f"note: {line}" in done.err
    assert line in done.text
    assert "60 rows held out, and on the 1 row of audit, not held out." in done.out
    assert "the data set 'audit' has 1 row:" in done.err
    page = (here / "r.html").read_text("utf-8")
    assert "The data set audit: 1 row from audit.csv, none of them held out" in page
    assert "evaluate it on rows held out" not in page + done.out
    # A row that DATA holds out is trained on nowhere else: then it is not held out there.
    every = set()
    for row in labelled(240)[1:4]:
        stored(here / "audit.csv", [row])
        found = run(f"{train} --json").json
        assert found["datasets"]["audit"] == {"fitted": 1, "held_out": 0, "shared": 1}
        every.add(found["rows"]["held_out"])
    assert every == {59, 60}


def test_gaps_and_labels_that_are_missing(run, here):
    rows, more = labelled(240), labelled(60, 1)
    stored(here / "d.csv", rows)
    stored(here / "more.csv", [[*r[:4], "" if i == 3 else r[4], r[5]] for i, r in enumerate(more)])
    on_more = f"{SETS} --dataset more=more.csv --json --goal"
    goal = "minimize error_rate s.t. churn.on(more) <= 0.5"
    assert run(on_more, goal, "--baseline", "old").json["error"] == (
        "more.csv: 1 row has no decision of the deployed model in column 'old', in line 5; leave "
        "such rows out, or fill them in"
    )
    # Rows without labels serve what needs none.
    stored(here / "more.csv", [[*r[:5], ""] for r in more])
    done = run(on_more, "maximize accuracy s.t. predicted_rate.on(more) <= 0.9")
    assert done.code in (0, 3, 4), done.err
    assert "more.csv: column 'y' is empty, so its rows have no labels" in done.err
    assert done.json["held_out"]["constraints"][0]["rows"] == 15
    done = run(on_more, "maximize accuracy s.t. recall.on(more) >= 0.1")
    assert "60 rows have no label" in done.json["error"]
    done = run(f"{SETS} --dataset more=none.csv --goal accuracy")
    assert "note: --dataset more: the goal refers to no data sets, so it is not read" in done.err


# ---------------------------------------------------------------------- out of reach, stopped
def test_a_goal_out_of_reach_writes_no_model(run, here):
    done = run(f"{RAMP} --goal", NOWHERE)
    assert done.code == 3, done.err
    assert done.out.startswith("No rule was found that meets the goal, so no model was written.")
    assert "on_infeasible" not in done.out + done.err
    assert run(f"{TRAIN} --solver ero --json --goal", NOWHERE).json["status"] == "infeasible"
    assert not (here / "m.skops").exists()


def test_too_few_predicted_positive(run, here):
    done = run(f"{TRAIN} --solver cross-entropy --set min-positives=440 --goal", GOAL)
    assert done.code == 3, done.err
    assert "predicts 440 rows positive, as --set min-positives asks" in done.out


def test_a_limit_on_seconds_keeps_the_best_so_far(run, here, monkeypatch):
    portfolio = f"{TRAIN} --solver portfolio --goal '{GOAL}'"
    assert run(f"{portfolio} --set max-seconds=1e-9").error == (  # not one step was taken
        "stopped after 1e-09 seconds, before there was anything to keep; give more with "
        "--set max-seconds, or leave it out"
    )
    done = run(f"{RAMP} --set max-seconds=1e-9 --goal", PLAIN)
    assert done.code in (0, 3, 4), done.err
    assert "note: stopped after 1e-09 seconds" in done.err
    ticks = itertools.count(0.0, 0.001)  # two hundred looks at the clock, on any machine
    clock = SimpleNamespace(perf_counter=ticks.__next__)
    monkeypatch.setattr("setpoint.search.limits.time", clock)
    later = run(f"{portfolio} --set max-seconds=0.2 --json")
    assert later.code in (0, 3, 4), later.err
    assert "note: stopped after 0.2 seconds: the best found so far is kept" in later.err
    assert load_model("m.skops").target == "y"


def test_a_missing_package_is_found_before_the_table_is_read(run, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setattr(packages, "find_spec", lambda name: None)
    for more, words in (("--module mlp", "torch"), ("--set checkpoint=c", "safetensors")):
        done = run(f"{TRAIN.replace('rare', 'none')} --solver ero {more} --goal", GOAL)
        assert f"needs {words}" in done.error
        assert done.error.endswith(": pip install 'setpoint[torch]'")
