"""What ``setpoint fit`` writes: the model file and the page."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from setpoint.cli.files import keep_old_on_error
from setpoint.cli.output import step
from setpoint.cli.roles import Choices, ColumnRoles
from setpoint.cli.session import current, warnings_as_notes
from setpoint.cli.training import Trained

if TYPE_CHECKING:
    from setpoint.search import Frontier

__all__ = ["write_fit"]


def write_fit(
    trained: Trained,
    roles: ColumnRoles,
    choices: Choices,
    datasets: tuple[str, ...],
    model: str,
    report: str | None,
    about: list[tuple[str, list[str]]],
) -> None:
    """Write the model file and the page; the model first, as the page can be made again from it.

    Parameters
    ----------
    datasets : tuple of str
        Those that the goal refers to.
    about : list of (title, sentences)
        Sections of the page.
    """
    from setpoint.data import TableModel
    from setpoint.estimators import save_model

    session = current()
    for path in (model, *([report] if report else [])):
        session.expect(path)
    frontiers = _frontiers(trained) if report else ()
    notes = tuple(line for _, lines in about for line in lines)
    stored = TableModel(trained.classifier, roles.columns, choices.target, datasets, notes)
    with step(f"writing {model}"), keep_old_on_error(model):
        save_model(stored, model)
        _say_foreign(choices.way.estimator, model)
    if report is None:
        return
    from setpoint.report import Frontiers, TextSection

    sections = [TextSection(title, tuple(lines)) for title, lines in about]
    page = replace(trained.report, sections=(*trained.report.sections, Frontiers(frontiers)))
    with step(f"writing {report}"), keep_old_on_error(report), warnings_as_notes():
        page.to_html(report, held_out=trained.held_out, about=sections)


def _frontiers(trained: Trained) -> tuple[Frontier, ...]:
    """What each constraint costs, where a method is there to tell."""
    from setpoint.plugin import frontier

    found = []
    for i, entry in enumerate(trained.report.constraints):
        with step(f"what {entry.text} costs"), warnings_as_notes():
            try:
                found.append(frontier(trained.classifier, vary=i).thinned())
            except ValueError:  # a shape that no method takes, or no rule without this bound
                continue
    return tuple(found)


def _say_foreign(estimator: str | None, model: str) -> None:
    """Whoever reads a model of another package has to trust its types."""
    from setpoint.data import LEARNERS
    from setpoint.estimators import TRUSTED_TYPES

    if estimator is None or estimator in LEARNERS or estimator.startswith("sklearn."):
        return
    from setpoint.estimators.skops_io import skops_io

    foreign = sorted({*skops_io().get_untrusted_types(file=model)} - {*TRUSTED_TYPES})
    if foreign:
        trust = " ".join(f"--trust {name}" for name in foreign)
        current().note(f"{model} holds types of other packages; its readers need {trust}")
