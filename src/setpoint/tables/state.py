"""What is kept of a stream between two runs: the classifier, the columns, the place."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from setpoint.estimators import ModelFileError, load_model, save_model
from setpoint.tables.schema import Schema

if TYPE_CHECKING:
    from setpoint.online import OnlineFClassifier
    from setpoint.tables.reader import Batch, Place

__all__ = ["StreamState"]


@dataclass(eq=False)
class StreamState:
    """A classifier and how it was fed.

    Parameters
    ----------
    n_unlabelled, n_bad : int
        Rows that were left out because they have no label, or cannot be read.
    checksum : str
        Where reading stopped, as of a :class:`~setpoint.tables.reader.Place`; "" where
        the source cannot be read again.
    output : int
        Bytes of the file of decisions; 0: there is none.
    """

    classifier: OnlineFClassifier
    schema: Schema
    n_unlabelled: int = 0
    n_bad: int = 0
    offset: int = 0
    checksum: str = ""
    output: int = 0

    @property
    def n_rows(self) -> int:
        """Rows that were learnt."""
        return int(getattr(self.classifier, "n_rows_seen_", 0))

    @property
    def n_read(self) -> int:
        """Rows that were read, whatever became of them."""
        return self.n_rows + self.n_unlabelled + self.n_bad

    def learn(self, batch: Batch, *, decide_all: bool = False) -> NDArray[Any]:
        """Decide the rows of a batch, each before it is learnt.

        Parameters
        ----------
        decide_all : bool
            Whether rows without a label are decided too; they are not learnt.

        Returns
        -------
        array of shape (N,)
            Labels; None where nothing was decided, as before the first row is learnt.
        """
        decided = np.full(len(batch.y), None)
        edges = np.flatnonzero(np.diff(batch.labelled)) + 1
        for low, high in pairwise([0, *edges.tolist(), len(decided)]):
            rows = slice(low, high)
            if low < high and batch.labelled[low]:
                decided[rows] = self.classifier.predict_learn(batch.X[rows], batch.y[rows])
            elif low < high and decide_all and self.n_rows:
                decided[rows] = self.classifier.predict(batch.X[rows])
        self.n_unlabelled += len(decided) - int(np.count_nonzero(batch.labelled))
        self.n_bad += len(batch.bad)
        return decided

    def save(self, path: str | os.PathLike[str], place: Place | None) -> None:
        """Write the state; the old file stays until the new one is whole.

        Parameters
        ----------
        place : Place, optional
            Where reading stopped; None: the source cannot be read again.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        self.offset, self.checksum = (0, "") if place is None else (place.offset, place.checksum)
        save_model(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> StreamState:
        """Read a state.

        Raises
        ------
        ModelFileError
            If the file is damaged, or holds something else.
        OSError
            If the file cannot be read.
        """
        found = load_model(path)
        if not isinstance(found, cls):
            raise ModelFileError(f"{path} is a model file, no state of setpoint stream", path=path)
        return found
