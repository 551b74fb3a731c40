"""Networks of the user as models."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import gen_batches

from setpoint.array_types import Floats
from setpoint.errors import InputError, InputTypeError
from setpoint.packages import needed_by

if TYPE_CHECKING:
    import torch


# --- Torch modules: made, checked, scored and stored ----------------------------------------------


_HIDDEN = (64, 64, 64)
_MOST_ROWS, _MOST_NUMBERS = 8192, 1 << 24
"""A batch that is only scored: rows, and numbers where rows are wide."""
_RESIDENT = 0.5
"""Share of a GPU's free memory that rows may take."""
_BATCHES, _SMALLEST_BATCH, _LARGEST_BATCH = 64, 32, 512
"""Batches of an epoch, of a size within these."""


def needed(name: str) -> Any:
    """A module of torch or safetensors by its full name; see :func:`needed_by`."""
    return needed_by("networks and checkpoints", "torch", name)


def device_for(name: str) -> str:
    """The device to use; "auto" is CUDA where there is any, else the CPU."""
    torch = needed("torch")
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError, TypeError) as error:
        said = str(error).partition("\n")[0]
        raise InputError(f"`device={name!r}` cannot be used here: {said}") from error
    if device.type == "meta":
        raise InputError("`device='meta'` holds no numbers, so nothing can be trained there")
    return str(device)


# ---------------------------------------------------------------------- making
@contextmanager
def seeded(*key: int) -> Iterator[None]:
    """Within, torch draws from this seed; after, the user's generators are as before."""
    torch = needed("torch")
    seed = int(np.random.SeedSequence(key).generate_state(1, np.uint64)[0])
    # In a process forked from one that used CUDA there is none.
    usable = torch.cuda.is_available() and not torch.cuda._is_in_bad_fork()
    n_devices = torch.cuda.device_count() if usable else 0
    with torch.random.fork_rng(devices=range(n_devices)):
        torch.manual_seed(seed)
        yield


def build(module: str | Callable[..., Any], n_features: int, seed: int) -> torch.nn.Module:
    """A new module, and the same one each time."""
    torch = needed("torch")
    with seeded(seed):
        made = _made(module, n_features)
        check_output(made, n_features)
    if not any(p.requires_grad for p in made.parameters()):
        raise InputError("`module` has no parameters to train")
    for name, value in made.state_dict().items():
        if not isinstance(value, torch.Tensor):
            raise InputError(f"module keeps {name}, {_describe(value)}: only tensors can be stored")
    return made


def _made(module: str | Callable[..., Any], d: int) -> torch.nn.Module:
    from torch import nn

    if module == "linear":
        return nn.Linear(d, 1)
    if module == "mlp":
        sizes = [d, *_HIDDEN]
        layers = [(nn.Linear(a, b), nn.ReLU()) for a, b in pairwise(sizes)]
        return nn.Sequential(*(one for pair in layers for one in pair), nn.Linear(sizes[-1], 1))
    if isinstance(module, nn.Module):
        raise InputTypeError(
            f"`module` is a {type(module).__name__} that is made already, and several fits would "
            "share its weights: give a function that makes it"
        )
    if not callable(module):
        raise InputTypeError(
            f"`module={module!r}`: 'linear', 'mlp' or a function that makes a torch module is "
            "needed"
        )
    made = module(*_arguments(module, d))
    if not isinstance(made, nn.Module):
        raise InputTypeError(f"module returned {_describe(made)}, which is not a torch.nn.Module")
    return made


def _arguments(factory: Callable[..., Any], d: int) -> tuple[int, ...]:
    """The number of features, or nothing, as the factory takes it."""
    try:
        signature = inspect.signature(factory)
    except ValueError:  # written in C
        return (d,)
    for arguments in ((d,), ()):
        with suppress(TypeError):
            signature.bind(*arguments)
            return arguments
    raise InputTypeError(
        f"`module` takes {signature}: it is called with the number of features, or with nothing"
    )


def check_output(module: torch.nn.Module, n_features: int) -> None:
    """Refuse what does not give one logit a row."""
    import torch

    was = module.training
    module.eval()
    try:
        with torch.no_grad():
            # The first call also gives lazy modules their shape.
            out = module(torch.zeros(2, n_features, dtype=dtype_of(module)))
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        raise InputError(f"module cannot take rows of {n_features} features: {error}") from error
    finally:
        module.train(was)
    if not isinstance(out, torch.Tensor) or tuple(out.shape) not in ((2,), (2, 1)):
        raise InputError(
            f"module made {_describe(out)} of 2 rows, and one logit for each row is needed: "
            "shape (2,) or (2, 1)"
        )


def _describe(x: Any) -> str:
    shape = getattr(x, "shape", None)
    return f"a {type(x).__name__}" + ("" if shape is None else f" of shape {tuple(shape)}")


# ---------------------------------------------------------------------- rows
def batch_size_for(n_rows: int) -> int:
    """Rows of a batch in training, where nobody said how many.

    Examples
    --------
    >>> batch_size_for(500), batch_size_for(10_000), batch_size_for(1_000_000)
    (32, 156, 512)
    """
    return min(max(n_rows // _BATCHES, _SMALLEST_BATCH), _LARGEST_BATCH)


def rows_at_once(n_features: int) -> int:
    """Rows of a batch that is only scored.

    Examples
    --------
    >>> rows_at_once(50), rows_at_once(100_000)
    (8192, 167)
    """
    return max(1, min(_MOST_ROWS, _MOST_NUMBERS // max(n_features, 1)))


def batches(n_rows: int, size: int) -> Iterator[slice]:
    """Slices of so many rows, of which there may be none."""
    return iter(gen_batches(n_rows, size) if n_rows else ())


def dtype_of(module: torch.nn.Module) -> torch.dtype:
    """Of the module's parameters; float32 where it has none yet."""
    import torch
    from torch.nn.parameter import UninitializedParameter

    for p in module.parameters():
        if not isinstance(p, UninitializedParameter) and p.is_floating_point():
            return p.dtype
    return torch.float32


def as_batch(X: Any, rows: slice | NDArray[np.int64], like: torch.dtype) -> torch.Tensor:
    """Some rows of an array, CSR matrix or :func:`resident` tensor, dense; only they are copied."""
    import torch

    if isinstance(X, torch.Tensor):
        if isinstance(rows, slice):
            return X[rows].clone()  # a module may change what it is given
        return X[torch.from_numpy(rows).to(X.device)]
    kind = np.float64 if like == torch.float64 else np.float32
    some = X[rows]
    with np.errstate(over="ignore"):  # an infinity is seen in the scores
        if isinstance(some, np.ndarray):
            dense = some.astype(kind, copy=isinstance(rows, slice))
        else:
            dense = some.astype(kind).toarray()
    return torch.from_numpy(dense).to(like)


def resident(X: Any, like: torch.dtype, device: str) -> Any:
    """Rows as a dense tensor on a GPU, where there is room for them; else as they are."""
    import torch

    where = torch.device(device)
    n, d = X.shape
    if where.type != "cuda":
        return X
    if n * d * like.itemsize > _RESIDENT * torch.cuda.mem_get_info(where)[0]:
        return X
    out = torch.empty((n, d), dtype=like, device=where)
    for part in batches(n, rows_at_once(d)):
        out[part] = as_batch(X, part, like)
    return out


# ---------------------------------------------------------------------- scoring
def logits(module: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    """Logits (n,) of a batch (n, d)."""
    out: torch.Tensor = module(x).reshape(-1)
    return out


def scores(
    module: torch.nn.Module,
    X: Any,
    device: str = "cpu",
    rows: NDArray[np.int64] | slice | None = None,
) -> Floats:
    """Logits (n,) in evaluation mode, batch by batch."""
    import torch

    if isinstance(rows, slice):
        X, rows = X[rows], None
    out = np.empty(X.shape[0] if rows is None else len(rows))
    like, was = dtype_of(module), module.training
    module.to(device).eval()
    try:
        with torch.no_grad():
            for part in batches(len(out), rows_at_once(X.shape[1])):
                some = part if rows is None else rows[part]
                z = logits(module, as_batch(X, some, like).to(device))
                out[part] = (z if like == torch.float64 else z.float()).cpu().numpy()
    finally:
        module.train(was)
    return out


# ---------------------------------------------------------------------- storing
def pack(tensors: Mapping[str, torch.Tensor]) -> bytes:
    """Tensors as the bytes of a safetensors file."""
    # Copies, because tied weights share their memory, which the format refuses.
    own = {name: t.detach().cpu().contiguous().clone() for name, t in tensors.items()}
    out: bytes = needed("safetensors.torch").save(own)
    return out


def unpack(data: bytes) -> dict[str, torch.Tensor]:
    """Tensors from :func:`pack`."""
    out: dict[str, torch.Tensor] = needed("safetensors.torch").load(data)
    return out


def to_bytes(module: torch.nn.Module) -> bytes:
    """Parameters and buffers."""
    return pack(module.state_dict())


def load_bytes(module: torch.nn.Module, data: bytes) -> None:
    """Parameters and buffers from :func:`to_bytes` of a module that was made likewise."""
    module.load_state_dict(unpack(data))


def module_of(module: Any, state: bytes, n_features: int) -> torch.nn.Module:
    """A module as :func:`build` makes it, with what :func:`to_bytes` kept, in eval mode."""
    made = build(module, n_features, 0)
    load_bytes(made, state)
    return made.eval()
