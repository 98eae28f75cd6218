"""Positions as further channels, from the task's domain or from given coordinates."""

import torch

from sciops.backbones.positioned import Positioned
from sciops.backbones.staged import Tapped
from sciops.task import Axis, Field, Task

TASK = Task("demo", (Field("u"),), (Field("v"),), (Axis("x", (0.0, 0.5, 1.0), False, 1.0),))


def model() -> Positioned:
    return Positioned(Tapped(torch.nn.Identity(), [""]), TASK)


def test_the_network_sees_where_the_points_are():
    x = torch.randn(2, 1, 5)
    seen, stages = model().forward_stages(x)
    assert torch.equal(seen[:, :1], x) and torch.equal(stages[0], seen)
    torch.testing.assert_close(seen[:, 1], torch.linspace(0, 1, 5).expand(2, 5))


def test_coordinates_come_first():
    points = (torch.tensor([0.0, 0.3, 0.4]),)
    torch.testing.assert_close(model()(torch.zeros(1, 1, 3), points)[0, 1], points[0])
