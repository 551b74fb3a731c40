"""Pages in a real browser: they fit, they can be read, they ask for nothing from outside."""

import re

import pytest

from browser import MEASURE, in_a_browser, tab
from report.pages import MAKERS, compared, infeasible, page_of

pytestmark = [
    *in_a_browser,
    pytest.mark.filterwarnings("ignore::setpoint.report.FewRowsWarning"),
]
__all__ = ["tab"]

PAPERS = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 27)"}
HEIGHT = 14000
ORDINARY = ("held out", "priced")


def pages():
    return {
        **{name: page_of(name) for name in MAKERS},
        "unfolded": page_of("held out").replace("<details", "<details open"),
        "infeasible": infeasible(),
        "compared": compared(),
    }


def test_every_page_fits_and_can_be_read_at_every_width_in_both_schemes(tab, tmp_path):
    for name, page in pages().items():
        path = tmp_path / f"{name}.html"
        path.write_text(page, "utf-8")
        tab.open(path.as_uri())
        for width in (400, 1400):
            # As high as the page, for only what is in view can be hit by a point.
            tab.size(width, HEIGHT)
            for scheme, paper in PAPERS.items():
                tab.prefer(scheme)
                found = tab.do(f"{{{MEASURE}; measure()}}")
                where = f"{name}, {width} wide, {scheme}"
                assert (found["dark"], found["paper"]) == (scheme == "dark", paper)
                assert found["inner"] == width
                assert found["scroll"] <= width, where
                assert found["height"] <= HEIGHT, f"{where}: a part of the page is looked at only"
                assert found["checked"] > (15 if name == "empty" else 30)
                assert found["faint"] == [], where
                assert found["cut"] == found["small"] == [], where
                assert found["requests"] == [], where
        if name in ORDINARY:  # prints on two sheets of A4
            tab.prefer("light")
            printed = tab.printed()
            assert 1 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 2, name
            sizes = set(re.findall(rb"/MediaBox\s*\[([^\]]*)\]", printed))
            assert {tuple(round(float(x)) for x in s.split()[2:]) for s in sizes} == {(595, 842)}
    assert tab.console == []
