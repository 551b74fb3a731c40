"""What rules over posteriors can do where each question is a pass over rows elsewhere."""

from __future__ import annotations

from setpoint.array_types import Floats
from setpoint.evidence.streamed import StreamedEvidence
from setpoint.plugin.problem import Achievable

__all__ = ["StreamedAchievable"]


class StreamedAchievable(Achievable):
    """The achievable features of a goal over posteriors that lie elsewhere.

    As :class:`~setpoint.plugin.problem.Achievable`; atoms that were taken in since the last
    question are counted together, in one pass.
    """

    remedies = "calibrate them, or solve a sample in memory by labels (`evidence='label'`)"
    counts_together = True

    @property
    def _features(self) -> Floats:
        """Features (atoms, blocks, d)."""
        n = self.counted.n_classes
        new = self.atoms[max(len(self._columns), n) :]
        try:
            if new and isinstance(self.counted, StreamedEvidence):
                self.counted.foresee([self.pricer.response(atom) for atom in new], self._blocks)
            return super()._features
        except KeyboardInterrupt:
            # What is not counted would be by the next question.
            self.drop(max(len(self._columns), n))
            raise
