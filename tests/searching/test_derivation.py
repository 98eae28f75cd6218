"""Deriving cells, against an exhaustive look at all pairs; weights of a cell; random cells."""

import itertools
from collections import Counter

import pytest
import torch

from sciops.backbones.genotype import OPERATIONS, Genotype, Node
from sciops.operators.features import FEATURES
from sciops.searching.derivation import derive_cell, number_of_cells, one_hot, random_cell


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def slow_first_tier(rows: torch.Tensor) -> set[tuple[int, str]]:
    """Of all allowed pairs with the strongest operation in them the one with the strongest mate."""
    choices = list(itertools.product(range(len(rows)), range(len(OPERATIONS))))
    best = max(choices, key=lambda c: rows[c])
    mates = [
        c
        for c in choices
        if c[0] != best[0] and {OPERATIONS[c[1]], OPERATIONS[best[1]]} & set(FEATURES)
    ]
    mate = max(mates, key=lambda c: rows[c])
    return {(source, OPERATIONS[column]) for source, column in (best, mate)}


@pytest.mark.parametrize("seed", range(20))
def test_the_strongest_operations_are_kept(seed):
    weights = torch.randn(18, 11, generator=generator(seed))
    if seed % 2:
        weights[:, 7:] += 2  # attention and kernels would win everywhere
    nodes = derive_cell(weights.softmax(1))
    Genotype(normal=nodes)  # is a valid one
    for node, rows in zip(nodes, weights.softmax(1).split([3, 4, 5, 6]), strict=True):
        assert set(node.first) == slow_first_tier(rows[:-1])
        assert node.second == OPERATIONS[int(rows[-1].argmax())]


def test_the_second_choice_is_a_feature_where_the_first_is_none():
    weights = torch.zeros(3, 11)
    weights[0, 8], weights[1, 7], weights[1, 0], weights[0, 1] = 0.9, 0.8, 0.2, 0.7
    node = derive_cell(weights)[0]
    assert str(node) == "channel_attention(0) + sep_conv_3(1) > sep_conv_3"
    weights[0, 8] = 0.1  # now spatial attention on node 1 is the strongest
    assert str(derive_cell(weights)[0]) == "sep_conv_5(0) + spatial_attention(1) > sep_conv_3"
    weights[1, 7] = 0.1
    assert str(derive_cell(weights)[0]) == "sep_conv_5(0) + sep_conv_3(1) > sep_conv_3"


def test_equal_weights_give_the_first_operations():
    node = derive_cell(torch.full((3, 11), 1 / 11))[0]
    assert str(node) == "sep_conv_3(0) + sep_conv_3(1) > sep_conv_3"


@pytest.mark.parametrize("n_nodes", [1, 2, 4])
def test_weights_of_a_cell_are_derived_to_it(n_nodes):
    for seed in range(10):
        nodes = random_cell(n_nodes, generator(seed))
        weights = one_hot(nodes)
        assert derive_cell(weights) == nodes
        assert weights.sum() == 3 * n_nodes and set(weights.unique().tolist()) == {0.0, 1.0}


def test_weights_that_are_none():
    with pytest.raises(ValueError, match=r"18, … edges, 11 operations\), got \(17, 11\)"):
        derive_cell(torch.zeros(17, 11))
    with pytest.raises(ValueError, match=r"got \(18, 10\)"):
        derive_cell(torch.zeros(18, 10))
    with pytest.raises(ValueError, match="NaN or infinite"):
        derive_cell(torch.full((3, 11), torch.nan))


def test_random_cells_are_uniform():
    """χ² of what 4000 nodes have: mean n − 1, deviation √2(n − 1)."""
    drawn = generator()
    cells = [random_cell(2, drawn) for _ in range(4000)]
    pairs = Counter(tuple(one.operation for one in cell[0].first) for cell in cells)
    sources = Counter(tuple(one.source for one in cell[1].first) for cell in cells)
    seconds = Counter(cell[1].second for cell in cells)
    for counts, n in ((pairs, 105), (sources, 3), (seconds, 11)):
        assert len(counts) == n
        expected = 4000 / n
        chi2 = sum((c - expected) ** 2 / expected for c in counts.values())
        assert chi2 < n - 1 + 4 * (2 * (n - 1)) ** 0.5
    assert random_cell(3, generator(5)) == random_cell(3, generator(5))


def test_the_number_of_cells_is_that_of_an_enumeration():
    valid = [
        Node(((0, a), (1, b)), c)
        for a, b, c in itertools.product(OPERATIONS, repeat=3)
        if a in FEATURES or b in FEATURES
    ]
    assert number_of_cells(1) == len(set(valid)) == 1155
    assert number_of_cells(2) == 1155 * 3 * 1155
