"""``--metric``: a function of one's own, trained for, judged by, and everything wrong with it."""

import contextlib
import json
import re
import signal
import sys

import numpy as np
import pytest

from setpoint import AdaptiveSurrogateClassifier, PlugInClassifier, load_model
from setpoint.solvers import SOLVERS, solvers_of
from setpoint.surrogates import selection as module
from setpoint.tables import SURROGATES

SHOP = """
import numpy as np

def revenue(y_true, y_pred, amount):
    print("a metric may talk")
    return float(np.where(y_true == "yes", amount, -10.0)[y_pred == "yes"].sum())

def costs(y_true, y_pred, amount, plan):
    assert amount.dtype == float and set(plan) == {"x", "y"}
    return -revenue(y_true, y_pred, amount)

def auc(y_true, scores):
    from sklearn.metrics import roc_auc_score
    return roc_auc_score(y_true, scores)

def odd(y, b):
    return float((y == b).mean())

def raises(y_true, y_pred):
    raise KeyError("x")

def talks(y_true, y_pred):
    raise ValueError("one\\n  two pos_label")

def nothing():
    return 0.0

class Held:
    def __call__(self, y_true, y_pred):
        return 0.0

def nan(y_true, y_pred):
    return float("nan")

def vector(y_true, y_pred):
    return y_true == y_pred

def constant(y_true, y_pred):
    return 3.0

def misspelt(y_true, y_pred, amounts):
    return 0.0

anonymous = lambda y_true, y_pred: 0.0
number = 3
"""
HEAD = "id,a,b,sex,amount,plan,y"
REVENUE = ("--metric", "shop:revenue", "--set", "budget=150")


def lines(n_rows, seed, noise=0.0):
    """Positives in the middle of `a`, where no straight line finds them, and higher in `b`."""
    r = np.random.default_rng(seed)
    out = []
    for i in range(n_rows):
        y = r.random() < 0.35
        a = (0.0 if y else r.choice([-1.6, 1.6])) + 0.5 * r.normal()
        shown = y != (r.random() < noise)
        strata = [f"{i:05d}", f"{a:.4f}", f"{r.normal() + y:.4f}", r.choice(["f", "m"])]
        strata += [f"{r.uniform(5, 50):.2f}", r.choice(["x", "y"]), "yes" if shown else "no"]
        out.append(",".join(strata))
    return out


def write(path, rows, head=HEAD):
    path.write_text("\n".join([head, *rows]) + "\n")
    return path


@pytest.fixture(autouse=True)
def at(tmp_path, monkeypatch):
    """A folder of one's own with tables and modules, which this process forgets afterwards."""
    write(tmp_path / "t.csv", lines(400, 0))
    write(tmp_path / "v.csv", lines(200, 1))
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "broken.py").write_text("import numpy\n1 / 0\n")
    (tmp_path / "script.py").write_text("import sys\nsys.exit('no')\n")
    (tmp_path / "needy.py").write_text("import nowhere_at_all\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in ("shop", "broken", "script", "needy"):
        sys.modules.pop(name, None)


@pytest.fixture
def fit(run, at):
    def invoke(*more, data="t.csv"):
        return run(
            "train", data, "--target", "y", "--drop", "id,amount", "--model", "m.skops", *more
        )

    return invoke


def error_of(done):
    assert done.exit_code == 1, done.output
    line = done.stderr.splitlines()[-1]
    assert line.startswith("error: ")
    message = line.removeprefix("error: ")
    assert done.stdout == "" or json.loads(done.stdout)["error"] == message
    return message


def adaptive_of(done):
    """What JSON says of the search on the rows of the fit."""
    sections = json.loads(done.stdout)["fitted"]["sections"]
    (found,) = (s["values"] for s in sections if s["name"] == "adaptive")
    return found


def revenue_of(rows, decided):
    strata = [row.split(",") for row in rows]
    return sum(
        (float(row[4]) if row[6] == "yes" else -10.0)
        for row, d in zip(strata, decided, strict=True)
        if d == "yes"
    )


# ---------------------------------------------------------------------- the whole way
def test_fit_predict_evaluate(fit, run, at):
    done = fit(*REVENUE, "--report", "r.html", "--json")
    assert done.exit_code == 0, done.stderr
    out = json.loads(done.stdout)  # though the metric prints
    assert "a metric may talk" in done.stderr
    assert (out["solver"], out["family"]) == ("adaptive-surrogates", "surrogates")
    assert (out["metric"], out["goal"]) == ("shop:revenue", 'maximize blackbox("shop:revenue")')
    assert (out["module"], out["estimator"]) == ("linear", None)
    assert out["rows"] == {"fitted": 300, "held_out": 100, "certifying": 0}
    assert set(out["columns"]["features"]) == {"a", "b", "sex", "plan"}
    assert out["columns"]["hidden"]["amount"] == "dropped"
    message = adaptive_of(done)
    assert out["fitted"]["search"]["solver"] == "adaptive-surrogates"
    assert (message["budget"], message["search"]) == (150, "gradient")
    assert message["evaluations"] <= 150
    page = (at / "r.html").read_text("utf-8")
    for words in (
        "Against the cut-off alone",
        "A linear model, trained for the goal by adaptive-surrogates, seed 0",
        "The metric shop:revenue, of which higher is better, is given the labels, the decisions, "
        "amount",
    ):
        assert words in page

    stored = load_model("m.skops").classifier
    assert isinstance(stored, AdaptiveSurrogateClassifier)
    assert stored.goal.function is None
    sys.modules.pop("shop")
    (at / "shop.py").rename(at / "later.py")  # to predict takes no function
    head, *rows = run("predict", "m.skops", "v.csv").stdout.splitlines()
    assert head == "prediction,score"
    (at / "later.py").rename(at / "shop.py")
    message = error_of(run("evaluate", "m.skops", "v.csv"))
    assert message == (
        "m.skops was fitted for the metric shop:revenue, and model files hold no code: add "
        "--metric shop:revenue"
    )
    judged = run("evaluate", "m.skops", "v.csv", "--metric", "shop:revenue", "--json")
    assert judged.exit_code == 0, judged.stderr
    found = json.loads(judged.stdout)["evaluated"]["objective"]["value"]
    assert found == pytest.approx(revenue_of(lines(200, 1), [r.split(",")[0] for r in rows]))

    other = run("evaluate", "m.skops", "v.csv", "--metric", "shop:auc", "--report", "e.html")
    assert other.exit_code == 0, other.stderr
    assert "note: m.skops was fitted for the metric shop:revenue; here --metric shop:auc" in (
        other.stderr
    )
    assert '\n  blackbox("shop:auc"): 0.' in other.stdout
    wrong = run("evaluate", "m.skops", "v.csv", "--metric", "shop:misspelt")
    assert "v.csv has none (did you mean 'amount'?)" in error_of(wrong)
    message = error_of(run("frontier", "m.skops", "v.csv"))
    assert message.endswith("shop:revenue, and has no bound that could move")


def test_what_a_terminal_shows(fit):
    done = fit(*REVENUE)
    text = " ".join(done.stdout.split())
    assert "The rule was measured on 100 rows held out." in text
    assert "Against the cut-off alone, on 300 rows, by cross-validation Baseline: logistic" in text
    text = fit(*REVENUE, "--test-size", "0").stdout
    assert text.startswith("The rule was measured on 400 rows, by cross-validation.")
    assert text.count("Against the cut-off alone") == 1


def test_another_table_to_measure_on(fit, at):
    """Its labels alone count; what DATA has of the rows held out is not trained on."""
    write(at / "t.csv", lines(400, 0, noise=0.2) + lines(60, 1))
    more = (*REVENUE, "--set", "validation=v.csv", "--test-size", "0.5", "--report", "r.html")
    done = fit(*more, "--json")
    assert done.exit_code == 0, done.stderr
    out = json.loads(done.stdout)
    assert out["validation"] == {"fitted": 100, "held_out": 100, "shared": 60}
    apart = 460 - out["rows"]["fitted"]
    assert 0 < apart < 60
    assert f"{apart} rows of DATA are held out of v.csv too, and not trained on" in done.stderr
    assert out["rows"]["held_out"] == 100
    assert [out[on]["counts"]["n_rows"] for on in ("fitted", "held_out")] == [100, 100]
    page = (at / "r.html").read_text("utf-8")
    assert "The metric was measured on 100 rows of v.csv; 100 others, drawn with seed 0" in page
    assert fit(*more).stdout.startswith("The rule was measured on 100 rows held out of v.csv.")
    text = fit(*more, "--test-size", "0").stdout
    assert text.startswith("The rule was measured on the 200 rows of v.csv by which")


@pytest.mark.parametrize(
    ("rows", "head", "words"),
    [
        (["1,2"], "a,b", "--set validation: v.csv has no column"),
        (lines(9, 1)[:1], HEAD, "there are too few rows to hold some out"),
        (
            [f"1,2,3,f,4,x,{y}" for y in ("yes", "no", "perhaps")],
            HEAD,
            "is not a class of the model",
        ),
        (
            [f"{i},2,3,f,4,x,no" for i in range(9)],
            HEAD,
            "--set validation holds no row of the class",
        ),
    ],
)
def test_a_table_to_measure_on_that_does_not_fit(fit, at, rows, head, words):
    write(at / "v.csv", rows, head)
    assert words in error_of(fit(*REVENUE, "--set", "validation=v.csv"))
    assert not (at / "m.skops").exists()


def test_options_reach_the_classifier(fit):
    more = ("--set", "surrogates=hinge,logistic", "--set", "surrogate-group=sex=f", "--set",
            "surrogate-group=plan", "--set", "seed=3", "--positive", "no", "--set",
            "lower-is-better", "--sensitive", "sex",
            "--solver", "surrogate-weights")  # fmt: skip
    done = fit("--metric", "shop:costs", "--set", "budget=200", *more)
    assert done.exit_code == 0, done.stderr
    clf = load_model("m.skops").classifier
    assert (clf.solver, clf.limits.evaluations, clf.random_state) == ("surrogate-weights", 200, 3)
    assert clf.surrogates == ["hinge", "logistic"]
    assert clf.surrogate_groups == [{"sex": "f"}, "plan"]
    assert (clf.goal.greater_is_better, clf.positive_) == (False, "no")
    assert 'Goal: minimize blackbox("shop:costs")' in done.stdout


def test_the_direction_of_the_file_holds_in_evaluate(fit, run):
    assert (
        fit("--metric", "shop:costs", "--set", "budget=150", "--set", "lower-is-better").exit_code
        == 0
    )
    done = run("evaluate", "m.skops", "v.csv", "--metric", "shop:costs")
    assert 'Goal: minimize blackbox("shop:costs")' in done.stdout
    assert "other way round" not in done.stderr


def test_the_other_direction_is_noted(fit, run, at):
    assert fit(*REVENUE).exit_code == 0
    more = ("evaluate", "m.skops", "v.csv", "--metric", "shop:revenue")
    done = run(*more, "--set", "lower-is-better")
    assert done.exit_code == 0, done.stderr
    assert "fitted for a high value of shop:revenue; here --set lower-is-better judges it the" in (
        done.stderr
    )
    message = error_of(run(*more, "--report", "shop.py"))
    assert message.startswith("--report: shop.py would overwrite the module of --metric")
    assert (at / "shop.py").read_text() == SHOP


def test_cut_offs_of_any_model(fit, run):
    more = ("--metric", "shop:odd", "--set", "takes=predictions", "--set", "budget=40", "--json")
    done = fit(*more, "--set", "estimator=sklearn.naive_bayes.GaussianNB")
    assert done.exit_code == 0, done.stderr
    out = json.loads(done.stdout)
    assert (out["solver"], out["family"], out["estimator"]) == (
        "post-shift", "plugin", "sklearn.naive_bayes.GaussianNB",
    )  # fmt: skip
    assert out["fitted"]["search"]["calls"] <= 40
    clf = load_model("m.skops").classifier
    assert isinstance(clf, PlugInClassifier)
    judged = run("evaluate", "m.skops", "v.csv", "--metric", "shop:odd")  # takes: of the file
    assert judged.exit_code == 0, judged.stderr


def test_a_goal_of_the_language(fit, run):
    goal = ("--goal", "maximize recall subject to precision >= 0.99")
    done = fit(*goal, "--solver", "adaptive-surrogates", "--set", "budget=150")
    assert done.exit_code == 3, done.stderr
    assert done.stdout.startswith("Shown to fail on 100 rows held out.")
    assert re.search(r"\n  precision >= 0.99: .*\n    on new rows .*: shown to fail\n", done.stdout)
    message = error_of(fit(*goal, "--solver", "post-shift"))
    assert message.startswith("--solver post-shift takes goals without constraints")
    assert fit("--goal", "f1", "--solver", "post-shift").exit_code == 0
    done = run("evaluate", "m.skops", "v.csv", "--metric", "shop:revenue", "--json")
    assert done.exit_code == 0, done.stderr
    assert "fitted for 'maximize f1'; here --metric shop:revenue judges it" in done.stderr
    decided = [r.split(",")[0] for r in run("predict", "m.skops", "v.csv").stdout.splitlines()[1:]]
    found = json.loads(done.stdout)["evaluated"]["objective"]["value"]
    assert found == pytest.approx(revenue_of(lines(200, 1), decided))


# ---------------------------------------------------------------------- what is wrong is said
@pytest.mark.parametrize(
    ("metric", "words"),
    [
        ("f1", "--metric is module:function, such as shop:revenue, got 'f1'; goals of the"),
        ("shop:", "got 'shop:'"),
        ("shop.py:revenue", "say a module's name, shop:revenue, not a path"),
        ("./shop:revenue", "say a module's name, shop:revenue, not a path"),
        ("../there/shop:revenue", "say a module's name, shop:revenue, not a path"),
        ("./sub/shop.py:revenue", "say a module's name, sub.shop:revenue, not a path"),
        ("shop:nothing", "shop:nothing takes 0 arguments by position; a metric takes two"),
        ("shop:Held", "shop:Held is a class, which makes an object and no number; name a"),
        ("builtins:dict", "builtins:dict is a class"),
        ("shops:revenue", "there is no module 'shops', neither in the current folder nor where"),
        ("shop:revenu", "shop has no name 'revenu' (did you mean 'revenue'?)"),
        ("shop:number", "is an int, which cannot be called"),
        ("shop:anonymous", "<lambda> cannot be found by its name; write the function with def"),
        (
            "shop:odd",
            "calls its second parameter 'b': say --set takes=predictions or --set takes=scores",
        ),
        (
            "broken:f",
            "importing broken raised ZeroDivisionError: division by zero, in broken.py, line 2",
        ),
        ("script:f", "importing script raised SystemExit: no, in script.py, line 2"),
        ("needy:f", "importing needy raised ModuleNotFoundError: No module named 'nowhere_at_all'"),
        ("shop:misspelt", "takes the column 'amounts', and t.csv has none (did you mean 'amount'"),
        ("shop:raises", "the metric shop:raises raised KeyError: 'x'; it was called with 300 rows"),
        ("shop:talks", "shop:talks raised ValueError: one two pos_label; it was called with 300"),
        (
            "sklearn.metrics:f1_score",
            "pos_label=1 is not a valid label. It should be one of ['no' 'yes']; it was called "
            "with 300 rows, 300 decided 'yes'; wrap it in a function of your own that names the "
            "positive label (pos_label=...)",
        ),
        ("shop:nan", "the metric shop:nan returned nan, not a finite number"),
        ("shop:vector", "returned an array of shape (300,), not a number"),
        ("shop:constant", "shop:constant is 3 for all of 30 different decisions"),
    ],
)
def test_metrics_that_are_invalid(fit, at, metric, words):
    assert words in error_of(fit("--metric", metric, "--set", "budget=150"))
    assert not (at / "m.skops").exists()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ((), "one of the two is needed; see setpoint train --help"),
        ((*REVENUE, "--goal", "f1"), "they are not taken together; see setpoint train --help"),
        (("--goal", "f1", "--set", "takes=scores"), "--set takes goes with --metric"),
        (("--goal", "f1", "--set", "lower-is-better"), "--set lower-is-better goes with --metric"),
        (("--goal", 'maximize blackbox("shop:revenue")'), "name its function, --metric"),
        (("--goal", "f1", "--set", "budget=9"), "--set budget is for solvers that measure a me"),
        (("--goal", "f1", "--set", "surrogates=hinge"), "--set surrogates is for solvers that"),
        (("--goal", "f1", "--set", "surrogate-group=sex"), "--set surrogate-group is for solv"),
        (("--goal", "f1", "--set", "validation=v.csv"), "--set validation is for solvers that"),
        (
            ("--goal", "f1", "--solver", "post-shift", "--set", "budget=9"),
            "counted at every cut-off",
        ),
        (
            ("--goal", "maximize accuracy.on(x)", "--solver", "surrogate-weights"),
            "and goals of one table, and the goal refers to the data set 'x'; --solver augmented-",
        ),
        ((*REVENUE[:2], "--set", "budget=20"), "--set budget=20"),
        ((*REVENUE, "--solver", "portfolio"), "--solver portfolio needs a goal with a formula;"),
        ((*REVENUE, "--solver", "ero"), "--solver ero needs a goal with a formula"),
        (
            (*REVENUE, "--set", "min-positives=3"),
            "--solver adaptive-surrogates follows the metric's gradient in the space of surrogate",
        ),
        ((*REVENUE, "--set", "draws"), "--set draws: --solver adaptive-surrogates trains one"),
        (
            (*REVENUE, "--set", "draws", "--set", "estimator=logistic"),
            "post-shift finds rules, which decide",
        ),
        ((*REVENUE, "--set", "surrogates=hing"), "surrogates: 'hing' is not one of 'hinge'"),
        ((*REVENUE, "--set", "surrogates=nosuch"), "'nosuch' is not one of 'hinge', 'logist"),
        ((*REVENUE, "--set", "surrogate-group=a"), "--set surrogate-group: column 'a' of t.csv h"),
        ((*REVENUE, "--report", "shop.py"), "--report: shop.py would overwrite the module of --m"),
        ((*REVENUE, "--model", "./shop.py"), "--model: ./shop.py would overwrite the module of"),
        ((*REVENUE, "--set", "surrogate-group=sexs"), "no column 'sexs' (did you mean 'sex'?)"),
        ((*REVENUE, "--set", "surrogate-group=sex=q"), "column 'sex' of t.csv holds no 'q'"),
        ((*REVENUE, "--set", "validation=none.csv"), "none.csv: there is no such file"),
        ((*REVENUE, "--set", "validation=m.skops"), "--model: m.skops would overwrite --set va"),
        ((*REVENUE, "--target", "plan", "--positive", "z"), "--positive: column 'plan' holds no"),
        ((*REVENUE, "--target", "b"), "different values"),
    ],
)
def test_what_does_not_fit_together(fit, at, more, words):
    assert words in error_of(fit(*more))
    assert not (at / "m.skops").exists()


def test_rows_that_do_not_fit(fit, run, at):
    strata = [row.split(",") for row in lines(60, 0)]
    for i, row in enumerate(strata):
        row[6] = "abc"[i % 3]
    write(at / "three.csv", map(",".join, strata))
    for more in ((), ("--set", "estimator=logistic")):
        message = error_of(fit(*REVENUE, *more, data="three.csv"))
        assert "holds 3 classes" in message
        assert message.endswith("and so is every --metric")
    assert run(
        "fit", "three.csv", "--target", "y", "--goal", "accuracy", "--model", "m.skops"
    ).exit_code == 0  # fmt: skip
    message = error_of(run("evaluate", "m.skops", "three.csv", "--metric", "shop:revenue"))
    assert message == "--metric is for two classes, and m.skops decides among 3"
    for i, row in enumerate(strata):
        row[6] = "yes" if i < 4 else "no"
    write(at / "few.csv", map(",".join, strata))
    assert "too few for cross-validation" in error_of(fit(*REVENUE, data="few.csv"))
    strata = [row.split(",") for row in lines(60, 0)]
    strata[3][3] = strata[5][4] = ""
    write(at / "gap.csv", map(",".join, strata))
    message = error_of(fit(*REVENUE, "--set", "surrogate-group=sex", data="gap.csv"))
    assert message.startswith(
        "gap.csv: 1 row has no value in column 'sex', which --set surrogate-group looks at, "
        "in line 5"
    )
    done = fit(*REVENUE, data="gap.csv")  # a metric may know what to do with it
    assert "1 row has no value in column 'amount', which the metric shop:revenue is given" in (
        done.stderr
    )


def test_other_commands_know_of_it(run):
    done = run("goal", 'maximize blackbox("shop:revenue")')
    assert done.exit_code == 0
    assert "Make the metric shop:revenue as high as possible." in done.stdout
    assert "no formula" in done.stdout
    assert "the function: --metric" in done.stdout
    assert "two classes: post-shift, measures the metric at each cut-off" in done.stdout
    trained = json.loads(run("goal", 'maximize blackbox("a:b")', "--json").stdout)["trained"]
    assert trained == {name: SOLVERS[name].does for name in solvers_of("surrogates")}
    assert "setpoint train --metric shop:revenue" in run("goal").stdout
    message = " ".join(run("train", "--help").stdout.split())
    assert "looked for in the current folder" in message
    listed = run("train", "--set", "help").stdout
    assert all(name in listed for name in SURROGATES)


# ---------------------------------------------------------------------- stopped before the end
def test_ctrl_c_keeps_the_best_so_far(fit, at, monkeypatch):
    real = module.SampleSearch._searched

    def interrupted(self, *args):
        found = real(self, *args)
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        self.metered.limits.stop(KeyboardInterrupt())  # as the search does where that ends it
        return found

    monkeypatch.setattr(module.SampleSearch, "_searched", interrupted)
    done = fit(*REVENUE, "--report", "r.html")
    assert done.exit_code == 130, done.stderr
    assert "evaluations of the metric: the best found so far is kept" in done.stderr
    last = done.stderr.splitlines()[-1]
    assert last == "stopped; m.skops and r.html were written"
    assert "Wrote the model to m.skops and the page to r.html." in done.stdout
    assert "interrupted: the best found so far is kept" in (at / "r.html").read_text("utf-8")
    assert load_model("m.skops").target == "y"


def test_ctrl_c_before_there_is_anything(fit, at, monkeypatch):
    def interrupted(self):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(module.SampleSearch, "_probe", interrupted)
    done = fit(*REVENUE)
    assert (done.exit_code, done.stdout) == (130, "")
    assert done.stderr.splitlines()[-1] == "stopped; nothing was written"
    assert not (at / "m.skops").exists()
