import math
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.goals import Other
from setpoint.rules import (
    Argmax,
    Band,
    Mixture,
    PerSegment,
    Rule,
    RuleFormatError,
    Threshold,
    ValueAware,
)
from thinning import over

HALF = '{"type": "threshold", "threshold": 0.5, "width": 0.0}'
BAND = '{"type": "band", "low": 0.25, "high": 0.5}'
ARGMAX = '{"type": "argmax", "G": [[1, 0], [0, 1]], "offset": null}'


VALUE = f'{{"type": "value_aware", "columns": ["x"], "rule": {ARGMAX}}}'


def document(rule):
    return f'{{"format": 2, "rule": {rule}}}'


def segments(value):
    return document(
        '{"type": "per_segment", "by": "segment", '
        f'"segments": [[["a", {value}]]], "rules": [{HALF}]}}'
    )


def test_the_format_stays_as_it_is():
    by_place = PerSegment(
        [Threshold(0.1), Threshold(-math.inf)],
        [(("c", "IN"), ("s", True)), (("c", Other(("IN",))), ("s", 1.5))],
    )
    rule = Mixture([(0.25, by_place), (0.75, Threshold(math.inf, 0.5))])
    hard, soft = (
        {"type": "threshold", "threshold": t, "width": w} for t, w in ((0.1, 0.0), ("inf", 0.5))
    )
    segments = [[["c", "IN"], ["s", True]], [["c", {"other": ["IN"]}], ["s", 1.5]]]
    rules = [hard, {"type": "threshold", "threshold": "-inf", "width": 0.0}]
    placed = {"type": "per_segment", "by": "segment", "segments": segments, "rules": rules}
    atoms = [{"probability": 0.75, "rule": soft}, {"probability": 0.25, "rule": placed}]
    assert rule.to_dict() == {"format": 2, "rule": {"type": "mixture", "atoms": atoms}}


@over("rule, written", [
    (Argmax(np.eye(2), [0, 1]), {"type": "argmax", "G": [1.0, 1.0], "offset": [0.0, 1.0]}),
    (Argmax([[1, 2], [0, 1]]), {"type": "argmax", "G": [[1.0, 2.0], [0.0, 1.0]], "offset": None}),
    (Band(-math.inf, 0.5), {"type": "band", "low": "-inf", "high": 0.5}),
    (ValueAware(["x"], Argmax(np.eye(2))),
     {"type": "value_aware", "columns": ["x"],
      "rule": {"type": "argmax", "G": [1.0, 1.0], "offset": None}}),
    (PerSegment([Argmax.weighted([1, 2])] * 2, by="top"),
     {"type": "per_segment", "by": "top", "segments": [],
      "rules": [{"type": "argmax", "G": [1.0, 2.0], "offset": None}] * 2}),
])  # fmt: skip
def test_the_format_of_every_kind_stays_as_it_is(rule, written):
    assert rule.to_dict()["rule"] == written


def test_values_and_odd_text_keep_their_kind():
    for value in ("1", 1, 1.0, True, "ü\ud800💡"):
        rule = PerSegment([Threshold(0.5)], [(('a "b"\n\x00', value),)])
        read = Rule.from_json(rule.to_json())
        assert read == rule
        assert type(read.segments[0][0][1]) is type(value)
    rule = Rule.from_json(document('{"type": "threshold", "threshold": 1, "width": 0}'))
    assert rule == Threshold(1.0)
    assert type(rule.threshold) is float
    # A diagonal is read in full too.
    flat = Rule.from_json(document(ARGMAX.replace("[[1, 0], [0, 1]]", "[1, 1]")))
    assert flat == Rule.from_json(document(ARGMAX)) == Argmax(np.eye(2))


BAD = [
    (document(HALF)[:-1], "broken or cut off"), (document(HALF) + "x", "broken or cut off"),
    ("{}", r"missing \['format', 'rule'\]"),
    ("[1]", r"the document: found \[1\] \(list\), allowed is an object"),
    (f'{{"rule": {HALF}}}', r"missing \['format'\]"),
    (f'{{"format": 2, "rule": {HALF}, "goal": 1}}', r"unknown \['goal'\]"),
    (f'{{"format": 3, "rule": {HALF}}}', "found 3, written by a newer setpoint"),
    ('{"format": 3, "regel": 1}', "found 3, written by a newer setpoint"),
    (f'{{"format": 1, "rule": {HALF}}}', "found 1, written by an older .* find the rule again"),
    (f'{{"format": 0, "rule": {HALF}}}', r"format: found 0 \(int\), allowed is 2"),
    (f'{{"format": true, "rule": {HALF}}}', r"format: found True \(bool\), allowed is 2"),
    (document("[]"), r"rule: found \[\] \(list\), allowed is an object"),
    (document("{}"), "rule.type: found None .* one of 'threshold', 'argmax', 'per_segment'"),
    (document('{"type": "tree"}'), "rule.type: found 'tree' .* one of 'threshold'"),
    (document('{"type": "threshold", "threshold": 0.5}'), r"missing \['width'\]"),
    (document(HALF[:-1] + ', "note": ""}'), r"unknown \['note'\]; allowed are \['type', 'thr"),
    (document(HALF[:-1] + ', "width": 1}'), r"fields twice: \['width'\]"),
    (document(HALF.replace("0.5", "NaN")), "holds NaN"),
    (document(HALF.replace("0.5", "Infinity")), "holds Infinity, .* infinity is 'inf'"),
    (document(HALF.replace("0.5", "1e999")), "rule.threshold: found inf"),
    (document(HALF.replace("0.5", "1" + "0" * 400)), "rule.threshold: found 1000"),
    (document(HALF.replace("0.5", "1" + "0" * 5000)), "broken or cut off"),
    (document(HALF.replace("0.5", '"nan"')), "rule.threshold: found 'nan' .* 'inf' or '-inf'"),
    (document(HALF.replace("0.5", "true")), r"rule.threshold: found True \(bool\)"),
    (document(HALF.replace("0.0", "-1")), "rule: `width` must be at least 0"),
    (document(ARGMAX.replace("[0, 1]", "0")), r"rule.G\[1\]: found 0 \(int\), allowed is a list"),
    (document(ARGMAX.replace("[0, 1]", "[0, true]")), r"rule.G\[1\]\[1\]: found True"),
    (document(ARGMAX.replace("[[1, 0], [0, 1]]", "[1]")), "rule: `weights` must be two or more"),
    (document(ARGMAX.replace("[[1, 0], [0, 1]]", "{}")), "rule.G: found {}"),
    (segments("null"), r"rule.segments\[0\]\[0\]: found None"),
    (segments("1e999"), r"rule.segments\[0\]\[0\]: found inf"),
    (segments('{"than": ["x"]}'), r"missing \['other'\], unknown \['than'\]"),
    (segments('{"other": "x"}'), r"rule.segments\[0\]\[0\].other: found 'x'"),
    (segments('{"other": [null]}'), r"rule.segments\[0\]\[0\].other: found None"),
    (segments("1").replace('["a", 1]', '["a"]'), r"allowed is a list \[column, value\]"),
    (segments("1").replace('[["a", 1]]', '"a"'), r"rule.segments\[0\]: found 'a'"),
    (segments("1").replace('"segment"', "[]"), r"rule: `by` must be 'segment' or 'top', got \[\]"),
    (segments("1").replace(HALF, "1"), r"rule.rules\[0\]: found 1"),
    (document('{"type": "mixture", "atoms": {}}'), "rule.atoms: found {}"),
    (document('{"type": "mixture", "atoms": [1]}'), r"rule.atoms\[0\]: found 1"),
    (document(f'{{"type": "mixture", "atoms": [{{"probability": 0.5, "rule": {HALF}}}]}}'),
     "rule: `probabilities` must sum to 1"),
    (document(f'{{"type": "mixture", "atoms": [{{"probability": true, "rule": {HALF}}}]}}'),
     r"rule.atoms\[0\].probability: found True"),
    (document('{"type": "mixture", "atoms": [{"probability": 1, "rule": {"type": "x"}}]}'),
     r"rule.atoms\[0\].rule.type: found 'x'"),
    (document(BAND.replace("0.25", '"low"')), "rule.low: found 'low' .* 'inf' or '-inf'"),
    (document(BAND.replace(', "high": 0.5', "")), r"missing \['high'\]"),
    (document(VALUE.replace('["x"]', '"x"')), "rule.columns: found 'x' .* allowed is a list"),
    (document(VALUE.replace('["x"]', "[1]")), "^rule: `columns`: a column is named by text, got 1"),
    (document(VALUE.replace('["x"]', '["x", "y"]')), "rule: `rule`: with 2 columns of values"),
    (document(VALUE.replace(ARGMAX, HALF)), "rule.rule.type: found 'threshold' .* 'argmax'"),
    ("[" * 200_000, "nested too deeply|broken or cut off"),
]  # fmt: skip


@over(("text", "message"), BAD)
def test_what_is_wrong_is_named(text, message):
    with pytest.raises(RuleFormatError, match=message) as caught:
        Rule.from_json(text)
    assert isinstance(caught.value, ValueError)
    assert len(str(caught.value)) < 400


def test_nesting_without_end_and_only_text_is_json():
    data = Threshold(0.5).to_dict()["rule"]
    for _ in range(20_000):
        data = {"type": "mixture", "atoms": [{"probability": 1.0, "rule": data}]}
    with pytest.raises(RuleFormatError, match="nested too deeply"):
        Rule.from_dict({"format": 2, "rule": data})
    for text in (None, 1, b"{}", {}):
        with pytest.raises(RuleFormatError, match="allowed is text"):
            Rule.from_json(text)


KEYS = st.sampled_from(["format", "rule", "type", "atoms", "probability", "segments", "G"])
PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
NAMED = st.sampled_from([1, "mixture", "argmax", "per_segment"])
NESTED = st.recursive(
    PLAIN,
    lambda x: st.lists(x, max_size=3) | st.dictionaries(KEYS, x | NAMED, max_size=3),
    max_leaves=12,
)


@given(NESTED)
def test_anything_else_is_a_format_error(data):
    for wrapped in (data, {"format": 2, "rule": data}):
        with pytest.raises(RuleFormatError):
            Rule.from_dict(wrapped)


def test_model_files_may_hold_every_rule():
    kinds = {f"{kind.__module__}.{kind.__name__}" for kind in Rule._types.values()}
    listed = files("setpoint.rules").joinpath("stored_types.txt").read_text().split()
    assert listed == sorted(kinds)


def test_a_foreign_rule_has_no_format():
    class Own(Threshold):
        pass

    class Foreign(Rule):
        n_classes = 2
        score_columns = None
        _decide = _distribution = _words = None

    for rule in (Own(0.5), Foreign(), Mixture([(1.0, Own(0.5))])):
        with pytest.raises(TypeError, match=r"the format has no (Own|Foreign), only threshold"):
            rule.to_json()
