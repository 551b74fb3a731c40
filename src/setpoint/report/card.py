"""A model card in Markdown: what a model is for, how it decides, what was measured, its limits.

The headings are those of Mitchell et al., Model Cards for Model Reporting (2019); the head is the
YAML that cards at Hugging Face begin with.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from setpoint.errors import InputError, InputTypeError
from setpoint.goals.errors import nearest
from setpoint.goals.expressions import Metric, walk
from setpoint.goals.goal import Goal
from setpoint.goals.populations import column_in_words, value_in_words
from setpoint.goals.words import glossary, goal_in_words
from setpoint.report.advice import advice_of
from setpoint.report.facts import Facts
from setpoint.report.findings import caveats, headline, lines_of, rows_in_words, summary
from setpoint.report.group_table import GroupTable
from setpoint.report.people import in_people
from setpoint.report.printable import cleaned
from setpoint.report.promised import assurances, explained
from setpoint.report.rule_words import certificate, how_found

__all__ = ["HEADINGS", "card_text"]

HEADINGS = (
    "Model details",
    "Intended use",
    "Factors",
    "Metrics",
    "Evaluation data",
    "Training data",
    "Quantitative analyses",
    "Ethical considerations",
    "Caveats and recommendations",
)

_AT_HUGGING_FACE = {"mcc": "matthews_correlation"}
_KNOWN = ("accuracy", "f1", "precision", "recall", "mcc")

_MARKS = re.compile(r"([\\`*\[\]<>|])")


def card_text(
    facts: Facts,
    *,
    name: str = "",
    held_out: Facts | None = None,
    about: Mapping[str, str] | None = None,
) -> str:
    """The card of a model as Markdown.

    Parameters
    ----------
    facts : Facts
        Of the fit.
    name : str
        Of the model; "": the class of the classifier.
    held_out : Facts, optional
        The same rule on rows that took no part in choosing it.
    about : mapping of str to str, optional
        What only the owner knows, in Markdown, by the heading that it stands under.

    Raises
    ------
    ValueError
        If `held_out` refers to another goal, or `about` names another heading.

    Examples
    --------
    >>> from setpoint.report.entry import Entry
    >>> text = card_text(Facts("maximize recall", Entry("recall", 0.8)), name="Loans")
    >>> text.splitlines()[1:3]
    ['library_name: setpoint', 'pipeline_tag: tabular-classification']
    """
    more = _checked(about)
    if held_out is not None and held_out.goal != facts.goal:
        raise InputError(
            f"`held_out` refers to the goal {held_out.goal!r}, and the model to {facts.goal!r}"
        )
    goal = Goal.parse(facts.goal)
    judged = facts if held_out is None or facts.guarantee is not None else held_out
    parts: dict[str, Iterable[str]] = {
        "Model details": _details(facts),
        "Intended use": _use(facts, goal),
        "Factors": _factors(judged, goal),
        "Metrics": _metrics(goal),
        "Evaluation data": _rows(judged, "These rows took no part in choosing the rule."
                                 if judged is held_out else ""),
        "Training data": _rows(facts),
        "Quantitative analyses": _analyses(judged, facts, goal),
        "Ethical considerations": _ethics(facts, goal),
        "Caveats and recommendations": _limits(judged, facts),
    }  # fmt: skip
    title = name or (facts.audit.model.rpartition(".")[2] if facts.audit else "") or "A classifier"
    out = [*_head(goal), "", f"# {_text(title)}"]
    for heading in HEADINGS:
        out += ["", f"## {heading}", "", *parts[heading], "", more.get(heading, "")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).rstrip() + "\n"


def _checked(about: Mapping[str, str] | None) -> Mapping[str, str]:
    if about is None:
        return {}
    given: object = about
    if not isinstance(given, Mapping):
        raise InputTypeError(
            f"`about` is a dict from headings to text, got a {type(about).__name__}"
        )
    for heading, text in about.items():
        if heading not in HEADINGS:
            raise InputError(
                f"`about`: a card has no heading {heading!r} ({nearest(heading, HEADINGS)})"
            )
        if not isinstance(text, str):
            raise InputTypeError(f"`about`: {heading!r} is text, got a {type(text).__name__}")
    return about


def _head(goal: Goal) -> Iterator[str]:
    """The YAML head; text in it is as JSON has it."""
    yield from ("---", "library_name: setpoint", "pipeline_tag: tabular-classification")
    yield from ("tags:", "- setpoint")
    used = {m.name for side in goal.sides for m in walk(side) if isinstance(m, Metric)}
    metrics = [_AT_HUGGING_FACE.get(m, m) for m in _KNOWN if m in used]
    if metrics:
        yield from ("metrics:", *(f"- {m}" for m in metrics))
    yield from (f"setpoint_goal: {json.dumps(str(goal))}", "---")


def _details(facts: Facts) -> Iterator[str]:
    audit = facts.audit
    if facts.rule.text:
        yield from ("The rule:", "", *_code(facts.rule.text), "")
    yield from _bullets(text for text in [how_found(facts)] if text)
    if audit is not None:
        changed = ", ".join(_inline(f"{k} = {v}") for k, v in audit.parameters.items())
        yield from _pairs(
            {
                "Classifier": _inline(audit.model),
                "Parameters, where changed": changed,
                "Fitted": audit.started,
                "Digest of the model": _inline(audit.digests.get("model", "")),
                "Digest of the rule": _inline(audit.digests.get("rule", "")),
            }
        )
    versions = ", ".join(f"{name} {found}" for name, found in facts.run.versions.items())
    yield from _pairs({"Versions": _text(versions)})


def _use(facts: Facts, goal: Goal) -> Iterator[str]:
    classes = [_inline(value_in_words(label)) for label in facts.counts.classes]
    if classes:
        yield f"It decides for each row between {', '.join(classes[:20])}."
        yield ""
    yield f"{_text(goal_in_words(goal, facts.counts.positive))}. As a goal of setpoint:"
    yield from ("", *_code(facts.goal), "")
    yield (
        "It is meant for rows drawn like those that it was fitted and judged on, and for this "
        "goal. For another goal, or another mix of rows, nothing below is known."
    )


def _factors(facts: Facts, goal: Goal) -> Iterator[str]:
    columns = dict.fromkeys(c for group in facts.groups for c, _ in group.columns)
    if columns:
        yield f"Measured in groups of {_text(', '.join(map(column_in_words, columns)))}."
    else:
        yield "The goal compares no groups, so none were measured."
    if facts.rule.decides_on:
        names = ", ".join(map(column_in_words, facts.rule.decides_on))
        yield f"The rule looks at {_text(names)} beside the score."
    else:
        yield "The rule looks at the score alone."


def _metrics(goal: Goal) -> Iterator[str]:
    yield from (*_bullets([f"{name}: {words}" for name, words in glossary(goal)]), "")
    asked = [str(goal.objective), *(str(c) for c in goal.constraints)]
    yield from ("The objective, then what is asked of the model:", "", *_code("\n".join(asked)))


def _rows(facts: Facts, first: str = "") -> Iterator[str]:
    yield " ".join(x for x in (_text(rows_in_words(facts)), first) if x)
    if facts.audit is None:
        return
    digests = {k: v for k, v in facts.audit.digests.items() if k not in ("goal", "rule", "model")}
    if digests:
        yield ""
        yield from _table(("part", "digest"), list(digests.items()))


def _analyses(facts: Facts, fitted: Facts, goal: Goal) -> Iterator[str]:
    yield f"**{_text(headline(facts, goal))}.**"
    texts = [summary(facts), *assurances(fitted, goal), in_people(facts.counts)]
    yield from (line for text in texts if text for line in ("", _text(text)))
    yield ""
    limits = f"{facts.counts.on_new} ({100 * facts.level:.4g} % confidence for each end)"
    lines = lines_of(facts, goal)
    yield from _table(
        ("", "value", "counts", limits, "verdict"),
        [(x.entry.text, x.value, x.counts, x.limits, x.verdict) for x in lines],
    )
    if facts.groups:
        groups = GroupTable.of(facts)
        yield from ("", *_table(groups.head, groups.rows))
    known = [certificate(fitted, goal), *explained(fitted)]
    yield from ("", *_bullets(text for text in known if text))


def _ethics(facts: Facts, goal: Goal) -> Iterator[str]:
    looks = dict(facts.rule.cutoffs) if len(facts.rule.cutoffs) > 1 else {}
    if looks:
        yield (
            "Rows of different groups are decided by different cut-offs. Whether that is allowed "
            "and right depends on the place and the use."
        )
    elif facts.rule.decides_on:
        yield "The rule decides rows of different groups differently; see its words above."
    compared = dict.fromkeys(c for g in facts.groups if g.compared for c, _ in g.columns)
    if compared:
        names = _text(", ".join(map(column_in_words, compared)))
        yield f"The goal compares groups of {names}, by the constraints above and by no others."
    yield (
        "What the labels stand for, who is harmed by a wrong decision, and whom it can be "
        "appealed to, only the owner of the model knows."
    )


def _limits(facts: Facts, fitted: Facts) -> Iterator[str]:
    advice = advice_of(facts, None if facts is fitted else fitted)
    yield from _bullets([*caveats(facts), *map(str, advice), *facts.warnings])


# ----------------------------------------------------------------------------- Markdown


def _text(text: str) -> str:
    """Text that Markdown and HTML leave as it is."""
    return _MARKS.sub(r"\\\1", " ".join(cleaned(text).split()))


def _inline(text: str) -> str:
    """Code inside a line, fenced by more back quotes than stand in it; nothing for nothing."""
    line = " ".join(cleaned(text).split())
    if "`" not in line:
        return f"`{line}`" if line else ""
    fence = "`" * (1 + max(len(x) for x in re.findall("`+", line)))
    return f"{fence} {line} {fence}"


def _code(text: str) -> Iterator[str]:
    """A block of code, longer fenced than anything in it."""
    fence = "`" * max(3, 1 + max((len(x) for x in re.findall("`+", text)), default=0))
    yield from (f"{fence}text", *cleaned(text).split("\n"), fence)


def _bullets(texts: Iterable[str]) -> Iterator[str]:
    yield from (f"- {_text(text)}" for text in texts if text)


def _pairs(pairs: Mapping[str, str]) -> Iterator[str]:
    yield from (f"- {name}: {text}" for name, text in pairs.items() if text)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(map(_text, head))} |"
    yield f"|{' --- |' * len(head)}"
    yield from (f"| {' | '.join(map(_text, row))} |" for row in rows)
