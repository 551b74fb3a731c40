"""The opening of a fit: what was given is checked, and a rule is decided on."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import _num_samples

from setpoint import blackbox, guarantees
from setpoint.array_types import Codes, Floats, Integers
from setpoint.blackbox import BlackBox
from setpoint.counts import Column, Counted, Evidence, Units
from setpoint.errors import InputError, listed, nearest, quoted, warn_caller
from setpoint.goals import Goal, as_goal
from setpoint.inference import together
from setpoint.inputs import (
    CheckedData,
    CheckedTable,
    ClassOrder,
    Dataset,
    DecideOn,
    Deployed,
    GivenRows,
    RowDigest,
    aligned,
    as_datasets,
    check_length,
    check_weight,
    column_names,
    content_of,
    digests_of,
    frame_of,
    one_column,
    rows_key,
    series_values,
    taken,
    units_of,
    without,
)
from setpoint.program import LinkedGoal, link
from setpoint.report import (
    GoalReport,
    HeavyTailWarning,
    Search,
    against_deployed,
    heavy_tails,
    refused,
    report_on_found,
    warn_few_rows,
    with_deployed,
)
from setpoint.rules import PerSegment, Rule, segment_in_words
from setpoint.search import Found, TracePoint, now
from setpoint.solvers import Confidence, SearchLimits, Solver
from setpoint.sources import require_memory

if TYPE_CHECKING:
    from setpoint.classifiers.base import GoalClassifier
    from setpoint.guarantees import Certification, Promise

# --- What is to hold on new rows, and the ranges of columns that it may ask for ------------------


def promised(goal: Goal, confidence: float | Confidence | None) -> Confidence | None:
    """What a user asks to be promised; None where that is nothing."""
    found = Confidence.of(confidence)
    own = any(c.confidence is not None for c in goal.constraints)
    return None if found.level is None and not own else found


def check_ranges(
    settings: Confidence, goal: Goal, tables: Mapping[str | None, CheckedTable], where: str = ""
) -> None:
    """Refuse ranges of columns by which nothing counts, and rows outside their range."""
    counts_by = goal.needs.measures
    known = sorted({name for columns in counts_by.values() for name in columns})
    for name, (low, high) in (settings.ranges or {}).items():
        if name not in known:
            near = nearest(name, known)
            raise InputError(f"`ranges`: the goal counts no rows by a column {name!r} ({near})")
        for dataset in (d for d in tables if name in counts_by.get(d, {})):
            if counts_by[dataset][name] and low < 0.0:
                raise InputError(
                    f"`ranges`: {name!r} weighs rows, and a weight is 0 or more: its range begins "
                    f"at 0 or above, got {low:g}"
                )
            values = np.asarray(tables[dataset].columns[name].values, float)
            outside = np.flatnonzero((values < low) | (values > high))
            if len(outside):
                rows = where or ("" if dataset is None else f"`datasets[{dataset!r}]`: ")
                raise InputError(
                    f"{rows}row {outside[0]} has {name} = {values[outside[0]]:.6g}, and `ranges` "
                    f"says that it lies between {low:g} and {high:g} for every row there could be; "
                    "give the range that it has by its nature, not that of some rows"
                )


# --- The opening of a fit: labels, weights, classes -----------------------------------------------


_SET_APART = 0.3
"""Of all rows, to certify."""

_CERTIFY = "certify_on"


@dataclass(frozen=True, eq=False)
class FitData:
    """What ``fit`` was given, checked."""

    goal: Goal
    metric: BlackBox | None
    solver: Solver
    limits: SearchLimits
    X: Any
    y: Any
    true: Codes
    weight: Floats | None
    features: Any
    judged: CheckedData
    given: Mapping[str | None, GivenRows]
    named: Any
    deployed: Deployed | None
    key: int
    started: float
    is_validated: bool = False
    certifying: CertifyingRows | None = None
    index: Codes | None = None
    whole: Any = None
    promised: Confidence | None = None
    units: Units | None = None
    digests: Mapping[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> Any:
        """The columns that were named or given, for the rows of X."""
        whole = self.X if self.index is None else self.whole
        return self.own(aligned(self.named, whole, "sensitive_features"))

    def own(self, given: Any) -> Any:
        """What was given for the rows of X, for those that are trained on."""
        if self.index is None:
            return given
        return taken(given, self.index, int(_num_samples(self.whole)))

    def certification(
        self, owner: Any, scored: Callable[[Found], Counted], **more: Any
    ) -> Certification | None:
        """How rules are certified on the rows set apart; None where nothing is promised."""
        rows, settings, draws = self.certifying, self.promised, None
        if rows is None or settings is None:
            return None
        if getattr(owner, "randomized", False):
            names = column_names(self.X)
            draws = rows.draws(lambda X: owner._draws_of(X, self.key, names))
        more |= {"key": rows.key, "note": rows.copies, "others": rows.others}
        more["table"] = rows.judged.tables[None]
        return guarantees.Certification(settings, scored, draws, owner=owner, **more)

    @property
    def classes(self) -> ClassOrder:
        """The classes of the labels."""
        return self.judged.classes

    @property
    def kept(self) -> NDArray[np.int64]:
        """Which rows of X weigh something."""
        return np.arange(len(self.true)) if self.weight is None else np.flatnonzero(self.weight)

    @property
    def trained_on(self) -> CheckedTable:
        """Features, class codes and weights of the rows of X that weigh something."""
        table = CheckedTable(self.true, self.weight, {}, None, self.features, self.units)
        return table if self.weight is None or self.weight.all() else table.take(self.kept)

    @property
    def column(self) -> str | None:
        """The column of X that holds what the deployed model says."""
        return None if self.deployed is None else self.deployed.column


def open_fit(
    classifier: GoalClassifier,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    sensitive_features: Any = None,
    baseline: Any = None,
    datasets: Mapping[str, Any] | None = None,
    validation: Dataset | None = None,
    certify_on: Any = None,
    units: Any = None,
) -> FitData:
    """Check everything that ``fit`` was given, before any work."""
    started = now()
    require_memory(X)
    metric, goal = blackbox.blackbox_of(classifier.goal), as_goal(classifier.goal)
    solver, limits = classifier._chosen()
    classifier._check_fit(goal, X, solver)
    if y is None:
        name = type(classifier).__name__
        raise InputError(f"{name} requires y to be passed, but the target y is None")
    if classifier.baseline is not None and baseline is not None:
        raise InputError(
            "`baseline` is given twice, to the constructor and to fit; evaluate would go by the "
            "constructor's: leave one out"
        )
    deployed = Deployed.of(classifier.baseline if baseline is None else baseline)
    X, y = indexable(X)[0], indexable(aligned(y, X, "y"))[0]
    column = None if deployed is None else deployed.column
    units = classifier.units if units is None else units
    # A model that is there already takes what it was fitted on.
    fitted = getattr(getattr(classifier, "estimator", None), "feature_names_in_", ())
    is_name = isinstance(units, str) and not (classifier._fits_nothing and units in fitted)
    classifier.units_column_ = units if is_name else None
    features = classifier._features(X, column, reset=True)
    if getattr(y, "ndim", 1) != 1:
        y = one_column(y, "y", warn=True)
    n_rows = int(_num_samples(X))
    check_length(y, n_rows, "y")
    weight = check_weight(aligned(sample_weight, X, "sample_weight"), n_rows)
    classes = classifier._classes_for(goal, y, weight)
    true = classes.codes(y, "y")
    if classes.sorted.dtype.kind == "b":
        y = np.array(classes.labels)[true]  # models refuse booleans in an array of objects
    beside = {"sensitive_features": sensitive_features, "baseline": baseline, "units": units}
    given = Dataset(X, y, sample_weight=weight, **beside)
    sets = classifier._datasets(datasets, X, column) if validation is None else None
    rows = given_rows(classifier, goal, *_parts(validation or given), sets)
    decide_on = classifier._decides_on(goal, sensitive_features, X)
    where = "y" if validation is None else "validation: y"
    judged = CheckedData.check(goal, classes, rows, decide_on, where)
    if metric is None:
        judged.bind()
    key = classifier._key()
    columns = classifier.sensitive_features if sensitive_features is None else sensitive_features
    apart, own = validation is not None, judged.tables[None].units  # in the order of X
    own = units_of(aligned(units, X, "units"), X, n_rows) if apart else own
    data = FitData(
        goal, metric, solver, limits, X, y, true, weight, features, judged, rows, columns, deployed,
        key, started, is_validated=apart, units=own,
    )  # fmt: skip
    data = with_certifying_rows(data, classifier, decide_on, certify_on)
    # All rows as given: those of X, further data sets, those that certify.
    named: dict[str, Dataset | GivenRows] = {"": given}
    named |= {f"{name}: ": part for name, part in rows.items() if name is not None}
    if validation is not None:
        named["validation: "] = rows[None]
    if certify_on is not None and data.certifying is not None:
        for dataset, rest in data.certifying.given.items():
            named["certify_on: " if dataset is None else f"certify_on: {dataset}: "] = rest
    return replace(data, digests=digests_of(named))


def with_certifying_rows(
    data: FitData, classifier: GoalClassifier, decide_on: DecideOn, certify_on: Any
) -> FitData:
    """The data with what is promised and the rows that certify, drawn from it or given."""
    settings, why = promised(data.goal, classifier.confidence), ""
    if settings is None:
        why = "nothing is to be certified: say how confidently (`confidence=0.95`)"
    elif settings.guarantee == "approximate":
        why = "`guarantee='approximate'` certifies nothing"
    if settings is not None:
        check_ranges(settings, data.goal, data.judged.tables)
        promise = guarantees.Promise.of(link(data.goal, data.judged.rows.codebook), settings)
        data = replace(data, promised=settings)
        tests = guarantees.tests_on(promise, data.judged.rows)
    if why and certify_on is not None:
        raise InputError(f"`certify_on` holds rows that certify, and {why}")
    if settings is None or why or (certify_on is None and classifier._fits_nothing):
        return data  # where no model is fitted it is split once there are scores
    if certify_on is None:
        share = guarantees.check_enough(tests, data.judged.rows, settings, _SET_APART)
        return _listed(set_apart(data, share, data.key, bool(promise.groups)), promise)
    given = _certifying(data, classifier, decide_on, certify_on)
    data = _listed(replace(data, certifying=given), promise)
    assert data.certifying is not None
    rows = data.certifying.judged.rows
    promise = replace(promise, linked=link(data.goal, rows.codebook))
    guarantees.check_enough(guarantees.tests_on(promise, rows), rows, settings)
    return data


def _listed(data: FitData, promise: Promise) -> FitData:
    """The data with the groups that its own rows have alone: rows of others do not certify."""
    rows, book = data.certifying, data.judged.rows.codebook
    assert rows is not None
    if not promise.groups:
        return replace(data, certifying=replace(rows, judged=replace(rows.judged, codebook=book)))
    book |= rows.judged.rows.codebook
    own, tested = (replace(side, codebook=book) for side in (data.judged, rows.judged))
    kept, limit = promise.listed(book, own.rows.marginals, tested.rows.marginals)
    width = book.n_classes + 1
    index = {n: np.flatnonzero(kept[tested.kinds(n) // width]) for n in tested.tables}
    book = replace(book, strata=tuple(compress(book.strata, kept)))
    others = None if data.units else (tested.n_rows[None] - len(index[None]), limit)  # of rows
    given = {n: rows.given[n].take(at) for n, at in index.items()}
    apart = CertifyingRows(replace(tested.take(index), codebook=book), given, rows.key, others)
    return replace(data, judged=replace(own, codebook=book), certifying=apart)


def _certifying(
    data: FitData, classifier: GoalClassifier, decide_on: DecideOn, certify_on: Any
) -> CertifyingRows:
    """Rows that certify as given by the user."""
    sets = certify_on if isinstance(certify_on, Mapping) else {None: certify_on}
    if None not in sets:
        raise InputError(
            "`certify_on` holds rows of further data sets alone: those of X are missing"
        )
    first = as_datasets({_CERTIFY: sets[None]})[_CERTIFY]
    others = as_datasets({name: rows for name, rows in sets.items() if name is not None})
    rows = given_rows(classifier, data.goal, *_parts(first), others)
    judged = CheckedData.check(data.goal, data.classes, rows, decide_on, f"{_CERTIFY}: y")
    _check_apart(data.judged, judged)
    key, why = rows_key(content_of(first.X), judged.kinds(None)), ""
    names = column_names(without(data.X, classifier.units_column_))
    digest = RowDigest.of(data.X, names, data.weight, data.true)
    seen = 0.0 if digest is None else digest.share_of(first.X)
    if key == rows_key(content_of(data.X), data.judged.kinds(None)):
        why = "these are the rows of the fit"
    elif seen > 0.0:
        why = f"{100 * seen:.3g} % of its rows are among those of the fit"
    if why:
        raise InputError(f"`certify_on`: {why}; rows that certify take no part in anything else")
    assert data.promised is not None
    check_ranges(data.promised, data.goal, judged.tables, f"`{_CERTIFY}`: ")
    return CertifyingRows(judged, rows, key)


def _check_apart(fitted: CheckedData, judged: CheckedData) -> None:
    """Refuse rows that certify of units that have rows in the fit, too."""
    first, second = fitted.rows.units, judged.rows.units
    if first is None and second is None:
        return
    if first is None or second is None:
        raise InputError(
            "`units` are given for the rows of the fit or for those of `certify_on` alone: give "
            "them for both (`Dataset(X, y, units=...)`)"
        )
    if both := len(np.intersect1d(first.each, second.each)):
        raise InputError(
            f"`certify_on`: {both:,} of its {first.called} have rows in the fit, too; rows of one "
            "unit depend on each other, so that all of them lie on one side"
        )


def _parts(d: Dataset) -> tuple[Any, Any, Any, Any, Any, Any]:
    """Of a data set, in the order in which they are asked for."""
    return d.X, d.y, d.sample_weight, d.sensitive_features, d.baseline, d.units


def given_rows(
    classifier: Any,
    goal: Goal,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    sensitive_features: Any = None,
    baseline: Any = None,
    units: Any = None,
    datasets: Mapping[str, Dataset] | None = None,
) -> dict[str | None, GivenRows]:
    """X and the further data sets; what the constructor names holds for all of them."""
    columns = classifier.sensitive_features if sensitive_features is None else sensitive_features
    deployed = Deployed.of(classifier.baseline if baseline is None else baseline)
    column = None if deployed is None or baseline is not None else deployed.column
    spare = column is not None and None not in goal.needs.baseline and not _has(X, column)
    first = None if spare else deployed  # named in the constructor, and needed nowhere
    name = classifier.units or classifier.units_column_
    units = name if units is None and _has(X, name) else units
    rows: dict[str | None, GivenRows] = {
        None: GivenRows(int(_num_samples(X)), y, sample_weight, columns, first, X, units)
    }
    lasting = deployed if deployed is not None and deployed.lasts else None
    for name, d in (datasets or {}).items():
        own, model = d.sensitive_features, Deployed.of(d.baseline)
        if own is None and _has(d.X, classifier.sensitive_features):
            own = classifier.sensitive_features
        if model is None and name in goal.needs.baseline:
            model = lasting
        same = name if d.units is None and _has(d.X, name) else d.units
        parts = d.y, d.sample_weight, own, model, d.X, same
        rows[name] = GivenRows(int(_num_samples(d.X)), *parts)
    return rows


def _has(X: Any, names: Any) -> bool:
    """Whether names of columns, given once for X, are columns of another frame too."""
    wanted = [names] if isinstance(names, str) else names
    return wanted is not None and set(column_names(X) or ()).issuperset(wanted)


# --- Rows set apart to certify: drawn once --------------------------------------------------------


_KEY = 0x5EA1ED

_MOST_REPEATED = 0.2
"""Of all rows may equal others and stay together: a larger part would not be a sample of rows."""

_MOST_AGREED = 0.02
"""Of rows that equal others: where no more have another label than the first, they are copies."""

_FEW_COPIES = 0.98
"""Of all rows: where no fewer differ, copies make no difference."""


@dataclass(frozen=True, eq=False)
class CertifyingRows:
    """Rows that certify, as checked and as given."""

    judged: CheckedData
    given: Mapping[str | None, GivenRows]
    key: bytes = b""
    others: tuple[int, float] | None = None

    @property
    def copies(self) -> str:
        """A sentence where many of the rows of X are copies of others; else ""."""
        content = content_of(self.given[None].X)
        if content is None:
            return ""
        n, distinct = len(content), len(np.unique(content))
        if distinct > _FEW_COPIES * n:
            return ""
        return (
            f"Of these {n:,} rows {distinct:,} differ: copies are taken for rows that came "
            "independently. Where they are one row written several times, nothing is promised."
        )

    def evidence(self, score: Callable[[Any], NDArray[Any]]) -> Evidence:
        """The rows with scores."""
        return self.judged.evidence(
            {name: score(self.given[name].X) for name in self.judged.tables}
        )

    def draws(self, of: Callable[[Any], Floats | None]) -> Floats | None:
        """What rows that count are decided by where a rule draws; None where draws are fresh."""
        found = {name: of(self.given[name].X) for name in self.judged.tables}
        if any(part is None for part in found.values()):
            return None
        return self.judged.evidence(found).scores  # type: ignore[arg-type]


def set_apart(data: FitData, share: float, seed: int, listed: bool = False) -> FitData:
    """The data of a fit without the rows that certify; `listed` where these count new groups."""
    rng = np.random.default_rng((seed, _KEY))
    first: dict[str | None, Codes] = {}
    second: dict[str | None, Codes] = {}
    key = b""
    # By their content rows lie on one side, whatever data set they are in.
    known: dict[bool, Any] = {side: np.empty(0) for side in (False, True)}
    for name in (name for name in data.given if name in data.judged.tables):
        content: Any = content_of(data.given[name].X)
        kinds = data.judged.kinds(name)
        if name is None:
            key = rows_key(content, kinds)
        where = "X" if name is None else f"datasets[{name!r}]"
        units = data.judged.tables[name].units
        if units is None:
            blocks = same_content(content, kinds, where)
            content = None if blocks is None else content
        else:
            content, blocks, kinds = units.names, units, units.kinds(kinds)
        chosen, left = _placed(content, known, len(kinds))
        if len(left):
            some = blocks and blocks.take(left)
            chosen[left] = split_kinds(kinds[left], some, share, rng, listed)
        if content is not None:
            known = {side: np.union1d(own, content[chosen == side]) for side, own in known.items()}
        if chosen.all() or not chosen.any():
            raise InputError(
                f"{quoted(where)}: the rows are too much alike to set some of them apart: rows "
                "with equal content lie on one side; give other rows to certify with (`certify_on`)"
            )
        first[name], second[name] = np.flatnonzero(~chosen), np.flatnonzero(chosen)
    labels = data.classes.labels
    true = np.asarray(data.judged.kinds(None)) % (len(labels) + 1)
    for code, label in enumerate(labels):
        on_sides = {bool((true[side[None]] == code).any()) for side in (first, second)}
        if len(on_sides) == 2:
            raise InputError(
                f"`X`: class {label!r} has too few rows to set some of them apart; give rows of "
                "their own to certify with (`certify_on`)"
            )
    given = {name: data.given[name].take(index) for name, index in second.items()}
    apart = CertifyingRows(data.judged.take(second), given, key)
    given = {n: g.take(first[n]) if n in first else g for n, g in data.given.items()}
    out = replace(data, judged=data.judged.take(first), given=given, certifying=apart)
    if not data.is_validated:
        return _without(out, first[None])
    own = content_of(data.X) if data.units is None else data.units.names
    trained = ~_placed(own, known, len(data.true))[0]
    return out if trained.all() else _without(out, np.flatnonzero(trained))


def _placed(
    content: Any, known: Mapping[bool, Any], n_rows: int
) -> tuple[NDArray[np.bool_], Codes]:
    """Which rows certify in another data set (n_rows,), and which are in none."""
    if content is None:
        return np.zeros(n_rows, bool), np.arange(n_rows)
    certify, others = (np.isin(content, known[side]) for side in (True, False))
    return certify, np.flatnonzero(~(certify | others))


def _without(data: FitData, index: Codes) -> FitData:
    """The data of a fit with some of the rows of X alone."""
    return replace(
        data,
        X=_safe_indexing(data.X, index),
        y=_safe_indexing(data.y, index),
        true=data.true[index],
        weight=None if data.weight is None else data.weight[index],
        features=_safe_indexing(data.features, index),
        deployed=taken(data.deployed, index, len(data.true)),
        units=None if data.units is None else data.units.take(index),
        index=index,
        whole=data.X,
    )


def split_kinds(
    kinds: Integers, blocks: Units | None, share: float, rng: Generator, rare: bool = False
) -> NDArray[np.bool_]:
    """Which rows are set apart: a share of each kind, `rare` ones as one, blocks as a whole.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> split_kinds(np.array([0] * 6 + [1] * 4), None, 0.5, rng).reshape(2, 5).sum()
    np.int64(5)
    """
    first, place, sizes = np.arange(len(kinds)), None, None
    if blocks is not None:
        first, place, sizes = blocks.first, blocks.place, blocks.sizes
    own = np.asarray(kinds)[first]
    if rare:  # a share of each would hide that some may be set apart as a whole
        few = share ** np.bincount(kinds)[own] > 1e-5
        own = np.where(few, own[few].min(initial=own.max()), own)
    chosen = np.zeros(len(first), bool)
    reached, due = 0, float(rng.random())
    for kind in rng.permutation(np.unique(own)):
        part = np.flatnonzero(own == kind)
        n_rows = len(part) if sizes is None else int(sizes[part].sum())
        due += share * n_rows
        n = math.floor(due) - reached
        reached += n
        if sizes is None:
            chosen[rng.choice(part, n, replace=False, shuffle=False)] = True
        else:
            mixed = rng.permutation(part)
            chosen[mixed[: np.searchsorted(np.cumsum(sizes[mixed]), n, side="right")]] = True
    return chosen if place is None else np.asarray(chosen[place])


def same_content(content: Floats | None, kinds: Integers, where: str = "X") -> Units | None:
    """Blocks of rows with equal content, that may not be divided; None where rows may."""
    if content is None:
        return None
    blocks = Units.of(content)
    repeated = blocks.sizes[blocks.place] > 1
    if repeated.mean() <= _MOST_REPEATED:
        return blocks
    kinds = np.asarray(kinds)
    if (kinds != kinds[blocks.first][blocks.place])[repeated].mean() > _MOST_AGREED:
        return None
    raise InputError(
        f"{quoted(where)}: {100 * repeated.mean():.3g} % of the rows equal others, labels "
        "included. Copies of a row would certify the model that learnt from them: leave them out, "
        "or give rows of their own to certify with (`certify_on`)"
    )


# --- Whether rows stand by themselves, where nobody said which belong together --------------------


_LOOKED_AT, _LEAST = 30_000, 5_000  # values, and rows at least


def warn_together(X: Any, evidence: Evidence, columns: Mapping[str, Column]) -> None:
    """Warn where rows of X err together that share a value of a column."""
    frame, n = frame_of(X), evidence.rows.n_rows
    if n != _num_samples(X) or evidence.rows.units is not None:
        return  # rows of other data sets are among them, or some do not count
    most = _LOOKED_AT // (1 if frame is None else len(frame.columns))
    start = max(n - max(most, _LEAST), 0) // 2
    some = slice(start, n - start)  # side by side, as rows of one unit often are
    held = {name: column.values[some] for name, column in columns.items()}
    for name, series in ({} if frame is None else frame[some].to_dict(as_series=True)).items():
        if series.dtype.is_integer() or series.dtype in (nw.String, nw.Categorical, nw.Enum):
            held[name] = series_values(series)
    scores, true = evidence.scores[some], evidence.rows.true[some]
    right = true == 1
    if scores.ndim > 1:
        right, scores = true == scores.argmax(axis=1), scores.max(axis=1)
    keys = {name: Column(v) for name, v in held.items() if v.dtype.kind in "OUiu"}
    if found := together(scores, right, keys):
        warn_caller(
            f"rows with one {found!r} err together: if new rows will have new ones, write "
            f"`units={found!r}`"
        )


# --- From rows with scores to the rule and its report: find, count, compare -----------------------


@contextmanager
def heard() -> Iterator[list[warnings.WarningMessage]]:
    """What is warned of within, kept for the report and said again by :func:`decide`."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def decide(
    linked: LinkedGoal,
    found: Found,
    caught: list[warnings.WarningMessage],
    *,
    started: float,
    family: str,
    solver: str = "",
    notes: Sequence[str] = (),
    folds: int | None = None,
    trace: Sequence[TracePoint] | None = None,
    table: CheckedTable | None = None,
    certification: Certification | None = None,
) -> tuple[Found, GoalReport]:
    """Certify what was found where that is asked for, count it, and say everything once."""
    heavy = [] if table is None else heavy_tails(linked.goal, table)
    with heard() as more:
        if isinstance(found.rule, PerSegment):
            found = replace(found, rule=_of_seen(found.rule, found.evidence))
        evidence, guarantee = found.evidence, None
        if certification is not None:
            try:
                found, evidence, guarantee = guarantees.certified(linked, found, certification)
            except guarantees.Unshown as left:
                raise refused(left) from None
            table = certification.table
            # Approximately the scores are still those of cross-validation.
            folds = folds if certification.settings.guarantee == "approximate" else 1
    caught = [*caught, *more]
    found = found if trace is None else replace(found, trace=tuple(trace))
    report = report_on_found(
        linked,
        found,
        evidence,
        Search(family, solver, folds=folds),
        notes=(*(str(w.message) for w in caught), *notes, *heavy),
        in_training=trace is not None,
        seconds=now() - started,
        guarantee=guarantee,
    )
    if table is not None and table.deployed is not None:
        rows = replace(table, X=None).counted
        assert rows.deployed is not None
        assert isinstance(evidence, Evidence)
        decided = evidence.distribution(found.rule)[: len(rows.deployed)]
        against = against_deployed(linked.goal, evidence.classes, rows, decided)
        report = with_deployed(report, against)
    for w in caught:
        warn_caller(w.message)
    for text in heavy:
        warn_caller(text, HeavyTailWarning)
    if guarantee is None:
        warn_few_rows(report)
    return found, report


def _of_seen(rule: PerSegment, rows: Counted) -> Rule:
    """The rule without the segments that had no row: nothing is known of them."""
    if not rule.needs_segments:
        return rule
    weights = rows.segment_weights
    empty = {key for key, w in zip(rows.segments, weights, strict=True) if w == 0.0}
    pairs = [p for p in zip(rule.rules, rule.segments, strict=True) if p[1] not in empty]
    if len(pairs) == len(rule.rules):
        return rule
    names = listed([segment_in_words(key) for key in sorted(empty, key=str)])
    warn_caller(
        f"there is no rule for {names}: none of its rows is among those that the rule was found "
        "on; predict takes it for unknown (`unknown_group` of ModelResponse)"
    )
    return PerSegment([r for r, _ in pairs], [key for _, key in pairs])
