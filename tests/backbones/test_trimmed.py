"""A found network without its masks gives the same outputs, and needs nothing of the search."""

import pytest
import torch

from sciops.backbones import Normalized
from sciops.backbones.ccnn import Ccnn
from sciops.backbones.trimmed import TrimmedCcnn, ccnn_in, found_sizes, trimmed
from sciops.checkpoint import load_model, save_model
from sciops.operators import Fixed, arch_parameters
from tests.backbones.test_backbones import make_task
from tests.contracts import random_tensor, relative_error


def searched(learn: str, ndim: int = 2, *, closed: bool = True, **options) -> Normalized:
    """A network whose architecture has moved, each block by itself."""
    torch.manual_seed(0)
    task = make_task(ndim, 14, closed=closed)
    net = Ccnn(task, learn=learn, width=8, hidden=8, **options)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter += 0.1 * torch.randn(parameter.shape, generator=generator)
        if "R" in learn:
            net.sizes.resolution[1:] -= 1.0
    net.sizes.project()
    x, y = random_tensor(4, 2, *[14] * ndim), random_tensor(4, 3, *[14] * ndim, seed=1)
    return Normalized(net, 2, 3).fit(x, y)


@pytest.mark.parametrize("learn", ["", "K", "KR", "KRWD", "RW", "D"])
@pytest.mark.parametrize(("ndim", "closed"), [(1, False), (2, True), (2, False), (3, True)])
def test_trimmed_is_masked(learn, ndim, closed):
    model = searched(learn, ndim, closed=closed)
    plain = trimmed(model)
    x = random_tensor(3, 2, *[14] * ndim, seed=2)
    assert relative_error(plain(x), model(x)) < 1e-5
    assert arch_parameters(plain) == [] and ccnn_in(plain) is None
    assert isinstance(plain.model, TrimmedCcnn) and isinstance(model.model, Ccnn)


@pytest.mark.parametrize("learn", ["K", "KRWD"])
def test_trimmed_is_masked_in_modern_style_too(learn):
    model = searched(learn, style="modern", sigma=0.3)
    x = random_tensor(3, 2, 14, 14, seed=2)
    assert relative_error(trimmed(model)(x), model(x)) < 1e-5


def test_layers_have_the_found_sizes():
    model = searched("KRWD")
    plain = trimmed(model).model
    sizes = model.model.sizes
    assert len(plain.blocks) == sizes.blocks() < sizes.max_blocks
    for number, block in enumerate(plain.blocks):
        n_in, n_mid, n_out = sizes.channels(number)
        assert block.kernel.shape[0] == block.mixer.in_features == n_in
        assert block.mixer.out_features == n_mid and block.linear.out_features == n_out
    assert not any("sizes" in name or "kernels" in name for name in plain.state_dict())
    assert sum(p.numel() for p in plain.parameters()) < sum(p.numel() for p in model.parameters())


def test_it_is_kept_without_masks_and_comes_back(tmp_path):
    model = searched("KRWD")
    plain, sizes = trimmed(model).model, found_sizes(model.model)
    save_model(tmp_path, plain.state_dict(), {"found": sizes})
    state, about = load_model(tmp_path)
    again = TrimmedCcnn(model.model.task, about["found"])
    again.load_state_dict(state)
    x = random_tensor(3, 2, 14, 14)
    assert torch.equal(again(x), plain(x))


def test_it_goes_on_learning():
    plain = trimmed(searched("KRWD")).model
    plain(random_tensor(2, 2, 14, 14)).square().sum().backward()
    assert all(p.grad is not None for p in plain.parameters())


def test_it_works_on_its_grid_only():
    plain = trimmed(searched("KR"))
    assert plain.model.resolution == Fixed((14, 14))
    with pytest.raises(ValueError, match=r"built for size=\(14, 14\)"):
        plain(random_tensor(2, 2, 20, 20))
    with pytest.raises(ValueError, match="no continuous CNN"):
        trimmed(plain)
