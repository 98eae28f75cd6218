"""Tracing sees what layers see and leaves no trace."""

import copy
import math
import warnings

import pytest
import torch
from torch import nn

from sciops.searching.tracing import copy_model, distance, run, trace


def test_trace_sees_inputs_before_they_are_changed_in_place():
    model = nn.Sequential(nn.Identity(), nn.ReLU(inplace=True))
    x = -torch.ones(2, 1, 3)
    seen, output = trace(model, {id(model[0])}, (x,))
    assert torch.equal(seen[id(model[0])].input, x) and float(x.sum()) == -6
    assert seen[id(model[0])].sizes == {(3,)} and not output.any()


def test_run_gives_random_numbers_back():
    state = torch.get_rng_state()
    run(Noise(), (torch.zeros(3),))
    assert torch.equal(torch.get_rng_state(), state)


class Noise(nn.Module):
    def forward(self, x):
        return x + torch.rand_like(x)


def test_models_with_the_older_weight_norm_are_copied():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        model = nn.utils.weight_norm(nn.Conv1d(1, 2, 3))
    with pytest.raises(RuntimeError, match="deepcopy"):
        copy.deepcopy(model)
    twin, x = copy_model(model), torch.randn(1, 1, 8)
    with torch.no_grad():
        twin.weight_g.mul_(2)
    bias = model.bias.view(-1, 1)
    torch.testing.assert_close(twin(x) - bias, 2 * (model(x) - bias))


def test_copy_puts_things_in_the_place_of_others():
    model, other = nn.Sequential(nn.ReLU(), nn.ReLU()), nn.GELU()
    model.extra = {"also": [model[0]]}
    twin = copy_model(model, {id(model[0]): other})
    assert twin[0] is other and twin.extra["also"][0] is other and twin[1] is not model[1]


def test_distance_of_nothing_and_of_zero():
    assert distance("text", "text") == 0
    assert distance(torch.ones(4), torch.zeros(4)) == 2
    assert math.isnan(distance(torch.tensor(math.nan), torch.ones(())))
