"""The data that users pass, checked: arrays, labels, classes, columns, data sets."""

from typing import TYPE_CHECKING

from setpoint.packages import lazily

if TYPE_CHECKING:
    from setpoint.inputs.arrays import (
        Array,
        UnfittedError,
        check_length,
        column_names,
        column_of,
        described,
        first_bad,
        frame_of,
        in_frame,
        is_missing,
        kind_of,
        least_accepted,
        levels_of,
        number_columns,
        one_column,
        refuse_masked,
        require_numbers,
        row_unit,
        series_values,
        some,
        without,
    )
    from setpoint.inputs.classes import (
        ClassOrder,
        check_labels,
        check_weight,
        classes_of,
        one_score,
        posteriors,
        refers_to_positive,
        settled_positive,
        two_classes,
        union_of,
    )
    from setpoint.inputs.columns import (
        MOST_LEVELS,
        Dataset,
        Deployed,
        Unlabelled,
        aligned,
        as_columns,
        as_datasets,
        columns_of,
        finite_scores,
        index_of,
        taken,
    )
    from setpoint.inputs.files import (
        CheckpointError,
        atomic_write,
        check_settings,
        check_writable,
        whole_file,
    )
    from setpoint.inputs.inputs import (
        Answers,
        CheckedData,
        CheckedTable,
        DecideOn,
        GivenRows,
        decided_inputs,
    )
    from setpoint.inputs.row_hash import (
        RowDigest,
        column_draws,
        content_of,
        digests_of,
        row_draws,
        rows_key,
        text_digest,
        units_of,
    )

if not TYPE_CHECKING:  # to a type checker a misspelt name stays an error
    __getattr__ = lazily(__name__)
