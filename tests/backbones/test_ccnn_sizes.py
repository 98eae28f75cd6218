"""Sizes that are learned: what they keep, what they cost, and where they may be."""

import pytest
import torch

from sciops.backbones.ccnn_sizes import VARIANTS, Grid, Sizes, Temperatures, kernel_reach
from sciops.backbones.complexity import BlockSize, block_complexity, network_complexity
from sciops.operators.size_masks import mu_bounds, mu_of

GRID = Grid((16, 17), (True, False), (1 / 16, 1 / 16))
TAU = Temperatures()


def made(learn: str, width: int = 8, **options) -> Sizes:
    return Sizes(learn, width, 4, GRID, (2, 1, True), tau=TAU, **options)


def test_variants_by_name():
    assert VARIANTS == {"CCNN": "", "DNArch_K": "K", "DNArch_KR": "KR", "DNArch_KRWD": "KRWD"}
    parameters = {name: len(list(made(v).arch_parameters())) for name, v in VARIANTS.items()}
    assert parameters == {"CCNN": 0, "DNArch_K": 1, "DNArch_KR": 2, "DNArch_KRWD": 4}


def test_the_start_is_the_base_network():
    sizes = made("KRWD")
    assert (sizes.max_blocks, sizes.max_width) == (8, 16)
    assert sizes.blocks() == 4 and sizes.channels(0) == (8, 8, 8)
    assert sizes.depth_size().item() == pytest.approx(4)
    size = sizes.block_size(0)
    assert [n.item() for n in size.coarse] == [16, 17]
    assert [n.item() for n in size.channels] == pytest.approx([8, 8, 8])
    bands, _ = sizes.cut(0, GRID)
    assert [band.points for band in bands] == [16, 17]
    assert kernel_reach(sizes, 0) == pytest.approx([2 / 16, 2 / 16])  # to the next point


def test_masks_cover_what_is_kept():
    sizes = made("WD")
    sizes.width.data[1] = torch.tensor([mu_of(x, TAU.width) for x in (-0.5, 0.0, 0.6)])
    assert sizes.channels(1) == (4, 8, 13)
    for mask, n in zip(sizes.channel_masks(1), (4, 8, 13), strict=True):
        assert len(mask) == n and bool((mask >= 0.0999).all()) and mask[0] > mask[-1]
    assert sizes.depth_mask(0) > sizes.depth_mask(3) >= 0.0999
    assert made("K").channel_masks(0) == [None] * 3 and made("K").depth_mask(0) is None


def test_complexity_by_hand():
    """8 points, 4 of them on the branch, channels 2, 3, 5."""
    size = BlockSize([torch.tensor(8.0)], [torch.tensor(4.0)], list(torch.tensor([2.0, 3.0, 5.0])))
    each = 4 * 2 + 4 * (2 * 3 + 3 * 5) + 8 * 2 + 4 * (2 * 3 + 5)
    assert block_complexity(size).item() == each == 152
    whole = network_complexity([size], torch.tensor(2.5), 7, 2, 3, True)
    assert whole.item() == 8 * (2 * 7 + 2 * 7) + 2.5 * each + 8 * 7 + 8 * 7 * 3
    one = network_complexity([size], torch.tensor(2.5), 7, 2, 3, False)
    assert one.item() == 8 * (2 * 7 + 2 * 7) + 2.5 * each + 8 * 7 + 7 * 3 + 8 * 7


def test_networks_that_keep_their_sizes_cost_as_much_as_the_base():
    for learn in ("", "K", "KR"):
        assert made(learn).complexity().item() == pytest.approx(1, abs=1e-5)
    assert 1 < made("KRWD").complexity().item() < 1.4  # the stream has room for twice as much


@pytest.mark.parametrize("name", ["resolution", "width", "depth"])
def test_complexity_has_a_gradient(name):
    """By gradcheck, and of the right sign: less of anything costs less."""
    sizes = made("KRWD").double()
    parameter = getattr(sizes, name)
    with torch.no_grad():
        if name == "resolution":
            parameter -= 0.4
        parameter += 0.01 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(0))
    start = parameter.detach().clone()

    def complexity(values):
        del sizes._parameters[name]
        setattr(sizes, name, values)
        try:
            return sizes.complexity()
        finally:
            delattr(sizes, name)
            setattr(sizes, name, torch.nn.Parameter(start.clone()))

    assert torch.autograd.gradcheck(complexity, start.clone().requires_grad_())
    sizes.complexity().backward()
    gradient = getattr(sizes, name).grad
    assert bool((gradient[:4] >= 0).all() if gradient.ndim else gradient > 0)


def test_sizes_beyond_what_there_is_can_come_back():
    sizes = made("WD")
    sizes.depth.data.fill_(mu_bounds(TAU.depth)[1])
    assert sizes.blocks() == 8 and sizes.depth_size().item() == 8
    sizes.depth_size().backward()
    assert sizes.depth.grad.item() == pytest.approx(4)  # d size / d mu, straight through


def test_projection_keeps_masks_alive():
    sizes = made("KRWD")
    for parameter in sizes.arch_parameters():
        parameter.data.fill_(-50.0)
    sizes.project()
    assert sizes.blocks() == 3 and sizes.channels(0) == (2, 2, 2)
    assert kernel_reach(sizes, 0) == pytest.approx([2 / 16, 2 / 16])
    for parameter in (sizes.resolution, sizes.width, sizes.depth):
        parameter.data.fill_(50.0)
    sizes.project()
    assert sizes.blocks() == 8 and sizes.channels(0) == (16, 16, 16)


def test_the_penalty_is_of_networks_that_could_cost_more():
    assert made("").penalty() is None and made("KR").penalty() is None
    sizes = made("KRWD", cost=5.0, target=0.9)
    wanted = 5 * (sizes.complexity() / 0.9 - 1) ** 2
    torch.testing.assert_close(sizes.penalty(), wanted)
    assert made("KRWD", cost=0.0).penalty() is None
    assert set(sizes.notes()) == {"complexity"} and made("").notes() == {}


def test_descending_the_penalty_reaches_the_target():
    sizes = made("KRWD", cost=1.0, target=0.8)
    optimiser = torch.optim.Adam(list(sizes.arch_parameters()), 1e-2)
    for _ in range(150):
        optimiser.zero_grad()
        sizes.penalty().backward()
        optimiser.step()
        sizes.project()
    assert sizes.complexity().item() == pytest.approx(0.8, rel=0.02)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(learn="KX"), "letters of KRWD"),
        (dict(learn="KK"), "letters of KRWD"),
        (dict(width=0), "width=0 must be"),
        (dict(cost=-1.0), "cost=-1.0"),
        (dict(target=0.0), "above 0"),
    ],
)
def test_bad_requests(options, message):
    usual = dict(learn="K", width=4) | options
    with pytest.raises(ValueError, match=message):
        made(**usual)
