"""Which decides better by a goal, and whether that is shown: models, candidates, decisions."""

from typing import TYPE_CHECKING

from setpoint.packages import lazily

if TYPE_CHECKING:
    from setpoint.judging.candidates import (
        BOOSTING,
        LOGISTIC,
        MOST_VALUES,
        ModelCandidate,
        ModelChoice,
        TriedModel,
        as_codes,
        candidates_of,
        filled,
        mean_of,
        one_hot,
    )
    from setpoint.judging.judge import ChangedGroup, Judge, Judged, Pair, Part
    from setpoint.judging.models import (
        check_matching,
        check_same,
        compare,
        comparison_of,
        judged_classifier,
    )
    from setpoint.judging.result import ModelComparison, accepted, document_of
    from setpoint.judging.trials import (
        MANY_CLASSES,
        RuleInputs,
        choose_evidence,
        choose_rule_inputs,
        in_quiet,
        reached,
    )

if not TYPE_CHECKING:  # to a type checker a misspelt name stays an error
    __getattr__ = lazily(__name__)
