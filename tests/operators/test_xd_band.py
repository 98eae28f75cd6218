"""Band-frame XD: one operation on functions, whatever the grid they are sampled on."""

import copy
import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

from sciops.operators import frame as frame_module
from sciops.operators.operator import arch_parameters
from sciops.operators.xd import XD
from tests.contracts import assert_operator, random_tensor, randomise, relative_error

CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
DTYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["f32", "f64"])
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}
EVERYTHING = dict(arch_bias=True, gates=True, bias=True)


def band_xd(channels, kernel, modes, *, dtype=torch.float64, seed=0, **options):
    torch.manual_seed(seed)
    return XD(*channels, kernel, modes=modes, **options).to(dtype)


# --- functions, not samples -----------------------------------------------------------------------


def random_coefficients(batch, channels, reach, seed=0):
    """Fourier coefficients (b, c, 2h₀+1, …) of a random function, for f = −h … h on every axis."""
    return random_tensor(
        batch, channels, *(2 * h + 1 for h in reach), dtype=torch.complex128, seed=seed
    )


def sample(coefficients, points, period):
    """Re Σ c_f exp(2πi f·x / P) on a tensor grid: (b, c, *n)."""
    values = coefficients
    for x, p in zip(points, period, strict=True):
        h = values.shape[2] // 2
        f = torch.arange(-h, h + 1).double()
        wave = torch.exp(2j * math.pi * torch.outer(f, x) / p)
        values = torch.tensordot(values, wave, dims=([2], [0]))  # this axis goes last
    return values.real


def coefficients_of(y, reach):
    """Coefficients for f = −h … h of a function on uniform points, and the largest other one."""
    axes = tuple(range(2, y.ndim))
    spectrum = torch.fft.fftn(y.detach().double(), dim=axes, norm="forward")
    rest = spectrum.clone()
    for axis, h in enumerate(reach, start=2):
        assert spectrum.shape[axis] > 2 * h
        spectrum = spectrum.index_select(axis, torch.arange(-h, h + 1) % spectrum.shape[axis])
    for index in itertools.product(*(range(-h, h + 1) for h in reach)):
        rest[(..., *index)] = 0
    return spectrum, float(rest.abs().max())


def uniform(size, period):
    return [torch.arange(n).double() * (p / n) for n, p in zip(size, period, strict=True)]


def reach_of(modes):
    """The largest frequency of every axis."""
    return tuple(m - 1 if a == len(modes) - 1 else m // 2 for a, m in enumerate(modes))


def assert_same_function_on(sizes, layer, dtype, period):
    """A band-limited function sampled on these grids gives one output function."""
    modes = layer.frame.modes
    c = random_coefficients(2, layer.in_channels, reach_of(modes))
    first, scale = None, 1.0
    for size in sizes:
        x = sample(c, uniform(size, period), period).to(dtype)
        got, rest = coefficients_of(layer(x), reach_of(modes))
        if first is None:
            first, scale = got, float(got.abs().max())
        assert relative_error(got, first) < TOLERANCE[dtype], size
        assert rest < TOLERANCE[dtype] * scale, size


GRIDS_1D = [24, 25, 27, 30, 32, 33, 37, 41, 48, 50, 55, 64, 77, 85, 96, 100, 128, 141, 200, 256]


@DTYPES
@pytest.mark.parametrize("period", [1.0, 2 * math.pi])
@pytest.mark.parametrize(
    "options",
    [
        {},
        dict(depth=3, groups=2, **EVERYTHING),
        dict(weights="modes", **EVERYTHING),
        dict(weights="both", spacing="learned", **EVERYTHING),
        dict(spacing="learned", dilation=2),
        dict(depth=(0, 1, 2)),
    ],
    ids=["plain", "deep-all", "modes", "both", "spacing", "some-maps"],
)
def test_learned_layer_is_one_operation_on_twenty_grids(options, period, dtype):
    layer = randomise(band_xd((2, 4), 5, (12,), dtype=dtype, period=period, **options))
    assert len(GRIDS_1D) == 20
    assert_same_function_on([(n,) for n in GRIDS_1D], layer, dtype, (period,))


@DTYPES
@pytest.mark.parametrize("period", [(1.0, 1.0), (2 * math.pi, 0.5)], ids=["unit", "mixed"])
def test_learned_layer_is_one_operation_in_two_dimensions(period, dtype):
    sizes = [(24, 25), (25, 24), (31, 64), (64, 33), (45, 100), (27, 14), (9, 16)]
    for options in ({}, dict(depth=2, **EVERYTHING)):
        layer = randomise(band_xd((2, 3), (3, 4), (8, 6), dtype=dtype, period=period, **options))
        assert_same_function_on(sizes, layer, dtype, period)


@DTYPES
def test_learned_layer_is_one_operation_in_three_dimensions(dtype):
    sizes = [(9, 8, 10), (8, 11, 7), (12, 9, 16), (7, 16, 13)]
    layer = randomise(band_xd((2, 2), (3, 3, 3), (6, 4, 4), dtype=dtype, **EVERYTHING))
    assert_same_function_on(sizes, layer, dtype, (1.0, 1.0, 1.0))


def test_period_is_only_a_unit_of_length():
    x = random_tensor(2, 2, 30, 21, dtype=torch.float64)
    layers = [
        randomise(band_xd((2, 3), (3, 5), (8, 6), period=p)) for p in (1.0, 2 * math.pi, (0.1, 7))
    ]
    for layer in layers[1:]:
        assert relative_error(layer(x), layers[0](x)) < 1e-12


def test_spacing_is_a_physical_length():
    """Twice the period and the same spacing: the taps reach half as far into the function."""
    x = random_tensor(1, 1, 40, dtype=torch.float64)
    one = band_xd((1, 1), 5, (16,), period=1.0, spacing=0.05)
    two = band_xd((1, 1), 5, (16,), period=2.0, spacing=0.10)
    other = band_xd((1, 1), 5, (16,), period=2.0, spacing=0.05)
    assert relative_error(two(x), one(x)) < 1e-12
    assert relative_error(other(x), one(x)) > 1e-2
    assert one.frame.spacing == (0.05,)


def test_dilation_multiplies_the_distance_of_the_taps():
    x = random_tensor(1, 1, 40, dtype=torch.float64)
    far = band_xd((1, 1), 5, (16,), spacing=0.1)
    dilated = band_xd((1, 1), 5, (16,), spacing=0.05, dilation=2)
    assert relative_error(dilated(x), far(x)) < 1e-12


# --- the convolution, when the band is full -------------------------------------------------------


@pytest.mark.parametrize(
    "size",
    [(5,), (8,), (12,), (13,), (31,), (32,), (6, 9), (8, 8), (7, 12), (9, 5), (4, 6, 5), (5, 5, 6)],
    ids=str,
)
@pytest.mark.parametrize("extra", [0, 4])
def test_full_band_is_the_circular_convolution(size, extra):
    """Also where the band is wider than the grid can hold."""
    modes = [n + n % 2 + extra for n in size]
    modes[-1] = (size[-1] // 2 + 2) // 2 * 2 + extra
    kernel = tuple((3, 4, 2)[: len(size)])
    spacing = tuple(1 / n for n in size)
    x = random_tensor(2, 4, *size, dtype=torch.float64)
    for dilation, options in [
        (1, {}),
        (1, dict(groups=2, bias=True)),
        (1, dict(arch_bias=True, gates=True, depth=2)),
        (2 if len(size) == 1 and size[0] > 5 else 1, {}),
    ]:
        kind = dict(spacing=spacing, dilation=dilation, **options)
        layer = band_xd((4, 2), kernel, tuple(modes), **kind)
        spans = [dilation * (k - 1) for k in reversed(kernel)]
        flat = [p for span in spans for p in (span // 2, span - span // 2)]
        padded = F.pad(x, flat, mode="circular")
        kind = dict(groups=layer.groups, dilation=dilation)
        expected = CONV[len(size)](padded, layer.weight, layer.bias, **kind)
        assert relative_error(layer(x), expected) < 1e-12


def test_stride_subsamples_the_output():
    for stride, size in (((2,), (31,)), ((3, 2), (24, 27))):
        kernel, modes = (3,) * len(size), (8,) * len(size)
        full, strided = (randomise(band_xd((2, 3), kernel, modes, stride=s)) for s in (1, stride))
        x = random_tensor(2, 2, *size, dtype=torch.float64)
        expected = full(x)[(..., *(slice(None, None, s) for s in stride))]
        assert relative_error(strided(x), expected) < 1e-13


@DTYPES
@pytest.mark.parametrize("n", [24, 25, 100])
def test_mode_weights_are_a_fourier_layer(n, dtype):
    layer = band_xd((3, 2), 1, (10,), weights="modes", dtype=dtype)
    assert layer.weight.shape == (10, 2, 1, 2, 3)
    x = random_tensor(4, 3, n, dtype=dtype)
    weight = torch.view_as_complex(layer.weight.detach()[:, :, 0].movedim(1, -1).contiguous())
    spectrum = torch.einsum("bif,foi->bof", torch.fft.rfft(x)[..., :10], weight)
    expected = torch.fft.irfft(F.pad(spectrum, (0, n // 2 + 1 - 10)), n=n)
    assert relative_error(layer(x), expected) < TOLERANCE[dtype]


@pytest.mark.parametrize("depth", [0, 1, (1, 0, 1)])
def test_a_tilt_leaves_the_start_and_makes_high_frequencies_learn_faster(depth):
    options = dict(weights="modes", depth=depth)
    plain, tilted = (band_xd((2, 3), (1, 1), (6, 4), tilt=t, **options) for t in (0, 0.5))
    x = random_tensor(2, 2, 12, 13, dtype=torch.float64)
    assert relative_error(tilted(x), plain(x)) < 1e-6
    for layer in (plain, tilted):
        layer(x).square().sum().backward()
    f0, f1 = (torch.arange(-3, 3).abs()[:, None], torch.arange(4))
    scale = ((1 + f0 / 2) * (1 + f1 / 2))[..., None, None, None, None]
    assert relative_error(tilted.weight * scale, plain.weight) < 1e-6
    assert relative_error(tilted.weight.grad, plain.weight.grad * scale) < 1e-6


def test_taps_beside_modes_leave_the_start_and_move_all_modes_together():
    """They are zero at the start, a quarter of the shortest wave apart, and count 1/√taps each."""
    options = dict(weights="both", depth=0, grid="closed")
    both, modes = (
        band_xd((2, 3), (5, 3), (8, 4), **options | {"weights": w}) for w in ("both", "modes")
    )
    x = random_tensor(2, 2, 12, 13, dtype=torch.float64)
    assert torch.equal(both(x), modes(x))
    assert both.frame.spacing == (1.25 / 16, 1.25 / 16)
    assert [name for name, _ in both.named_parameters()] == ["weight", "taps"]
    for layer in (both, modes):
        layer(x).square().sum().backward()
    assert relative_error(both.weight.grad, modes.weight.grad) < 1e-12
    middle = both.taps.grad[2, 1]  # at no distance, all of whose phases are 1
    assert relative_error(middle, modes.weight.grad[:, :, 0].sum((0, 1)) / math.sqrt(15)) < 1e-12


# --- coarse grids ---------------------------------------------------------------------------------


def test_coarse_grid_gives_the_fine_grid_where_it_can():
    """12 points hold 5 modes; 27 of 32 are masked, and nothing of them is left."""
    c = random_coefficients(2, 2, (5,))
    for options in ({}, dict(weights="modes"), dict(arch_bias=True, gates=True)):
        layer = band_xd((2, 3), 5, (32,), **options)
        coarse, fine = (layer(sample(c, uniform((n,), (1.0,)), (1.0,))) for n in (12, 256))
        got, rest = coefficients_of(coarse, (5,))
        expected, beyond = coefficients_of(fine, (5,))
        assert relative_error(got, expected) < 1e-12
        assert max(rest, beyond) < 1e-12
        assert relative_error(coarse[..., ::3], fine[..., ::64]) < 1e-12  # common points


def test_coarse_grid_in_two_dimensions_gives_the_fine_grid_where_it_can():
    c = random_coefficients(1, 2, (3, 2))
    layer = band_xd((2, 2), (3, 3), (32, 16))
    for size in ((8, 6), (7, 5), (64, 6), (7, 40)):
        got, rest = coefficients_of(layer(sample(c, uniform(size, (1.0, 1.0)), (1.0, 1.0))), (3, 2))
        expected, _ = coefficients_of(
            layer(sample(c, uniform((64, 64), (1.0, 1.0)), (1.0, 1.0))), (3, 2)
        )
        assert relative_error(got, expected) < 1e-12 and rest < 1e-12


# --- the dense formula ----------------------------------------------------------------------------


def trapezoid(points, grid, period):
    gaps = points.diff()
    if grid == "periodic":
        gaps = torch.cat([gaps, points[:1] + period - points[-1:]])
        return (gaps + gaps.roll(1)) / 2
    zero = points.new_zeros(1)
    return (torch.cat([zero, gaps]) + torch.cat([gaps, zero])) / 2


def dense_oracle(layer, x, points):
    """Re( S K diag(C (L w + b)) M A x ) from explicit exponentials, a channel pair at a time."""
    frame, ndim = layer.frame, len(layer.frame.modes)
    k, l_map, m = (torch.ones(1, 1, dtype=torch.complex128) for _ in range(3))
    by_modes, beside = l_map, l_map
    for a, (count, p) in enumerate(zip(frame.modes, frame.period, strict=True)):
        last = a == ndim - 1
        f = torch.arange(count).double() if last else torch.arange(-count // 2, count // 2).double()
        wave = torch.exp(2j * math.pi * torch.outer(points[a], f) / p)  # (n, m)
        gap = p / len(points[a]) if frame.grid[a] == "periodic" else float(points[a].diff().max())
        nyquist = p / (2 * gap)
        kept = f.abs() <= nyquist + 1e-9
        once = (f == 0) | ((f - nyquist).abs() < 1e-9)
        twice = torch.where(once, 1.0, 2.0).double() if last else torch.ones_like(f)
        if not last and f.max() >= nyquist - 1e-9:  # both signs of the Nyquist frequency
            twice = torch.where((f.abs() - nyquist).abs() < 1e-9, 0.5, 1.0).double()
        wave = wave * kept
        analysis = twice[:, None] * wave.mH * trapezoid(points[a], frame.grid[a], p) / p
        square = [
            maps[a].as_matrix().detach()[:count, :count]
            if maps
            else torch.eye(count, dtype=torch.complex128)
            for maps in (frame.k, frame.l, frame.m)
        ]
        taps = started = (1 + frame.tilt * f.abs()).diag().to(torch.complex128)
        if frame.kernel is not None:
            count_taps, dilation = frame.kernel[a], layer.dilation[a]
            steps = dilation * (count_taps - 1) // 2 - dilation * torch.arange(count_taps).double()
            taps = torch.exp(-2j * math.pi * torch.outer(f, steps) * frame.spacing[a] / p)
        k = torch.kron(k, wave @ square[0])
        l_map = torch.kron(l_map, square[1] @ taps)
        by_modes = torch.kron(by_modes, square[1] @ started)
        m = torch.kron(m, square[2] @ analysis)
    weight = layer.weight.detach()
    if frame.on_modes:  # (*modes, 2, g, o, i) -> (o, i, *modes)
        weight = torch.view_as_complex(weight.movedim(ndim, -1).contiguous())
        weight = weight.movedim((ndim, ndim + 1, ndim + 2), (0, 1, 2)).flatten(0, 1)
        beside, l_map = l_map, by_modes
    bias = 0
    if layer.arch_bias is not None:
        bias = torch.view_as_complex(layer.arch_bias.detach()).flatten()
    y = torch.zeros(len(x), layer.out_channels, len(k), dtype=torch.float64)
    group_in, group_out = layer.in_channels // layer.groups, layer.out_channels // layer.groups
    for o, i in itertools.product(range(layer.out_channels), range(group_in)):
        d = l_map @ weight[o, i].flatten().cdouble() + bias
        if layer.taps is not None:
            t = layer.taps.detach()[..., o // group_out, o % group_out, i].flatten()
            d = d + beside @ t.cdouble() / math.sqrt(len(t))
        if layer.gates is not None:
            d = d * torch.complex(*layer.gates[o, i].detach())
        modes = x[:, o // group_out * group_in + i].flatten(1).cdouble() @ m.mT
        y[:, o] += ((d * modes) @ k.mT).real
    y = y.view(len(x), layer.out_channels, *x.shape[2:])
    return y if layer.bias is None else y + layer.bias.detach().view(-1, *[1] * ndim)


ORACLE_CASES = [  # channels, kernel, modes, size, options
    ((1, 1), (3,), (8,), (17,), {}),
    ((2, 3), (5,), (10,), (32,), dict(depth=3)),
    ((2, 4), (4,), (6,), (25,), dict(groups=2, period=3.0, spacing=0.2)),
    ((2, 2), (3,), (8,), (20,), dict(grid="closed")),
    ((2, 3), (1,), (6,), (21,), dict(weights="modes", depth=2)),
    ((2, 3), (3,), (6,), (21,), dict(depth=(0, 0, 0))),
    ((2, 2), (3,), (8,), (19,), dict(spacing="learned")),
    ((2, 2), (4,), (8,), (19,), dict(dilation=3)),
    ((2, 2), (3,), (32,), (12,), {}),  # modes beyond Nyquist, at it, and below
    ((2, 2), (3,), (16,), (13,), {}),
    ((2, 3), (3, 4), (6, 4), (13, 16), {}),
    ((4, 2), (2, 3), (4, 6), (11, 14), dict(groups=2, depth=(1, 2, 3))),
    ((2, 2), (3, 3), (6, 6), (14, 15), dict(grid=("closed", "periodic"), period=(1.5, 2.0))),
    ((4, 2), (1, 1), (4, 6), (9, 13), dict(weights="modes", groups=2)),
    ((2, 2), (1, 1), (6, 4), (9, 13), dict(weights="modes", tilt=0.25)),
    ((2, 3), (1,), (6,), (21,), dict(weights="modes", tilt=1.5, depth=(1, 0, 1))),
    ((2, 2), (5,), (12,), (25,), dict(weights="both", grid="closed")),
    ((2, 4), (3,), (8,), (20,), dict(weights="both", depth=2, tilt=0.5, groups=2, dilation=2)),
    ((2, 3), (3, 4), (6, 4), (13, 16), dict(weights="both", spacing="learned")),
    ((1, 2), (2, 3, 2), (4, 2, 4), (6, 5, 8), dict(weights="both", depth=(1, 0, 1))),
    ((1, 2), (3, 3), (8, 6), (6, 7), {}),
    ((1, 2), (3, 3), (12, 8), (12, 8), {}),
    ((1, 2), (2, 2, 2), (4, 2, 4), (6, 5, 8), {}),
]


@pytest.mark.parametrize(("channels", "kernel", "modes", "size", "options"), ORACLE_CASES)
@pytest.mark.parametrize("extra", ["", "arch_bias", "gates", "arch_bias gates bias"])
def test_learned_layer_is_the_dense_formula(channels, kernel, modes, size, options, extra):
    extras = dict.fromkeys(extra.split(), True)
    layer = randomise(band_xd(channels, kernel, modes, **options, **extras))
    x = random_tensor(2, channels[0], *size, dtype=torch.float64)
    frame = layer.frame
    points = [
        torch.linspace(0, 1, n).double() if g == "closed" else torch.arange(n).double() * p / n
        for n, g, p in zip(size, frame.grid, frame.period, strict=True)
    ]
    points = [
        torch.arange(n).double() / (n - 1) if g == "closed" else q
        for n, g, q in zip(size, frame.grid, points, strict=True)
    ]
    expected = dense_oracle(layer, x, points)
    assert relative_error(layer(x), expected) < 1e-12
    with torch.no_grad():
        assert relative_error(layer.eval()(x), expected) < 1e-12
    assert relative_error(layer.train().float()(x.float()), expected) < 1e-4


# --- coordinates ----------------------------------------------------------------------------------


@DTYPES
def test_coordinates_of_the_default_grid_change_nothing(dtype):
    for grid, period in (("periodic", 1.0), ("periodic", 2 * math.pi), ("closed", 1.25)):
        layer = randomise(band_xd((2, 3), (3, 3), (8, 6), grid=grid, period=period, dtype=dtype))
        x = random_tensor(2, 2, 24, 31, dtype=dtype)
        coords = [torch.linspace(0, 1, n, dtype=torch.float64) for n in (24, 31)]
        if grid == "periodic":
            coords = uniform((24, 31), (period, period))
        assert torch.equal(layer(x, coords=tuple(coords)), layer(x))
        rounded = tuple(c.float() for c in coords)
        assert relative_error(layer(x, coords=rounded), layer(x)) < 1e-4


def test_shifted_grids_sample_the_same_output_function():
    c = random_coefficients(2, 2, (4, 5))
    layer = randomise(band_xd((2, 2), (3, 3), (8, 6)))
    period = (1.0, 1.0)
    output, _ = coefficients_of(layer(sample(c, uniform((40, 40), period), period)), (4, 5))
    for size, shift in (((24, 25), (0.013, 0.4)), ((31, 40), (-3.3, 7.77))):
        points = [x + s for x, s in zip(uniform(size, period), shift, strict=True)]
        got = layer(sample(c, points, period), coords=tuple(points))
        assert relative_error(got, sample(output, points, period)) < 1e-12


def order(errors):
    return [math.log2(a / b) for a, b in itertools.pairwise(errors)]


def test_non_uniform_periodic_points_converge_with_order_two():
    c = random_coefficients(2, 1, (7,))
    layer = randomise(band_xd((1, 2), 3, (8,)))
    output, _ = coefficients_of(layer(sample(c, uniform((64,), (1.0,)), (1.0,))), (7,))
    errors = []
    for n in (128, 256, 512, 1024):
        t = torch.arange(n).double() / n
        points = t + 0.5 * torch.sin(2 * math.pi * t) / (2 * math.pi)
        got = layer(sample(c, [points], (1.0,)), coords=(points,))
        errors.append(relative_error(got, sample(output, [points], (1.0,))))
    assert errors[-1] < 1e-3
    assert all(1.8 < rate < 2.3 for rate in order(errors)), order(errors)


def test_random_periodic_points_converge():
    c = random_coefficients(2, 1, (5,))
    layer = randomise(band_xd((1, 2), 3, (6,)))
    output, _ = coefficients_of(layer(sample(c, uniform((64,), (1.0,)), (1.0,))), (5,))
    errors = []
    for n in (100, 400, 1600):
        jitter = torch.rand(n, dtype=torch.float64, generator=torch.Generator().manual_seed(n))
        points = (torch.arange(n) + 0.8 * jitter) / n
        got = layer(sample(c, [points], (1.0,)), coords=(points,))
        errors.append(relative_error(got, sample(output, [points], (1.0,))))
    assert errors[0] < 0.1 and errors[1] < errors[0] / 5 and errors[2] < errors[1] / 5


def smooth(*points):
    """A smooth function that is not periodic."""
    mesh = torch.meshgrid(*points, indexing="ij")
    return sum(
        torch.exp((a + 1) * x) * torch.sin(3 * x + a) for a, x in enumerate(mesh)
    ) + math.prod(mesh)


@pytest.mark.parametrize("period", [1.0, 1.25, 1.5, 3.0])
def test_closed_grids_agree_with_order_two(period):
    layer = randomise(band_xd((1, 2), 5, (8,), grid="closed", period=period))
    outputs = []
    for n in (65, 129, 257, 513):
        points = torch.arange(n).double() / (n - 1)
        stride = (n - 1) // 64
        outputs.append(layer(smooth(points)[None, None])[..., ::stride])
    differences = [relative_error(b, a) for a, b in itertools.pairwise(outputs)]
    assert all(1.8 < rate < 2.3 for rate in order(differences)), order(differences)


def test_closed_grids_in_two_dimensions_agree_with_order_two():
    layer = randomise(band_xd((1, 1), (3, 3), (8, 4), grid="closed"))
    outputs = []
    for n, m in ((33, 41), (65, 81), (129, 161), (257, 321)):
        points = [torch.arange(k).double() / (k - 1) for k in (n, m)]
        outputs.append(layer(smooth(*points)[None, None])[..., :: (n - 1) // 32, :: (m - 1) // 40])
    differences = [relative_error(b, a) for a, b in itertools.pairwise(outputs)]
    assert all(1.8 < rate < 2.3 for rate in order(differences)), order(differences)


def test_non_uniform_closed_points_converge_with_order_two():
    layer = randomise(band_xd((1, 2), 5, (8,), grid="closed"))
    outputs = []
    for n in (65, 129, 257, 513):
        t = torch.arange(n).double() / (n - 1)
        points = 0.6 * t + 0.4 * t**2
        outputs.append(layer(smooth(points)[None, None], coords=(points,))[..., :: (n - 1) // 64])
    differences = [relative_error(b, a) for a, b in itertools.pairwise(outputs)]
    assert all(1.8 < rate < 2.3 for rate in order(differences)), order(differences)


def test_closed_and_uniform_coordinates_have_one_limit():
    """Chebyshev-like points and equal ones are two quadratures of the same integrals."""
    layer = randomise(band_xd((1, 1), 5, (8,), grid="closed"))
    n = 2001
    t = torch.arange(n).double() / (n - 1)
    clustered = (1 - torch.cos(math.pi * t)) / 2
    both = layer(smooth(t)[None, None]), layer(smooth(clustered)[None, None], coords=(clustered,))
    assert relative_error(both[1][..., [0, n // 2, -1]], both[0][..., [0, n // 2, -1]]) < 1e-4


def test_closed_grid_has_room_behind_it_by_default():
    assert band_xd((1, 1), 3, (8,), grid="closed").frame.period == (1.25,)
    assert band_xd((1, 1), (3, 3), (8, 8), grid=("closed", "periodic")).frame.period == (1.25, 1.0)


# --- what is learned ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "start", ["learned", nn.Parameter(torch.tensor(0.05)), nn.Parameter(torch.tensor([0.05]))]
)
def test_learned_spacing_moves_towards_the_data(start):
    layer = band_xd((1, 1), 3, (8,), spacing=start, dtype=torch.float32)
    assert any(p is layer.frame.log_spacing for p in arch_parameters(layer))
    before = layer.frame.spacing[0]
    if not isinstance(start, str):
        assert math.isclose(before, 0.05, rel_tol=1e-6)
    target = band_xd((1, 1), 3, (8,), spacing=1.3 * before, dtype=torch.float32)
    with torch.no_grad():
        target.weight.copy_(layer.weight)
    x = random_tensor(16, 1, 32)
    wanted = target(x).detach()
    optimizer = torch.optim.Adam([layer.frame.log_spacing], lr=0.02)
    for _ in range(60):
        optimizer.zero_grad()
        (layer(x) - wanted).square().mean().backward()
        assert layer.frame.log_spacing.grad.abs() > 0
        optimizer.step()
    assert abs(layer.frame.spacing[0] / before - 1.3) < 0.05


def test_fixed_spacing_is_no_parameter():
    layer = band_xd((1, 1), 3, (8,), spacing=0.1)
    assert layer.frame.log_spacing is None and layer.frame.spacing == (0.1,)


def test_depth_zero_leaves_a_map_out():
    names = {name for name, _ in band_xd((1, 1), 3, (8,), depth=(0, 1, 0)).named_parameters()}
    assert names == {"weight", "frame.l.0.values"}


def as_function(layer):
    """The layer as a function of its input and parameters, and those."""
    names = [name for name, _ in layer.named_parameters()]
    call = lambda x, *values: functional_call(layer, dict(zip(names, values, strict=True)), (x,))
    return call, [p.detach().clone().requires_grad_() for p in layer.parameters()]


@pytest.mark.parametrize(
    ("channels", "kernel", "modes", "size", "options"),
    [
        ((1, 2), (3,), (4,), (5,), EVERYTHING),
        ((2, 1), (3,), (4,), (6,), dict(spacing="learned", depth=2)),
        ((2, 2), (2,), (4,), (5,), dict(groups=2, gates=True, grid="closed")),
        ((1, 1), (1,), (4,), (6,), dict(weights="modes", arch_bias=True)),
        ((1, 1), (2,), (4,), (6,), dict(weights="both", spacing="learned")),
        ((1, 1), (2, 2), (2, 2), (4, 3), dict(gates=True, spacing="learned")),
    ],
)
def test_gradcheck_of_input_and_all_parameters(channels, kernel, modes, size, options):
    layer = randomise(band_xd(channels, kernel, modes, **options))
    call, values = as_function(layer)
    x = random_tensor(2, channels[0], *size, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(call, (x, *values))


@pytest.mark.parametrize("size", [(5,), (4, 3)], ids=str)
def test_second_derivatives_pass_gradgradcheck(size):
    layer = randomise(band_xd((1, 1), (2,) * len(size), (2,) * len(size)))
    call, values = as_function(layer)
    x = random_tensor(1, 1, *size, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradgradcheck(call, (x, *values))


@pytest.mark.parametrize("large", [1, 60, 400])
@pytest.mark.parametrize(
    ("kernel", "modes", "size", "options"),
    [
        ((3,), (8,), (20,), {}),
        ((3, 3), (6, 4), (13, 12), {}),
        ((3, 3), (6, 4), (13, 12), dict(groups=2, **EVERYTHING)),
        ((1, 1), (6, 4), (13, 12), dict(weights="modes")),
        ((2, 2, 2), (4, 4, 2), (6, 7, 8), dict(gates=True)),
    ],
)
def test_slabs_of_the_multiplier_give_the_same_with_their_gradients(
    kernel, modes, size, options, large, monkeypatch
):
    layer = randomise(band_xd((4, 2), kernel, modes, **options))
    x = random_tensor(2, 4, *size, dtype=torch.float64).requires_grad_()
    pull = random_tensor(2, 2, *size, dtype=torch.float64, seed=7)
    results = []
    for limit in (frame_module.LARGE, large):
        monkeypatch.setattr(frame_module, "LARGE", limit)
        y = layer(x)
        results.append([y, *torch.autograd.grad(y, [x, *layer.parameters()], pull)])
    for whole, slabs in zip(*results, strict=True):
        assert relative_error(slabs, whole) < 1e-12
    with torch.no_grad():
        assert relative_error(copy.deepcopy(layer).eval()(x), results[0][0]) < 1e-12


# --- contract and errors --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "modes", "size", "other", "options"),
    [
        ((5,), (8,), (20,), (33,), dict(bias=True)),
        (
            (3, 3),
            (6, 4),
            (12, 10),
            (17, 9),
            dict(groups=2, depth=2, arch_bias=True, gates=True, stride=2),
        ),
        ((3, 3), (6, 4), (12, 10), (17, 9), dict(grid="closed", spacing="learned")),
        ((1, 1), (4, 4), (9, 8), (17, 16), dict(weights="modes", gates=True)),
        ((2, 2, 2), (2, 4, 2), (5, 6, 4), (8, 8, 8), {}),
    ],
)
def test_band_layer_keeps_the_operator_contract(kernel, modes, size, other, options):
    layer = randomise(band_xd((4, 2), kernel, modes, dtype=torch.float32, **options), 0.1)
    assert layer.resolution == "any"
    assert_operator(layer, size, other)


@pytest.mark.parametrize("modes", [3, (7,), 1, 0, (-2,), (4.0,), "many"], ids=str)
def test_odd_modes_are_refused(modes):
    with pytest.raises(ValueError, match=r"must be even numbers ≥ 2.*take the next even one"):
        XD(1, 1, 3, modes=modes)


def test_one_number_of_modes_is_an_isotropic_band():
    assert XD(1, 1, (3, 3, 3), modes=4).frame.modes == (8, 8, 4)
    assert XD(1, 1, 3).frame.modes == (16,)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            dict(spacing=0.6),
            "larger than the grid's period 1; use a positive spacing ≤ 0.5, fewer taps",
        ),
        (dict(spacing=0.3, dilation=2), "or less dilation"),
        (dict(spacing=0.0), "use a positive spacing"),
        (dict(spacing=-0.1), "use a positive spacing"),
        (dict(spacing=math.nan), "use a positive spacing"),
        (dict(spacing=(0.1, 0.1)), "spacing=.* has 2 entries, expected 1, one per axis"),
        (dict(padding=1), "keeps the grid: padding must be 'same'"),
        (dict(padding_mode="zeros"), "use grid='closed' with period > 1"),
        (dict(grid="open"), "choose 'periodic' or 'closed' for each axis"),
        (dict(grid=("closed", "closed")), "grid=.* has 2 entries, expected 1"),
        (dict(period=0.0), "must be positive and finite"),
        (dict(period=math.inf), "must be positive and finite"),
        (dict(period=-1), "must be positive and finite"),
        (dict(modes=(4, 4)), "modes=.* has 2 entries, expected 1"),
        (dict(depth=-1), "whole numbers ≥ 0 in the band frame"),
    ],
    ids=str,
)
def test_impossible_bands_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        XD(1, 1, 3, **options)


POINTS = torch.linspace(0, 0.9, 16)


@pytest.mark.parametrize(
    ("coords", "message"),
    [
        (POINTS, "tuple of 1 tensors, one per axis, got Tensor"),
        ((POINTS, POINTS), "tuple of 1 tensors, one per axis"),
        ((POINTS.tolist(),), r"coords\[0\] must be a 1-dimensional.*got list; use torch.as_tensor"),
        ((POINTS.expand(16, 16),), r"got \(16, 16\); use torch.as_tensor\(values\), not a mesh"),
        ((torch.arange(16),), "floating-point torch.Tensor"),
        ((POINTS[:-1],), r"coords\[0\] has 15 points, but axis 0 of the input has 16"),
        ((POINTS.flip(0),), "strictly increasing; sort the axis first"),
        ((POINTS.where(POINTS < 0.5, torch.nan),), "must be finite"),
        ((2 * POINTS,), "give XD a larger period= or rescale the coordinates"),
    ],
    ids=["bare", "too-many", "list", "mesh", "integers", "short", "unsorted", "nan", "long"],
)
def test_impossible_coordinates_are_refused(coords, message):
    layer = XD(1, 1, 3, modes=(8,))
    with pytest.raises(ValueError, match=message):
        layer(torch.zeros(1, 1, 16), coords=coords)


def test_closed_grid_longer_than_its_period_is_refused():
    with pytest.raises(ValueError, match="period"):
        XD(1, 1, 3, modes=(8,), grid="closed", period=0.5)(torch.zeros(1, 1, 16))
