"""The skin all families share: base class, draws, evaluation, scorer, model files."""

from typing import TYPE_CHECKING

from setpoint.packages import lazily

if TYPE_CHECKING:
    from setpoint.classifiers.base import GoalClassifier, SearchParameters, atomic_fit, fingerprint
    from setpoint.classifiers.by_rule import UnknownGroupWarning, check_at_most
    from setpoint.classifiers.explanation import ExplainedRow, Explanation
    from setpoint.classifiers.linear_rule import (
        AsFloats,
        Fold,
        TrainedClassifier,
        Training,
        fit_preprocessor,
        folds_of,
        linear_scores,
        most_models,
        order_in_words,
        split_scored,
        transformed,
    )
    from setpoint.classifiers.monitoring import Alarm, Monitor
    from setpoint.classifiers.opening import (
        FitData,
        check_ranges,
        decide,
        given_rows,
        heard,
        open_fit,
        promised,
        same_content,
        split_kinds,
        warn_together,
    )
    from setpoint.classifiers.persistence import (
        TRUSTED_TYPES,
        ModelFileError,
        facts_in,
        load_model,
        open_archive,
        save_model,
        skops_io,
    )
    from setpoint.classifiers.planning import Needed, RowsNeeded, rows_needed, weights_for_prior
    from setpoint.classifiers.scorer import (
        evaluate,
        goal_scorer,
        range_of_objective,
        score_without_cliff,
        value_of,
    )

if not TYPE_CHECKING:  # to a type checker a misspelt name stays an error
    __getattr__ = lazily(__name__)
