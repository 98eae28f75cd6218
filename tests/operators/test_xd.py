"""XD as a torch module, in all frames: state, caches, autocast, export, graphs and errors."""

import copy
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from sciops.operators import grid as grid_module
from sciops.operators import scratch
from sciops.operators.operator import Fixed, arch_parameters, weight_parameters
from sciops.operators.xd import XD
from tests.contracts import random_tensor, randomise, relative_error

ROOT = Path(__file__).parents[2]
EVERYTHING = dict(arch_bias=True, gates=True, bias=True)
LAYERS = {  # a kind of layer → how to build it, and the size of its input
    "band": (lambda **o: XD(2, 4, 5, modes=(8,), **o), (21,)),
    "band-2d": (lambda **o: XD(2, 4, (3, 3), modes=(6, 4), spacing="learned", **o), (12, 13)),
    "band-modes": (lambda **o: XD(2, 4, (1, 1), modes=(6, 4), weights="modes", **o), (12, 13)),
    "band-both": (lambda **o: XD(2, 4, (3, 3), modes=(6, 4), weights="both", **o), (12, 13)),
    "band-closed": (lambda **o: XD(2, 4, (3, 3), modes=(6, 4), grid="closed", **o), (12, 13)),
    "grid": (lambda **o: XD(2, 4, 3, frame="grid", size=16, **o), (16,)),
    "grid-2d": (lambda **o: XD(2, 4, (3, 2), frame="grid", size=(8, 11), depth=3, **o), (8, 11)),
    "causal": (lambda **o: XD(2, 4, 3, frame="causal", size=16, dilation=2, **o), (37,)),
}
KIND = pytest.mark.parametrize("kind", LAYERS)
OPTIONS = pytest.mark.parametrize(
    "options", [{}, EVERYTHING, dict(groups=2)], ids=["plain", "everything", "groups"]
)


def build(kind, dtype=torch.float32, seed=0, **options):
    """A layer away from its start, and an input for it."""
    make, size = LAYERS[kind]
    torch.manual_seed(seed)
    layer = randomise(make(**options), 0.1, seed=seed).to(dtype)
    return layer, random_tensor(3, 2, *size, dtype=dtype, seed=seed)


# --- state ----------------------------------------------------------------------------------------


@KIND
@OPTIONS
def test_safetensors_file_gives_bit_equal_outputs(kind, options, tmp_path):
    layer, x = build(kind, **options)
    path = tmp_path / "layer.safetensors"
    save_file(layer.state_dict(), path)
    twin, _ = build(kind, seed=1, **options)
    assert not torch.equal(twin(x), layer(x))
    twin.load_state_dict(load_file(path))
    assert torch.equal(twin(x), layer(x))
    with torch.no_grad():
        assert torch.equal(twin.eval()(x), layer.eval()(x))


@KIND
def test_parameters_are_real_tensors_of_one_dtype(kind):
    for dtype in (torch.float32, torch.float64):
        layer, _ = build(kind, dtype, **EVERYTHING)
        assert {p.dtype for p in layer.parameters()} == {dtype}
        assert set(layer.state_dict()) == {name for name, _ in layer.named_parameters()}


@KIND
def test_resolution_is_any_or_fixed(kind):
    layer, x = build(kind)
    assert layer.resolution == (Fixed(tuple(x.shape[2:])) if kind.startswith("grid") else "any")


@KIND
@OPTIONS
def test_parameters_are_weights_or_architecture(kind, options):
    layer, _ = build(kind, **options)
    model = nn.Sequential(layer, nn.ReLU(), layer, nn.Linear(2, 2))  # shared: counted once
    architecture = {id(p) for p in arch_parameters(model)}
    expected = {
        id(p) for name, p in layer.named_parameters() if name not in ("weight", "taps", "bias")
    }
    assert architecture == expected and len(arch_parameters(model)) == len(expected)
    rest = {id(p) for p in weight_parameters(model)}
    assert rest == {id(p) for p in model.parameters()} - architecture


@KIND
def test_reset_draws_weights_and_leaves_the_architecture(kind):
    layer, _ = build(kind, **EVERYTHING)
    before = copy.deepcopy(layer.state_dict())
    layer.reset_parameters()
    for name, value in layer.state_dict().items():
        assert torch.equal(value, before[name]) == (name not in ("weight", "taps", "bias")), name


def test_weights_start_as_those_of_a_convolution():
    for make in (
        lambda: XD(3, 8, (5, 5), modes=(8, 8), bias=True),
        lambda: XD(3, 8, (5, 5), frame="grid", size=8, bias=True),
    ):
        torch.manual_seed(0)
        layer = make()
        torch.manual_seed(0)
        conv = nn.Conv2d(3, 8, 5)
        assert torch.equal(layer.weight, conv.weight) and torch.equal(layer.bias, conv.bias)


def test_mode_weights_keep_the_energy_of_the_modes():
    torch.manual_seed(0)
    layer = XD(16, 16, (1, 1), modes=(16, 8), weights="modes")
    energy = layer.weight.detach().square().sum(-4).mean()  # |w|² = 1 / fan_in
    assert abs(float(energy) * 16 - 1) < 0.05


@KIND
def test_deepcopy_is_independent(kind):
    layer, x = build(kind)
    layer.eval()
    with torch.no_grad():
        y = layer(x)  # fills the cache
        twin = copy.deepcopy(layer)
        assert torch.equal(twin(x), y)
        randomise(twin, seed=3)
        assert not torch.equal(twin(x), y)
        assert torch.equal(layer(x), y)


# --- eval mode keeps what it folded, until it changes ---------------------------------------------


@KIND
@OPTIONS
def test_eval_output_is_the_training_output(kind, options):
    layer, x = build(kind, torch.float64, **options)
    y = layer(x)
    layer.eval()
    assert torch.equal(layer(x), y)  # with gradients
    with torch.no_grad():
        assert relative_error(layer(x), y) < 1e-13
        assert torch.equal(layer(x), layer(x))
        assert relative_error(layer.train()(x), y) < 1e-13


@KIND
def test_eval_follows_every_change_of_the_parameters(kind):
    layer, x = build(kind, torch.float64, **EVERYTHING)

    def assert_fresh(model):
        with torch.no_grad():
            cached = model.eval()(x.to(model.weight.dtype))
            again = model(x.to(model.weight.dtype))
            fresh = copy.deepcopy(model).train()(x.to(model.weight.dtype))
        assert torch.equal(cached, again)
        assert relative_error(cached, fresh) < 1e-5
        return cached

    outputs = [assert_fresh(layer)]
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.01)  # steps in eval mode
    layer(x).square().sum().backward()
    optimizer.step()
    outputs.append(assert_fresh(layer))
    other, _ = build(kind, torch.float64, seed=5, **EVERYTHING)
    layer.load_state_dict(other.state_dict())
    outputs.append(assert_fresh(layer))
    for name, parameter in layer.named_parameters():
        with torch.no_grad():
            parameter.mul_(1.1)
        outputs.append(assert_fresh(layer))
        assert relative_error(outputs[-1], outputs[-2]) > 1e-6, name
    layer.load_state_dict(copy.deepcopy(other.state_dict()), assign=True)
    outputs.append(assert_fresh(layer))
    assert relative_error(outputs[-1], outputs[2]) < 1e-13
    layer.float()
    assert assert_fresh(layer).dtype == torch.float32
    layer.double()
    assert assert_fresh(layer).dtype == torch.float64
    layer.weight = nn.Parameter(2 * layer.weight.detach())
    assert relative_error(assert_fresh(layer), outputs[-1]) > 1e-3


@KIND
def test_eval_serves_different_grids_and_batches(kind):
    layer, x = build(kind, torch.float64)
    layer.eval()
    inputs = [x, x[:1]]
    if layer.resolution == "any":
        inputs += [random_tensor(2, 2, *(n + 3 for n in x.shape[2:]), dtype=torch.float64), x]
    expected = [layer(v) for v in inputs]
    with torch.no_grad():
        for v, y in zip(inputs, expected, strict=True):
            assert relative_error(layer(v), y) < 1e-13


INFERENCE_FIRST = """
import torch
from sciops.operators.xd import XD

options = {options}
layer = XD(2, 2, 3, **options)
x = torch.randn(2, 2, 16)
with torch.inference_mode():
    before = layer(x)
    layer.eval()(x)
    layer.train()
layer(x).square().sum().backward()
with torch.no_grad():
    layer.eval()(x)
assert torch.allclose(layer(x), before, atol=1e-6)
assert all(p.grad is not None for p in layer.parameters())
"""


def test_training_works_after_a_first_use_in_inference_mode():
    """In a fresh interpreter, as Lightning's sanity check does; the caches are the process's."""
    for options in (dict(modes=(8,)), dict(frame="grid", size=16), dict(frame="causal", size=16)):
        command = [sys.executable, "-c", INFERENCE_FIRST.format(options=options)]
        result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr


# --- graphs ---------------------------------------------------------------------------------------


def gradients(layer, y, **options):
    pull = random_tensor(*y.shape, dtype=y.dtype, seed=11)
    return torch.autograd.grad(y, list(layer.parameters()), pull, **options)


@KIND
@OPTIONS
def test_outputs_are_never_overwritten_by_later_calls(kind, options):
    layer, x = build(kind, **options)
    for mode in (torch.enable_grad, torch.no_grad):
        with mode():
            first = layer(x)
            kept, given = first.clone(), x.clone()
            for seed in range(3):
                layer(random_tensor(*x.shape, seed=seed + 20))
            assert torch.equal(first, kept)
            assert torch.equal(x, given)


def assert_graphs_live_side_by_side(layer, x, other):
    alone = [gradients(layer, layer(v)) for v in (x, other)]
    for turn in (1, -1):
        graphs = [layer(x), layer(other)]
        with torch.no_grad():
            layer(x + other)
        together = [gradients(layer, y) for y in graphs[::turn]][::turn]
        for one, both in zip(alone, together, strict=True):
            assert all(relative_error(b, a) < 1e-13 for a, b in zip(one, both, strict=True))


@KIND
@OPTIONS
def test_two_graphs_live_side_by_side(kind, options):
    """Gradients do not depend on what else was computed between forward and backward."""
    layer, x = build(kind, torch.float64, **options)
    assert_graphs_live_side_by_side(layer, x, random_tensor(*x.shape, dtype=x.dtype, seed=9))


@pytest.mark.parametrize(
    "options",
    [dict(modes=(8,)), dict(modes=(6, 4)), dict(frame="grid", size=16), dict(frame="grid", size=8)],
    ids=["band", "band-2d", "grid", "grid-2d"],
)
def test_one_sample_of_one_channel_is_as_good_as_many(options):
    """Where a transposed copy of one column may be no copy."""
    ndim = 2 if options.get("size") == 8 or len(options.get("modes", ())) == 2 else 1
    layer = randomise(XD(1, 1, (3,) * ndim, **options).double(), 0.1)
    size = (options.get("size", 16),) * ndim
    x, other = (random_tensor(1, 1, *size, dtype=torch.float64, seed=seed) for seed in (0, 1))
    assert_graphs_live_side_by_side(layer, x, other)
    both = layer(torch.cat([x, other]))
    single = [layer(x), layer(other)]
    assert relative_error(torch.cat(single), both) < 1e-13
    pull = random_tensor(*both.shape, dtype=torch.float64, seed=2)
    parameters = list(layer.parameters())
    expected = torch.autograd.grad(both, parameters, pull)
    parts = [torch.autograd.grad(y, parameters, p[None]) for y, p in zip(single, pull, strict=True)]
    for wanted, one, two in zip(expected, *parts, strict=True):
        assert relative_error(one + two, wanted) < 1e-12


@KIND
@OPTIONS
def test_backward_can_be_repeated(kind, options):
    layer, x = build(kind, torch.float64, **options)
    y = layer(x)
    first = [g.clone() for g in gradients(layer, y, retain_graph=True)]
    second = gradients(layer, y, retain_graph=True)
    third = gradients(layer, y, create_graph=True)
    for a, b, c in zip(first, second, third, strict=True):
        assert relative_error(b, a) < 1e-13 and relative_error(c, a) < 1e-13


@KIND
def test_a_layer_used_twice_in_one_graph_has_the_right_gradient(kind):
    """The gradient of the weights against a finite difference along a random direction."""
    layer, x = build(kind, torch.float64)
    channels = torch.randn(2, 4, generator=torch.Generator().manual_seed(0)).double()
    call = lambda: layer(torch.einsum("io,bo...->bi...", channels, layer(x))).square().mean()
    call().backward()
    direction = [
        random_tensor(*p.shape, dtype=p.dtype, seed=i) for i, p in enumerate(layer.parameters())
    ]
    slope = sum(
        float((p.grad * d).sum()) for p, d in zip(layer.parameters(), direction, strict=True)
    )
    step, values = 1e-6, []
    with torch.no_grad():
        for sign in (1, -2):
            for p, d in zip(layer.parameters(), direction, strict=True):
                p.add_(sign * step * d)
            values.append(float(call()))
    assert abs((values[0] - values[1]) / (2 * step) - slope) < 1e-5 * abs(slope) + 1e-9


@KIND
def test_gradient_checkpointing_gives_the_same_gradients(kind):
    layer, x = build(kind, torch.float64, gates=True)
    plain = gradients(layer, layer(x))
    saved = gradients(layer, torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False))
    assert all(relative_error(b, a) < 1e-13 for a, b in zip(plain, saved, strict=True))


@KIND
def test_frozen_architecture_gets_no_gradient_and_weights_still_do(kind):
    layer, x = build(kind, torch.float64, **EVERYTHING)
    layer(x).square().sum().backward()
    expected = layer.weight.grad.clone()
    layer.zero_grad()
    for parameter in layer.arch_parameters():
        parameter.requires_grad_(False)
    layer(x).square().sum().backward()
    assert all(p.grad is None for p in layer.arch_parameters())
    assert relative_error(layer.weight.grad, expected) < 1e-13


@KIND
def test_layout_of_the_input_does_not_matter(kind):
    layer, x = build(kind, torch.float64)
    y = layer(x)
    strided = x.transpose(0, -1).contiguous().transpose(0, -1)
    assert not strided.is_contiguous()
    assert relative_error(layer(strided), y) < 1e-13
    expanded = x[:1].expand(3, *x.shape[1:])
    assert relative_error(layer(expanded), layer(expanded.contiguous())) < 1e-13


@KIND
def test_samples_do_not_touch_each_other(kind):
    layer, x = build(kind, torch.float64, **EVERYTHING)
    single = torch.cat([layer(sample[None]) for sample in x])
    assert relative_error(layer(x), single) < 1e-13


# --- autocast -------------------------------------------------------------------------------------


@KIND
def test_autocast_leaves_the_numbers_alone(kind):
    layer, x = build(kind, **EVERYTHING)
    y = layer(x)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(layer(x), y)
        half = layer(x.bfloat16())
    assert half.dtype == torch.bfloat16
    assert relative_error(half.float(), y) < 0.05


@KIND
def test_two_steps_under_autocast_stay_finite(kind):
    layer, x = build(kind, **EVERYTHING)
    head = (nn.Conv1d, nn.Conv2d)[x.ndim - 3](4, 1, 1)
    parameters = [*layer.parameters(), *head.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=1e-2)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            loss = head(layer(x)).float().square().mean()
        loss.backward()
        assert all(torch.isfinite(p.grad).all() and p.grad.dtype == p.dtype for p in parameters)
        optimizer.step()
        losses.append(float(loss.detach()))
    assert all(torch.isfinite(p).all() for p in parameters)
    assert losses[2] < losses[0]


# --- export ---------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")  # torch's own, while it traces
@pytest.mark.parametrize("kind", [kind for kind in LAYERS if kind not in ("grid", "band-closed")])
def test_exported_layer_agrees(kind):
    layer, x = build(kind, **EVERYTHING)
    layer.eval()
    with torch.no_grad():
        expected = layer(x)
        program = torch.export.export(layer, (x,))
        assert relative_error(program.module()(x), expected) < 1e-6
        other = random_tensor(*x.shape, seed=8)
        assert relative_error(program.module()(other), layer(other)) < 1e-6
        assert torch.equal(layer(x), expected)  # eager is as before
    layer.train()(x).sum().backward()


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            dict(frame="wavelet"),
            "frame='wavelet' is not known; choose one of 'band', 'grid', 'causal'",
        ),
        (dict(weights="points"), "weights='points' is not known; choose one of 'taps', 'modes'"),
        (
            dict(padding_mode="reflect"),
            "padding_mode='reflect' is not known; choose one of 'circular', 'zeros'",
        ),
        (
            dict(weights="modes", frame="grid", size=8),
            "weights='modes' needs frame='band'.*use weights='taps'",
        ),
        (dict(weights="modes", frame="causal", size=8), "weights='modes' needs frame='band'"),
        (dict(weights="both", frame="grid", size=8), "weights='both' needs frame='band'"),
        (dict(tilt=0.5), "tilt=0.5 is of weights on modes; use it with weights='modes'"),
        (dict(weights="modes", tilt=-1), "tilt=-1 must be a number ≥ 0"),
        (dict(weights="modes", tilt="0"), "tilt='0' must be a number ≥ 0"),
        (dict(groups=3), "groups=3 must divide in_channels=2 and out_channels=4"),
        (dict(stride=0), r"stride=\(0,\) must be whole numbers ≥ 1"),
        (dict(stride=(1, 1)), r"stride=\(1, 1\) has 2 entries, expected 1, one per axis"),
        (dict(dilation=1.5), r"dilation=\(1.5,\) must be whole numbers ≥ 1"),
        (dict(kernel_size=0), r"kernel_size=\(0,\) must be whole numbers ≥ 1"),
        (dict(kernel_size=()), r"kernel_size=\(\) must be whole numbers ≥ 1"),
        (dict(depth=(1, 2)), r"depth=\(1, 2\) has 2 entries, expected 3"),
        (dict(depth=1.5), "must be whole numbers ≥ 0 in the band frame"),
        (
            dict(frame="grid", size=8, padding="full"),
            "padding='full' is not known; use 'same', 'valid'",
        ),
        (dict(frame="grid", size=(8, 8)), r"size=\(8, 8\) has 2 entries, expected 1"),
    ],
    ids=str,
)
def test_impossible_layers_are_refused(options, message):
    kernel = options.pop("kernel_size", 3)
    with pytest.raises(ValueError, match=message):
        XD(2, 4, kernel, **options)


@KIND
def test_wrong_channels_or_dimensions_are_named(kind):
    layer, x = build(kind)
    expected = r"expected x of shape \(batch, 2, n0.*\), got \(3, 1, "
    with pytest.raises(ValueError, match=expected):
        layer(x[:, :1])
    with pytest.raises(ValueError, match=r"expected x of shape \(batch, 2, n0"):
        layer(x[0])
    with pytest.raises(ValueError, match=r"expected x of shape \(batch, 2, n0"):
        layer(x[..., None])


@KIND
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex64, torch.int32])
def test_inputs_the_layer_cannot_hold_are_refused(kind, dtype):
    layer, x = build(kind)
    with pytest.raises(
        ValueError, match=r"no wider than the layer's torch.float32.*x.to\(layer.weight.dtype\)"
    ):
        layer(x.to(dtype))


@KIND
def test_narrow_inputs_come_back_in_their_own_dtype(kind):
    layer, x = build(kind, torch.float64)
    y = layer(x.float())
    assert y.dtype == torch.float32
    assert relative_error(y, layer(x.float().double()).float()) < 1e-6


@KIND
def test_matrix_of_a_layer_asks_for_a_size_if_there_are_many(kind):
    layer, x = build(kind)
    if layer.resolution == "any":
        with pytest.raises(ValueError, match=r"say which with as_matrix\(size\)"):
            layer.as_matrix()
    size = tuple(x.shape[2:])
    assert layer.as_matrix(size).shape[1] == 2 * x[0, 0].numel()


# --- dtypes and devices ---------------------------------------------------------------------------


@pytest.fixture
def double_by_default():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@KIND
def test_layers_follow_the_default_dtype(kind, double_by_default):
    make, size = LAYERS[kind]
    layer = make(**EVERYTHING)
    assert {p.dtype for p in layer.parameters()} == {torch.float64}
    assert layer(torch.randn(1, 2, *size)).dtype == torch.float64


@KIND
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_layers_compute_in_single_precision(kind, dtype):
    layer, x = build(kind, **EVERYTHING)
    y = layer(x)
    half = layer.to(dtype)(x.to(dtype))
    assert half.dtype == dtype
    assert relative_error(half.float(), y) < 0.1


@KIND
@OPTIONS
@pytest.mark.parametrize("long_axis", [1024, 1], ids=["dense", "staged"])
def test_nothing_stays_behind_on_the_cpu(kind, options, long_axis, monkeypatch):
    """On the meta device every mixture of devices is an error, as it is on an accelerator."""
    monkeypatch.setattr(grid_module, "is_long", lambda k: k.n >= long_axis)
    layer, x = build(kind, **options)
    shape = layer(x).shape
    layer, x = layer.to("meta"), x.to("meta").requires_grad_()
    y = layer.frame.apply(x, layer._prepare(), None)  # autocast does not know the meta device
    y.sum().backward()
    assert y.device.type == "meta" and y.shape == shape and x.grad.shape == x.shape
    parameters = [p for name, p in layer.named_parameters() if name != "bias"]
    assert all(p.grad.device.type == "meta" for p in parameters)


@KIND
@OPTIONS
def test_reused_memory_changes_nothing(kind, options, monkeypatch):
    """Accelerators and inference mode work without it."""
    layer, x = build(kind, torch.float64, **options)
    results = []
    for reusing in (scratch._reusing, lambda x: False):
        monkeypatch.setattr(scratch, "_reusing", reusing)
        y = layer(x)
        with torch.no_grad():
            results.append([y, layer(x), *gradients(layer, y)])
    for one, other in zip(*results, strict=True):
        assert relative_error(other, one) < 1e-13


@KIND
def test_layers_can_be_built_without_memory(kind):
    """On the meta device, filled from a file afterwards, as large models are loaded."""
    make, _ = LAYERS[kind]
    layer, x = build(kind)
    with torch.device("meta"):
        empty = make()
    empty = empty.to_empty(device="cpu")
    empty.load_state_dict(layer.state_dict())
    assert torch.equal(empty(x), layer(x))


@KIND
def test_an_empty_batch_gives_an_empty_batch(kind):
    layer, x = build(kind)
    assert layer(x[:0]).shape == (0, *layer(x).shape[1:])
