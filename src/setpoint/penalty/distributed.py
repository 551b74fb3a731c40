"""Several processes train one network: each takes its slice of every batch.

Every process is given the same data and the same seed, draws the same batches and keeps the
same numbers; what they tell each other in a step is one sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from setpoint.array_types import Floats
from setpoint.estimators.modules import needed

if TYPE_CHECKING:
    import torch

__all__ = ["Team"]


@dataclass(frozen=True)
class Team:
    """This process among those of ``torch.distributed``.

    Parameters
    ----------
    rank : int
        The first, 0, writes checkpoints.

    Examples
    --------
    >>> [Team(rank, 3).part(8) for rank in range(3)]
    [slice(0, 2, None), slice(2, 5, None), slice(5, 8, None)]
    """

    rank: int = 0
    size: int = 1

    @classmethod
    def here(cls) -> Team:
        """As torch was initialised; else alone."""
        distributed = needed("torch.distributed")
        if not (distributed.is_available() and distributed.is_initialized()):
            return cls()
        return cls(distributed.get_rank(), distributed.get_world_size())

    def part(self, n: int) -> slice:
        """What of n rows is this process's."""
        return slice(n * self.rank // self.size, n * (self.rank + 1) // self.size)

    def least_part(self, n: int) -> int:
        """The fewest of n rows that a process takes, if it takes any."""
        return max(n // self.size, min(n, 1))

    def step(
        self,
        parameters: Sequence[torch.nn.Parameter],
        z: torch.Tensor,
        n: int,
        stop: bool = False,
    ) -> tuple[torch.Tensor, bool]:
        """Sum the gradients; afterwards each process knows the logits of the whole batch.

        Parameters
        ----------
        parameters : sequence of Parameter
            Their gradients are those of this process's part, and afterwards their sums.
        z : tensor
            Logits of this process's part.
        n : int
            Rows of the whole batch.
        stop : bool
            Whether this process has to stop.

        Returns
        -------
        z : tensor of shape (n,)
        stop : bool
            Whether any process has to.
        """
        if self.size == 1:
            return z, stop
        import torch

        all_z = z.new_zeros(n)
        all_z[self.part(n)] = z
        # A parameter that no process used keeps no gradient, as in a single process.
        flags = z.new_tensor([p.grad is not None for p in parameters] + [stop])
        pulls = [p.grad if p.grad is not None else torch.zeros_like(p) for p in parameters]
        flat = torch.cat([all_z, flags, *(g.detach().reshape(-1).to(z.dtype) for g in pulls)])
        torch.distributed.all_reduce(flat)
        sizes = [n, len(flags), *(g.numel() for g in pulls)]
        all_z, flags, *summed = torch.split(flat, sizes)
        used = flags.tolist()
        for p, pull, g in zip(parameters, pulls, summed, strict=True):
            p.grad = g.view_as(pull).to(p.dtype)
        for p, u in zip(parameters, used, strict=False):
            if not u:
                p.grad = None
        return all_z, bool(used[-1])

    def gathered(self, values: Floats, n: int, device: str) -> Floats:
        """All n numbers, where this process knows those of its part."""
        if self.size == 1:
            return values
        import torch

        out = torch.zeros(n, dtype=torch.float64, device=device)
        out[self.part(n)] = torch.from_numpy(values).to(device)
        torch.distributed.all_reduce(out)
        return out.cpu().numpy()

    def share(self, tensors: Iterable[torch.Tensor]) -> None:
        """Give all what the first process has, such as running means of its own rows."""
        if self.size == 1:
            return
        import torch

        for tensor in tensors:
            torch.distributed.broadcast(tensor, 0)
