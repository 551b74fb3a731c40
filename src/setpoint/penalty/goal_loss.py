"""GoalLoss: a goal as a loss for training loops of one's own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.errors import InputError, InputTypeError, nearest, quoted
from setpoint.goals import Expression, Goal, as_goal
from setpoint.parameters import Allowed, Number, check
from setpoint.penalty.losses import CrossEntropyLoss, Loss, RefreshBatch, stages_of
from setpoint.penalty.problem import Cut, Tradeoff, best_cut
from setpoint.search import InfeasibleError
from setpoint.solvers import Sigmoid, Solver, solver_of

# --- What GoalLoss is given: batches and options, checked -----------------------------------------


try:
    import torch
except ImportError as error:
    raise ImportError(
        f"GoalLoss is a module of PyTorch, which could not be imported ({error}); install it "
        "with: pip install 'setpoint[torch]'"
    ) from error


def floats(x: Any) -> NDArray[np.float64]:
    """A tensor as an array of float64."""
    return np.asarray(x.detach().double().cpu().numpy(), np.float64)


def checked(logits: Any, y: Any, weight: Any, name: str = "logits") -> tuple[Any, Any, Any]:
    """Logits (n,) in single precision at least, labels as bool, weights of the same type."""
    z = _tensor(name, logits, "floating-point numbers")
    y = _tensor("y", y, "0 and 1, as numbers or bool")
    if not z.is_floating_point():
        raise InputTypeError(f"{quoted(name)} are floating-point numbers, got {z.dtype}")
    if z.ndim == 0 or z.ndim > 2 or z.shape[1:] not in ((), (1,)):
        raise InputError(
            f"{quoted(name)} have shape (n,) or (n, 1), one number a row, got {tuple(z.shape)}"
        )
    z = z.reshape(-1)
    z = z.float() if z.element_size() < 4 else z
    y = _like("y", y, z, name)
    w = None
    if weight is not None:
        weight = _tensor("weight", weight, "numbers that are at least 0")
        w = _like("weight", weight, z, name).to(z.dtype)
    # One look at the device where all is well.
    positive = y == 1
    good = [z.isfinite(), positive | (y == 0)]
    good += [] if w is None else [w.isfinite() & (w >= 0)]
    fine = good[0].all() & good[1].all()
    if not (fine if w is None else fine & good[2].all()):
        _complain(z, y, w, name, good)
    return z, positive, w


def _tensor(name: str, x: Any, allowed: str) -> torch.Tensor:
    if isinstance(x, torch.Tensor):
        return x
    try:
        return torch.as_tensor(x if isinstance(x, list | tuple) else np.asarray(x, order="C"))
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputTypeError(
            f"{quoted(name)} is a tensor or array of {allowed}, got {_what(x)}"
        ) from error


def _what(x: Any) -> str:
    """The type of something, and the first element if it has one."""
    try:
        flat = np.asarray(x).ravel()
    except ValueError:  # lists of different lengths
        return f"a {type(x).__name__} of parts of different shapes"
    first = f" of {flat.dtype}, such as {flat[:1].tolist()[0]!r}" if flat.size else ""
    return type(x).__name__ + first


def _like(name: str, x: torch.Tensor, z: torch.Tensor, as_: str) -> torch.Tensor:
    if x.shape not in ((len(z),), (len(z), 1)):
        raise InputError(
            f"{quoted(name)} has shape ({len(z)},) or ({len(z)}, 1), as there are {len(z)} {as_}, "
            f"got {tuple(x.shape)}"
        )
    if x.is_complex():
        raise InputTypeError(f"{quoted(name)} holds real numbers, got {x.dtype}")
    return x.reshape(-1).to(z.device)


def _complain(z: Any, y: Any, w: Any, name: str, good: list[torch.Tensor]) -> None:
    which = next(k for k, those in enumerate(good) if not those.all())
    bad = (~good[which]).nonzero()
    i = int(bad[0])
    if which == 1:
        raise InputError(f"`y` holds 0 and 1, got {y[i].item()} in row {i}")
    if which == 2:
        raise InputError(
            f"`weight` holds finite numbers that are at least 0, got {w[i]} in row {i}"
        )
    why = "the model has diverged or the features are not finite"
    if name == "logits":  # of a batch
        why = (
            "the training has diverged (a smaller learning rate, clipped gradients) or the "
            "features are not finite. Nothing of this batch is remembered"
        )
    raise InputError(
        f"{quoted(name)} are finite numbers, got {float(z[i])} in row {i} and {len(bad)} "
        f"such rows in all: {why}"
    )


# --- GoalLoss: a goal as a loss function, for training loops of one's own -------------------------


_SOLVERS = ("profiled", "lagrangian", "sigmoid", "ero", "cross-entropy")
_MEMORY, _ENOUGH = 65_536, 300
_EVERY = 10
"""Steps between two refreshes: one costs a few steps of a small network."""
_HALF_WAY = 100
"""Steps after which the progress of a training of unknown length is a half, at least."""
_AS_VALUES: dict[str, Solver] = {"sigmoid": Sigmoid(temperature=5.0)}
"""At 1 a sigmoid is as wide as cross-entropy's slope, and ends below it on linear models."""
_LEAST_ROWS, _LEAST_SHARE = 20, 0.02
"""Of predicted positives: rows, and the share of the positives."""
_TOTAL = Number("a finite number above 0", 0.0, False, other=(None,))
_OPTIONS: dict[str, Allowed] = {
    "memory": Number("'auto' or a whole number of at least 2", 2, integer=True, other=("auto",)),
    "warmup": Number("a whole number of at least 0", 0, integer=True),
    "refresh_every": Number(
        "'auto' or a whole number of at least 1", 1, integer=True, other=("auto",)
    ),
    "steps": Number("None or a whole number of at least 1", 1, integer=True, other=(None,)),
    "min_positives": Number("'auto' or a finite number of at least 0", 0, other=("auto",)),
    "positives": _TOTAL,
    "negatives": _TOTAL,
}


class GoalLoss(torch.nn.Module):
    """A goal as a loss function of logits and labels, batch by batch.

    A goal such as recall at a precision is not a mean over rows, and a batch says little about
    it. The loss remembers the last logits it saw in training mode; every few steps it looks
    at them (a *refresh*) and sets the threshold, slopes and multipliers that make the loss
    of a row depend on that row alone. Until `warmup` rows and both classes were seen it is
    cross-entropy, which is where all solvers start well.

    After training, ask :meth:`threshold` with held-out scores: logits at least that high are
    decided positive.

    *The last iterate is not a guarantee*: nothing here compares it with an earlier one, or with
    cross-entropy, and it may be worse than both. Judge the model after each epoch by the `rank` of
    :meth:`cut` on held-out rows, and keep the best, as in the example.
    :class:`setpoint.ExactPenaltyClassifier` does this on its own.

    Parameters
    ----------
    goal : Goal or str
        Over the rows as a whole, not worse for more accepted positives nor for fewer accepted
        negatives. Labels in it are 0 and 1.
    solver : {"profiled", "lagrangian", "sigmoid", "ero", "cross-entropy"}
        See :class:`setpoint.ExactPenaltyClassifier`. Take "profiled": it needs the least care.
        "ero" wants `steps` and a `warmup` of a third of them. "lagrangian" swings about what it
        looks for: only the best of its iterates is of use. "sigmoid" takes temperature 5.
    memory : int or "auto"
        How many logits are looked at, the latest. Old ones are those of another model: the
        number of training rows, if not above some 50,000, is a good value. "auto" takes as
        few as hold 300 rows of each class, but the last batch, and at most 65,536.
    refresh_every : int or "auto"
        Steps between two refreshes; "auto": 10.
    warmup : int
        Rows that are seen before anything but cross-entropy is descended. A third of the
        training is a good value: from a poor start most solvers stay below cross-entropy.
    steps : int, optional
        Calls in training mode in all. "profiled" and "ero" narrow what they look at: from the
        first refresh to the last step where this is given; else half of it is done after as
        many steps more as the first refresh came after, 100 at least.
    positives, negatives : float, optional
        How many there are in the population that the goal is about; both or neither. To be
        given where batches are drawn with other shares. By default the shares remembered.
    min_positives : float or "auto"
        Rows that have to be decided positive, of those remembered; "auto": 20, or 2 % of the
        positives if that is more, but not more than there are positives.

    Raises
    ------
    ValueError, TypeError, GoalError
        For arguments, logits, labels or weights that are not as described; the message names
        what was found and what is allowed. Logits that are not finite are an error, and
        nothing of such a batch is remembered.

    Notes
    -----
    With several processes each looks at its own rows. State dicts hold all there is: a
    training goes on as if it had not been interrupted.

    Examples
    --------
    >>> import torch
    >>> from setpoint.penalty import GoalLoss
    >>> _ = torch.manual_seed(0)
    >>> x = torch.randn(2000, 5)
    >>> y = (x[:, 0] - x[:, 1] ** 2 > 0.5).float()
    >>> train, held = torch.arange(1500), torch.arange(1500, 2000)
    >>> model = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    >>> loss = GoalLoss("maximize recall subject to precision >= 0.9", steps=300, warmup=10_000)
    >>> optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    >>> best = None
    >>> for epoch in range(20):
    ...     for rows in train.split(100):
    ...         value = loss(model(x[rows]), y[rows])
    ...         value.backward()
    ...         optimizer.step()
    ...         optimizer.zero_grad()
    ...     with torch.no_grad():
    ...         cut = loss.cut(model(x[held]), y[held])
    ...     if best is None or cut.rank > best.rank:
    ...         best, kept = cut, {k: v.clone() for k, v in model.state_dict().items()}
    >>> _ = model.load_state_dict(kept)  # rows with logits >= best.threshold are accepted
    >>> best.score > 0.9, best.violation
    (True, 0.0)
    """

    def __init__(
        self,
        goal: Goal | Expression | str,
        solver: str = "profiled",
        *,
        memory: int | str = "auto",
        refresh_every: int | str = "auto",
        warmup: int = 16_384,
        steps: int | None = None,
        positives: float | None = None,
        negatives: float | None = None,
        min_positives: float | str = "auto",
    ) -> None:
        super().__init__()
        if solver not in _SOLVERS:
            raise InputError(
                f"`solver` is one of {', '.join(map(repr, _SOLVERS))}, got {solver!r} "
                f"({nearest(solver, _SOLVERS)})"
            )
        given = locals()
        if (positives is None) != (negatives is None):
            raise InputError("positives and negatives are given together or not at all")
        check(SimpleNamespace(**{name: given[name] for name in _OPTIONS}), _OPTIONS)
        self._totals: tuple[float, float] | None = None
        if positives is not None and negatives is not None:
            self._totals = float(negatives), float(positives)
        self.goal, self.solver = as_goal(goal), solver
        self.refresh_every = _EVERY if refresh_every == "auto" else int(refresh_every)
        self.warmup, self.steps, self.min_positives = int(warmup), steps, min_positives
        stage = stages_of(_AS_VALUES.get(solver) or solver_of(solver, "penalty"))[-1]
        tradeoff = Tradeoff(self.goal, *(self._totals or (1000.0, 1000.0)), any_totals=True)
        self._start: Loss = CrossEntropyLoss(tradeoff)
        self._loss = stage.loss(tradeoff, 0.0, 0)
        self._centred = stage.start == "centred"
        # Where the threshold of the loss is, 0 but for solvers that start from a good one.
        self._zero = 0.0
        self.rows_seen, self.steps_seen, self.refreshes = 0, 0, 0
        self._first_step, self._last = 0, 0
        self._scores: torch.Tensor
        self._positive: torch.Tensor
        self._weight: torch.Tensor
        self.memory, size = memory, _MEMORY if memory == "auto" else int(memory)
        self.register_buffer("_scores", torch.zeros(size))
        self.register_buffer("_positive", torch.zeros(size, dtype=torch.bool))
        self.register_buffer("_weight", torch.zeros(size))

    # ------------------------------------------------------------------ the loss
    def forward(self, logits: Any, y: Any, weight: Any = None) -> Any:
        """The loss of a batch, a mean over its rows.

        Parameters
        ----------
        logits : tensor of shape (n,) or (n, 1)
            Any floating type; computed in single precision at least.
        y : tensor of the same shape, or (n,)
            0 or 1, of any type.
        weight : tensor of shape (n,), optional
            At least 0; a row of weight zero is as if absent.

        Returns
        -------
        tensor of shape ()
            0 for a batch without rows.
        """
        z, positive, w = checked(logits, y, weight)
        if self.training:
            self._remember(z.detach(), positive, w)
            self.steps_seen += 1
            since = self.steps_seen - self._first_step
            if self.refreshes == 0 or since % self.refresh_every == 0:
                self.refresh()
        if self.refreshes == 0:
            out = self._start.value(z, positive)
        else:
            out = self._loss.value(z - self._zero, positive)
        if w is None:
            return out.sum() / max(len(z), 1)
        return (out * w).sum() / w.sum().clip(min=torch.finfo(w.dtype).tiny)

    def refresh(self) -> bool:
        """Look at the logits remembered; False if it is too early for that."""
        if self.rows_seen < self.warmup:
            return False
        seen = self._latest()
        N, P = seen.totals
        totals = self._totals or (N, P)
        scale = seen.scale(totals)
        if scale is None:
            return False
        goal = self._loss.goal.with_totals(*totals)
        least = self._least(P) * sum(totals) / (N + P)
        if self.refreshes == 0:
            goal.require_monotone()
            self._first_step = self.steps_seen
            if self._centred:
                cut = best_cut(goal, *seen, least, scale)
                self._zero = float(np.clip(cut.threshold, seen.scores.min(), seen.scores.max()))
        self._loss.aim(goal, least)
        if self._zero:
            seen = seen._replace(scores=seen.scores - self._zero)
        self._loss.refresh(seen, self.progress)
        self.refreshes += 1
        return True

    @property
    def progress(self) -> float:
        """How far the training is, from 0 to 1."""
        t = self.steps_seen - self._first_step
        if self.steps is None:
            return t / (t + max(self._first_step, _HALF_WAY))
        return min(t / max(self.steps - self._first_step, 1), 1.0)

    # ------------------------------------------------------------------ the threshold
    def threshold(self, scores: Any, y: Any, weight: Any = None) -> float:
        """The threshold of :meth:`cut`: scores at least that high are decided positive.

        Raises
        ------
        InfeasibleError
            If no threshold meets the goal on these rows.
        """
        cut = self.cut(scores, y, weight)
        if cut.violation > 0:
            raise InfeasibleError(
                f"no threshold on these scores meets the goal {str(self.goal)!r}: the least "
                f"violation is {cut.violation:.4g} (threshold {cut.threshold:.6g}). cut() returns "
                "that threshold with its violation",
                violation=cut.violation,
            )
        return cut.threshold

    def cut(self, scores: Any, y: Any, weight: Any = None) -> Cut:
        """The best threshold on these rows, found exactly, and what it reaches.

        Parameters
        ----------
        scores : array or tensor of shape (n,) or (n, 1)
            Held-out rows, for a threshold that was not chosen on what was trained on.
        y : array or tensor of the same shape, or (n,)
        weight : array or tensor of shape (n,), optional

        Returns
        -------
        Cut
            Its `violation` is above 0 where no threshold meets the goal on these rows; the
            threshold is then the one that misses it least.

        Raises
        ------
        ValueError
            If one of the classes is missing.
        """
        z, positive, w = checked(scores, y, weight, "scores")
        seen = RefreshBatch(floats(z), positive.cpu().numpy(), None if w is None else floats(w))
        N, P = seen.totals
        if N <= 0 or P <= 0:
            missing = "1" if P <= 0 else "0"
            raise InputError(f"`y` has no row of class {missing}: a threshold needs both classes")
        goal = self._loss.goal.with_totals(N, P)
        return best_cut(goal, seen.scores, seen.positive, seen.weight, self._least(P))

    def _least(self, positives: float) -> float:
        if self.min_positives != "auto":
            return float(self.min_positives)
        return min(max(_LEAST_ROWS, _LEAST_SHARE * positives), positives)

    # ------------------------------------------------------------------ the memory
    @torch.no_grad()
    def _remember(self, z: Any, positive: Any, weight: Any) -> None:
        weight = torch.ones_like(z) if weight is None else weight
        if not weight.all():
            present = weight > 0
            z, positive, weight = z[present], positive[present], weight[present]
        # What is remembered does not depend on how rows are cut into batches.
        size, n = len(self._scores), len(z)
        kept = min(n, size)
        first = self.rows_seen + n - kept
        at = torch.arange(first, first + kept, device=self._scores.device) % size
        buffers = self._scores, self._positive, self._weight
        for buffer, values in zip(buffers, (z, positive, weight), strict=True):
            buffer[at] = values[n - kept :].to(buffer)
        self.rows_seen, self._last = self.rows_seen + n, n

    def _latest(self) -> RefreshBatch:
        """What a refresh looks at, the newest first."""
        end, size = self.rows_seen, len(self._scores)
        y, n = np.roll(self._positive.cpu().numpy(), -(end % size))[::-1], min(end, size)
        if self.memory == "auto":
            met = [np.flatnonzero(y[:n] == k)[_ENOUGH - 1 : _ENOUGH] for k in (False, True)]
            if all(map(len, met)):
                n = min(n, max(self._last, *(int(x[0]) + 1 for x in met)))
        at = torch.arange(end - 1, end - 1 - n, -1, device=self._scores.device) % size
        z, w = floats(self._scores[at]), floats(self._weight[at])
        return RefreshBatch(z, y[:n], None if (w == 1.0).all() else w)

    # ------------------------------------------------------------------ the state
    def get_extra_state(self) -> dict[str, Any]:
        """The numbers of the last refresh, as plain as ``torch.load`` wants them."""
        loss = self._loss.state()
        loss = {k: tuple(v) if isinstance(v, tuple) else v for k, v in loss.items()}
        own = {k: getattr(self, k) for k in _COUNTS}
        totals = self._loss.goal.totals.tolist()
        return {
            "goal": str(self.goal),
            "solver": self.solver,
            "loss": loss,
            "totals": totals,
            **own,
        }

    def set_extra_state(self, state: dict[str, Any]) -> None:
        """Go on from :meth:`get_extra_state`.

        Raises
        ------
        ValueError
            If the state is that of another goal or solver.
        """
        self._check_state(state)
        for k in _COUNTS:
            setattr(self, k, state[k])
        self._loss.aim(self._loss.goal.with_totals(*state["totals"]), state["loss"]["least"])
        for k, v in state["loss"].items():
            like = getattr(self._loss, k)
            setattr(self._loss, k, type(like)(*v) if isinstance(like, tuple) else v)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        # Before the memory is filled with what belongs to another loss.
        if f"{prefix}_extra_state" in state_dict:
            self._check_state(state_dict[f"{prefix}_extra_state"])
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def _check_state(self, state: dict[str, Any]) -> None:
        found = state.get("goal"), state.get("solver")
        expected = str(self.goal), self.solver
        if found != expected:
            raise InputError(
                f"this GoalLoss has goal {expected[0]!r} and solver {expected[1]!r}, and the state "
                f"is that of one with goal {found[0]!r} and solver {found[1]!r}: make it with the "
                "goal and solver of the training that is to go on"
            )

    def extra_repr(self) -> str:
        """What is printed."""
        return f"{str(self.goal)!r}, solver={self.solver!r}"


_COUNTS = ("rows_seen", "_last", "steps_seen", "refreshes", "_first_step", "_zero")
