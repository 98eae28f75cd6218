"""`relax` makes any CNN a search space: same function, the given model untouched, nothing lost."""

import copy
import warnings

import pytest
import torch
from safetensors.torch import load, save
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations

import sciops
from sciops.operators.operator import arch_parameters, weight_parameters
from sciops.operators.xd import XD
from sciops.searching.patch import relax
from sciops.searching.relaxation import relaxation_of, relaxation_report


class Block(nn.Module):
    def __init__(self, width: int, out: int, stride: int):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(width, out, 3, stride, 1, bias=False),
            nn.BatchNorm2d(out),
            nn.ReLU(inplace=True),
            nn.ModuleDict({"last": nn.Conv2d(out, out, 3, padding=1)})["last"],
        )
        self.skip = nn.Conv2d(width, out, 1, stride) if stride > 1 else nn.Identity()

    def forward(self, x):
        return F.relu(self.body(x).add_(self.skip(x)))


class ResNet(nn.Module):
    """Nested containers, strides, a layer used twice, one with two names, one never used."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3, padding=1, padding_mode="circular")
        self.stages = nn.ModuleList([nn.Sequential(Block(4, 4, 1), Block(4, 6, 2)), Block(6, 6, 1)])
        self.shared = nn.Conv2d(6, 6, 3, padding=1, groups=2)
        self.alias = self.shared
        self.held = [self.shared]  # not registered
        self.unused = nn.Conv2d(1, 1, 1)
        self.head = nn.Linear(6, 5)

    def forward(self, x):
        x = self.stem(x)
        for stage in self.stages:
            x = stage(x)
        x = self.held[0](self.alias(self.shared(x)))
        return self.head(x.mean((2, 3)))


class Chomp(nn.Module):
    def __init__(self, size: int):
        super().__init__()
        self.size = size

    def forward(self, x):
        return x[..., : -self.size]


def tcn(norm) -> nn.Module:
    layers = []
    for i in range(3):
        conv = nn.Conv1d(2 if i == 0 else 4, 4, 3, padding=2 * 2**i, dilation=2**i)
        layers += [norm(conv), Chomp(2 * 2**i), nn.ReLU(), nn.Dropout(0.2)]
    return nn.Sequential(*layers, nn.Conv1d(4, 1, 1))


def old_weight_norm(layer: nn.Module) -> nn.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return nn.utils.weight_norm(layer)


def lenet() -> nn.Module:
    return nn.Sequential(
        *[nn.Conv2d(3, 6, 5), nn.ReLU(), nn.AvgPool2d(2)],
        *[nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2)],
        *[nn.Flatten(), nn.Linear(400, 10)],
    )


def space_net() -> nn.Module:
    down = nn.Conv3d(2, 4, 2, stride=2)
    body = nn.Conv3d(4, 4, 3, padding="same", padding_mode="circular")
    return nn.Sequential(down, nn.GELU(), body, nn.GELU(), nn.ConvTranspose3d(4, 1, 2, stride=2))


MODELS = {
    "resnet": (ResNet, (2, 3, 8, 8)),
    "lenet": (lenet, (1, 3, 32, 32)),
    "tcn": (lambda: tcn(parametrizations.weight_norm), (2, 2, 20)),
    "old tcn": (lambda: tcn(old_weight_norm), (2, 2, 20)),
    "3-D": (space_net, (1, 2, 8, 6, 4)),
}


@pytest.fixture(params=MODELS)
def case(request):
    torch.manual_seed(0)
    make, shape = MODELS[request.param]
    return make().double(), torch.randn(shape, dtype=torch.float64)


# --- same function, same training -----------------------------------------------------------------


def test_relaxed_model_is_the_same_function(case):
    model, x = case
    relaxed = relax(model, x, pooling=True)
    assert any(isinstance(m, XD) for m in relaxed.modules())
    torch.testing.assert_close(relaxed.eval()(x), model.eval()(x), rtol=0, atol=1e-12)
    assert relaxation_of(relaxed).moved < 1e-12
    table = relaxation_report(relaxed)
    assert bool((table.moved < 1e-12).all())


def test_given_model_is_untouched(case):
    model, x = case
    model.train()[0].eval() if isinstance(model, nn.Sequential) else model.train()
    before, kept = copy.deepcopy(model.state_dict()), x.clone()
    kinds, modes = [type(m) for m in model.modules()], [m.training for m in model.modules()]
    state = torch.get_rng_state()
    relaxed = relax(model, x)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(x, kept)
    assert [type(m) for m in model.modules()] == kinds
    assert [m.training for m in model.modules()] == modes
    after = model.state_dict()
    assert list(after) == list(before) and all(torch.equal(after[k], before[k]) for k in after)
    assert not any(m._forward_pre_hooks for m in relaxed.modules() if isinstance(m, XD))
    mine = {p.data_ptr() for p in [*model.parameters(), *model.buffers()]}
    assert not mine & {p.data_ptr() for p in [*relaxed.parameters(), *relaxed.buffers()]}
    names = dict(model.named_modules(remove_duplicate=False))
    theirs = dict(relaxed.named_modules(remove_duplicate=False))
    common = names.keys() & theirs.keys()
    assert all(theirs[name].training == names[name].training for name in common)
    buffers = dict(relaxed.named_buffers())
    assert all(torch.equal(b, buffers[name]) for name, b in model.named_buffers())


def test_training_is_the_same_while_the_architecture_is_frozen(case):
    model, x = case
    relaxed = relax(model, x)
    with torch.no_grad():
        target = torch.randn_like(model.eval()(x))
    outputs = []
    for net, parameters in ((model, model.parameters()), (relaxed, weight_parameters(relaxed))):
        optimiser = torch.optim.SGD(list(parameters), lr=0.05, momentum=0.9)
        torch.manual_seed(1)  # dropout
        for _ in range(2):
            optimiser.zero_grad()
            (net.train()(x) - target).square().mean().backward()
            optimiser.step()
        outputs.append(net.eval()(x))
    torch.testing.assert_close(*outputs, rtol=0, atol=1e-11)


def test_parameters_are_weights_or_architecture(case):
    model, x = case
    relaxed = relax(model, x, pooling=False, arch_bias=True, gates=True)
    weights, architecture = weight_parameters(relaxed), arch_parameters(relaxed)
    ids = [id(p) for p in weights + architecture]
    assert len(ids) == len(set(ids)) and set(ids) == {id(p) for p in relaxed.parameters()}
    assert len(weights) == len(list(model.parameters()))


def test_state_dict_is_saved_and_loaded(case):
    model, x = case
    torch.manual_seed(1)
    relaxed = relax(model, x, kernel_size=3, depth=(1, 2, 1)).eval()
    with torch.no_grad():
        for parameter in relaxed.parameters():
            parameter.add_(0.01 * torch.randn_like(parameter))
    names = relaxed.state_dict(keep_vars=True)
    once = {id(v): k for k, v in names.items()}  # safetensors wants shared tensors once
    file = save({k: names[k].detach().contiguous() for k in once.values()})
    fresh = relax(model, x, kernel_size=3, depth=(1, 2, 1)).eval()
    fresh.load_state_dict(load(file), strict=len(once) == len(names))
    with torch.no_grad():
        assert torch.equal(fresh(x), relaxed(x))


# --- which layers ---------------------------------------------------------------------------------


def test_shared_modules_stay_shared():
    model = ResNet()
    relaxed = relax(model, torch.randn(1, 3, 8, 8))
    assert isinstance(relaxed.shared, XD)
    assert relaxed.shared is relaxed.alias is relaxed.held[0]
    table = relaxation_report(relaxed).set_index("name")
    assert table.changed["shared"] and table.changed["alias"]
    assert table["size"]["shared"] == (4, 4) and table["size"]["stem"] == (8, 8)
    assert table.reason["unused"] == "never called in the forward pass of the sample"
    assert isinstance(relaxed.unused, nn.Conv2d) and table["size"]["unused"] is None
    assert relaxed.stages[0][1].skip.stride == (2, 2)


def test_shared_parameters_stay_shared():
    model = nn.Sequential(nn.Conv1d(2, 2, 3, padding=1), nn.Conv1d(2, 2, 3, padding=1))
    model[1].weight = model[0].weight
    model.tied = model[0].weight
    relaxed = relax(model, torch.randn(1, 2, 8))
    assert relaxed[0].weight is relaxed[1].weight is relaxed.tied
    assert relaxed[0].weight is not model[0].weight


def test_layers_are_chosen_by_name_pattern_or_function():
    model, x = ResNet(), torch.randn(1, 3, 8, 8)

    def changed(layers):
        table = relaxation_report(relax(model, x, layers=layers))
        assert set(table.reason[~table.changed]) <= {"not chosen by layers="}
        return set(table.name[table.changed])

    assert changed("stem") == {"stem"}
    assert changed(["stem", "stages.1.*"]) == {"stem", "stages.1.body.0", "stages.1.body.3"}
    assert changed(["alias"]) == {"alias", "shared"}
    assert changed(lambda name, layer: layer.stride == (2, 2)) == {
        "stages.0.1.body.0",
        "stages.0.1.skip",
    }
    with pytest.raises(ValueError, match=r"layers='nope' is no layer.*'stem', 'stages.0.0.body.0'"):
        relax(model, x, layers=["stem", "nope"])


def test_pools_are_changed_on_request():
    model, x = lenet(), torch.randn(1, 3, 32, 32)
    assert isinstance(relax(model, x)[2], nn.AvgPool2d)
    relaxed = relax(model, x, pooling=True)
    table = relaxation_report(relaxed).set_index("name")
    assert isinstance(relaxed[2], XD) and table.kind["2"] == "AvgPool2d"
    assert table.reason["5"] == "max is not linear" and isinstance(relaxed[5], nn.MaxPool2d)
    torch.testing.assert_close(relaxed(x), model(x), rtol=1e-4, atol=1e-5)


def test_model_that_is_a_layer_and_operators_that_are_there_already():
    conv, x = nn.Conv2d(1, 2, 3), torch.randn(1, 1, 8, 8)
    layer = relax(conv, x, layers=lambda name, layer: True)
    assert type(layer) is XD and "(model)" in str(relaxation_of(layer))
    with pytest.raises(ValueError, match=r"\(model\) \(XD\): it is an operator of sciops already"):
        relax(layer, x)
    both = relax(nn.Sequential(layer, nn.Conv2d(2, 1, 1)), x)
    assert list(relaxation_report(both).changed) == [False, True]


def test_kernels_grow_to_kernel_size_but_do_not_shrink():
    model = nn.Sequential(nn.Conv2d(1, 2, 1), nn.Conv2d(2, 2, (3, 7)), nn.Conv2d(2, 1, 3))
    relaxed = relax(model, torch.randn(1, 1, 12, 12), kernel_size=5)
    assert [m.kernel_size for m in relaxed] == [(5, 5), (5, 7), (5, 5)]
    assert relaxation_of(relaxed).moved < 1e-5


class TwoSizes(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 1, 3, padding=1, padding_mode="circular")
        self.last = nn.Conv1d(1, 1, 3, padding=1, padding_mode="circular")

    def forward(self, x):
        return self.last(self.conv(x)[..., ::2] + self.conv(x[..., ::2]))


def test_layer_on_several_grids_needs_the_band_frame():
    model, x = TwoSizes(), torch.randn(1, 1, 16)
    table = relaxation_report(relax(model, x)).set_index("name")
    assert table.changed["last"] and not table.changed["conv"]
    assert table.reason["conv"].startswith("called on grids of several sizes, (8,), (16,); frame=")
    relaxed = relax(model, x, frame="band", modes=16)
    assert relaxed.conv.resolution == "any" and bool(relaxation_report(relaxed).changed.all())
    assert relaxed(torch.randn(1, 1, 32)).shape == (1, 1, 16)


def test_band_frame_is_the_same_function_on_periodic_fields():
    conv = nn.Conv2d(1, 2, 3, padding=1, padding_mode="circular")
    model = nn.Sequential(conv, nn.Conv2d(2, 1, 1, padding_mode="circular"))
    relaxed = relax(model, torch.randn(2, 1, 15, 15), frame="band", modes=8)
    assert relaxation_of(relaxed).moved < 1e-5


# --- reasons and errors ---------------------------------------------------------------------------


class Odd(nn.Module):
    """Several arguments and outputs, and layers that cannot be changed."""

    def __init__(self):
        super().__init__()
        self.reflect = nn.Conv2d(1, 1, 3, padding=1, padding_mode="reflect")
        self.large = nn.Conv2d(1, 1, 9, padding=4)
        self.up = nn.ConvTranspose2d(1, 1, 2, stride=2)
        self.fine = nn.Conv2d(1, 1, 3)
        self.pool = nn.AdaptiveAvgPool2d(2)
        self.by_name = nn.Conv2d(1, 1, 1)
        self.calls = 0

    def forward(self, x, scale, names=()):
        self.calls += 1
        x = self.large(self.reflect(self.by_name(input=x))) * scale + torch.rand(())
        return {"up": self.up(x), "rest": [self.pool(self.fine(x)), "text"]}


def test_layers_that_cannot_be_changed_are_kept_with_the_reason():
    model, inputs = Odd(), (torch.randn(1, 1, 6, 6), torch.tensor(2.0))
    relaxed = relax(model, inputs, pooling=True)
    table = relaxation_report(relaxed).set_index("name")
    assert list(table.index[table.changed]) == ["fine"]
    assert "'reflect'" in table.reason["reflect"]
    assert "larger than the grid of 6" in table.reason["large"]
    assert table.reason["up"] == "transposed convolutions are not converted"
    assert "depend on the grid" in table.reason["pool"]
    assert table.reason["by_name"] == "called with input= by name; write layer(x) in the model"
    assert table.attrs == {"op": "xd", "moved": relaxation_of(relaxed).moved}
    assert table.attrs["moved"] < 1e-6
    assert model.calls == relaxed.calls == 0


def test_nothing_to_change_is_an_error():
    with pytest.raises(ValueError, match=r"nothing to change: the model has no nn.Conv1d"):
        relax(nn.Linear(2, 2), torch.randn(1, 2))
    model = nn.Sequential(nn.Conv1d(1, 1, 3, padding=1, padding_mode="replicate"))
    with pytest.raises(
        ValueError, match=r"no layer could be changed:\n  0 \(Conv1d\): padding_mode"
    ):
        relax(model, torch.randn(1, 1, 8))
    with pytest.raises(ValueError, match=r"without a batch axis, on \(1, 8\)"):
        relax(nn.Conv1d(1, 1, 3), torch.randn(1, 8))


def test_wrong_arguments():
    model, x = nn.Conv1d(1, 1, 3), torch.randn(1, 1, 8)
    with pytest.raises(ValueError, match="op='fno' is not known; choose one of xd"):
        relax(model, x, "fno")
    with pytest.raises(ValueError, match="frame='causal' is not known; choose 'grid' or 'band'"):
        relax(model, x, frame="causal")
    with pytest.raises(TypeError, match=r"expected an nn.Module, got type"):
        relax(nn.Conv1d, x)
    with pytest.raises(TypeError, match="colour"):
        relax(model, x, colour="red")
    with pytest.raises(ValueError, match=r"no relaxation report; sciops.relax"):
        relaxation_report(model)


def test_report_is_printed_readable_and_copied(capsys):
    relaxed = sciops.relax(lenet(), torch.randn(1, 3, 32, 32), layers=["0"])
    report = relaxation_of(relaxed)
    assert capsys.readouterr().out == f"{report}\n"
    sciops.relax(lenet(), torch.randn(1, 3, 32, 32), verbose=False)
    assert capsys.readouterr().out == ""
    assert "0                        Conv2d             32×32       changed, moved" in str(report)
    assert "left: not chosen by layers=" in str(report)
    assert "1 of 2 layers are now xd; the output moved" in str(report)
    assert relaxation_of(copy.deepcopy(relaxed)) == report
    assert not any("relaxation" in key for key in relaxed.state_dict())
    assert list(sciops.relaxation_report(relaxed).columns) == [
        *("name", "kind", "size", "changed", "reason", "moved")
    ]
