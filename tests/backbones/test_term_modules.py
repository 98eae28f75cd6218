"""Terms as modules, against the sum over all paths and against layers wired by hand."""

import random

import pytest
import torch

from sciops.backbones.term_modules import Signal, build_term
from sciops.grammars.grammar import parse_grammar
from sciops.grammars.sampling import Sampler
from sciops.grammars.term import parse_term
from sciops.grammars.topology import TOPOLOGIES, Topology
from tests.backbones.test_backbones import make_task
from tests.contracts import random_tensor

TASK = make_task(2, 8, closed=True)


def run(text: str, x: torch.Tensor):
    torch.manual_seed(0)
    part = build_term(parse_term(text), x.shape[1], TASK)
    return part, part.module(Signal(x, None)).features


@pytest.mark.parametrize("name", sorted(set(TOPOLOGIES) - {"Shared", "Binary", "Unary"}))
def test_a_topology_of_convolutions_is_the_sum_over_its_paths(name):
    topology = TOPOLOGIES[name]
    text = f"{name}({', '.join(['conv3'] * topology.arity)})"
    x = random_tensor(2, 3, 8, 8)
    part, y = run(text, x)
    layers = list(zip(part.module.edges, part.module.parts, strict=True))

    def paths(node: int, h: torch.Tensor) -> torch.Tensor:
        if node == topology.sink:
            return h
        return sum(paths(j, p.module(h)) for (i, j), p in layers if i == node)

    torch.testing.assert_close(y, paths(1, x))


def test_zero_and_what_it_makes_useless_is_not_built():
    x = random_tensor(1, 3, 8, 8)
    part, y = run("Residual2(zero, conv3, conv5)", x)
    (conv,) = part.module.parameters()
    assert conv.shape == (3, 3, 3, 3)
    torch.testing.assert_close(y, torch.nn.functional.conv2d(x, conv, padding=1))
    part, y = run("Parallel2(Linear2(conv3, zero), id)", x)
    assert list(part.module.parameters()) == [] and torch.equal(y, x)


def test_identities_add_up():
    x = random_tensor(1, 3, 8, 8)
    assert torch.equal(run("Cell(id, id, id, id, id, id)", x)[1], 4 * x)
    assert torch.equal(run("Cell(id, zero, id, zero, zero, relu)", x)[1], x.relu())


def test_channels_and_grids_flow_through():
    part, y = run(
        "Linear3(lift4, resBlock, Residual3(conv3, relu, down, down))", x=random_tensor(2, 3, 8, 8)
    )
    assert (part.channels, part.halvings) == (8, 2)
    assert y.shape == (2, 8, 2, 2)


def test_motifs_have_weights_of_their_own():
    part, _ = run("Shared(Linear2(motif, motif), conv3)", random_tensor(1, 3, 8, 8))
    first, second = part.module.parameters()
    assert not torch.equal(first, second)


def test_coordinates_reach_operators_and_follow_halvings():
    """On a coarse grid the layer sees the points that are left, not a grid of its own."""
    x = random_tensor(1, 2, 9, 8)
    points = tuple(torch.linspace(0, 1, n, dtype=torch.float64) ** 1.5 for n in (9, 8))
    torch.manual_seed(0)
    part = build_term(parse_term("Linear2(down, fourier2)"), 2, TASK)
    down, wave = (layer.module for layer in part.module.parts)
    out, coords = part.module(Signal(x, points))
    kept = tuple(p[::2] for p in points)
    assert all(torch.equal(a, b) for a, b in zip(coords, kept, strict=True))
    torch.testing.assert_close(out, wave(down(x), kept))
    assert not torch.allclose(out, wave(down(x)))
    plain, coords = part.module(Signal(x, None))  # 8 points to 1: those left end at 6/7
    assert coords[1].tolist() == pytest.approx([0, 2 / 7, 4 / 7, 6 / 7])
    torch.testing.assert_close(plain, wave(down(x), coords))


def test_random_terms_of_an_own_topology():
    grammar = parse_grammar(
        "Fork = 1-2 1-3 2-4 3-4 1-4\nA -> Fork(B, B, B, B, B)\nB -> conv3 | id | zero | relu"
    )
    sampler, rng = Sampler(grammar, connected=True), random.Random(0)
    x = random_tensor(2, 3, 8, 8)
    for term in [sampler.draw(rng) for _ in range(10)]:
        part = build_term(term, 3, TASK, grammar.topologies)
        part.module(Signal(x.requires_grad_(), None)).features.square().sum().backward()
        assert all(p.grad is not None for p in part.module.parameters())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Linear2(conv3, zero)", "no way leads through the term; .* connected=True"),
        ("Residual2(conv3, id, down)", "Residual2, node 3 gets 3 channels, halved 0 .* 1 times"),
        ("Parallel2(lift8, lift4)", "Parallel2, node 2 gets 8 channels, .* and 4, halved 0"),
        ("Fork(conv3, conv3)", "no topology 'Fork'; there are Linear1"),
        ("Linear1(convolution)", "no primitive 'convolution'"),
    ],
)
def test_terms_that_are_no_networks(text, message):
    with pytest.raises(ValueError, match=message):
        build_term(parse_term(text), 3, TASK)


def test_own_topologies_have_own_edges():
    own = {"Fork": Topology(((1, 2), (1, 2)))}
    part = build_term(parse_term("Fork(id, id)"), 3, TASK, own)
    x = random_tensor(1, 3, 8, 8)
    assert torch.equal(part.module(Signal(x, None)).features, 2 * x)
