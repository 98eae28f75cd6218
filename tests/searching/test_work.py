"""Random numbers of a search are its own, and are given back."""

import random

import numpy as np
import torch

from sciops.searching.work import seeded


def test_random_numbers_are_given_back():
    before = torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate()
    with seeded(5):
        first = torch.rand(1), np.random.rand(), random.random()
    with seeded(5):
        assert first == (torch.rand(1), np.random.rand(), random.random())
    assert torch.equal(before[0], torch.get_rng_state())
    assert before[1] == np.random.get_state()[1].tolist() and before[2] == random.getstate()
