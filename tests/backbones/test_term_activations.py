"""Activation functions as terms: values by hand, all of them finite with finite gradients."""

import math
import random

import pytest
import torch

from sciops.backbones.term_activations import BINARY, UNARY, ActivationFunction
from sciops.grammars.ready import ready_space
from sciops.grammars.sampling import Sampler
from sciops.grammars.term import parse_term

HALF = torch.tensor([0.5], dtype=torch.float64)
VALUES = {
    "x": 0.5, "negative": -0.5, "absolute": 0.5, "square": 0.25, "cube": 0.125,
    "root": math.sqrt(0.501), "scaled": 0.5, "shifted": 0.5, "log": math.log(0.501),
    "exp": math.exp(0.5), "sin": math.sin(0.5), "cos": math.cos(0.5), "sinh": math.sinh(0.5),
    "cosh": math.cosh(0.5), "tanh": math.tanh(0.5), "asinh": math.asinh(0.5),
    "atan": math.atan(0.5), "sinc": math.sin(0.5) / 0.5, "relu": 0.5, "below": 0.0,
    "sigmoid": 1 / (1 + math.exp(-0.5)), "softplus": math.log(1 + math.exp(0.5)),
    "bell": math.exp(-0.25), "erf": math.erf(0.5), "constant": 1.0,
}  # fmt: skip
OF_HALF_AND_ONE = {
    "add": 1.5, "mul": 0.5, "sub": -0.5, "div": 0.5 / 1.001, "maximum": 1.0, "minimum": 0.5,
    "gate": 1 / (1 + math.exp(-0.5)), "near": math.exp(-0.25), "close": math.exp(-0.5),
    "blend": 0.75,
}  # fmt: skip


def value(text: str, x: torch.Tensor) -> torch.Tensor:
    return ActivationFunction(parse_term(text)).double()(x)


@pytest.mark.parametrize("name", UNARY)
def test_unary_functions(name):
    assert value(f"Unary({name})", HALF).item() == pytest.approx(VALUES[name])


@pytest.mark.parametrize("name", BINARY)
def test_binary_functions(name):
    text = f"Binary({name}, x, constant)"
    assert value(text, HALF).item() == pytest.approx(OF_HALF_AND_ONE[name])


def test_the_grammar_has_these_functions():
    names = {*UNARY, *BINARY}
    assert (len(UNARY), len(BINARY), len(names)) == (25, 10, 35)
    assert set(ready_space("activations").grammar.primitives) == names


def test_known_functions():
    x = torch.linspace(-3, 3, 7, dtype=torch.float64)
    swish = value("Binary(gate, Unary(x), Unary(x))", x)
    torch.testing.assert_close(swish, torch.nn.functional.silu(x))
    torch.testing.assert_close(value("Unary(Unary(relu))", x), x.relu())


def test_all_stay_finite():
    sampler, rng = Sampler(ready_space("activations").grammar), random.Random(0)
    for term in [sampler.draw(rng) for _ in range(60)]:
        x = torch.tensor([-4.0, -1e-9, 0.0, 1.0, 4.0], requires_grad=True)
        y = ActivationFunction(term)(x)
        y.sum().backward()
        assert y.isfinite().all() and (x.grad is None or x.grad.isfinite().all()), str(term)


@pytest.mark.parametrize("text", ["conv3", "Binary(x, x, x)", "Unary(add)", "Linear1(x)"])
def test_other_terms_are_no_functions(text):
    with pytest.raises(ValueError, match="no activation function: expected Binary"):
        ActivationFunction(parse_term(text))
