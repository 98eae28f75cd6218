"""The gradient of DARTS by differences against autograd through the step of the weights."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

from sciops.operators import XD, arch_parameters, weight_parameters
from sciops.operators.discrete import Discrete
from sciops.searching.bilevel import first_order, gradients, second_order, values_kept
from tests.contracts import random_tensor, relative_error


def exact(model, weights, architecture, train_loss, val_loss, rate: float) -> list[torch.Tensor]:
    """∇_α L_val(w − ξ ∇_w L_train(w, α), α), differentiated through the step."""
    slopes = torch.autograd.grad(train_loss(), weights, create_graph=True)
    stepped = {id(w): w - rate * g for w, g in zip(weights, slopes, strict=True)}
    values = {name: stepped.get(id(p), p) for name, p in model.named_parameters()}
    return torch.autograd.grad(val_loss(values), architecture)


def problem(layer: nn.Module):
    """A network of one searched layer, and its losses on two batches."""
    torch.manual_seed(0)
    model = nn.Sequential(layer, nn.Tanh(), nn.Flatten(), nn.Linear(2 * 8, 3)).double()
    x, y = random_tensor(2, 6, 1, 8, dtype=torch.float64), torch.randint(3, (2, 6))

    def loss(batch: int, values=None):
        out = model(x[batch]) if values is None else functional_call(model, values, (x[batch],))
        return F.cross_entropy(out, y[batch])

    return model, lambda: loss(0), lambda values=None: loss(1, values)


LAYERS = {
    "xd": lambda: XD(1, 2, 3, frame="grid", size=8, padding_mode="zeros", arch_bias=True),
    "discrete": lambda: Discrete(1, 2, margins=((0, 0),), bias=True),
}


@pytest.mark.parametrize("kind", LAYERS)
def test_second_order_is_the_gradient_through_the_step(kind):
    model, train_loss, val_loss = problem(LAYERS[kind]())
    weights, architecture = weight_parameters(model), arch_parameters(model)
    before = [w.detach().clone() for w in weights]
    found = second_order(weights, architecture, train_loss, val_loss, rate=0.3)
    assert all(torch.equal(w, b) for w, b in zip(weights, before, strict=True))
    expected = exact(model, weights, architecture, train_loss, val_loss, 0.3)
    first = first_order(architecture, val_loss)
    whole, wanted, short = (torch.cat([g.flatten() for g in gs]) for gs in (found, expected, first))
    error = (whole - wanted).norm() / wanted.norm()
    assert error < 1e-4
    assert (short - wanted).norm() / wanted.norm() > 100 * error  # the term matters


def test_first_order_is_second_order_without_a_step():
    model, train_loss, val_loss = problem(LAYERS["xd"]())
    weights, architecture = weight_parameters(model), arch_parameters(model)
    still = second_order(weights, architecture, train_loss, val_loss, rate=0.0)
    first = first_order(architecture, val_loss)
    assert max(map(relative_error, still, first)) < 1e-12


def test_both_sides_of_the_difference_have_the_same_dropout():
    model, _, val_loss = problem(LAYERS["xd"]())
    dropout, x = nn.Dropout(0.5), random_tensor(6, 1, 8, dtype=torch.float64)
    weights, architecture = weight_parameters(model), arch_parameters(model)

    def noisy():
        return dropout(model[0](x)).square().mean()

    torch.manual_seed(3)
    found = second_order(weights, architecture, noisy, val_loss, rate=0.1)
    torch.manual_seed(3)
    again = second_order(weights, architecture, noisy, val_loss, rate=0.1)
    assert all(torch.equal(a, b) for a, b in zip(found, again, strict=True))
    direct = second_order(weights, architecture, noisy, val_loss, rate=0.0)
    change = torch.cat([(a - b).flatten() for a, b in zip(found, direct, strict=True)]).norm()
    assert change < 1.0  # other masks on either side would be divided by 2ε


def test_parameters_that_do_not_matter_have_gradient_zero():
    used, unused = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(3))
    frozen = nn.Parameter(torch.ones(1), requires_grad=False)
    found = gradients(used.square().sum(), [unused, used, frozen])
    assert [g.tolist() for g in found] == [[0, 0, 0], [2, 2], [0]]


def test_values_come_back_after_an_error():
    w = nn.Parameter(torch.arange(3.0))
    with pytest.raises(RuntimeError), values_kept([w]):
        w.data.add_(1)
        raise RuntimeError
    assert w.tolist() == [0, 1, 2]
