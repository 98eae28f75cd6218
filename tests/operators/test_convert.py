"""A converted layer is the layer it came from: at every pixel, in its gradients, under training."""

import copy
import itertools
import warnings

import pytest
import torch
from safetensors.torch import load, save
from torch import nn
from torch.nn.utils import parametrizations, parametrize, prune

from sciops.operators.convert import xd_from_avg_pool, xd_from_conv
from sciops.operators.operator import Fixed, arch_parameters, weight_parameters
from sciops.operators.xd import XD

# what torch says of convolutions of even kernels with padding="same"
pytestmark = pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel:UserWarning")
CONVS = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}
POOLS = {1: nn.AvgPool1d, 2: nn.AvgPool2d, 3: nn.AvgPool3d}


def old_weight_norm(layer: nn.Module, dim: int | None = 0) -> nn.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return nn.utils.weight_norm(layer, dim=dim)


def distance(new: torch.Tensor, old: torch.Tensor) -> float:
    assert new.shape == old.shape and new.dtype == old.dtype
    return float(((new - old).norm() / old.norm()).detach())


def line_cases():
    """Every kernel, size and padding mode in 1-D, with varying stride, dilation and padding."""
    strides = itertools.cycle([1, 2, 3])
    dilations = itertools.cycle([1, 2])
    paddings = itertools.cycle(["same", "valid", 1, 2, 0])
    for mode, kernel, size in itertools.product(["zeros", "circular"], range(1, 6), [9, 12, 16]):
        padding, stride, dilation = next(paddings), next(strides), next(dilations)
        stride = 1 if padding == "same" else stride
        yield (
            size,
            {
                "kernel_size": kernel,
                "padding": padding,
                "stride": stride,
                "dilation": dilation,
                "padding_mode": mode,
            },
        )


PLANE_AND_SPACE_CASES = [
    ((8, 8), {"kernel_size": 3, "padding": 1}),
    ((8, 8), {"kernel_size": 3, "padding": 1, "padding_mode": "circular"}),
    ((7, 10), {"kernel_size": 3, "padding": "same", "padding_mode": "circular", "groups": 2}),
    ((7, 10), {"kernel_size": (1, 4), "padding": "same", "groups": 4, "bias": False}),
    ((9, 6), {"kernel_size": (4, 2), "padding": (2, 1), "stride": (2, 1), "groups": 2}),
    ((5, 5), {"kernel_size": 5, "padding": 2, "stride": 2}),
    ((5, 5), {"kernel_size": 5}),
    (
        (12, 16),
        {"kernel_size": 3, "padding": 2, "dilation": 2, "padding_mode": "circular", "stride": 2},
    ),
    ((12, 9), {"kernel_size": (2, 3), "dilation": (3, 2), "padding": "same"}),
    ((8, 8), {"kernel_size": 1, "stride": 2, "bias": False}),
    ((6, 8), {"kernel_size": 3, "padding": 5}),  # more padding than kernel
    ((1, 4), {"kernel_size": 1}),
    ((4, 5, 6), {"kernel_size": 3, "padding": 1}),
    ((4, 5, 3), {"kernel_size": (2, 3, 1), "padding": "same", "padding_mode": "circular"}),
    ((4, 4, 8), {"kernel_size": 2, "stride": 2, "groups": 4}),
    (
        (5, 4, 4),
        {
            "kernel_size": (3, 1, 2),
            "dilation": (2, 1, 2),
            "padding": (2, 0, 1),
            "stride": (1, 2, 1),
        },
    ),
]
CASES = [((size,), kwargs) for size, kwargs in line_cases()] + PLANE_AND_SPACE_CASES


@pytest.mark.parametrize(("size", "kwargs"), CASES, ids=str)
def test_xd_is_the_convolution_at_every_pixel(size, kwargs):
    torch.manual_seed(0)
    conv = CONVS[len(size)](4, 8, **kwargs)
    x = torch.randn(2, 4, *size)
    assert distance(XD.from_conv(conv, size)(x), conv(x)) < 1e-5
    conv, x = conv.double(), x.double()
    layer = xd_from_conv(conv, size)
    assert layer.resolution == Fixed(size)
    assert distance(layer(x), conv(x)) < 1e-12
    x1, x2 = x.clone().requires_grad_(), x.clone().requires_grad_()
    y = conv(x1)
    direction = torch.randn_like(y)
    y.backward(direction)
    layer(x2).backward(direction)
    assert distance(x2.grad, x1.grad) < 1e-12
    for name, parameter in conv.named_parameters():
        assert distance(layer.get_parameter(name).grad, parameter.grad) < 1e-12


@pytest.mark.parametrize("depth", [2, (1, 3, 2)])
def test_depth_gates_and_bias_of_the_architecture_do_not_change_the_start(depth):
    conv = nn.Conv2d(4, 4, 3, padding=1, groups=2).double()
    layer = xd_from_conv(conv, (6, 8), depth=depth, arch_bias=True, gates=True)
    x = torch.randn(2, 4, 6, 8, dtype=torch.float64)
    assert distance(layer(x), conv(x)) < 1e-12
    assert layer.gates is not None and layer.arch_bias is not None


def test_layer_is_a_copy_in_mode_and_dtype():
    conv = nn.Conv1d(2, 2, 3).double().eval()
    conv.bias.requires_grad_(False)
    state = torch.get_rng_state()
    layer = xd_from_conv(conv, 8)
    assert torch.equal(torch.get_rng_state(), state)  # nothing random in it
    assert not layer.training and not layer.bias.requires_grad and layer.weight.requires_grad
    assert {p.dtype for p in layer.parameters()} == {torch.float64}
    assert layer.weight.data_ptr() != conv.weight.data_ptr()
    old = conv.weight.clone()
    with torch.no_grad():
        layer.weight.zero_()
    assert torch.equal(conv.weight, old)


def test_long_axis():
    conv = nn.Conv1d(2, 3, 5, padding=4, dilation=2).double()
    x = torch.randn(1, 2, 1500, dtype=torch.float64)
    assert distance(xd_from_conv(conv, 1500)(x), conv(x)) < 1e-12


# --- larger kernels -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "kernel_size", "kwargs"),
    [
        ((9,), 5, {"kernel_size": 2, "padding": 1}),
        ((12,), 4, {"kernel_size": 1, "stride": 2}),
        ((16,), 5, {"kernel_size": 3, "padding": 2, "dilation": 2, "padding_mode": "circular"}),
        ((8, 8), 5, {"kernel_size": 3, "padding": 1, "padding_mode": "circular"}),
        ((7, 10), (5, 3), {"kernel_size": 3, "padding": "same", "groups": 2}),
        ((5, 6, 4), (4, 3, 2), {"kernel_size": 2, "padding": 1, "stride": 2}),
    ],
)
@pytest.mark.parametrize("depth", [1, 2])
def test_larger_kernel_is_the_same_function(size, kernel_size, kwargs, depth):
    conv = CONVS[len(size)](4, 4, **kwargs).double()
    x = torch.randn(2, 4, *size, dtype=torch.float64)
    layer = xd_from_conv(conv, size, kernel_size=kernel_size, depth=depth)
    assert layer.weight.shape[2:] == torch.Size(layer.kernel_size) != conv.weight.shape[2:]
    assert distance(layer(x), conv(x)) < 1e-12


def test_blind_taps_learn_nothing_until_l_sees_them():
    conv = nn.Conv2d(2, 2, 3, padding=1).double()
    layer = xd_from_conv(conv, (8, 8), kernel_size=5)
    x = torch.randn(2, 2, 8, 8, dtype=torch.float64)
    own = torch.zeros_like(layer.weight, dtype=torch.bool)
    own[..., 1:4, 1:4] = True
    assert torch.equal(layer.weight[own], conv.weight.flatten())
    assert bool((layer.weight[~own] != 0).all())
    layer(x).square().sum().backward()
    assert bool((layer.weight.grad[~own] == 0).all()) and bool(layer.weight.grad[own].any())
    assert all(bool(k.values.grad.any()) for k in layer.frame.l)
    before = layer(x)
    torch.optim.SGD(layer.frame.l.parameters(), lr=1e-3).step()
    layer.zero_grad()
    layer(x).square().sum().backward()
    assert bool(layer.weight.grad[~own].any())
    assert distance(layer(x), before) > 0


def test_outer_taps_are_kaiming_normal():
    layer = xd_from_conv(nn.Conv2d(64, 32, 1), (8, 8), kernel_size=5)
    assert float(layer.weight[..., 1].detach().std()) == pytest.approx(
        (2 / (64 * 25)) ** 0.5, rel=0.05
    )


# --- band frame -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "kernel_size", "kwargs"),
    [
        ((16,), None, {"kernel_size": 3, "padding": 1}),
        ((15,), 5, {"kernel_size": 2, "padding": "same"}),
        ((12, 8), None, {"kernel_size": 3, "padding": 2, "dilation": 2, "stride": 2, "groups": 2}),
        ((8, 9), 5, {"kernel_size": (3, 4), "padding": "same"}),
    ],
)
def test_band_frame_is_the_convolution_of_functions_in_the_band(size, kernel_size, kwargs):
    conv = CONVS[len(size)](2, 4, **kwargs, padding_mode="circular").double()
    layer = xd_from_conv(conv, size, kernel_size=kernel_size, frame="band", modes=8)
    x = torch.randn(2, 2, *size, dtype=torch.float64)
    x = torch.fft.fftn(x, dim=tuple(range(2, x.ndim)))
    for axis, n in enumerate(size):  # nothing at the Nyquist frequency
        kept = torch.fft.fftfreq(n).abs() < 0.5 - 1e-9
        x = x * kept.view(-1, *[1] * (len(size) - 1 - axis))
    x = torch.fft.ifftn(x, dim=tuple(range(2, x.ndim))).real
    assert layer.resolution == "any"
    assert distance(layer(x), conv(x)) < 1e-12


def test_band_frame_of_zero_padding_is_closed():
    conv = nn.Conv1d(1, 1, 3, padding=1).double()
    layer = xd_from_conv(conv, 65, frame="band", modes=16)
    assert layer.frame.grid == ("closed",) and layer.frame.spacing == (1 / 64,)
    t = torch.linspace(0, 1, 65, dtype=torch.float64)
    x = torch.exp(-80 * (t - 0.5) ** 2)[None, None]  # smooth, zero at the ends
    assert distance(layer(x)[..., 1:-1], conv(x)[..., 1:-1]) < 1e-3
    learned = xd_from_conv(conv, 65, frame="band", spacing="learned")
    assert learned.frame.spacing == pytest.approx((1 / 64,))
    assert learned.frame.log_spacing.requires_grad


# --- weight norm ----------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", [parametrizations.weight_norm, old_weight_norm])
@pytest.mark.parametrize("dim", [0, 1, None])
def test_weight_norm_is_kept_and_trains_alike(norm, dim):
    torch.manual_seed(0)
    conv = norm(nn.Conv1d(3, 4, 3, padding=2, dilation=2).double(), dim=dim)
    x = torch.randn(2, 3, 12, dtype=torch.float64)
    with torch.no_grad():  # `conv.weight` of the older norm is now outdated
        next(p for n, p in conv.named_parameters() if n.endswith(("_g", "original0"))).mul_(1.7)
    layer = xd_from_conv(conv, 12)
    assert len(weight_parameters(layer)) == 3
    assert distance(layer(x), conv(x)) < 1e-12
    steps = [torch.optim.SGD(m, lr=0.1) for m in (weight_parameters(layer), conv.parameters())]
    for _ in range(2):
        for net, optimiser in zip((layer, conv), steps, strict=True):
            optimiser.zero_grad()
            net(x).square().mean().backward()
            optimiser.step()
        assert distance(layer(x), conv(x)) < 1e-12


def test_weight_norm_survives_eval_cache_copy_and_state_dict():
    conv = parametrizations.weight_norm(nn.Conv1d(2, 2, 3, padding=1))
    layer = xd_from_conv(conv, 8).eval()
    x = torch.randn(2, 2, 8)
    with torch.no_grad():
        before = layer(x)
        layer.parametrizations.weight.original0.mul_(2)
        bias = layer.bias.view(-1, 1)
        torch.testing.assert_close(layer(x) - bias, 2 * (before - bias))
        assert torch.equal(copy.deepcopy(layer)(x), layer(x))
        other = xd_from_conv(conv, 8).eval()
        other.load_state_dict(load(save(layer.state_dict())))
        assert torch.equal(other(x), layer(x))


def test_larger_kernel_with_weight_norm():
    conv = parametrizations.weight_norm(nn.Conv2d(2, 3, 3, padding=1).double())
    layer = xd_from_conv(conv, (6, 8), kernel_size=5)
    x = torch.randn(2, 2, 6, 8, dtype=torch.float64)
    assert distance(layer(x), conv(x)) < 1e-12
    assert parametrize.is_parametrized(layer, "weight")


# --- average pooling ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "kwargs"),
    [
        ((9,), {"kernel_size": 2}),
        ((16,), {"kernel_size": 3, "stride": 2, "padding": 1}),
        ((8, 7), {"kernel_size": 2}),
        ((8, 7), {"kernel_size": (3, 2), "stride": 1, "padding": (1, 0), "divisor_override": 5}),
        ((8, 8), {"kernel_size": 2, "ceil_mode": True}),
        ((9, 8), {"kernel_size": 3, "stride": 2, "count_include_pad": False}),
        ((4, 6, 5), {"kernel_size": 2, "stride": (2, 1, 2), "padding": 1}),
    ],
    ids=str,
)
@pytest.mark.parametrize("depth", [1, 2])
def test_xd_is_average_pooling(size, kwargs, depth):
    pool = POOLS[len(size)](**kwargs)
    x = torch.randn(2, 3, *size)
    assert distance(xd_from_avg_pool(pool, size, 3, depth=depth)(x), pool(x)) < 1e-5
    x = x.double()
    layer = xd_from_avg_pool(pool, size, 3, depth=depth, dtype=x.dtype)
    assert distance(layer(x), pool(x)) < 1e-12
    layer(x).square().sum().backward()
    assert not layer.weight.grad.any() and layer.frame.l[0].values.grad.any()
    assert bool(layer.arch_bias.grad.any()) and bool(layer.gates.grad.any())


@pytest.mark.parametrize(
    ("pool", "options", "message"),
    [
        (nn.AvgPool1d(2, padding=1, count_include_pad=False), {}, "count_include_pad=True"),
        (nn.AvgPool1d(2, ceil_mode=True), {}, "ceil_mode=False"),
        (nn.AvgPool1d(2), {"frame": "band"}, "frame='grid' only"),
        (nn.AvgPool1d(2), {"gates": False}, "gates=True"),
        (nn.AvgPool1d(10), {}, "larger than the grid"),
    ],
)
def test_pools_that_are_no_convolution_say_why(pool, options, message):
    with pytest.raises(ValueError, match=message):
        xd_from_avg_pool(pool, 9, 2, **options)


# --- errors ---------------------------------------------------------------------------------------


class Shifted(nn.Conv1d):
    def forward(self, x):
        return super().forward(x) + 1


def hooked(conv: nn.Module) -> nn.Module:
    conv.register_forward_hook(lambda module, args, output: 2 * output)
    return conv


@pytest.mark.parametrize(
    ("conv", "options", "message"),
    [
        (nn.Conv1d(2, 2, 3, padding=1, padding_mode="reflect"), {}, "'reflect'.*'zeros' or 'circ"),
        (nn.Conv1d(2, 2, 5), {"kernel_size": 3}, r"\(3,\) is smaller than the conv's own \(5,\)"),
        (nn.Conv1d(2, 2, 3), {"kernel_size": 9}, "larger than the grid of 8"),
        (nn.Conv1d(2, 2, 9, padding=4), {}, "larger than the grid of 8"),
        (nn.Conv1d(2, 2, 3), {"frame": "causal"}, "'grid' or 'band', got 'causal'"),
        (nn.Conv1d(2, 2, 3), {"frame": "band"}, r"axis 0 has padding \(0, 0\).*padding='same'"),
        (
            nn.Conv1d(2, 2, 2, dilation=2, padding="same"),
            {"frame": "band", "kernel_size": 3},
            "both odd or both even",
        ),
        (nn.Conv1d(2, 2, 3).bfloat16(), {}, r"bfloat16; use conv.float\(\)"),
        (nn.LazyConv1d(2, 3), {}, "no weights yet; run the model once"),
        (parametrizations.spectral_norm(nn.Conv1d(2, 2, 3)), {}, "_SpectralNorm"),
        (prune.l1_unstructured(nn.Conv1d(2, 2, 3), "weight", 2), {}, "forward hook.*L1Unstr"),
        (Shifted(2, 2, 3), {}, "Shifted has a forward of its own"),
        (hooked(nn.Conv1d(2, 2, 3)), {}, "remove it first"),
    ],
)
def test_convs_that_cannot_be_converted_say_why(conv, options, message):
    with pytest.raises(ValueError, match=message):
        xd_from_conv(conv, 8, **options)


def test_wrong_size_and_wrong_type():
    with pytest.raises(ValueError, match=r"size=\(8, 8\) has 2 entries, expected 1"):
        xd_from_conv(nn.Conv1d(2, 2, 3), (8, 8))
    for layer in (nn.ConvTranspose1d(2, 2, 3), nn.Linear(2, 2)):
        with pytest.raises(TypeError, match=r"nn.Conv1d, nn.Conv2d, nn.Conv3d, got"):
            xd_from_conv(layer, 8)
    with pytest.raises(TypeError, match=r"nn.AvgPool3d, got MaxPool2d"):
        xd_from_avg_pool(nn.MaxPool2d(2), 8, 2)


def test_parameters_are_weights_or_architecture():
    layer = xd_from_conv(nn.Conv2d(2, 4, 3), 8, gates=True, arch_bias=True, kernel_size=5)
    weights, architecture = weight_parameters(layer), arch_parameters(layer)
    assert {id(p) for p in weights} == {id(layer.weight), id(layer.bias)}
    assert len(weights) + len(architecture) == len(list(layer.parameters()))
