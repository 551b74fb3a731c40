"""Pages in a real browser: they fit, they can be read, they ask for nothing from outside."""

import html
import json
import re
import shutil
import subprocess

import pytest

from report.pages import (
    HEADER,
    ODD,
    adaptive_summary,
    compared,
    empty,
    fair,
    floor,
    infeasible,
    many_classes,
    many_groups,
    nearest,
    priced,
    prices,
    searched,
    three,
)
from setpoint.report import TextSection
from setpoint.report.page import page_text

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)

pytestmark = [
    pytest.mark.page,
    pytest.mark.skipif(BROWSER is None, reason="no chromium or google-chrome was found"),
    pytest.mark.filterwarnings("ignore::setpoint.report.FewRowsWarning"),
]

WIDTHS = (400, 900, 1400)
HEIGHT = 14000

SHORT = ("empty", "prices")
"""Pages with little to say."""

MEASURE = r"""
const parts = c => {
  const m = c.match(/[\d.]+/g).map(Number);
  return m.length < 4 ? [...m, 1] : m;
};
const over = (top, below) => {
  const a = top[3] + below[3] * (1 - top[3]);
  if (!a) return [0, 0, 0, 0];
  const mixed = i => (top[i] * top[3] + below[i] * below[3] * (1 - top[3])) / a;
  return [0, 1, 2].map(mixed).concat(a);
};
const linear = x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
const light = c => {
  const [r, g, b] = c.map(x => linear(x / 255));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const contrast = (a, b) => {
  const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
  return (x + 0.05) / (y + 0.05);
};
const above = e => e ? [e, ...above(e.parentElement)] : [];
const faded = e => above(e).reduce((o, x) => o * getComputedStyle(x).opacity, 1);
const filled = e => {
  const s = getComputedStyle(e);
  const drawn = e instanceof SVGElement && !(e instanceof SVGSVGElement);
  const paint = drawn ? s.fill : s.backgroundColor;
  if (!paint.startsWith("rgb")) return [0, 0, 0, 0];
  const c = parts(paint);
  c[3] *= (drawn ? Number(s.fillOpacity) : 1) * faded(e);
  return c;
};
const ground = (e, box) => {
  let stack = document.elementsFromPoint(box.left + box.width / 2, box.top + box.height / 2);
  // What is scrolled out of sight is not hit.
  if (!stack.includes(e)) stack = above(e);
  const below = stack.filter(x => !x.closest("text")).reverse();
  return below.reduce((c, x) => over(filled(x), c), [255, 255, 255, 1]);
};
const texts = () => {
  const faint = [];
  let checked = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const e = node.parentElement;
    if (!node.data.trim() || e.closest("script") || !e.checkVisibility()) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const box = [...range.getClientRects()].find(r => r.width > 0 && r.height > 0);
    if (!box) continue;
    const style = getComputedStyle(e);
    const ink = parts(e instanceof SVGElement ? style.fill : style.color);
    ink[3] *= faded(e);
    const below = ground(e, box);
    const found = contrast(over(ink, below), below);
    checked += 1;
    if (found < 4.5) faint.push(`${found.toFixed(2)}: ${node.data.slice(0, 60)}`);
  }
  return {checked, faint};
};
const pictures = () => {
  const cut = [], small = [];
  for (const svg of document.querySelectorAll("svg[role=img]")) {
    const whole = svg.getBoundingClientRect();
    const scale = svg.viewBox.baseVal ? whole.width / svg.viewBox.baseVal.width : 1;
    for (const text of svg.querySelectorAll("text")) {
      const r = text.getBoundingClientRect(), name = text.textContent.slice(0, 60);
      const inside = r.left >= whole.left - 2 && r.right <= whole.right + 2;
      if (!inside || r.top < whole.top - 2 || r.bottom > whole.bottom + 2) cut.push(name);
      if (parseFloat(getComputedStyle(text).fontSize) * (scale || 1) < 8) small.push(name);
    }
  }
  return {cut, small};
};
const measure = () => ({
  ...texts(),
  ...pictures(),
  dark: matchMedia("(prefers-color-scheme: dark)").matches,
  paper: getComputedStyle(document.body).backgroundColor,
  inner: innerWidth,
  scroll: document.documentElement.scrollWidth,
  height: document.documentElement.scrollHeight,
  requests: performance.getEntriesByType("resource").map(x => x.name),
});
addEventListener("load", () => parent.postMessage([NAME, measure()], "*"));
"""

COLLECT = """
const out = {};
addEventListener("message", e => {
  out[e.data[0]] = e.data[1];
  document.getElementById("out").textContent = JSON.stringify(out);
});
"""


def unfolded(page):
    """With all that is folded in sight."""
    return page.replace("<details", "<details open")


def pages_of_two_classes():
    about = (TextSection("The data", ("500 rows of a table", "x" * 400)),)
    report, held_out = fair()
    return {
        "fair": page_text(report, held_out, about, HEADER),
        "floor": page_text(floor(), header=HEADER),
        "priced": page_text(priced()),
    }


def pages():
    ordinary = pages_of_two_classes()
    return {
        **ordinary,
        "unfolded": unfolded(ordinary["fair"]),
        "three": page_text(three()),
        "nearest": page_text(nearest()),
        "groups": page_text(many_groups()),
        "hundreds": page_text(many_groups(400)),
        "classes": page_text(many_classes(), header=HEADER),
        "empty": page_text(empty()),
        "prices": page_text(prices()),
        "infeasible": infeasible(),
        "compared": compared(),
        "several": compared((ODD[0], ODD[5], ODD[7])),
        "searched": page_text(searched()),
        "kept": page_text(searched(adaptive_summary(14, accepted=False))),
    }


@pytest.fixture(scope="module", params=["light", "dark"])
def measured(request, tmp_path_factory):
    """What a browser measures in every page at every width: one start for each scheme."""
    folder = tmp_path_factory.mktemp("pages")
    frames = []
    for name, page in pages().items():
        for width in WIDTHS:
            key = f"{name} {width}"
            probe = f"<script>const NAME = {json.dumps(key)};{MEASURE}</script></body>"
            copy = folder / f"{name}-{width}.html"
            copy.write_text(page.replace("</body>", probe), "utf-8")
            # As high as the page, for only what is in view can be hit by a point.
            frames.append(
                f'<iframe src="{copy.name}" width="{width}" height="{HEIGHT}" frameborder="0">'
                "</iframe>"
            )
    harness = folder / "harness.html"
    harness.write_text(
        f'<!DOCTYPE html><pre id="out"></pre><script>{COLLECT}</script>{"".join(frames)}', "utf-8"
    )
    scheme = 0 if request.param == "dark" else 1
    done = subprocess.run(
        [
            BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
            "--v=0", "--allow-file-access-from-files", f"--user-data-dir={folder / 'profile'}",
            f"--blink-settings=preferredColorScheme={scheme}", "--window-size=1600,1200",
            "--virtual-time-budget=20000", "--dump-dom", harness.as_uri(),
        ],
        capture_output=True, text=True, encoding="utf-8", timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    console = [x for x in done.stderr.splitlines() if "CONSOLE" in x or "Uncaught" in x]
    assert console == []
    found = re.search(r'<pre id="out">(.*?)</pre>', done.stdout, re.DOTALL).group(1)
    out = json.loads(html.unescape(found))
    assert len(out) == len(frames)
    return request.param, out


def test_the_scheme_is_the_one_asked_for(measured):
    scheme, found = measured
    papers = {x["paper"] for x in found.values()}
    assert {x["dark"] for x in found.values()} == {scheme == "dark"}
    assert papers == {"rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 23, 27)"}


def test_nothing_is_wider_than_the_window(measured):
    _, found = measured
    for name, x in found.items():
        assert x["inner"] == int(name.split()[1])
        assert x["scroll"] <= x["inner"], name
        assert x["height"] <= HEIGHT, f"{name}: the test looks at part of the page only"


def test_every_text_stands_out_from_its_ground(measured):
    _, found = measured
    for name, x in found.items():
        assert x["checked"] > (15 if name.split()[0] in SHORT else 30)
        assert x["faint"] == [], name


def test_pictures_hold_their_texts_at_a_readable_size(measured):
    _, found = measured
    for name, x in found.items():
        assert x["cut"] == [], name
        assert x["small"] == [], name


def test_nothing_is_asked_for_from_outside(measured):
    _, found = measured
    assert [x["requests"] for x in found.values()] == [[]] * len(found)


@pytest.mark.parametrize("name", ["fair", "floor", "priced"])
def test_an_ordinary_report_prints_on_two_sheets(name, tmp_path):
    page, printed = tmp_path / "page.html", tmp_path / "page.pdf"
    page.write_text(pages_of_two_classes()[name], "utf-8")
    done = subprocess.run(
        [
            BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer",
            f"--user-data-dir={tmp_path / 'profile'}", f"--print-to-pdf={printed}", page.as_uri(),
        ],
        capture_output=True, text=True, encoding="utf-8", timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    sheets = re.findall(rb"/Type\s*/Page\b", printed.read_bytes())
    assert 1 <= len(sheets) <= 2
    sizes = set(re.findall(rb"/MediaBox\s*\[([^\]]*)\]", printed.read_bytes()))
    assert {tuple(round(float(x)) for x in s.split()[2:]) for s in sizes} == {(595, 842)}
