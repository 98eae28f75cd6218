"""Shared batteries: what every member of a contract must satisfy, whatever else it does.

`assert_linear_map` is for learnable square matrices (`op(x)` along the last axis and
`op.as_matrix()`), `assert_operator` for layers on `(batch, channel, *space)`; the rest are tools.
"""

import copy
import math

import pytest
import torch
from safetensors.torch import load, save
from torch import Tensor, nn

from sciops.operators.operator import Fixed, arch_parameters, weight_parameters

DTYPES = (torch.float32, torch.float64)


def relative_error(value: Tensor, expected: Tensor) -> float:
    """The largest difference, relative to the largest entry of `expected`."""
    assert value.shape == expected.shape, f"{tuple(value.shape)} is not {tuple(expected.shape)}"
    if expected.numel() == 0:
        return 0.0
    value, expected = value.detach(), expected.detach()
    scale = float(expected.abs().max())
    error = float((value - expected).abs().max()) / (scale if scale > 0 else 1.0)
    return error if math.isfinite(error) else math.inf  # max() would lose a NaN


def randomise(module: nn.Module, scale: float = 0.3, seed: int = 0) -> nn.Module:
    """Move every parameter at random, as no training would dare to."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            noise = torch.randn(parameter.shape, dtype=torch.float64, generator=generator)
            parameter.add_(scale * noise.to(parameter.dtype))
    return module


def random_tensor(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> Tensor:
    """Normal noise that is the same number for number in every (real or complex) precision."""
    generator = torch.Generator().manual_seed(seed)
    wide = torch.complex128 if dtype.is_complex else torch.float64
    return torch.randn(shape, dtype=wide, generator=generator).to(dtype)


def assert_gradients_reach(module: nn.Module, loss: Tensor) -> None:
    """Every parameter has a finite gradient that is not zero."""
    module.zero_grad()
    loss.backward()
    for name, parameter in module.named_parameters():
        gradient = parameter.grad
        assert gradient is not None, f"no gradient reaches {name}"
        assert torch.isfinite(gradient).all(), f"the gradient of {name} is not finite"
        assert gradient.abs().sum() > 0, f"the gradient of {name} is zero"


def linearity_error(function, x: Tensor, y: Tensor) -> float:
    """How far f(2x − 3y) − f(0) is from 2 (f(x) − f(0)) − 3 (f(y) − f(0))."""
    rest = function(torch.zeros_like(x))
    combined = 2 * (function(x) - rest) - 3 * (function(y) - rest)
    return relative_error(function(2 * x - 3 * y) - rest, combined)


def assert_linear_map(op: nn.Module, n: int) -> None:
    """`op` is the n × n matrix `op.as_matrix()`, learnable and only as inexact as its dtype."""
    matrix = op.as_matrix()
    assert matrix.shape == (n, n)
    errors = {}
    for dtype in DTYPES:
        member = copy.deepcopy(op).to(dtype)
        matrix = member.as_matrix()
        x, y = random_tensor(2, 3, 5, n, dtype=dtype)
        linearity = linearity_error(member, x, y)  # additive and homogeneous
        dense = relative_error(member(x), x.to(matrix.dtype) @ matrix.mT)
        row = relative_error(member(x[0, 0]), member(x)[0, 0])  # any leading shape, also none
        errors[dtype] = max(linearity, dense, row)
        assert_gradients_reach(member, member(x).abs().square().sum())
    assert errors[torch.float32] < 1e-5
    assert errors[torch.float64] < 1e-13


def assert_operator(op: nn.Module, size: tuple[int, ...], other: tuple[int, ...]) -> None:
    """`op` keeps the operator contract on grids of `size`, and its word on `other` ones."""
    matrix = op.as_matrix(size).detach()
    errors = {}
    for dtype in DTYPES:
        member = copy.deepcopy(op).to(dtype)
        x, y = random_tensor(2, 3, op.in_channels, *size, dtype=dtype)
        out = member(x)
        assert out.dtype == dtype and out.shape[:2] == (3, op.out_channels)
        rest = member(torch.zeros_like(x))
        dense = (x.flatten(1) @ member.as_matrix(size).mT).view_as(out) + rest
        errors[dtype] = max(linearity_error(member, x, y), relative_error(out, dense))
        assert_gradients_reach(member, out.square().sum())
    assert errors[torch.float32] < 1e-4
    assert errors[torch.float64] < 1e-12
    assert matrix.shape == (out[0].numel(), x[0].numel())
    assert_parameters_are_weights_or_architecture(op)
    assert_file_round_trip(op, random_tensor(2, op.in_channels, *size))
    assert_resolution_contract(op, size, other)
    assert type(op).__name__ in repr(op)


def assert_parameters_are_weights_or_architecture(op: nn.Module) -> None:
    architecture, weights = arch_parameters(op), weight_parameters(op)
    assert {id(p) for p in op.arch_parameters()} == {id(p) for p in architecture}
    ids = [id(p) for p in architecture + weights]
    assert len(ids) == len(set(ids)) and set(ids) == {id(p) for p in op.parameters()}
    assert any(p is op.weight for p in weights)


def assert_file_round_trip(op: nn.Module, x: Tensor) -> None:
    """Saved as safetensors and loaded into a layer of other values, it gives the same bits."""
    assert all(v.is_floating_point() for v in op.state_dict().values())  # real, no pickle needed
    stored = save({name: value.contiguous() for name, value in op.state_dict().items()})
    twin = randomise(copy.deepcopy(op), seed=99)
    assert not torch.equal(twin(x), op(x))
    twin.load_state_dict(load(stored))
    assert torch.equal(twin(x), op(x))


def assert_resolution_contract(
    op: nn.Module, size: tuple[int, ...], other: tuple[int, ...]
) -> None:
    x = random_tensor(1, op.in_channels, *other)
    if op.resolution == "any":
        assert torch.isfinite(op(x)).all()
        with pytest.raises(ValueError, match=r"say which with as_matrix\(size\)"):
            op.as_matrix()
    else:
        assert op.resolution == Fixed(size)
        assert op.as_matrix().shape[1] == op.in_channels * x[0, 0].new_zeros(size).numel()
        with pytest.raises(ValueError, match="was built for size"):
            op(x)
