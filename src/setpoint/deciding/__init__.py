"""The steps that every fit shares: what was given is opened, and a rule is decided on."""

from typing import TYPE_CHECKING

from setpoint.packages import lazily

if TYPE_CHECKING:
    from setpoint.deciding.certifying import (
        Certification,
        Tries,
        certified,
        promise_of,
        times_of,
    )
    from setpoint.deciding.opening import (
        FitData,
        check_ranges,
        decide,
        given_rows,
        heard,
        of_seen,
        open_fit,
    )
    from setpoint.deciding.refusal import (
        NotCertifiable,
        Tried,
        best_shown,
        check_enough,
        refused,
        require_tests,
        tests_on,
    )
    from setpoint.deciding.splitting import (
        Certify,
        content_of,
        promised,
        rows_key,
        same_content,
        split_scored,
    )

if not TYPE_CHECKING:  # to a type checker a misspelt name stays an error
    __getattr__ = lazily(__name__)
