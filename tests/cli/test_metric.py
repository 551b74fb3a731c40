"""``--metric``: a function of one's own, trained for, judged by, and everything wrong with it."""

import contextlib
import signal
import sys

import numpy as np
import pytest

from cli.samples import write
from setpoint import AdaptiveSurrogateClassifier, PlugInClassifier, load_model
from thinning import over

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

def talks(y_true, y_pred):
    raise ValueError("one\\n  two pos_label")

def misspelt(y_true, y_pred, amounts):
    return 0.0

anonymous = lambda y_true, y_pred: 0.0
"""
OTHERS = {
    "broken": "import numpy\n1 / 0\n",
    "script": "import sys\nsys.exit('no')\n",
}
HEAD = "id,a,b,sex,amount,plan,y"
TRAIN = "train t.csv --target y --drop id,amount --model m.skops"
REVENUE = f"{TRAIN} --metric shop:revenue --set budget=150"


def lines(n_rows, seed, noise=0.0):
    """Positives in the middle of `a`, where no straight line finds them, and higher in `b`."""
    r = np.random.default_rng(seed)
    out = []
    for i in range(n_rows):
        y = r.random() < 0.35
        a = (0.0 if y else r.choice([-1.6, 1.6])) + 0.5 * r.normal()
        shown = y != (r.random() < noise)
        cells = [f"{i:05d}", f"{a:.4f}", f"{r.normal() + y:.4f}", r.choice(["f", "m"])]
        cells += [f"{r.uniform(5, 50):.2f}", r.choice(["x", "y"]), "yes" if shown else "no"]
        out.append(",".join(cells))
    return out


@pytest.fixture(autouse=True)
def at(tmp_path, monkeypatch):
    """A folder with tables and modules, which this process forgets afterwards."""
    write(tmp_path / "t.csv", lines(400, 0), HEAD)
    write(tmp_path / "v.csv", lines(200, 1), HEAD)
    for name, text in {"shop": SHOP, **OTHERS}.items():
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in ("shop", *OTHERS):
        sys.modules.pop(name, None)


def revenue_of(rows, decided):
    """What the metric of the shop is, by hand."""
    cells = [row.split(",") for row in rows]
    return sum(
        (float(row[4]) if row[6] == "yes" else -10.0)
        for row, d in zip(cells, decided, strict=True)
        if d == "yes"
    )


def decisions(run):
    return [row.split(",")[0] for row in run("predict m.skops v.csv").out.splitlines()[1:]]


# ---------------------------------------------------------------------- the whole way
def test_fit_predict_evaluate(run, at):
    done = run(f"{REVENUE} --report r.html --json")
    assert done.code == 0, done.err
    found = done.json  # though the metric prints
    assert "a metric may talk" in done.err
    assert (found["solver"], found["family"]) == ("adaptive-surrogates", "surrogates")
    goal = 'maximize blackbox("shop:revenue")'
    assert (found["metric"], found["goal"]) == ("shop:revenue", goal)
    assert set(found["columns"]["features"]) == {"a", "b", "sex", "plan"}
    assert found["columns"]["hidden"]["amount"] == "dropped"
    page = (at / "r.html").read_text("utf-8")
    assert "The metric shop:revenue, of which higher is better, is given the labels, the" in page
    stored = load_model("m.skops").classifier
    assert isinstance(stored, AdaptiveSurrogateClassifier)
    assert stored.goal.function is None
    sys.modules.pop("shop")
    (at / "shop.py").rename(at / "later.py")  # to predict takes no function
    decided = decisions(run)
    (at / "later.py").rename(at / "shop.py")
    assert run("evaluate m.skops v.csv").error == (
        "m.skops was fitted for the metric shop:revenue, and model files hold no code: add "
        "--metric shop:revenue"
    )
    judge = "evaluate m.skops v.csv --metric shop:"
    judged = run(f"{judge}revenue --json")
    value = judged.json["evaluated"]["objective"]["value"]
    assert value == pytest.approx(revenue_of(lines(200, 1), decided))
    other = run(f"{judge}auc")
    assert "m.skops was fitted for the metric shop:revenue; here --metric shop:auc" in other.err
    other = run(f"{judge}revenue --set lower-is-better")
    assert "fitted for a high value of shop:revenue; here --set lower-is-better" in other.err
    no_bound = "shop:revenue, and has no bound that could move"
    assert run("frontier m.skops v.csv").error.endswith(no_bound)


def test_another_table_to_measure_on(run, at):
    """Its labels alone count; what DATA has of the rows held out is not trained on."""
    write(at / "t.csv", lines(400, 0, noise=0.2) + lines(60, 1), HEAD)
    done = run(f"{REVENUE} --set validation=v.csv --test-size 0.5 --report r.html --json")
    assert done.code == 0, done.err
    found = done.json
    assert found["validation"] == {"fitted": 100, "held_out": 100, "shared": 60}
    apart = 460 - found["rows"]["fitted"]
    assert 0 < apart < 60
    assert f"{apart} rows of DATA are held out of v.csv too, and not trained on" in done.err
    assert [found[on]["counts"]["n_rows"] for on in ("fitted", "held_out")] == [100, 100]
    page = (at / "r.html").read_text("utf-8")
    assert "The metric was measured on 100 rows of v.csv; 100 others, drawn with seed 0" in page


def test_options_reach_the_classifier(run):
    more = (
        "--set surrogates=hinge,logistic --set surrogate-group=sex=f --set surrogate-group=plan "
        "--set seed=3 --positive no --set lower-is-better --sensitive sex "
        "--solver surrogate-weights --set budget=60"
    )
    done = run(f"{TRAIN} --metric shop:costs {more}")
    assert done.code == 0, done.err
    clf = load_model("m.skops").classifier
    assert (clf.solver, clf.limits.evaluations, clf.random_state) == ("surrogate-weights", 60, 3)
    assert clf.surrogates == ["hinge", "logistic"]
    assert clf.surrogate_groups == [{"sex": "f"}, "plan"]
    assert (clf.goal.greater_is_better, clf.positive_) == (False, "no")
    assert 'Goal: minimize blackbox("shop:costs")' in done.out
    done = run("evaluate m.skops v.csv --metric shop:costs")  # the direction is that of the file
    assert 'Goal: minimize blackbox("shop:costs")' in done.out


def test_cut_offs_of_any_model_and_goals_of_the_language(run):
    naive = "sklearn.naive_bayes.GaussianNB"
    more = f"--set takes=predictions --set budget=40 --json --set estimator={naive}"
    found = run(f"{TRAIN} --metric shop:odd {more}").json
    assert (found["solver"], found["family"], found["estimator"]) == ("post-shift", "plugin", naive)
    assert found["fitted"]["search"]["calls"] <= 40
    assert isinstance(load_model("m.skops").classifier, PlugInClassifier)
    assert run("evaluate m.skops v.csv --metric shop:odd").code == 0  # takes: of the file
    goal = "--goal 'maximize recall subject to precision >= 0.99'"
    done = run(f"{TRAIN} {goal} --solver adaptive-surrogates --set budget=150")
    assert done.code == 3, done.err
    assert done.out.startswith("Shown to fail on 100 rows held out.")
    assert run(f"{TRAIN} {goal} --solver post-shift").error.startswith(
        "--solver post-shift takes goals without constraints"
    )
    assert run(f"{TRAIN} --goal f1 --solver post-shift").code == 0
    done = run("evaluate m.skops v.csv --metric shop:revenue --json")
    assert "fitted for 'maximize f1'; here --metric shop:revenue judges it" in done.err


# ---------------------------------------------------------------------- what is refused
PATH = "say a module's name, shop:revenue, not a path"
INVALID = [
    ("f1", "--metric is module:function, such as shop:revenue, got 'f1'; goals of the"),
    ("shop.py:revenue", PATH),
    ("../there/shop:revenue", PATH),
    ("./sub/shop.py:revenue", "say a module's name, sub.shop:revenue, not a path"),
    ("shops:revenue", "there is no module 'shops', neither in the current folder nor where"),
    ("shop:odd", "its second parameter 'b': say --set takes=predictions or --set takes=scores"),
    ("shop:anonymous", "<lambda> cannot be found by its name; write the function with def"),
    ("broken:f", "importing broken raised ZeroDivisionError: division by zero, in broken.py, line"),
    ("script:f", "importing script raised SystemExit: no, in script.py, line 2"),
    ("shop:misspelt", "takes the column 'amounts', and t.csv has none (did you mean 'amount'"),
    ("shop:talks", "shop:talks raised ValueError: one two pos_label; it was called with 300"),
    ("sklearn.metrics:f1_score", "function of your own that names the positive label (pos_label="),
]
UNFIT = [
    (f"{TRAIN} --set budget=150 --metric {metric}", words) for metric, words in INVALID
] + [
    (TRAIN, "one of the two is needed; see setpoint train --help"),
    (f"{REVENUE} --goal f1", "they are not taken together; see setpoint train --help"),
    (f"{TRAIN} --goal f1 --set takes=scores", "--set takes goes with --metric"),
    (f"{TRAIN} --goal 'maximize blackbox(\"shop:revenue\")'", "name its function, --metric"),
    (f"{TRAIN} --goal f1 --set budget=9", "--set budget is for solvers that measure a me"),
    (f"{TRAIN} --goal f1 --solver post-shift --set budget=9", "counted at every cut-off"),
    (f"{TRAIN} --goal 'maximize accuracy.on(x)' --solver surrogate-weights",
     "and goals of one table, and the goal refers to the data set 'x'; --solver augmented-"),
    (f"{REVENUE} --solver portfolio", "--solver portfolio needs a goal with a formula;"),
    (f"{REVENUE} --set min-positives=3", "follows the metric's gradient in the space of surrog"),
    (f"{REVENUE} --set draws", "--set draws: --solver adaptive-surrogates trains one"),
    (f"{REVENUE} --set draws --set estimator=logistic", "post-shift finds rules, which decide"),
    (f"{REVENUE} --set estimator=auto", "compares models by goals that are counted"),
    (f"{REVENUE} --set surrogate-group=a", "--set surrogate-group: column 'a' of t.csv h"),
    (f"{REVENUE} --set surrogate-group=sexs", "no column 'sexs' (did you mean 'sex'?)"),
    (f"{REVENUE} --set surrogate-group=sex=q", "column 'sex' of t.csv holds no 'q'"),
    (f"{REVENUE} --report shop.py", "--report: shop.py would overwrite the module of --m"),
    (f"{REVENUE} --set validation=m.skops", "--model: m.skops would overwrite --set va"),
    (f"{REVENUE} --set validation=bare.csv", "--set validation: bare.csv has no column"),
    (f"{REVENUE} --set validation=odd.csv", "is not a class of the model"),
    (f"{REVENUE} --set validation=no.csv", "--set validation holds no row of the class"),
    (f"{TRAIN} --metric shop:revenue --confidence 0.9", "--confidence promises that constraints"),
    (f"{REVENUE.replace('t.csv', 'gap.csv')} --set surrogate-group=sex",
     "1 row has no value in column 'sex', which --set surrogate-group looks at, in line 5"),
    (REVENUE.replace("t.csv", "few.csv"), "too few for cross-validation"),
    ("evaluate three.skops odd.csv --metric shop:revenue",
     "--metric is for two classes, and three.skops decides among 3"),
]  # fmt: skip


def test_what_is_refused(run, at):
    rows = [row.rsplit(",", 1)[0] for row in lines(60, 0)]
    write(at / "bare.csv", ["1,2"], "a,b")
    write(at / "odd.csv", [f"{row},{'abc'[i % 3]}" for i, row in enumerate(rows)], HEAD)
    write(at / "no.csv", [f"{row},no" for row in rows], HEAD)
    cells = [row.split(",") for row in lines(60, 0)]
    cells[3][3] = cells[5][4] = ""
    write(at / "gap.csv", map(",".join, cells), HEAD)
    few = [f"{row},{'yes' if i < 4 else 'no'}" for i, row in enumerate(rows)]
    write(at / "few.csv", few, HEAD)
    assert run("fit odd.csv --target y --goal accuracy --model three.skops").code == 0

    @over("line, words", UNFIT)
    def refused(line, words):
        assert words in " ".join(run(line).error.split())

    refused()
    assert not (at / "m.skops").exists()
    assert (at / "shop.py").read_text() == SHOP
    done = run(REVENUE.replace("t.csv", "gap.csv"))  # a metric may know what to do with it
    words = "1 row has no value in column 'amount', which the metric shop:revenue is given"
    assert words in done.err


# ---------------------------------------------------------------------- stopped before the end
def test_ctrl_c_keeps_the_best_so_far(run, at, monkeypatch):
    from setpoint.surrogates.selection import SampleSearch

    real = SampleSearch._searched

    def interrupted(self, *args):
        found = real(self, *args)
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        self.metered.limits.stop(KeyboardInterrupt())  # as the search does where that ends it
        return found

    monkeypatch.setattr(SampleSearch, "_searched", interrupted)
    done = run(f"{REVENUE} --report r.html")
    assert done.code == 130, done.err
    assert "evaluations of the metric: the best found so far is kept" in done.err
    assert done.err.splitlines()[-1] == "stopped; m.skops and r.html were written"
    assert "Wrote the model to m.skops and the page to r.html." in done.out
    assert "interrupted: the best found so far is kept" in (at / "r.html").read_text("utf-8")
    assert load_model("m.skops").target == "y"
