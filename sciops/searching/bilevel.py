"""The gradient of DARTS: an architecture α judged on data its weights w were not trained with.

    min_α L_val(w*(α), α),        w*(α) = argmin_w L_train(w, α)

One step of weights stands for w*.  With w' = w − ξ ∇_w L_train(w, α) the gradient for α is

    ∇_α L_val(w', α) − ξ ∇²_αw L_train(w, α) g,        g = ∇_w' L_val(w', α)

of *second order*; the product with g is a difference quotient,

    (∇_α L_train(w + εg, α) − ∇_α L_train(w − εg, α)) / 2ε,        ε = 0.01 / ‖g‖

ξ = 0 leaves the *first order*, ∇_α L_val(w, α)  (Liu et al. 2019, arXiv:1806.09055).
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor, nn

STEP = 0.01  # ‖εg‖

Loss = Callable[[], Tensor]
Parameters = Sequence[nn.Parameter]


def first_order(architecture: Parameters, val_loss: Loss) -> list[Tensor]:
    """∇_α L_val(w, α), one tensor a parameter."""
    return gradients(val_loss(), architecture)


def second_order(
    weights: Parameters, architecture: Parameters, train_loss: Loss, val_loss: Loss, rate: float
) -> list[Tensor]:
    """∇_α L_val(w − ξ ∇_w L_train, α) by differences; weights are afterwards as they were.

    train_loss, val_loss: the losses of a batch each, as functions of the present parameters
    rate: ξ
    """
    with values_kept(weights):
        _shift(weights, gradients(train_loss(), weights), -rate)
        both = gradients(val_loss(), [*architecture, *weights])
    direct, g = both[: len(architecture)], both[len(architecture) :]
    norm = float(torch.stack([one.norm() for one in g]).norm())
    if norm == 0:
        return direct
    epsilon, sides = STEP / norm, []
    for side in (epsilon, -epsilon):
        with values_kept(weights), torch.random.fork_rng(devices=[]):  # both with the same noise
            _shift(weights, g, side)
            sides.append(gradients(train_loss(), architecture))
    triples = zip(direct, *sides, strict=True)
    return [d - rate * (plus - minus) / (2 * epsilon) for d, plus, minus in triples]


def gradients(loss: Tensor, parameters: Parameters) -> list[Tensor]:
    """Of a loss, zeros where it does not depend on a parameter."""
    learning = [p for p in parameters if p.requires_grad]
    found = torch.autograd.grad(loss, learning, allow_unused=True)
    by_id = {id(p): g for p, g in zip(learning, found, strict=True) if g is not None}
    return [by_id.get(id(p), torch.zeros_like(p)) for p in parameters]


@contextlib.contextmanager
def values_kept(tensors: Sequence[Tensor]) -> Iterator[None]:
    """Give tensors their values back, to the bit."""
    before = [t.detach().clone() for t in tensors]
    try:
        yield
    finally:
        with torch.no_grad():
            for tensor, value in zip(tensors, before, strict=True):
                tensor.copy_(value)


def _shift(weights: Parameters, direction: Sequence[Tensor], by: float) -> None:
    with torch.no_grad():
        for w, d in zip(weights, direction, strict=True):
            w.add_(d, alpha=by)
