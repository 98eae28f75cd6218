"""Attention maps and the loss between them, by hand; a teacher that teaches."""

import pytest
import torch
from torch import nn

from sciops.backbones.cell_network import CellPlan
from sciops.backbones.pyramidnet import PyramidNet
from sciops.backbones.staged import Tapped
from sciops.searching.guidance import (
    GUIDANCE_WEIGHT,
    attention_map,
    attention_transfer,
    guidance_loss,
    guided,
)
from sciops.searching.supernet import Supernet
from tests.contracts import random_tensor


def teacher(**options) -> PyramidNet:
    torch.manual_seed(1)
    return PyramidNet(1, 3, (False, False), **dict(units=1, widening=6) | options).eval()


def student() -> Supernet:
    torch.manual_seed(0)
    return Supernet(CellPlan(in_channels=1, out_channels=3, width=4, n_cells=3, n_nodes=1))


def test_the_loss_by_hand():
    """Energies (1 + 9, 4 + 4) and (0, 5): directions (0.7809, 0.6247) and (0, 1)."""
    s = torch.tensor([[[1.0, 2.0], [-3.0, 2.0]]])
    t = torch.tensor([[[0.0, 5**0.5]]])
    torch.testing.assert_close(attention_map(s), torch.tensor([[10.0, 8.0]]) / 164**0.5)
    apart = torch.tensor([10 / 164**0.5, 8 / 164**0.5 - 1])
    expected = 0.5 * apart.square().sum().sqrt()  # not squared
    torch.testing.assert_close(attention_transfer([s], [t]), expected)
    torch.testing.assert_close(attention_transfer([s, s], [t, t]), 2 * expected)  # stages add up
    both = attention_transfer([torch.cat([s, s])], [torch.cat([t.expand(1, 2, 2), 3 * s])])
    torch.testing.assert_close(both, expected / 2)  # the mean of the samples
    assert GUIDANCE_WEIGHT == 1e3


def test_scale_and_channels_do_not_count():
    x = random_tensor(2, 3, 4, 5, dtype=torch.float64)
    mixed = torch.cat([3 * x, -4 * x], 1)
    assert attention_transfer([x], [mixed]) < 1e-12


def test_maps_on_another_grid_are_averages():
    coarse, fine = random_tensor(2, 3, 2, 2), random_tensor(2, 4, 4, 6, seed=1)
    energy = fine.square().sum(1).view(2, 2, 2, 2, 3).mean((2, 4)).flatten(1)
    expected = energy / energy.norm(dim=1, keepdim=True)
    torch.testing.assert_close(attention_map(fine, (2, 2)), expected)
    loss = (attention_map(coarse) - expected).norm(dim=1).mean() / 2
    torch.testing.assert_close(attention_transfer([coarse], [fine]), loss)


def test_equal_maps_and_empty_ones_have_finite_gradients():
    x = random_tensor(2, 3, 4).requires_grad_()
    attention_transfer([x], [x.detach()]).backward()
    assert torch.equal(x.grad, torch.zeros_like(x))
    dark = torch.zeros(2, 3, 4, requires_grad=True)
    attention_transfer([dark], [x.detach()]).backward()
    assert torch.isfinite(dark.grad).all()


def test_one_pass_gives_answer_and_loss():
    model, master, x = student().eval(), teacher(), random_tensor(2, 1, 9, 8)
    answer, loss = guided(model, master, x)
    assert torch.equal(answer, model(x)) and torch.equal(loss, guidance_loss(model, master, x))
    stages = attention_transfer(model.forward_stages(x)[1], master.forward_stages(x)[1])
    assert torch.equal(loss, stages)
    loss.backward()
    assert all(a.grad is not None and a.grad.abs().sum() > 0 for a in model.arch_parameters())
    assert all(p.grad is None for p in master.parameters())


def test_any_cnn_can_be_the_teacher():
    cnn = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3), nn.ReLU()).eval()
    master = Tapped(cnn, ["0", "1", "3"]).eval()
    loss = guidance_loss(student(), master, random_tensor(2, 1, 9, 8))
    assert 0 < loss < 3 * 2**0.5 / 2
    with pytest.raises(ValueError, match="student has 3 stages, the teacher 1; Tapped"):
        guidance_loss(student(), Tapped(cnn, ["0"]).eval(), random_tensor(2, 1, 9, 8))


def test_a_teacher_that_still_learns_is_refused():
    with pytest.raises(ValueError, match=r"in training mode .* use .eval\(\)"):
        guidance_loss(student(), teacher().train(), random_tensor(2, 1, 9, 8))


def test_a_guided_student_comes_to_look_where_a_trained_teacher_looks():
    """The teacher learns which of three corners is bright; then the student follows its maps."""
    torch.manual_seed(0)
    y = torch.arange(12) % 3
    x = 0.1 * torch.randn(12, 1, 8, 8)
    for i, corner in enumerate(y.tolist()):
        x[i, 0, 6 * (corner % 2) : 6 * (corner % 2) + 2, 6 * (corner // 2) :][:, :2] += 3
    master = teacher().train()
    optimiser = torch.optim.Adam(master.parameters(), 0.01)
    for _ in range(20):
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(master(x), y)
        loss.backward()
        optimiser.step()
    assert loss < 0.3
    model, master = student(), master.eval()
    optimiser = torch.optim.Adam(model.parameters(), 0.01)
    losses = []
    for _ in range(20):
        optimiser.zero_grad()
        losses.append(guidance_loss(model, master, x))
        losses[-1].backward()
        optimiser.step()
    assert losses[-1] < 0.6 * losses[0]
