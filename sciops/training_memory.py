"""How much memory a training step needs, from two small ones.

    step(b) = 3 p + s(b)        p bytes of parameters: gradients and two moments of Adam
                                s(b) bytes that b samples leave for the backward pass

s is linear in b, so 2 and 3 samples tell it; two, because batch normalisation cannot do with one.
What a single operation needs beside that, and gives back, does not count: it is an estimate from
below.
"""

import contextlib
import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

from .memory import expect_memory

FEW = (2, 3)


def expect_memory_to_train(
    model: nn.Module,
    samples: Dataset,
    batch_size: int,
    coords: Sequence[Tensor] | None = None,
    processes: int = 1,
) -> None:
    """ValueError with the number if a step does not fit; the model and chance stay as they are."""
    share = math.ceil(batch_size / processes)
    needed = step_bytes(model, samples, share, coords)
    expect_memory(
        needed,
        f"a training step with {share} samples",
        f"train with a smaller batch_size (now {batch_size}), a smaller network or a coarser grid",
    )


def step_bytes(
    model: nn.Module, samples: Dataset, batch: int, coords: Sequence[Tensor] | None = None
) -> int:
    """Bytes of a training step with so many samples."""
    index = _largest(samples)
    with _as_it_was(model):
        few = [saved_bytes(model, samples.__getitems__([index] * n).x, coords) for n in FEW]
    slope = (few[1] - few[0]) / (FEW[1] - FEW[0])
    parameters = sum(p.nbytes for p in model.parameters() if p.requires_grad)
    return int(3 * parameters + max(few[0] + slope * (batch - FEW[0]), 0))


def _largest(samples: Dataset) -> Any:
    """The index of a sample on the last grid, or of the longest one."""
    if getattr(samples, "grids", 1) > 1:
        return samples.grids - 1, 0
    lengths = getattr(samples, "lengths", None)
    return 0 if lengths is None else max(range(len(lengths)), key=lengths.__getitem__)


def saved_bytes(model: nn.Module, x: Tensor, coords: Sequence[Tensor] | None = None) -> int:
    """Bytes that a forward pass keeps for the backward pass, the parameters not counted."""
    own = {p.untyped_storage().data_ptr() for p in (*model.parameters(), *model.buffers())}
    kept: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor.detach()  # with its graph, an output would keep itself alive for ever

    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        y = model(x) if coords is None else model(x, tuple(coords))
    del y  # until here the graph keeps every storage alive, so no address is counted for another
    return sum(kept.values())


@contextlib.contextmanager
def _as_it_was(model: nn.Module) -> Iterator[None]:
    """Trained for a moment: statistics, mode and random numbers are given back."""
    before = [(buffer, buffer.clone()) for buffer in model.buffers()]
    training = model.training
    try:
        with torch.random.fork_rng(devices=[]):
            model.train()
            yield
    finally:
        model.train(training)
        with torch.no_grad():
            for buffer, value in before:
                buffer.copy_(value)
