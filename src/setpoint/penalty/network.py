"""Networks by descent in minibatches, refreshed from the last scores of the rows."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from setpoint.errors import InputError
from setpoint.estimators import modules
from setpoint.penalty.losses import JointPenalty, RefreshBatch, Stage
from setpoint.penalty.problem import best_cut
from setpoint.penalty.selection import (
    Checkpoint,
    DivergedError,
    TrainingPlan,
    pool_state,
    restore_pool,
)

if TYPE_CHECKING:
    import torch


# --- Which rows come when: the order of each epoch ------------------------------------------------


Rows = NDArray[np.int64]

_MOST_SEEN = 65_536
"""Rows that a refresh looks at; of a class with less than half as many, all."""


class Order:
    """Orders of the epochs of one stage, from a key alone: nothing else has to be stored.

    Examples
    --------
    >>> order = Order((0, 0), np.arange(5) < 2)
    >>> sorted(order.of(0).tolist()), order.refresh_rows(0, 0)
    ([0, 1, 2, 3, 4], slice(0, 5, None))
    """

    def __init__(self, key: tuple[int, int], positive: NDArray[np.bool_], all_seen: bool = False):
        self.key, self.positive, self.all_seen = key, positive, all_seen
        self._known: dict[int, Rows] = {}

    def of(self, epoch: int) -> Rows:
        """All rows; the order before the first epoch, -1, is only looked at."""
        if epoch not in self._known:
            self._known = {e: rows for e, rows in self._known.items() if e == epoch - 1}
            rng = np.random.default_rng([*self.key, epoch + 1])
            self._known[epoch] = rng.permutation(len(self.positive))
        return self._known[epoch]

    def refresh_rows(self, epoch: int, done: int) -> Rows | slice:
        """The rows that a refresh looks at, after so many of an epoch."""
        n = len(self.positive)
        if n <= _MOST_SEEN or self.all_seen:
            return slice(0, n)
        before = max(_MOST_SEEN - done, 0)
        rows = self.of(epoch)[max(done - _MOST_SEEN, 0) : done]
        if before:
            rows = np.concatenate([self.of(epoch - 1)[n - before :], rows])
        for kind, rare in self._rare.items():
            rows = np.concatenate([rare, rows[self.positive[rows] != kind]])
        return rows

    @cached_property
    def _rare(self) -> dict[bool, Rows]:
        classes = {True: np.flatnonzero(self.positive), False: np.flatnonzero(~self.positive)}
        return {kind: rows for kind, rows in classes.items() if len(rows) <= _MOST_SEEN // 2}


# --- Networks by descent in minibatches -----------------------------------------------------------


_LEAST_STEPS, _ROWS_A_STEP, _REFRESHES = 10, 1000, 4
"""Steps between refreshes: so many at least, and one for so many rows looked at; but with few
steps in an epoch so many refreshes in it."""


def train_network(plan: TrainingPlan, module: Any, checkpoint: Checkpoint | None = None) -> None:
    """Run the stages of a plan; candidates in its pool are the bytes of a module's state."""
    plan = replace(plan, device=modules.device_for(plan.device))
    made = modules.build(module, plan.train.X.shape[1], plan.seed)
    saved = None if checkpoint is None else checkpoint.read()
    made.to(plan.device)
    train = replace(
        plan.train, X=modules.resident(plan.train.X, modules.dtype_of(made), plan.device)
    )
    chooser = train.X
    if plan.holds_out:
        chooser = modules.resident(plan.pool.rows.X, modules.dtype_of(made), plan.device)
    plan = replace(plan, train=train)
    first, fresh = 0, modules.to_bytes(made)
    if saved is not None:
        restore_pool(plan, saved["pool"])
        first, fresh = saved["stage"], saved["fresh"]
    for i in range(first, len(plan.stages)):
        descent = _NetworkDescent(plan, i, made, chooser, fresh, checkpoint)
        try:
            descent.run(None if saved is None else saved["descent"])
        except DivergedError as error:
            plan.notes.append(str(error))
        saved = None
    if checkpoint is not None:
        checkpoint.remove()


class _NetworkDescent:
    """One stage: the module, its optimiser, the loss and the last score of each row."""

    def __init__(
        self,
        plan: TrainingPlan,
        index: int,
        module: torch.nn.Module,
        chooser: Any,
        fresh: bytes,
        checkpoint: Checkpoint | None,
    ) -> None:
        import torch

        self.plan, self.index, self.checkpoint = plan, index, checkpoint
        self.chooser, self.fresh, self.device = chooser, fresh, torch.device(plan.device)
        self.stage: Stage = plan.stages[index]
        self.loss = self.stage.loss(plan.goal, plan.least, len(plan.train))
        # Joint descent keeps something for each row.
        joint = isinstance(self.loss, JointPenalty)
        self.order = Order((plan.seed, index), plan.train.positive, joint)
        self.module = module
        self.dtype = modules.dtype_of(module)
        self.exact = torch.float64 if self.dtype == torch.float64 else torch.float32
        self.parameters = [p for p in module.parameters() if p.requires_grad]
        s = plan.schedule
        self.batch_size, self.max_epochs = int(s.batch_size), int(s.max_epochs)
        self.optimizer = torch.optim.AdamW(
            self.parameters,
            lr=float(s.learning_rate),
            weight_decay=float(s.weight_decay),
            fused=self.device.type in ("cpu", "cuda"),
        )
        rows = plan.train
        self.last = torch.zeros(len(rows), dtype=self.exact, device=self.device)
        self.positive = torch.from_numpy(rows.positive.copy()).to(self.device)
        self.weight: torch.Tensor | None = None
        if rows.weight is not None:
            self.weight = torch.from_numpy(rows.weight.copy()).to(self.device, self.exact)
        self.offset = 0.0
        self.epoch = self.step = self.stale = 0

    # ------------------------------------------------------------------ the loop
    def run(self, saved: dict[str, Any] | None) -> None:
        """From the start, or from where it was saved; DivergedError where numbers end."""
        rng = None
        if saved is None:
            self.begin()
        else:
            rng = self.resume(saved)
        while self.epoch < self.max_epochs and not self.is_stale:
            with modules.seeded(self.plan.seed, self.index, self.epoch):
                if rng is not None:
                    _set_rng(rng, self.device)
                rng = None
                self.run_epoch()
            self.stale = 0 if self.judge() else self.stale + 1
            self.epoch, self.step = self.epoch + 1, 0

    @property
    def is_stale(self) -> bool:
        """Whether too many epochs brought nothing; a schedule is followed to its end."""
        return not self.loss.scheduled and self.stale >= self.plan.schedule.patience

    def begin(self) -> None:
        """Where an earlier stage was best, or the module as built."""
        first = next((s.name for s in self.plan.stages if s.start == "zero"), "")
        known = None if self.stage.start == "zero" else self.plan.pool.best.get(first)
        modules.load_bytes(self.module, self.fresh if known is None else known.parameters)
        self.judge()
        self.look(self.order.refresh_rows(0, 0))

    def look(self, rows: Rows | slice) -> None:
        """The first scores; for some losses shifted so that the best threshold is 0."""
        import torch

        X = self.plan.train.X
        z = modules.scores(self.module, X, self.plan.device, rows=rows)
        at = rows if isinstance(rows, slice) else torch.from_numpy(rows).to(self.device)
        self.last[at] = torch.from_numpy(z).to(self.device, self.exact)
        if self.stage.start != "centred":
            return
        goal, seen = self.plan.goal, self.seen(rows)
        scale = seen.scale(goal.totals)
        if scale is not None and np.isfinite(seen.scores).all():
            self.offset = best_cut(goal, *seen, self.plan.least, scale).shift
            self.last -= self.offset

    def run_epoch(self) -> None:
        """All batches, or those that a resumed epoch has left."""
        size, order = self.batch_size, self.order.of(self.epoch)
        total = self.max_epochs * self.n_steps
        self.module.train()
        while self.step < self.n_steps:
            done = self.step * size
            if self.step % self.refresh_every == 0:
                self.save()
                progress = (self.epoch * self.n_steps + self.step) / total
                self.loss.refresh(self.seen(self.order.refresh_rows(self.epoch, done)), progress)
            self.descend(order[done : done + size])
            self.step += 1

    def descend(self, rows: Rows) -> None:
        """One step on a batch."""
        import torch

        self.plan.tick()
        at = torch.from_numpy(rows).to(self.device)
        share: torch.Tensor | float = 1.0 / len(rows)
        if self.weight is not None:
            w = self.weight[at]
            share = w / w.sum()
        self.optimizer.zero_grad(set_to_none=True)
        x = modules.as_batch(self.plan.train.X, rows, self.dtype).to(self.device)
        with torch.autocast("cuda", torch.bfloat16, enabled=self.device.type == "cuda"):
            z = modules.logits(self.module, x)
        z = z.to(self.exact) - self.offset
        slope = self.loss.slope(z.detach(), self.positive[at], at)
        # Not z.backward(gradient): where the first thing to be done there is a product, a
        # thread without a CUDA context of its own does it, and torch warns.
        (z * (slope * share).to(self.exact)).sum().backward()
        z = z.detach()
        if not torch.isfinite(z).all():
            raise DivergedError(self.stage.name)
        self.last[at] = z
        self.optimizer.step()
        self.loss.advance(z, self.positive[at], at)

    def judge(self) -> bool:
        """Offer the module as it is; whether it is the best of its stage."""
        pool, name = self.plan.pool, self.stage.name
        z = modules.scores(self.module, self.chooser, self.plan.device)
        before = pool.best.get(name)
        if pool.offer(name, z, lambda: modules.to_bytes(self.module)) is None:
            raise DivergedError(self.stage.name)
        return pool.best.get(name) is not before

    # ------------------------------------------------------------------ rows
    @cached_property
    def n_steps(self) -> int:
        """Batches of an epoch, without a last one that cannot be normalised."""
        from torch.nn.modules.batchnorm import _BatchNorm

        n, size = len(self.plan.train), self.batch_size
        normalises = any(isinstance(m, _BatchNorm) for m in self.module.modules())
        if not normalises or (n % size or size) > 1:
            return -(-n // size)
        if n < size or size == 1:
            raise InputError(
                "module normalises batches, which takes two rows: "
                f"`batch_size={size}` of {n} rows leaves fewer"
            )
        return n // size

    @cached_property
    def refresh_every(self) -> int:
        """Steps between two refreshes."""
        every = self.plan.schedule.refresh_every
        if every is not None:
            return every
        least = max(min(_LEAST_STEPS, self.n_steps // _REFRESHES), 1)
        n_rows = len(self.last)
        n_seen = n_rows if self.order.all_seen else min(n_rows, _MOST_SEEN)
        return max(least, n_seen // _ROWS_A_STEP)

    def seen(self, rows: Rows | slice) -> RefreshBatch:
        """Their last scores."""
        import torch

        at = rows if isinstance(rows, slice) else torch.from_numpy(rows).to(self.device)
        z = self.last[at].cpu().numpy().astype(np.float64)
        all_ = self.plan.train
        weight = None if all_.weight is None else all_.weight[rows]
        return RefreshBatch(z, all_.positive[rows], weight)

    # ------------------------------------------------------------------ checkpoints
    def save(self) -> None:
        """Write where this stands, before a refresh: what it sets need not be kept."""
        if self.checkpoint is None or not self.checkpoint.due:
            return
        state = self.optimizer.state_dict()["state"]
        tensors = {f"{i}.{k}": t for i, kept in state.items() for k, t in kept.items()}
        descent = {
            "epoch": self.epoch,
            "step": self.step,
            "stale": self.stale,
            "offset": self.offset,
            "module": modules.to_bytes(self.module),
            "optimizer": modules.pack(tensors),
            "last": self.last.cpu().numpy(),
            "loss": self.loss.state(),
            "rng": _rng(self.device),
        }
        pool = pool_state(self.plan)
        self.checkpoint.write(
            {"stage": self.index, "fresh": self.fresh, "pool": pool, "descent": descent}
        )

    def resume(self, saved: dict[str, Any]) -> list[NDArray[np.uint8]]:
        """Go on from what was saved; the state of torch's generators is left to set."""
        import torch

        for name in ("epoch", "step", "stale", "offset"):
            setattr(self, name, saved[name])
        modules.load_bytes(self.module, saved["module"])
        state: dict[int, dict[str, torch.Tensor]] = {}
        for name, tensor in modules.unpack(saved["optimizer"]).items():
            i, _, k = name.partition(".")
            state.setdefault(int(i), {})[k] = tensor
        whole = self.optimizer.state_dict()
        self.optimizer.load_state_dict({**whole, "state": state})
        self.last.copy_(torch.from_numpy(saved["last"]))
        self.loss.resume(saved["loss"])
        rng: list[NDArray[np.uint8]] = saved["rng"]
        return rng


def _rng(device: torch.device) -> list[NDArray[np.uint8]]:
    import torch

    states = [torch.get_rng_state()]
    if device.type == "cuda":
        states.append(torch.cuda.get_rng_state(device))
    return [state.numpy() for state in states]


def _set_rng(states: list[NDArray[np.uint8]], device: torch.device) -> None:
    import torch

    torch.set_rng_state(torch.from_numpy(states[0]))
    if len(states) > 1 and device.type == "cuda":
        torch.cuda.set_rng_state(torch.from_numpy(states[1]), device)
