"""What rules over posteriors can do where each question is a pass over rows elsewhere."""

from __future__ import annotations

from setpoint.evidence.streamed import StreamedEvidence
from setpoint.plugin.problem import Achievable
from setpoint.search.achievable_set import Priced
from setpoint.typing import Floats

__all__ = ["StreamedAchievable"]


class StreamedAchievable(Achievable):
    """The achievable features of a goal over posteriors that lie elsewhere.

    As :class:`~setpoint.plugin.problem.Achievable`; atoms that were taken in since the last
    question are counted together, in one pass.
    """

    counts_together = True

    @property
    def _features(self) -> Floats:
        """Features (atoms, blocks, d)."""
        known = max(len(self._columns), self.counted.n_classes)
        new = self.atoms[known:]
        if new and isinstance(self.counted, StreamedEvidence):
            self.counted.foresee([self.pricer.response(atom) for atom in new], self._blocks)
        return super()._features

    def price(self, slopes: Floats) -> Priced:
        """One pass; of each block the best column of all atoms so far."""
        known = len(self.atoms)
        try:
            return super().price(slopes)
        except KeyboardInterrupt:
            # What was not counted would be counted by the next question.
            del self.atoms[known:]
            while len(self._columns) > known:
                self._columns.drop_last()
            raise
