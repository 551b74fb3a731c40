"""What is typed behind a command: one table of options, one of settings, and the click of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from copy import copy
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from setpoint.errors import SetpointError, nearest
from setpoint.solvers import SOLVERS
from setpoint.tables import MODULES, SURROGATES

# --- Values as they are written at a shell --------------------------------------------------------


class CommandError(SetpointError):
    """Something is wrong with what was asked for; the message names the remedy."""


def refuse(when: object, why: str) -> None:
    """Raise `why` where something is so."""
    if when:
        raise CommandError(why)


_NUMBER = re.compile(r"\d+\.?\d*|\.\d+")


def level_of(_context: click.Context, _param: click.Parameter, given: str | None) -> float | None:
    """A share or a percentage as it is written: 0.95 for 95%."""
    if given is None:
        return None
    text = given.strip()
    number = text.removesuffix("%").strip()
    if not _NUMBER.fullmatch(number):
        raise click.BadParameter(f"{given!r} is not a number; write 0.95 or 95%")
    share = Decimal(number) / (100 if text.endswith("%") else 1)
    if not 0 < share < 1:
        raise click.BadParameter(f"{given!r} is not above 0 and below 1; write 0.95 or 95%")
    return float(share)


def named(_context: Any, param: click.Parameter, given: Iterable[str]) -> dict[str, str]:
    """The values of an option that is ``NAME=VALUE``, by the names.

    Examples
    --------
    >>> named(None, OPTIONS["datasets"], ["checked=checked.csv"])
    {'checked': 'checked.csv'}
    """
    out: dict[str, str] = {}
    for text in given:
        name, _, value = text.partition("=")
        refuse(not name or not value, f"{param.opts[0]} is {param.metavar}, got {text!r}")
        refuse(name in out, f"{param.opts[0]} names {name!r} twice")
        out[name] = value
    return out


# --- Every option and every setting, once ---------------------------------------------------------


class Option(click.Option):
    """An option as it is typed: ``COLS...`` may be repeated, one without a value is a flag."""

    # A `file` is read or written, which JSON names, or asked or kept.

    def __init__(
        self,
        typed: str,
        help: str,
        type: click.ParamType[Any] | None = None,
        file: str = "",
        **more: Any,
    ) -> None:
        words = typed.split()
        metavar = None if words[-1].startswith("-") else words[-1].removesuffix("...")
        super().__init__(
            [word for word in words if word.startswith("-")],
            metavar=metavar,
            multiple=typed.endswith("..."),
            is_flag=(metavar is None and type is None) or None,
            type=type,
            help=help,
            **more,
        )
        self.file = file

    def but(self, name: str, words: str, required: bool) -> Option:
        """The same for a command, which gets its value by the name, with other words if any."""
        out = copy(self)
        out.name, out.help, out.required = name, words or self.help, required
        return out


def role_of(param: click.Parameter) -> str:
    """Whether a parameter is a file that is read, written, asked or kept; "" for no file."""
    if isinstance(param, click.Argument):
        return "" if param.name in ("goal", "text", "dir") else "read"
    return param.file if isinstance(param, Option) else ""


_SHARE = click.FloatRange(0, 1, max_open=True)
_INSIDE = click.FloatRange(0, 1, min_open=True, max_open=True)
_TRAINERS = [name for name, s in SOLVERS.items() if s.family != "plugin"]

OPTIONS = {
    # What is asked for.
    "target": Option("--target COL", "The column with the labels; else as in the fit."),
    "goal": Option("--goal TEXT", "See setpoint goal."),
    "other_goal": Option("--other-goal TEXT", "A second goal, to see beside the first."),
    "metric": Option(
        "--metric MODULE:NAME",
        "A Python function of true labels and decisions, such as shop:revenue; its code is run.",
    ),
    "pos_label": Option(
        "--positive LABEL", "The positive class of two; else that of words such as no and yes."
    ),
    "confidence": Option(
        "--confidence SHARE",
        "Certify that the goal holds on new rows, such as 95%.",
        callback=level_of,
    ),
    "power": Option(
        "--power P",
        "The chance that so many rows certify the goal, if they are as assumed.",
        callback=level_of,
        default="0.8",
        show_default=True,
    ),
    "judge_by": Option(
        "--judge-by TEXT", "The goal that is meant, where --goal asks for more to be safe."
    ),
    "vary": Option(
        "--vary TEXT",
        "The constraint whose bound moves, or its left side; one that the goal lacks is added.",
    ),
    "values": Option("--values LOW:HIGH:N", "Bounds to look at; or a list with commas."),
    "bounds": Option(
        "--bound TEXT...",
        "The constraint with its new bound; one that the goal lacks is added.",
    ),
    "line": Option(
        "--line T",
        "In place of --bound: all rows with this score, as predict writes it, or more are "
        "decided positive.",
        click.FLOAT,
    ),
    "rates": Option(
        "--rate NAME=SHARE...",
        "Instead of DATA: prior, and two of recall, precision, predicted_rate, "
        "false_positive_rate and specificity; one where the constraints depend on no other. Of "
        "groups COL=VALUE:NAME=SHARE, with the share of each.",
    ),
    "alpha": Option(
        "--alpha A",
        "While all is well a false alarm comes after 1/A rows or more on average; with "
        "--no-restart, A is the chance that one ever comes.",
        _INSIDE,
        default=0.001,
        show_default=True,
    ),
    "no_restart": Option(
        "--no-restart",
        "Bets do not begin anew with every row: what went well for long delays the alarm.",
    ),
    "no_labels": Option(
        "--no-labels",
        "The labels are not known yet: count only what needs none, such as predicted_rate.",
    ),
    "late_labels": Option(
        "--late-labels",
        "The labels of rows that were counted with --no-labels have come: count the rest.",
    ),
    # The model and its rule.
    "estimator": Option(
        "--estimator NAME",
        "auto (several under the goal), logistic, hist-gradient-boosting, random-forest or "
        "a.module.Class.  [default: auto]",
    ),
    "solver": Option(
        "--solver NAME",
        "portfolio, or augmented-lagrangian where the goal has groups, data sets or a deployed "
        f"model; adaptive-surrogates for --metric. Or {', '.join([*_TRAINERS[1:], 'post-shift'])}.",
        click.Choice([*_TRAINERS, "post-shift"]),
    ),
    "module": Option("--module", "The model to train.  [default: linear]", click.Choice(MODULES)),
    "decide_on": Option(
        "--decide-on COLS|none...",
        "For the rule beside the score; else those that the goal names.",
    ),
    "randomized": Option("--draws", "The rule may decide by chance."),
    "tol": Option(
        "--tol X", "Passes end where no other rule is better by more. Default: 1e-4.", _SHARE
    ),
    "exact": Option("--exact", "Go on to the rule that sorting all rows would give."),
    "adapt": Option(
        "--adapt",
        "Find the rule anew on these rows: bounds on what is predicted then hold on them.",
    ),
    "at_most": Option(
        "--at-most N...",
        "Decide at most N rows positive: the best by the rule. With --by N in each group, or "
        "GROUP=N, repeated for each.",
    ),
    "by": Option("--by COL", "The column of DATA with the groups of --at-most."),
    "unknown_group": Option(
        "--new-groups",
        "What becomes of a group that the model has not seen; largest: the largest group's rule.",
        click.Choice(["error", "largest"]),
        callback=lambda _ctx, _param, given: "raise" if given == "error" else given,
        default="error",
        show_default=True,
    ),
    # Columns, rows and tables.
    "score": Option("--score COL", "The column with the model's scores."),
    "prediction": Option("--prediction COL", "The column with decisions on these rows."),
    "sensitive": Option(
        "--sensitive COLS...",
        "Columns with groups, checked to be there. Those that the goal names are.",
    ),
    "units": Option("--unit COL", "The customer, document or case that each row belongs to."),
    "weight": Option("--weight COL", "The column with the rows' weights."),
    "drop": Option("--drop COLS...", "To leave out."),
    "keep": Option("--keep COLS...", "Columns of DATA to write first."),
    "baseline": Option("--baseline COL", "The deployed model's predictions; else likewise."),
    "datasets": Option(
        "--dataset NAME=FILE...",
        "A further table that the goal refers to by this name.",
        callback=named,
    ),
    "test_size": Option(
        "--test-size SHARE",
        "Held out to judge the rule. Default: 0.25, or 0 with --confidence.",
        _SHARE,
    ),
    "test_by": Option("--test-by COL", "Hold out the last dates of COL, or whole customers."),
    "check": Option(
        "--check FILE", "A table of its own that a chosen point is checked on.", file="read"
    ),
    "skip_unlabelled": Option("--skip-unlabelled", "Leave out rows without a label."),
    "rows": Option(
        "--row N...",
        "The row to explain; the first of DATA is 1. Repeated for more. Default: the first 20, "
        "with --json all.",
        click.INT,
    ),
    # The rule in another language.
    "kind": Option(
        "--format",
        "An SQL expression, a Python function that imports nothing, or the rule as data.",
        click.Choice(["sql", "python", "json"]),
    ),
    "scores": Option(
        "--score NAME...",
        "SQL: the table's column with the score; for a rule over several scores once for each, "
        "in their order. Default: score, or score_LABEL for each class, as predict names them.",
    ),
    "dialect": Option("--dialect NAME", "SQL: the database, such as duckdb. Default: ansi."),
    "columns": Option(
        "--column NAME=COL...",
        "SQL: what a column that the rule looks at is called in the table, if otherwise.",
        callback=named,
    ),
    "hash_column": Option(
        "--hash-column COL",
        "SQL, for a rule that draws: a column with one uniform number in [0, 1) for each row, "
        "such as a hash of its id divided by the number of hashes.",
    ),
    "name": Option("--name NAME", "Python: the function's name. Default: decide."),
    # What is read and written, and how the command ends.
    "model": Option(
        "--model FILE",
        "A model file that decides the rows, instead of --prediction.",
        file="read",
    ),
    "new": Option("--model FILE", "The model file to write.", file="written"),
    "report": Option("--report FILE", "The HTML page to write.", file="written"),
    "page": Option("-o --output FILE", "The HTML page to write.", file="written"),
    "explore": Option(
        "--explore FILE",
        "The page to write on which bounds are moved by hand; also if no rule meets the goal.",
        file="written",
    ),
    "picture": Option("--picture FILE", "Ends in .svg or .png.", file="written"),
    "changed": Option("--changed FILE", "The rows that change, as CSV.", file="written"),
    "rule": Option(
        "--rule FILE", "The rule to write, as JSON; setpoint export takes it.", file="written"
    ),
    "checkpoint": Option(
        "--checkpoint FILE",
        "Keeps the counts after each pass; the same command goes on from it.",
        file="kept",
    ),
    "state": Option(
        "--state FILE", "To go on from, if it is there, and to save to.", file="written"
    ),
    "output": Option("-o --output FILE", "Default: stdout.", file="written", default="-"),
    "overwrite": Option("--overwrite", "Decide files anew that are in the folder already."),
    "excel": Option(
        "--excel",
        "CSV that a spreadsheet opens: its decimal mark is that of DATA, and no cell is run.",
    ),
    "card": Option("--card", "The model card instead, as Markdown."),
    "accept": Option(
        "--accept",
        "Then the exit code is 0 where it is too close to call.",
        click.Choice(["too-close"]),
    ),
    "as_json": Option("--json", "One JSON object on stdout instead of text."),
    "trust": Option(
        "--trust TYPE...",
        "A type that the model file may hold beside setpoint's and scikit-learn's.",
    ),
    "sheet": Option("--sheet NAME", "The sheet of an Excel workbook.  [default: the first]"),
}
"""Every option by the parameter that it becomes."""


class Setting(NamedTuple):
    """What ``--set NAME=VALUE`` may set."""

    value: str
    help: str
    type: click.ParamType[Any] = click.STRING
    argument: str = ""  # as the library calls it, if it does not by its name
    several: bool = False


FLAG = click.BOOL
_ABOVE_0 = click.FloatRange(0, min_open=True)
_RULES = click.Choice([name for name, s in SOLVERS.items() if s.family == "plugin"])

SETTINGS = {
    "encoding": Setting("E", "of the tables, such as latin-1. Default: UTF-8"),
    "separator": Setting("S", r"between fields: ',', ';', '|' or '\t'"),
    "decimal": Setting("D", "the decimal mark, '.' or ','"),
    "seed": Setting(
        "N", "of the split, the model and the draws. Default: 0", click.IntRange(0, 2**32 - 1),
        "random_state",
    ),
    "max-seconds": Setting(
        "S", "for the search or the training; then the best so far is kept", _ABOVE_0
    ),
    "certify-on": Setting("FILE", "a table whose rows certify; else a part of DATA does"),
    "certification-size": Setting(
        "SHARE", "that part of DATA. Default: 0.3, or more where fewer rows could not pass", _INSIDE
    ),
    "largest-unit": Setting("N", "the most rows that one of --unit could have", _ABOVE_0),
    "strict": Setting("", "certify by tests alone that are proved", FLAG),
    "uncertified": Setting(
        "error|nearest", "nearest: write the safest rule also where it is not certified",
        click.Choice(["error", "nearest"]),
    ),
    "solver": Setting("NAME", "how the rule is found. Default: auto", _RULES),
    "defer-label": Setting("NAME", "what predict writes for a deferred row. Default: defer"),
    "estimator": Setting("NAME", "the model whose cut-off post-shift moves"),
    "validation": Setting(
        "FILE", "a table on whose labels the metric is measured; those of DATA only train"
    ),
    "checkpoint": Setting("FILE", "keeps the state of a training, to go on from"),
    "min-positives": Setting(
        "N", "rows that the model has to predict positive. Default: 20, or 2 % of the positives",
        click.IntRange(0),
    ),
    "validation-fraction": Setting(
        "F", "share of the rows that choose and do not train. Default: 0.2 for a network, else 0",
        _SHARE,
    ),
    "inverse-regularization": Setting(
        "C", "how closely augmented-lagrangian and cutting-plane follow the rows. Default: 0.1",
        _ABOVE_0, "C",
    ),
    "baseline-threshold": Setting(
        "T", "then --baseline holds scores, positive from T on, and the model looks at them",
        click.FLOAT,
    ),
    "draws": Setting("", "the rule may decide by chance", FLAG, "randomized"),
    "budget": Setting(
        "N", "most evaluations of the metric. Default: 2,000, or 1,000 for post-shift",
        click.IntRange(1), "evaluations",
    ),
    "surrogates": Setting(
        "NAMES", f"the losses that are weighed: {', '.join(SURROGATES)}. Default: sigmoid",
        click.Choice(SURROGATES), several=True,
    ),
    "surrogate-group": Setting(
        "COL[=VALUE]", "groups of rows that are weighed apart", click.STRING, "surrogate_groups",
        several=True,
    ),
    "lower-is-better": Setting("", "of the metric", FLAG),
    "takes": Setting(
        "predictions|scores", "the metric's second parameter, where its name does not say",
        click.Choice(["predictions", "scores"]),
    ),
}  # fmt: skip
"""Every setting by its name at the shell."""

ARGUMENTS = {name: s.argument or name.replace("-", "_") for name, s in SETTINGS.items()}
"""The arguments of the library that they set."""

READING = "encoding separator decimal"
"""Settings of how tables are written, where that is not found out right."""


# --- A command as click takes it, made of the tables ----------------------------------------------


GIVEN = "setpoint.settings"
"""Where a context keeps the settings as they were written."""


def arguments(usage: str) -> list[click.Parameter]:
    """The arguments of a usage line.

    Examples
    --------
    >>> [(one.name, one.required, one.nargs) for one in arguments("MODEL [TABLES]...")]
    [('model', True, 1), ('tables', False, -1)]
    """
    return [
        click.Argument(
            [word.strip("[].").partition("|")[0].lower()],
            nargs=-1 if word.endswith("...") else 1,
            required=not word.startswith("["),
            metavar=word,
        )
        for word in usage.split()
    ]


class Asked(SimpleNamespace):
    """The values of a command's options and settings by name.

    Examples
    --------
    >>> asked = Asked(target="y", goal=None, drop=("id",))
    >>> asked.target, asked.only("goal drop seed")
    ('y', {'goal': None, 'drop': ('id',)})
    """

    def get(self, name: str, otherwise: Any = None) -> Any:
        """The value of one that the command may not have."""
        return getattr(self, name, otherwise)

    def only(self, names: str) -> dict[str, Any]:
        """Those of some names that the command has, as the library takes them."""
        return {name: vars(self)[name] for name in names.split() if name in vars(self)}


class Command(click.Command):
    """A command whose options may stand in named groups."""

    def __init__(self, name: str, *, groups: Mapping[str, str], **more: Any) -> None:
        super().__init__(name, **more)
        self.groups = groups

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the groups, one after the other."""
        if not self.groups:
            super().format_options(ctx, formatter)
            return
        records = {
            str(param.name): record
            for param in self.get_params(ctx)
            if isinstance(param, click.Option)
            and (record := param.get_help_record(ctx)) is not None
        }
        for title, names in self.groups.items():
            with formatter.section(title):
                formatter.write_dl([records.pop(name.rstrip("!")) for name in names.split()])
        with formatter.section("Other options"):
            formatter.write_dl(list(records.values()))


def settings_option(names: str) -> click.Option:
    """``--set`` for some settings: a dict by the library's names."""
    allowed = {name: SETTINGS[name] for name in names.split()}

    def parsed(ctx: click.Context, _param: Any, given: Iterable[str]) -> dict[str, Any]:
        ctx.meta[GIVEN] = tuple(given)
        out: dict[str, Any] = {}
        for text in given:
            if text == "help":
                click.echo(_listed(allowed))
                ctx.exit()
            name, equals, value = text.partition("=")
            name = name.strip().replace("_", "-")
            if name not in allowed:
                raise click.BadParameter(
                    f"there is no {name!r} here ({nearest(name, allowed)}); --set help lists all"
                )
            setting, key = allowed[name], ARGUMENTS[name]
            value = "true" if setting.type is FLAG and not equals else value
            if not value:
                raise click.BadParameter(f"write {name}={setting.value}, got {text!r}")
            if key in out and not setting.several:
                raise click.BadParameter(f"{name} is set twice")
            listed = setting.several and "=" not in value
            words = [word.strip() for word in value.split(",")] if listed else [value]
            try:
                values = [setting.type.convert(word, None, ctx) for word in words]
            except click.BadParameter as error:
                raise click.BadParameter(f"{name}: {error.message}") from None
            out[key] = [*out.get(key, ()), *values] if setting.several else values[0]
        return out

    def complete(_ctx: Any, _param: Any, begun: str) -> list[CompletionItem]:
        words = [name if s.type is FLAG else f"{name}=" for name, s in allowed.items()]
        return [CompletionItem(word) for word in words if word.startswith(begun)]

    return click.Option(
        ["--set", "settings"],
        multiple=True,
        metavar="NAME=VALUE",
        callback=parsed,
        shell_complete=complete,
        help="Finer settings; --set help lists them.",
    )


def _listed(settings: Mapping[str, Setting]) -> str:
    """All settings, a line each."""
    heads = {name: name if s.type is FLAG else f"{name}={s.value}" for name, s in settings.items()}
    width = max(map(len, heads.values()))
    return "\n".join(f"{heads[name]:<{width}}  {s.help}" for name, s in settings.items())
