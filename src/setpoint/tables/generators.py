"""A table to try things on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from setpoint.tables.extras import needed

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["tumours"]


def tumours() -> pd.DataFrame:
    """Measurements of cell nuclei in 569 breast tumours, 212 of them malignant.

    Examples
    --------
    >>> table = tumours()
    >>> table.shape, table["diagnosis"].value_counts().to_dict()
    ((569, 11), {'benign': 357, 'malignant': 212})
    """
    from sklearn.datasets import load_breast_cancer

    frames = needed("pandas")
    data = load_breast_cancer()
    names = [name.replace(" ", "_") for name in data.feature_names]
    frame: pd.DataFrame = frames.DataFrame(data.data, columns=names)
    frame = frame[[name for name in names if name.startswith("mean_")]]
    frame["diagnosis"] = data.target_names[data.target].astype(object)
    return frame
