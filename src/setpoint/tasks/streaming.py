"""Learn a table row by row, each decided before it is learnt: ``setpoint stream`` as a call."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from typing import BinaryIO

from setpoint.errors import InputError
from setpoint.tasks.journal import Journal
from setpoint.tasks.stream_begin import Wanted, opened
from setpoint.tasks.stream_lock import locked
from setpoint.tasks.stream_output import Decisions
from setpoint.tasks.stream_run import Run, SaveEvery, Stopping

__all__ = ["stream"]

_NOT_CSV = (".parquet", ".gz", ".json", ".jsonl", ".ndjson", ".xlsx")


def stream(
    data: str | os.PathLike[str],
    target: str | None = None,
    *,
    goal: str | None = None,
    positive: str | None = None,
    classes: Sequence[str] | None = None,
    state: str | os.PathLike[str] | None = None,
    save_every: int | str = "60s",
    output: str | os.PathLike[str] | None = None,
    drop: Sequence[str] = (),
    text: Sequence[str] = (),
    first_rows: int | None = None,
    skip_bad: bool = False,
    solver: str | None = None,
    learner: str | None = None,
    window: int | None = None,
    constant_step: bool | None = None,
    encoding: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    stdin: BinaryIO | None = None,
    stopping: Stopping | None = None,
    journal: Journal | None = None,
) -> Run:
    r"""Learn a CSV file or a pipe in constant memory.

    Parameters
    ----------
    data : path
        "-" is stdin.
    target : str, optional
        The column to predict; None: that of the state.
    goal : str, optional
        None: f1.
    positive : str, optional
        The positive class.
    classes : sequence of two str, optional
        The positive one last; None: those of the first rows.
    state : path, optional
        To go on from, if it is there, and to save to. One process at a time may use it.
    save_every : int or str
        Rows between two savings, or seconds such as "60s".
    output : path, optional
        A CSV file of the line of each row, and what was decided.
    drop, text : sequence of str
        Columns to leave out, and columns of text whatever they look like.
    first_rows : int, optional
        Rows that decide what each column holds; None: 1000.
    skip_bad : bool
        Whether rows that cannot be read are left out.
    solver, learner, window, constant_step
        As of :class:`~setpoint.OnlineFClassifier`.
    encoding, separator, decimal
        As of :func:`~setpoint.tables.read_table`.
    stdin : binary stream, optional
        What "-" reads; None: the process's own.
    stopping : Stopping, optional
        Says when to end; None: with the last row.
    journal : Journal, optional
        Takes the notes.

    Returns
    -------
    Run
        With the classifier, the report, and `notes`.

    Raises
    ------
    InputError, TableError
        If something does not fit; or at a row that cannot be read, after those before it were
        learnt and saved.
    Interrupted
        If `stopping` ended it before there was a row.

    Examples
    --------
    >>> import io
    >>> rows = "".join(f"{x},{'yes' if x > 4 else 'no'}\n" for x in range(10))
    >>> run = stream("-", "y", stdin=io.BytesIO(f"x,y\n{rows}".encode()))
    >>> run.state.n_rows, run.notes
    (10, ["the positive class is 'yes'; `positive` names another"])
    """
    journal = Journal() if journal is None else journal
    stopping = Stopping() if stopping is None else stopping
    state, output = (None if path is None else os.fspath(path) for path in (state, output))
    if output is not None and output.lower().endswith(_NOT_CSV):
        raise InputError(f"`output` is CSV; name it .csv, not {output}")
    every = SaveEvery.parse(save_every)
    wanted = Wanted(
        os.fspath(data), target, goal, positive, classes, state, drop, text, first_rows, solver,
        learner, window, constant_step, encoding, separator, decimal, stdin,
    )  # fmt: skip
    with ExitStack() as files:
        if state is not None:
            files.enter_context(locked(state))
        run = opened(wanted, stopping, journal)
        start = time.perf_counter()
        if output is not None:
            run.output = files.enter_context(closing(Decisions(output, run.state.output)))
        run.go(every, skip_bad, stopping)
        journal.seconds["learning"] = time.perf_counter() - start
    for remark in run.remarks():
        journal.note(remark)
    return run
