"""Words that other libraries, papers and people use: names of metrics here, or what to write.

A word is looked up in any case. `SYNONYMS` are read as the metric, and the canonical text
has our name; `ELSEWHERE` has what is written here; `ANSWERS` are sentences for what is not
in the language.
"""

from __future__ import annotations

import re

from setpoint.goals.errors import nearest
from setpoint.goals.expressions import Expression
from setpoint.goals.table import VOCABULARY, MetricFunction

__all__ = ["ANSWERS", "ELSEWHERE", "SYNONYMS", "metric_named", "why_unknown", "why_unread"]

# fmt: off

SYNONYMS: dict[str, str] = {
    **dict.fromkeys(("sensitivity", "hit_rate", "tpr", "true_positive_rate", "recall_score"), "recall"),
    **dict.fromkeys(("tnr", "true_negative_rate", "specificity_score", "selectivity"), "specificity"),
    **dict.fromkeys(("ppv", "positive_predictive_value", "precision_score"), "precision"),
    "npv": "negative_predictive_value",
    **dict.fromkeys(("fpr", "fall_out", "fallout"), "false_positive_rate"),
    **dict.fromkeys(("fnr", "miss_rate"), "false_negative_rate"),
    **dict.fromkeys(("dice", "f1_score", "f_measure", "f_score", "f1score"), "f1"),
    **dict.fromkeys(("f_beta", "fbeta_score"), "fbeta"),
    **dict.fromkeys(("iou", "jaccard_score"), "jaccard"),
    **dict.fromkeys(("geometric_mean", "geometric_mean_score", "gmean"), "g_mean"),
    **dict.fromkeys(("matthews_corrcoef", "matthews_correlation_coefficient"), "mcc"),
    "accuracy_score": "accuracy", "balanced_accuracy_score": "balanced_accuracy", "zero_one_loss": "error_rate",
    **dict.fromkeys(("abstention_rate", "referral_rate"), "deferral_rate"),
    "selection_rate": "predicted_rate", "prevalence": "prior", "base_rate": "prior",
}
"""Name elsewhere, in small letters, and the name in the table of metrics."""

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
