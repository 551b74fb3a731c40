"""The explorer in a real browser: dragged, typed into, taken back, read in every light."""

import numpy as np
import pytest

from browser import MEASURE, Tab, in_a_browser
from setpoint import explore, solve

pytestmark = in_a_browser

GOAL = "maximize recall subject to precision >= 0.6 and predicted_rate <= 0.3"
FAIR = (
    "maximize recall subject to precision >= 0.6 and predicted_rate <= 0.4 "
    'and recall.difference("sex") <= 0.3'
)
PRICED = 'minimize cost({("no", "yes"): 1, ("yes", "no"): 4}) subject to recall >= 0.5'
READY = "document.querySelector('.side .says')?.textContent"

HELPERS = """
const all = (what, from = document) => [...from.querySelectorAll(what)];
const one = (what, from = document) => from.querySelector(what);
const button = (words) => all("button").find((b) => b.textContent.includes(words));
const plain = (text) => text.replaceAll("\\u00a0", " ");
const said = (what) => plain(one(what)?.textContent ?? "");
const pause = (ms = 400) => new Promise((done) => setTimeout(done, ms));
const give = (control, value) => {
  control.value = value;
  control.dispatchEvent(new Event("input", {bubbles: true}));
  control.dispatchEvent(new Event("change", {bubbles: true}));
};
const view = () => ({
  word: said(".word"),
  rule: said(".says"),
  people: said(".results .people"),
  counts: all(".pieces b").map((b) => b.textContent),
  values: all(".parts td[data-head=Value]").map((td) => plain(td.lastChild.textContent)),
  verdicts: all(".parts .verdict").map((td) => td.textContent),
  goal: one(".copied pre").textContent,
  bounds: all(".bound input[type=number]").map((x) => Number(x.value)),
  dot: Number(one(".handle").getAttribute("aria-valuenow")),
  kept: all(".shortlist tbody tr").length,
  looks: said(".looks"),
  hash: location.hash,
});
"""


def rows(n=3000, seed=0):
    """Scores of a fair model, labels, and two columns of groups."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.25, "yes", "no")
    sex = np.where(rng.random(n) < 0.4, "F", "M")
    region = rng.choice(["north", "south", "east"], n)
    logit = rng.normal(2.2 * (y == "yes") - 1.4 + 0.3 * (sex == "F"), 1.0)
    return 1.0 / (1.0 + np.exp(-logit)), y, sex, region


def page(goal, **more):
    scores, y, sex, region = rows()
    baseline = np.where(scores >= 0.7, "yes", "no")
    return explore(
        goal,
        scores,
        y,
        pos_label="yes",
        baseline=baseline,
        by={"region": region},
        check=0.3,
        sensitive_features={"sex": sex} if "sex" in goal else None,
        decide_on=None,
        **more,
    )


@pytest.fixture(scope="module")
def addresses(tmp_path_factory):
    """The pages of these tests by name."""
    folder = tmp_path_factory.mktemp("pages")
    made = {
        "plain": page(GOAL),
        "fair": page(FAIR, other_goal="maximize f1"),
        "priced": page(PRICED),
        "infeasible": page("maximize recall subject to precision >= 0.99 and recall >= 0.9"),
        "unbounded": page("maximize f1"),
    }
    out = {}
    for name, explorer in made.items():
        explorer.to_html(folder / f"{name}.html")
        out[name] = (folder / f"{name}.html").as_uri()
    return out


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    """One browser for all these tests."""
    tab = Tab(tmp_path_factory.mktemp("browser"))
    yield tab
    tab.close()


@pytest.fixture
def opened(tab, addresses):
    """Opens a page, and looks at the end whether its console was silent."""

    def go(name, fragment="", width=1400, height=1000, scheme="light"):
        tab.console.clear()
        tab.size(width, height)
        tab.prefer(scheme)
        tab.open(addresses[name] + fragment, READY)
        tab.do(f"{HELPERS}; Object.assign(window, {{all, one, button, said, pause, give, view}})")
        return tab

    yield go
    assert tab.console == []


def chosen_on(explorer_rows=0.3):
    """The rows that choosing happens on, as the page says how many they are."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read_at_every_width_in_both_schemes(opened, scheme):
    for name in ("plain", "fair", "priced", "infeasible", "unbounded"):
        tab = opened(name, scheme=scheme)
        tab.do("button('Keep this point').click()")
        if name == "fair":
            tab.do("button('Put a second goal beside').click()")
        for width in (400, 900, 1400):
            tab.size(width, 14000)
            tab.do("pause(100)")
            found = tab.do(f"{{{MEASURE}; measure()}}")
            where = f"{name}, {width} wide, {scheme}"
            assert found["dark"] == (scheme == "dark")
            assert found["scroll"] <= width, where
            assert found["checked"] > 60, where
            assert found["faint"] == [], where
            assert found["cut"] == found["small"] == [], where
            assert found["requests"] == [], where
            overlapping = tab.do(OVERLAPPING)
            assert overlapping == [], where


OVERLAPPING = """
(() => {
  const boxes = [...document.querySelectorAll("svg.curve text")].map((t) =>
    [t.textContent, t.getBoundingClientRect(), t.closest("svg").getBoundingClientRect()]);
  const bad = boxes.filter(([, b, s]) => b.left < s.left - 1 || b.right > s.right + 1);
  for (const [i, [name, a]] of boxes.entries())
    for (const [other, b] of boxes.slice(i + 1))
      if (a.left < b.right && b.left < a.right && a.top < b.bottom - 2 && b.top < a.bottom - 2)
        bad.push([name, other]);
  return bad.map(([name]) => name);
})()
"""
