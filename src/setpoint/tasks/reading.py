"""Tables and models as tasks take them: read, and what was assumed about them noted."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Collection, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from importlib import import_module
from os import getcwd
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from setpoint.errors import InputError, InputTypeError, nearest
from setpoint.goals import Goal
from setpoint.tables import note, step

if TYPE_CHECKING:
    import pandas as pd

    from setpoint.blackbox import BlackBox
    from setpoint.tables import Table, TableColumn, TableModel


# --- Tables and models as tasks take them: read ---------------------------------------------------


@dataclass(frozen=True)
class Reading:
    """How tables are to be read."""

    encoding: str | None = None
    separator: str | None = None
    decimal: str | None = None
    sheet: str | None = None


def read(source: Any, reading: Reading, columns: Sequence[TableColumn] = ()) -> Table:
    """A table that is a file, a frame, or a table already; :func:`note_reading` comments on it."""
    from setpoint.tables import FIRST, Table, read_table

    if isinstance(source, Table):
        table = source
    elif isinstance(source, (str, os.PathLike)):
        name = os.fspath(source)
        with step(f"reading {'stdin' if name == '-' else name}"):
            table = read_table(name, **asdict(reading), columns=columns or None)
        for text in table.notes:  # at once: errors that follow are often due to it
            if text.startswith(FIRST):
                note(f"{table.name}: {text}")
    else:
        table = Table("the table", _frame(source))
    if not len(table.frame):
        raise InputError(f"{table.name} has column names and no rows")
    return table


def _frame(source: Any) -> pd.DataFrame:
    """A frame of any library as one of pandas, refused where a file could not hold it."""
    import narwhals as nw
    import pandas as pd

    if isinstance(source, pd.DataFrame):
        frame = source.reset_index(drop=True)
    else:
        try:
            frame = nw.from_native(source, eager_only=True).to_pandas()
        except Exception as error:
            raise InputTypeError(
                "a table is a path, a frame of pandas, Polars or PyArrow, or a Table, got "
                f"{type(source).__name__}"
            ) from error
    for name in frame.columns:
        if not isinstance(name, str):
            raise InputTypeError(f"names of columns are text, got {name!r}; rename it")
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise InputError(f"the table has the column {twice[0]!r} twice; rename one of them")
    from setpoint.tables import Table, TableError

    for name in frame.columns:
        if frame[name].dtype.kind not in "biuf":
            try:
                Table("the table", frame).column(name)
            except TableError:
                raise
            except Exception as error:
                kind = frame[name].dtype
                raise InputError(
                    f"the table: column {name!r} of type {kind} holds values that no file of rows "
                    f"holds ({str(error).splitlines()[0]}); make them text or numbers"
                ) from error
    return frame


def note_reading(table: Table, used: Collection[str]) -> tuple[str, ...]:
    """What was assumed in reading a table, but for columns that nobody uses, as notes."""
    unused = tuple(f"column {name!r} " for name in map(str, table.frame) if name not in used)
    notes = tuple(note for note in table.notes if not note.startswith(unused))
    for text in notes:
        note(f"{table.name}: {text}")
    return notes


def labelled_rows(table: Table, target: str) -> Table:
    """The rows that have a label, with a note on the others."""
    if target not in table.frame:
        return table  # said where it is looked for
    there = table.frame[target].notna().to_numpy()
    n = int((~there).sum())
    if n == 0:
        return table
    if n == len(there):
        raise InputError(f"{table.name}: no row has a label in column {target!r}")
    note(
        f"{table.name}: {n:,} of {len(there):,} rows have no label in column {target!r} and are "
        "left out"
    )
    return table.take(there)


def only_one_stdin(sources: Sequence[Any]) -> None:
    """Refuse to read stdin twice."""
    if sum(isinstance(source, str) and source == "-" for source in sources) > 1:
        raise InputError("stdin ('-') can be read once only; name files for the other tables")


def check_datasets(goal: Goal, given: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of the data sets that the goal refers to."""
    wanted = goal.needs.datasets
    for name in wanted:
        if name not in given:
            raise InputError(
                f"the goal refers to the data set {name!r}: give its table, `datasets={name}=FILE`"
            )
    for name in given:
        if name not in wanted:
            reason = "the goal refers to no data sets"
            if wanted:
                reason = f"the goal does not refer to it ({nearest(name, wanted)})"
            note(f"`datasets={name}`: {reason}, so it is not read")
    return {name: given[name] for name in wanted}


def check_one_table(goal: Goal) -> None:
    """Refuse a goal over several data sets."""
    for name in goal.needs.datasets:
        raise InputError(
            f"the goal refers to the data set {name!r}, and one table is taken here; give a goal "
            "with constraints on its rows alone"
        )


def open_model(source: Any, trust: Sequence[str]) -> TableModel:
    """The model in a file, or one that is there already."""
    from setpoint.estimators import load_model
    from setpoint.tables import TableModel

    found = source
    if isinstance(source, (str, os.PathLike)):
        with step(f"reading {os.fspath(source)}"):
            found = load_model(source, trusted=trust)
    if not isinstance(found, TableModel):
        raise InputError(
            f"{source} holds a {type(found).__name__}, no model of a table; models made in "
            "Python are used there, with setpoint.load_model"
        )
    return found


def columns_named(
    argument: str, values: Sequence[str], there: Collection[str], table: str
) -> tuple[str, ...]:
    """Names of columns: one each, or several with commas.

    Examples
    --------
    >>> columns_named("drop", ["id,name", "a, b"], ["id", "name", "a, b"], "t.csv")
    ('id', 'name', 'a, b')
    """
    found: dict[str, None] = {}
    for value in values:
        for name in [value] if value in there else [v.strip() for v in value.split(",")]:
            if name not in there:
                raise InputError(
                    f"`{argument}`: {table} has no column {name!r} ({nearest(name, there)})"
                )
            found[name] = None
    return tuple(found)


# --- A metric of one's own, named by a text: a function in a Python module ------------------------


_SPELLED = "`metric` is module:function, such as shop:revenue"


@dataclass(frozen=True)
class NamedMetric:
    """A metric as texts name it."""

    path: str | None = None
    lower_is_better: bool = False
    takes: str | None = None


def metric_of(named: NamedMetric) -> BlackBox | None:
    """The metric that was named; None where there is none."""
    path = named.path
    if path is None:
        for argument in ("lower_is_better", "takes"):
            if getattr(named, argument):
                raise InputError(f"`{argument}` goes with `metric`, which is not there")
        return None
    from setpoint.blackbox import BlackBox

    _import(path)
    kind: Any = named.takes or "auto"
    try:
        found = BlackBox(path, not named.lower_is_better, takes=kind)
    except (ValueError, TypeError, ImportError) as error:
        raise InputError(f"`metric`: {error}") from error
    if "<" in found.path:
        raise InputError(
            f"`metric={path}`: {found.path.partition(':')[2]} cannot be found by its name; write "
            "the function with def, outside of other functions"
        )
    return found


def module_file(named: NamedMetric) -> dict[str, str]:
    """The file of the metric's module, which no output may overwrite, by what messages call it."""
    if named.path is None:
        return {}
    file = _import(named.path).__file__
    return {} if file is None else {"the module of `metric`": file}


def metric_for(stored: Any, named: NamedMetric, model: str) -> BlackBox | None:
    """The metric that judges a model; None where its goal does."""
    from setpoint.blackbox import BlackBox
    from setpoint.goals import as_goal

    own = stored if isinstance(stored, BlackBox) else None
    if own is not None and named.path is None:
        raise InputError(
            f"{model} was fitted for the metric {own.name}, and model files hold no code: add "
            f"`metric={own.name}`"
        )
    if own is not None and named.path == own.name:
        if named.lower_is_better and own.greater_is_better:
            note(
                f"{model} was fitted for a high value of {own.name}; here `lower_is_better` "
                "judges it the other way round"
            )
        lower = named.lower_is_better or not own.greater_is_better
        named = NamedMetric(named.path, lower, named.takes or own.takes)
    found = metric_of(named)
    if found is not None and (own is None or own.name != found.name):
        what = f"'{as_goal(stored)}'" if own is None else f"the metric {own.name}"
        note(f"{model} was fitted for {what}; here `metric={found.name}` judges it")
    return found


def _import(path: str) -> ModuleType:
    """Run the module, and tell what goes wrong in it from what is not there."""
    module, colon, name = path.partition(":")
    if not colon or not name or not module:
        raise InputError(f"{_SPELLED}, got {path!r}; goals of the language go with `goal`")
    folders = module.removesuffix(".py").replace("\\", "/").split("/")
    if module.endswith(".py") or len(folders) > 1:
        inside = [f for f in folders if f != "."]
        known = "" not in inside and ".." not in inside  # else it is in no folder below
        meant = ".".join(inside if known else inside[-1:])
        raise InputError(
            f"{_SPELLED}, got {path!r}: say a module's name, {meant}:{name}, not a path"
        )
    if getcwd() not in sys.path:  # it stays: processes that are started look there too
        sys.path.insert(0, getcwd())
    try:
        with redirect_stdout(sys.stderr):
            return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise _raised(path, module, error) from error
        raise InputError(
            f"`metric={path}`: there is no module {error.name!r}, neither in the current folder "
            "nor where Python looks"
        ) from error
    except (Exception, SystemExit) as error:
        raise _raised(path, module, error) from error


def _raised(path: str, module: str, error: BaseException) -> InputError:
    """What a module raised, and where in the user's files."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "importlib" not in f.filename and f.filename != __file__]
    where = f", in {Path(own[-1].filename).name}, line {own[-1].lineno}" if own else ""
    text = " ".join(str(error).split())
    message = f"{type(error).__name__}{': ' if text else ''}{text}"
    return InputError(f"`metric={path}`: importing {module} raised {message}{where}")


# --- The classes of a target, and values as they are written in a text ----------------------------


_MOST_CLASSES = 200
_FOLDS = 5  # of PlugInClassifier and AdaptiveSurrogateClassifier


def label_of(given: Any, labels: Sequence[Any], target: str) -> Any:
    """The class that was named, of the type that the table has; its text will do.

    Examples
    --------
    >>> label_of("1", [0, 1], "y"), label_of("true", [False, True], "y"), label_of(None, [0], "y")
    (1, True, None)
    """
    if given is None:
        return None
    text = str(given)
    if len(labels) > 2:
        raise InputError(
            f"`pos_label` is for two classes, and column {target!r} holds {len(labels)}; name a "
            "class in the goal, as in recall(label='a')"
        )
    found = value_named(text, labels)
    if found is None:
        raise InputError(
            f"`pos_label`: column {target!r} holds no class {text!r} ({nearest(text, labels)})"
        )
    return found


def check_positive(labels: Sequence[Any], goal: Goal, target: str, name: str) -> None:
    """Refuse two text labels where the goal refers to the positive one and nothing says which."""
    from setpoint.inputs import refers_to_positive, settled_positive

    if len(labels) != 2 or not refers_to_positive(goal) or settled_positive(labels) is not None:
        return
    one, other = labels
    raise InputError(
        f"{name}: column {target!r} holds {one!r} and {other!r}, and the goal refers to the "
        f"positive class: say which it is, `pos_label={one}` or `pos_label={other}`"
    )


def value_named(text: str, values: Sequence[Any]) -> Any:
    """The value that a text stands for; None where there is none.

    Examples
    --------
    >>> value_named("1", [0, 1]), value_named("1.0", [0, 1]), value_named("yes", ["no"])
    (1, 1, None)
    """
    for value in values:
        same = isinstance(value, bool) and text.lower() == str(value).lower()
        if same or text == str(value):
            return value
    for value in values:
        if isinstance(value, (int, float)) and not isinstance(value, bool) and _is(text, value):
            return value
    return None


def _is(text: str, value: float) -> bool:
    try:
        return float(text) == value
    except ValueError:
        return False


def classes_in(y: Any, target: str, name: str) -> tuple[list[Any], dict[str, int]]:
    """The classes in sorted order, and how many rows each has."""
    import numpy as np

    found, counts = np.unique(y, return_counts=True)
    labels = found.tolist()
    if len(labels) < 2:
        raise InputError(
            f"{name}: column {target!r} holds one class only, {labels[0]!r}; there is nothing to "
            "decide"
        )
    if len(labels) > _MOST_CLASSES or any(isinstance(v, float) and v % 1 for v in labels):
        raise InputError(
            f"{name}: column {target!r} holds {len(labels)} different values, from {labels[0]!r} "
            f"to {labels[-1]!r}; a target has classes, {_MOST_CLASSES} at most: make some, or "
            "name another column, `target`"
        )
    return labels, {str(label): int(n) for label, n in zip(labels, counts, strict=True)}


def check_folds(y: Any, counts: Mapping[str, int], name: str) -> None:
    """Refuse classes that are too small for cross-validation."""
    import numpy as np

    found, left = np.unique(y, return_counts=True)
    there = dict(zip(map(str, found.tolist()), left.tolist(), strict=True))
    few = min(counts, key=lambda label: there.get(label, 0))
    n = there.get(few, 0)
    if n < _FOLDS:
        whole = "" if n == counts[few] else f" of {counts[few]:,} left after the hold-out"
        raise InputError(
            f"{name}: class {few!r} has {n} rows{whole}, too few for cross-validation in "
            f"{_FOLDS} folds; add rows, hold out fewer, or leave the class out"
        )
