"""What every backbone must do, in every dimension; and what only resolution-invariant ones do."""

import math

import pytest
import torch

from sciops.backbones import BASELINES, FnoCnn, Normalized, UNet, make_backbone
from sciops.backbones.choice import OPERATORS, make_operator
from sciops.operators import Fixed, arch_parameters
from sciops.task import Axis, Field, Task

SMALL = {"width": 4}
ALL = [*OPERATORS, *BASELINES]


def axis(name: str, n: int, periodic: bool) -> Axis:
    points = torch.arange(n) / n if periodic else torch.linspace(0, 1, n)
    return Axis(name, tuple(points.tolist()), periodic, 1.0)


def make_task(ndim: int, n: int = 20, *, closed: bool = False) -> Task:
    """Two channels to three; in three dimensions the last axis, time, has ends."""
    kinds = [not closed] * ndim if ndim < 3 else [True, True, False]
    axes = tuple(axis(name, n, k) for name, k in zip("xyz", kinds, strict=False))
    return Task("test", (Field("a"), Field("b")), (Field("w", (0, 3)),), axes)


def built(task: Task, op: str, **options) -> Normalized:
    torch.manual_seed(0)
    model = make_backbone(task, op, **SMALL, **options)
    size = [a.size for a in task.axes]
    x = torch.randn(4, task.in_channels, *size)
    return model.fit(x, torch.randn(4, task.out_channels, *size))


@pytest.mark.parametrize("op", ALL)
@pytest.mark.parametrize(("ndim", "closed"), [(1, False), (1, True), (2, False), (2, True), (3, 0)])
def test_shapes_and_gradients(op, ndim, closed):
    task = make_task(ndim, 16 if ndim == 3 else 20, closed=bool(closed))
    options = {"taps": 3} if op in ("conv", "xd", "xd-grid") else {}
    model = built(task, op, **options)
    x = torch.randn(2, 2, *[a.size for a in task.axes])
    y = model(x)
    assert y.shape == (2, 3, *x.shape[2:])
    y.square().sum().backward()
    unused = [name for name, p in model.named_parameters() if p.grad is None]
    assert unused == []


@pytest.mark.parametrize("op", ["conv", "fno", "xd", *BASELINES])
def test_other_sizes_work(op):
    model = built(make_task(2, closed=True), op)
    assert model(torch.randn(1, 2, 33, 24)).shape == (1, 3, 33, 24)


def test_a_fixed_operator_says_so():
    model = built(make_task(2, closed=True), "xd-grid")
    assert model.model.blocks[0].operator.resolution == Fixed((20, 20))
    with pytest.raises(ValueError, match=r"20.*33"):
        model(torch.randn(1, 2, 33, 33))


@pytest.mark.parametrize(("op", "count"), [("conv", 701_185), ("fno", 2_368_257)])
def test_published_parameter_counts_in_two_dimensions(op, count):
    axes = axis("x", 85, False), axis("y", 85, False)
    task = Task("darcy", (Field("a"),), (Field("u"),), axes)
    assert sum(p.numel() for p in make_backbone(task, op, style="paper").parameters()) == count


def wave(task: Task, n: int) -> torch.Tensor:
    """A smooth input on n points of each axis."""
    points = [
        torch.arange(n, dtype=torch.float64) / (n if a.periodic else n - 1) for a in task.axes
    ]
    phase = sum(
        (i + 1) * p.view([-1 if j == i else 1 for j in range(len(points))])
        for i, p in enumerate(points)
    )
    return torch.stack([(2 * math.pi * phase).sin(), (2 * math.pi * phase + 1).cos()])[None]


def difference(coarse: torch.Tensor, fine: torch.Tensor) -> float:
    """At the common points, relative to how much the function varies."""
    varying = coarse - coarse.mean((-2, -1), keepdim=True)
    error = torch.linalg.norm(fine[..., ::2, ::2] - coarse) / torch.linalg.norm(varying)
    return error.item()


@pytest.mark.parametrize("op", ["fno", "xd"])
@pytest.mark.parametrize(("closed", "limit"), [(False, 1e-3), (True, 2e-2)])
def test_the_same_function_on_every_grid(op, closed, limit):
    """Up to what GELU adds above the modes and, on closed grids, the quadrature."""
    task = make_task(2, 24, closed=closed)
    model = strong(built(task, op, frequencies=6)).double()
    coarse, fine = (model(wave(task, n)) for n in ((48, 96) if not closed else (49, 97)))
    assert difference(coarse, fine) < limit


def strong(model: torch.nn.Module) -> torch.nn.Module:
    """The model with operators that matter as much as the pointwise maps beside them."""
    for block in model.model.blocks:
        block.operator.weight.data /= block.gain
    return model


def test_a_convolution_means_something_else_on_another_grid():
    task = make_task(2, 24)
    model = strong(built(task, "conv")).double()
    coarse, fine = model(wave(task, 48)), model(wave(task, 96))
    assert difference(coarse, fine) > 0.1


@pytest.mark.parametrize("op", ["fno", "xd"])
def test_coordinates_of_the_default_grid_change_nothing(op):
    task = make_task(2, 21, closed=True)
    model = built(task, op).eval()
    x = torch.randn(1, 2, 21, 21)
    points = torch.linspace(0, 1, 21, dtype=torch.float64)
    torch.testing.assert_close(model(x, (points, points)), model(x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("op", ["conv", "fno", "xd"])
def test_without_positions_it_commutes_with_shifts(op):
    x = torch.randn(3, 2, 20, 20)
    for positions in (False, True):
        model = built(make_task(2), op, positions=positions)
        shifted = model(x.roll((3, 7), (2, 3)))
        same = torch.allclose(shifted, model(x).roll((3, 7), (2, 3)), atol=1e-5)
        assert same is not positions


@pytest.mark.parametrize("op", ["conv", "fno", "xd", "xd-grid"])
def test_a_gain_leaves_the_start_and_counts_steps_of_operators(op):
    options = {"taps": 3} if op in ("conv", "xd-grid") else {}
    x = torch.randn(3, 2, 20)
    plain, fast = (built(make_task(1), op, gain=gain, **options) for gain in (1.0, 4.0))
    torch.testing.assert_close(fast(x), plain(x), rtol=1e-5, atol=1e-5)
    for model in (plain, fast):
        model(x).square().sum().backward()
    one, four = (model.model.blocks[0].operator.weight.grad for model in (plain, fast))
    torch.testing.assert_close(four, 4 * one, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("gain", [0, -1.0, math.inf, "4"])
def test_a_gain_that_is_no_positive_number_is_refused(gain):
    with pytest.raises(ValueError, match=r"gain=.* must be a positive number"):
        make_backbone(make_task(1), "fno", gain=gain)


def test_only_xd_and_dnarch_have_an_architecture():
    task, known = make_task(1), ("xd", "xd-grid", "dnarch")
    assert all(arch_parameters(make_backbone(task, op, **SMALL)) for op in known)
    others = [op for op in ALL if op not in known]
    assert not any(arch_parameters(make_backbone(task, op, **SMALL)) for op in others)


def test_a_unet_has_as_many_levels_as_the_shortest_axis_allows():
    axes = tuple(axis(name, n, True) for name, n in zip("xyz", (32, 32, 10), strict=True))
    task = Task("test", (Field("a"),), (Field("w"),), axes)
    assert len(UNet(task, width=2).down) == 3
    assert UNet(task, width=2)(torch.zeros(1, 1, 32, 32, 10)).shape == (1, 1, 32, 32, 10)
    assert len(UNet(make_task(2, 20), width=2).down) == 4


def test_xd_on_the_grid_starts_as_the_convolution():
    task = make_task(2, 12)
    conv, xd = make_operator("conv", 3, task, taps=5), make_operator("xd-grid", 3, task, taps=5)
    xd.weight.data.copy_(conv.weight.data)
    x = torch.randn(2, 3, 12, 12)
    torch.testing.assert_close(xd(x), conv(x), rtol=1e-4, atol=1e-4)


def test_normalisation_is_of_the_training_data_in_physical_units():
    x, y = 5 + 3 * torch.randn(8, 2, 30), 1e-3 * torch.randn(8, 1, 30) - 7
    model = Normalized(torch.nn.Conv1d(2, 1, 1), 2, 1).fit(x, y)
    seen = []
    model.model.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    out = model(x)
    torch.testing.assert_close(seen[0].mean((0, 2)), torch.zeros(2), atol=1e-4, rtol=0)
    torch.testing.assert_close(seen[0].std((0, 2), correction=0), torch.ones(2))
    assert abs(out.mean().item() + 7) < 0.1
    other = Normalized(torch.nn.Conv1d(2, 1, 1), 2, 1)
    other.load_state_dict(model.state_dict())
    torch.testing.assert_close(other(x), model(x))


def test_constant_channels_are_not_divided_by_zero():
    x = torch.stack([torch.full((4, 9), 3.0), torch.randn(4, 9)], 1)
    model = Normalized(torch.nn.Conv1d(2, 1, 1), 2, 1).fit(x, torch.randn(4, 1, 9))
    assert torch.isfinite(model(x)).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda t: make_backbone(t, "fnoo"),
            "no op='fnoo'; there are conv, fno, xd, xd-grid",
        ),
        (lambda t: make_backbone(t, "fno", taps=3), "op='fno' does not take these options"),
        (lambda t: FnoCnn(t, "xd", style="old"), "style='old' is not known; choose one of paper"),
        (lambda t: UNet(t)(torch.zeros(1, 2, 9)), "needs 16 points or more.*fewer levels"),
    ],
)
def test_bad_requests(make, message):
    with pytest.raises(ValueError, match=message):
        make(make_task(1))


def test_unknown_normalisation_is_refused_and_bad_data_are_named():
    model = Normalized(torch.nn.Conv1d(1, 1, 1))
    with pytest.raises(RuntimeError, match="not known yet"):
        model(torch.zeros(1, 1, 5))
    with pytest.raises(ValueError, match="training targets have NaN"):
        model.fit(torch.zeros(1, 1, 2), torch.full((1, 1, 2), float("nan")))


@pytest.mark.parametrize("op", ALL)
def test_a_state_is_tensors_and_comes_back(op):
    task = make_task(2, 20)
    options = {"taps": 3} if op in ("conv", "xd", "xd-grid") else {}
    model, other = built(task, op, **options), make_backbone(task, op, **SMALL, **options)
    state = model.state_dict()
    assert all(isinstance(value, torch.Tensor) for value in state.values())
    other.load_state_dict(state)
    x = torch.randn(1, task.in_channels, 20, 20)
    assert torch.equal(model.eval()(x), other.eval()(x))
