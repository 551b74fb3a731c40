"""The text of a goal: its spelling, its synonyms, and how it is read."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any, Literal, NoReturn, TypeAlias, TypeVar

from setpoint.errors import GoalError, GoalSyntaxError, nearest
from setpoint.goals.entries import TABLE, LinearForm, read_form
from setpoint.goals.expressions import (
    FUNCTIONS,
    MAX_CHARACTERS,
    BlackBoxMetric,
    Expression,
    apply,
    operand,
    signed_sum,
)
from setpoint.goals.populations import REDUCERS, Constraint, Relation, plain_label
from setpoint.goals.table import AT_MOST, SYNONYMS, VOCABULARY, MetricFunction, at_most

# --- Words that other libraries, papers and people use: names of metrics here ---------------------


# fmt: off

ELSEWHERE: dict[str, str] = {
    "positive_rate": "predicted_rate",
    "f2": "fbeta(2)", "max_recall": "recall.max()", "lift": "precision / prior",
    **dict.fromkeys(("selective_accuracy", "accuracy_of_decided"), "accuracy.decided"),
    **dict.fromkeys(("selective_risk", "selective_error"), "error_rate.decided"),
    **dict.fromkeys(("fdr", "false_discovery_rate"), "1 - precision"),
    **dict.fromkeys(("demographic_parity", "demographic_parity_difference", "statistical_parity"), "predicted_rate.difference(column)"),
    "demographic_parity_ratio": "predicted_rate.ratio(column)",
    **dict.fromkeys(("equal_opportunity", "equal_opportunity_difference"), "recall.difference(column)"),
    **dict.fromkeys(("equalized_odds", "equalized_odds_difference"), "maximum(recall.difference(column), false_positive_rate.difference(column))"),
    **dict.fromkeys(("youden", "youden_j", "youden_index", "informedness"), "recall + specificity - 1"),
    **dict.fromkeys(("kappa", "cohen_kappa", "cohen_kappa_score"),
                    "1 - error_rate / (prior + predicted_rate - 2 * prior * predicted_rate)"),
}
"""Name elsewhere, and what is written here; not read as such, since it may mean something else."""

BY_RANK = "a score of the ranking; bound one rate and optimise another, as in 'maximize precision subject to recall >= 0.8'"
AT_K = "the best k of N rows are chosen by their share: 'maximize recall subject to predicted_rate <= k/N', with numbers for k and N"
COUNTS = "rates here are shares of rows, not counts: for at most 500 of 10,000 rows predicted positive write 'predicted_rate <= 500/10000'"
CAPACITY = "so many cases out of so many rows are a constraint, as in 'maximize recall subject to at_most(200, per=10_000)'; of a batch, decide_batch(X, at_most=200) takes the best ones"
MONEY = (
    "money enters as what each decision is worth, numbers or columns, as in 'maximize profit(tp=amount - 5, fp=-5)', "
    "or as the cost of each pair of true and predicted class, as in 'minimize cost({(1, 0): 60, (0, 1): 5})'; what no "
    "formula here says is a function of your own, blackbox(\"module:name\")"
)
DEFERRING = (
    "rows that are left to a person are deferred, as in 'minimize deferral_rate subject to accuracy.decided >= 0.98'; "
    "what one costs is defer= in profit and the pair (true, \"defer\") in cost"
)
COVERAGE = "the share of rows decided is '1 - deferral_rate', and that of rows accepted is 'predicted_rate'"
WEIGHING = "rows count by a column of numbers where a metric is weighted by it, as in 'maximize recall.weighted(amount)'"
SURE = "what a bound is kept with on new rows, as in 'maximize recall subject to precision >= 0.9 with confidence 0.99'"
OF_SCORES = "a measure of probabilities, and a goal is about decisions, as in 'maximize f1'"

AT_A_BOUND = "what is kept is a constraint, as in 'maximize recall subject to precision >= 0.9'"

PHRASES: dict[str, str] = {
    r"\b(at|in|within)\s+(the\s+)?(top|best|first|highest)\b": AT_K,
    r"\w\s+(at(?!\s+(least|most)\b)|@)\s*[a-z]": AT_A_BOUND,
}
"""Words in a row, as a pattern, and the sentence that answers them."""

ANSWERS: dict[str, str] = {
    **dict.fromkeys(("auc", "roc_auc", "roc_auc_score", "auroc", "auprc", "pr_auc", "average_precision", "prbep", "gini", "ndcg"), BY_RANK),
    **dict.fromkeys(("precision_at_k", "recall_at_k", "lift_at_k", "hits_at_k", "top_k", "topk"), AT_K),
    **dict.fromkeys(("calls", "alerts", "alarms", "contacts", "count", "counts", "flagged", "positives", "predicted_positives"), COUNTS),
    **{word: f"here: {name}, a share of rows and not a count: for 100 of 10,000 rows write 100/10000"
       for word, name in {"true_positives": "tp", "false_positives": "fp", "false_negatives": "fn", "true_negatives": "tn"}.items()},
    **dict.fromkeys(("profits", "revenue", "income", "gain", "gains", "earnings", "savings", "money", "roi", "utility", "costs", "net_benefit"), MONEY),
    **dict.fromkeys(("capacity", "budget", "quota", "workload"), CAPACITY),
    **dict.fromkeys(("abstain", "abstention", "reject", "rejection", "rejection_rate", "reject_rate", "reject_option", "refer", "escalate", "defer", "deferral", "deferred", "undecided"), DEFERRING),
    **dict.fromkeys(("coverage", "decided", "decided_rate", "decision_rate"), COVERAGE),
    **dict.fromkeys(("weighted", "weight", "amount", "amounts"), WEIGHING),
    **dict.fromkeys(("log_loss", "logloss", "cross_entropy", "brier", "brier_score", "brier_score_loss"), OF_SCORES),
    **dict.fromkeys(("confidence", "certainty"), SURE),
}
"""Word, and the sentence that answers it."""

# fmt: on


def metric_named(word: str) -> Expression | MetricFunction | None:
    """The metric of a name, of ours or of others, in any case; None where there is none.

    Examples
    --------
    >>> metric_named("TPR"), metric_named("recall"), metric_named("auc")
    (recall, recall, None)
    """
    name = word.lower()
    return VOCABULARY.get(name if name in VOCABULARY else SYNONYMS.get(name, name))


def why_unread(text: str) -> str:
    """What to write in place of words in a row; "" where it is not known.

    Examples
    --------
    >>> why_unread("maximize balanced accuracy")
    'here: balanced_accuracy, one word'
    >>> why_unread("recall at precision 0.9")
    "what is kept is a constraint, as in 'maximize recall subject to precision >= 0.9'"
    """
    for pattern, answer in PHRASES.items():
        if re.search(pattern, text, re.IGNORECASE):
            return answer
    for pair in re.finditer(r"(?=\b([a-z]\w*)\s+([a-z]\w*))", text, re.IGNORECASE):
        if metric_named(word := "_".join(pair.groups()).lower()) is not None:
            return f"here: {SYNONYMS.get(word, word)}, one word"
    return ""


def why_unknown(word: str) -> str:
    """What to write in place of a word that is not a metric.

    Examples
    --------
    >>> why_unknown("Lift"), why_unknown("recal")
    ('here: precision / prior', "did you mean 'recall' or 'min_recall'?")
    """
    name = word.lower()
    if name in ELSEWHERE:
        return f"here: {ELSEWHERE[name]}"
    if name in ANSWERS:
        return ANSWERS[name]
    ours, others = nearest(name, VOCABULARY), nearest(name, SYNONYMS)
    return others if others.startswith("did") and not ours.startswith("did") else ours


# --- The text of a goal as people write it --------------------------------------------------------


CONFIDENCE = "as in 'precision >= 0.9 with confidence 0.99'"
"""How the confidence of a constraint is written."""

_NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)(?:\s*%|(?:e[-+]?\d+)?)"
_PIECES = re.compile(
    r"""(?P<triple>\"{3}|'{3})|(?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"""
    rf"""|(?P<sure>\bwith\s+(?:confidence\s+{_NUMBER}|{_NUMBER}\s*confidence\b))"""
    rf"""|(?P<unsure>\bwith\s+confidence\b|\bconfidence\s+{_NUMBER}|\bat\s+confidence\b"""
    rf"""|\bat\s+{_NUMBER}\s*confidence\b|\bwith\s+{_NUMBER}(?=\s*(?:$|\)|and\b|,\s*\D)))"""
    r"""|(?P<subject>\b(?:subject\s+to|such\s+that)\b|\bs\.\s?t\.)|(?P<with>\b(?:with|where)\b)"""
    r"""|(?P<and>\band\b)|(?P<percent>(?<![\w.])(?:\d+(?:\.\d*)?|\.\d+)\s*%)"""
    r"""|(?P<least>\b(?:(?:is|of)\s+)?at\s+least\b)|(?P<most>\b(?:(?:is|of)\s+)?at\s+most\b)"""
    r"""|(?P<rank>\bat\s+(?:top\s+)?(?:k|\d+)\b(?!\s*%|\.\d))|(?P<level>\bat\s+\d*\.?\d+\s*%?)"""
    r"""|(?P<word>\w+)|(?P<ge>≥|=>)|(?P<le>≤|=<)|(?P<space>\s+)|(?P<other>.)""",
    re.DOTALL | re.IGNORECASE,
)
_WORDS = re.compile(r"with|confidence|\s", re.IGNORECASE)
_SPELLED = {"space": " ", "ge": ">=", "least": ">=", "le": "<=", "most": "<=", "and": "and"}
_REFUSED = {
    "rank": AT_K,
    "level": "a level that is kept is a bound, as in 'maximize recall subject to precision >= 0.9'",
    "unsure": f"a confidence is a number above 0 and below 1 after a constraint, {CONFIDENCE}",
}
_OPEN, _CLOSED = ("(", "[", "{"), (")", "]", "}")


class SourceText:
    """The text in Python's spelling, with the place in the original of each character."""

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.parts: list[list[str]] = [[]]
        self.places: list[list[int]] = [[]]
        self.sure: list[list[int]] = [[]]
        depth = 0  # in brackets a bare word may be the name of a column or of a label
        for match in _PIECES.finditer(text, start):
            piece = match.group()
            kind = match.lastgroup or ""
            depth = max(0, depth + (piece in _OPEN) - (piece in _CLOSED))
            if kind == "subject" or (kind == "with" and not depth):
                self.parts.append([])
                self.places.append([])
                self.sure.append([])
                continue
            if kind == "triple" or piece in ("#", "\0", ";", "\\"):
                fail(text, f"the character {piece!r} has no meaning here", match.start())
            if kind in _REFUSED:
                fail(text, f"{piece.strip()!r}: {_REFUSED[kind]}", match.start())
            if kind == "sure":
                self.sure[-1].append(match.start())
                number = _WORDS.sub("", piece)
                spelled = f" not in {_share(number) if '%' in number else f'{number} '}"
            elif kind == "percent":
                spelled = _share(piece)
            elif kind == "and" and depth:
                spelled = piece
            else:
                spelled = _SPELLED.get(kind, piece)
            self.parts[-1] += spelled
            self.places[-1] += [
                match.start() + (i if spelled == piece else 0) for i in range(len(spelled))
            ]

    def part(self, index: int) -> tuple[str, list[int]]:
        """The text of a part, and the place of each of its characters."""
        code, places = "".join(self.parts[index]), self.places[index]
        skip = len(code) - len(code.lstrip())
        return code.strip(), places[skip:]


def _share(percent: str) -> str:
    """A number per cent as a share, exactly as that is written: 0.29 for 29%."""
    return f"{float(Decimal(percent.rstrip('%').strip()) / 100)!r} "


def fail(text: str, message: str, place: int) -> NoReturn:
    """Raise a GoalSyntaxError that shows where."""
    start, end = max(0, place - 30), min(len(text), place + 30)
    shown = ("..." if start else "") + text[start:end] + ("..." if end < len(text) else "")
    raise GoalSyntaxError(f"{message}, at character {place + 1}: {shown!r}")


# --- Reading a goal from text, through Python's own ``ast`` with a whitelist ----------------------


_SENSES: dict[str, Literal["maximize", "minimize"]] = {
    "maximize": "maximize", "maximise": "maximize", "minimize": "minimize", "minimise": "minimize",
}  # fmt: skip
_COMPARES = re.compile(r"[<>≥≤]|\bat\s+(?:least|most)\b", re.IGNORECASE)
_COMMA = re.compile(r"(?<![\w.,])(\d+),(\d+)(?![\w,]*\()")
T = TypeVar("T")

_METHODS = (*REDUCERS, "on", "weighted", "baseline")


Parsed: TypeAlias = tuple[Literal["maximize", "minimize"], Expression, tuple[Constraint, ...]]


def parse_goal(text: str) -> Parsed:
    """Sense, objective and constraints of "maximize ... subject to ... and ..."."""
    if len(text) > MAX_CHARACTERS:
        raise GoalSyntaxError(
            f"a goal has at most {MAX_CHARACTERS} characters, this text {len(text)}"
        )
    head = re.match(r"\s*(\w*)", text)
    assert head is not None
    word, offset = head.group(1), head.end(1)
    sense = _SENSES.get(word.lower())
    if sense is None:
        fail(text, _without_sense(text, word), head.start(1))
    source = SourceText(text, offset)
    if len(source.parts) > 2:
        fail(text, "'subject to' appears twice; join constraints with 'and'", 0)
    if not source.part(0)[0]:
        fail(text, f"'{word}' is followed by what is wanted, as in '{word} recall'", offset)
    if source.sure[0]:
        what = f"a confidence stands after a constraint, not after what is wanted, {CONFIDENCE}"
        fail(text, what, source.sure[0][0])
    reader = _Reader(source, 0)
    if isinstance(reader.tree, (ast.BoolOp, ast.Compare)):
        reader.fail(reader.tree, "constraints follow 'subject to'")
    objective = reader.expression(reader.tree)
    constraints: list[Constraint] = []
    if len(source.parts) == 2:
        if not source.part(1)[0]:
            fail(
                text, "'subject to' is followed by constraints, as in 'precision >= 0.9'", len(text)
            )
        reader = _Reader(source, 1)
        constraints = reader.constraints(reader.tree)
    return sense, objective, tuple(constraints)


def _without_sense(text: str, word: str) -> str:
    """What to say of a text that does not begin with maximize or minimize."""
    metric, why = metric_named(word), why_unread(text)
    if why:
        return f"cannot read this: {why}"
    if isinstance(metric, MetricFunction) and text.strip() == word:
        return f"{metric} needs its parameters: {metric.signature}"
    if metric is not None:
        if _COMPARES.search(text) and len(SourceText(text, 0).parts) == 1:
            wanted = "precision" if str(metric) == "recall" else "recall"
            bound = text.strip() if len(text) < 60 else "..."
            return (
                "this bounds a metric, and a goal says first what is wanted, as in "
                f"'maximize {wanted} subject to {bound}'"
            )
        return f"a goal says first which way: put 'maximize' or 'minimize' before {word!r}"
    if word.lower() == "at_most":
        return f"at_most is a constraint of its own {AT_MOST}"
    if word.lower() in (*ANSWERS, *ELSEWHERE):
        return f"unknown word {word!r}: {why_unknown(word)}"
    near = nearest(word.lower(), ["maximize", "minimize"])
    return f"a goal starts with 'maximize' or 'minimize', got {word or text[:10]!r} ({near})"


class _Reader:
    """One part of the text, from Python's tree to expressions."""

    def __init__(self, source: SourceText, index: int) -> None:
        self.source = source
        self.code, self.places = source.part(index)
        self.sure = source.sure[index]
        self.bytes = self.code.encode("utf-8", "surrogatepass")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.tree = ast.parse(self.code, mode="eval").body
        except SyntaxError as error:
            at = min(max((error.offset or 1) - 1, 0), len(self.places) - 1)
            # After the last character Python points past the end.
            fail(source.text, _unread(self.code, str(error.msg)), self.places[at])
        except (ValueError, UnicodeError) as error:
            fail(source.text, f"cannot read this ({error})", self.places[0])

    def place(self, node: ast.expr | ast.keyword) -> int:
        """Where it begins in the text."""
        column = len(self.bytes[: node.col_offset].decode("utf-8", "replace"))
        return self.places[min(column, len(self.places) - 1)]

    def fail(self, node: ast.expr | ast.keyword, message: str) -> NoReturn:
        fail(self.source.text, message, self.place(node))

    def build(self, node: ast.expr, make: Callable[[], T]) -> T:
        """Run a constructor; its complaint becomes ours, with the place."""
        try:
            return make()
        except GoalSyntaxError:
            raise
        except (GoalError, TypeError) as error:
            self.fail(node, str(error))
        except OverflowError:
            self.fail(node, "a number here is too large")

    def constraints(self, root: ast.expr) -> list[Constraint]:
        out: list[Constraint] = []
        stack = [root]
        while stack:
            node = stack.pop()
            if isinstance(node, ast.Tuple):
                stack += reversed(node.elts)
            elif isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
                stack += reversed(node.values)
            elif isinstance(node, ast.Compare):
                out += self.confident(node) if self.confidences(node) else self.comparison(node)
            elif isinstance(node, ast.Call) and _is_at_most(node.func):
                values, named = self.arguments(node)
                out.append(self.build(node, partial(at_most, *values, **named)))
            elif isinstance(node, ast.BoolOp):
                self.fail(node, "constraints are joined with 'and'; there is no 'or'")
            elif isinstance(node, ast.Constant):  # after the comma of "precision >= 0,9"
                self.fail(node, _point(self.code))
            else:
                self.fail(node, "a constraint compares with >= or <=")
        return out

    def confidences(self, node: ast.Compare) -> list[int]:
        """Which of the things compared are the confidence of what stands before."""
        pairs = enumerate(zip(node.ops, node.comparators, strict=True))
        return [
            k for k, (op, x) in pairs if isinstance(op, ast.NotIn) and self.place(x) in self.sure
        ]

    def confident(self, node: ast.Compare) -> list[Constraint]:
        """Constraints that a confidence follows."""
        first, *more = self.confidences(node)
        number = node.comparators[first]
        if more:
            self.fail(node.comparators[more[0]], f"a constraint has one confidence, {CONFIDENCE}")
        if first + 1 < len(node.ops) or not isinstance(number, ast.Constant):
            self.fail(number, f"a confidence is one number that ends a constraint, {CONFIDENCE}")
        given: Any = number.value
        before = node.left
        if first:
            before = ast.Compare(node.left, node.ops[:first], node.comparators[:first])
            ast.copy_location(before, node)
        out = []
        for c in self.constraints(before):
            if c.confidence is not None:
                self.fail(number, f"a constraint has one confidence, {CONFIDENCE}")
            out.append(self.build(number, partial(c.with_confidence, given)))
        return out

    def comparison(self, node: ast.Compare) -> list[Constraint]:
        terms = [self.expression(t) for t in (node.left, *node.comparators)]
        out: list[Constraint] = []
        for left, op, right in zip(terms, node.ops, terms[1:], strict=False):
            if isinstance(op, ast.Eq):
                self.fail(node, "'==' is not a constraint: write abs(x - c) <= tolerance")
            if not isinstance(op, (ast.GtE, ast.LtE)):
                self.fail(node, "a constraint compares with >= or <=")
            relation: Relation = ">=" if isinstance(op, ast.GtE) else "<="
            out.append(self.build(node, partial(Constraint, left, relation, right)))
        return out

    def expression(self, node: ast.expr) -> Expression:
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            return self.sum(node)
        if isinstance(node, ast.BinOp):
            left, right = self.expression(node.left), self.expression(node.right)
            if isinstance(node.op, ast.Mult):
                return self.build(node, lambda: left * right)
            if isinstance(node.op, ast.Div):
                return self.build(node, lambda: left / right)
            if isinstance(node.op, ast.Mod):
                self.fail(node, "'%' stands behind a number, as in 90%; operators are + - * and /")
            self.fail(node, "operators are + - * and /")
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            inner = self.expression(node.operand)
            negate = isinstance(node.op, ast.USub)
            return self.build(node, lambda: -inner) if negate else inner
        if isinstance(node, ast.Constant):
            return self.build(node, lambda: operand(node.value))
        if isinstance(node, ast.Name):
            found = self.named(node)
            if isinstance(found, MetricFunction):
                self.fail(node, f"{found} needs its parameters: {found.signature}")
            return found
        if isinstance(node, ast.Call):
            return self.call(node)
        if isinstance(node, ast.Attribute) and node.attr == "decided":
            target = self.expression(node.value)
            return self.build(node, lambda: target.decided)
        if isinstance(node, ast.Attribute):
            if node.attr not in _METHODS:
                self.unknown_method(node, node.attr)
            self.fail(node, f"'.{node.attr}' is called: write .{node.attr}(...)")
        if isinstance(node, ast.Compare):
            self.fail(node, "a comparison stands alone, after 'subject to'")
        if isinstance(node, ast.Tuple):
            self.fail(node, f"constraints follow 'subject to'; {_point(self.code)}")
        return self.fail(node, f"this ({type(node).__name__.lower()}) has no meaning in a goal")

    def sum(self, node: ast.expr) -> Expression:
        # A sum of a thousand terms is a thousand levels deep on its left: walk it.
        signed: list[tuple[int, Expression]] = []
        root = node
        while isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            signed.append((1 if isinstance(node.op, ast.Add) else -1, self.expression(node.right)))
            node = node.left
        signed.append((1, self.expression(node)))
        return self.build(root, lambda: signed_sum(*reversed(signed)))

    def named(self, node: ast.Name) -> Expression | MetricFunction:
        found = metric_named(node.id)
        if found is None:
            if node.id in FUNCTIONS:
                self.fail(node, f"{node.id!r} is a function: {node.id}(...)")
            if _is_at_most(node):
                self.fail(node, f"at_most is a constraint of its own {AT_MOST}")
            if node.id == "blackbox":
                self.fail(node, 'a metric without a formula is blackbox("module:name")')
            why = why_unknown(node.id)
            clause = f": {why}" if node.id.lower() in ANSWERS else f" ({why})"
            self.fail(node, f"unknown word {node.id!r}{clause}")
        return found

    def call(self, node: ast.Call) -> Expression:
        function = node.func
        if isinstance(function, ast.Name) and function.id in FUNCTIONS:
            if node.keywords:
                self.fail(node, f"{function.id} takes no named arguments")
            args = [self.expression(a) for a in node.args]
            return self.build(node, partial(apply, function.id, *args))
        if isinstance(function, ast.Name) and function.id == "blackbox":
            return self.external(node)
        if isinstance(function, ast.Attribute):
            return self.method(node, function)
        if isinstance(function, ast.Name):
            if function.id in ("max", "min"):
                self.fail(node, f"write {function.id}imum(a, b), or x.{function.id}() for classes")
            found: Callable[..., Expression] = self.named(function)
            values, named = self.arguments(node, of=str(found))
        else:
            found = self.expression(function)
            values, named = self.arguments(node)
        return self.build(node, lambda: found(*values, **named))

    def external(self, node: ast.Call) -> Expression:
        """A metric without a formula: its name is kept, nothing is imported."""
        names = [a.value for a in node.args if isinstance(a, ast.Constant)]
        if node.keywords or len(node.args) != 1 or not names or not isinstance(names[0], str):
            self.fail(node, 'a metric without a formula is blackbox("module:name")')
        name = names[0]
        return self.build(node, lambda: BlackBoxMetric(name))

    def unknown_method(self, node: ast.expr, name: str) -> NoReturn:
        self.fail(node, f"unknown word '.{name}' ({nearest(name, (*_METHODS, 'decided'))})")

    def method(self, node: ast.Call, function: ast.Attribute) -> Expression:
        if function.attr == "decided":
            self.fail(node, "'.decided' is not called: write accuracy.decided, without ()")
        if function.attr not in _METHODS:
            self.unknown_method(node, function.attr)
        target = self.expression(function.value)
        values, named = self.arguments(node)
        if function.attr != "on" and named:
            more = ", ".join(f"{k.arg}={ast.unparse(k.value)}" for k in node.keywords)
            own = f"{ast.unparse(function.value)}({more}).{function.attr}(...)"
            what = f".{function.attr} takes names of columns, no named arguments"
            whole = isinstance(function.value, ast.Name)
            self.fail(node, f"{what}; those of the metric: {own}" if whole else what)
        if function.attr == "weighted" and len(values) != 1:
            self.fail(node, ".weighted takes the name of one column of numbers")
        bound: Callable[..., Expression] = getattr(target, function.attr)
        return self.build(node, lambda: bound(*values, **named))

    # -- arguments of a metric or a method: labels, columns, tables -----------------
    def arguments(self, node: ast.Call, of: str = "") -> tuple[list[Any], dict[str, Any]]:
        """What stands in the parentheses of a call: by position, and by name."""
        entry = TABLE.get(of)
        by_name = entry.params if entry is not None and entry.any_of else ()
        by_pair = entry is not None and bool({"costs", "values"} & set(entry.params))
        values = [self.argument(a, by_pair) for a in node.args]
        named: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg in named:
                self.fail(keyword, "an argument is repeated or starred")
            if keyword.arg in by_name:
                named[keyword.arg] = self.worth(keyword.value)
            else:
                named[keyword.arg] = self.argument(keyword.value, by_pair)
        return values, named

    def argument(self, node: ast.expr, worths: bool = False) -> Any:
        """A label, or a dict of labels (or pairs of them) to labels, or to linear forms."""
        if not isinstance(node, ast.Dict):
            return self.label(node)
        out: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                self.fail(node, "a dict cannot hold **")
            pair = key.elts if isinstance(key, ast.Tuple) and len(key.elts) == 2 else None
            name = tuple(map(self.label, pair)) if pair else self.label(key)
            if name in out:
                self.fail(key, f"the key {name!r} is repeated")
            out[name] = self.worth(value) if worths else self.label(value)
        return out

    def worth(self, node: ast.expr) -> LinearForm:
        """What a row is worth: linear in columns; a text that stands alone is read again."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
            return self.build(node, lambda: LinearForm.of(text))
        return read_form(node, self.fail)

    def label(self, node: ast.expr) -> Any:
        """A label or a number; a bare name stands for its text."""
        sign, inner = 1, node
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            sign, inner = -1, node.operand
        match inner:
            case ast.Name(id=name) | ast.Constant(value=str() | bool() as name) if sign > 0:
                return name
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return self.build(node, lambda: plain_label(sign * number, "a number"))
            case ast.Constant(value=None):
                why = "None marks a missing value: fill such rows in, for example with 'unknown', and name that"
            case _:
                why = f"this ({type(node).__name__.lower()}) cannot stand here: a label, a number or a dict of them can"
        return self.fail(node, why)


def _is_at_most(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id.lower() == "at_most"


def _unread(code: str, message: str) -> str:
    """What to say of a text that Python does not read."""
    if re.search(r"(?:^|\band|,)\s*[<>]=", code):
        return "the metric comes first, as in 'precision >= 0.9'"
    if _COMMA.search(code):
        return _point(code)
    return f"cannot read this: {why_unread(code) or message}"


def _point(code: str) -> str:
    """What to write in place of a decimal comma.

    Examples
    --------
    >>> _point("precision >= 0,9")
    'write 0.9 for 0,9: numbers have a decimal point'
    """
    found = _COMMA.search(code)
    if found is None:
        return "a number does not stand alone: numbers have a decimal point, as in 0.9"
    return f"write {found[1]}.{found[2]} for {found[0]}: numbers have a decimal point"
