"""Maps of whole proteins: symmetric, the same in tiles as at once, scored one by one."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

from sciops.backbones.distance_maps import distance_network
from sciops.evaluation.distance_maps import bytes_at_once, evaluate_maps, predict_map
from sciops.metrics.distance_map import map_scores
from sciops.proteins.map_windows import input_map, map_task
from tests.proteins.toy import walk

LONG, SHORT = walk(50, 1, "long"), walk(11, 2, "short")
TASK = map_task(LONG, window=32)


def tower(op: str = "conv", depth: int = 6, **options) -> nn.Module:
    torch.manual_seed(0)
    network = distance_network(TASK, op, depth=depth, width=4, **options)
    network(torch.randn(4, TASK.in_channels, 32, 32))  # statistics to normalise by
    return network


def test_tiles_and_the_whole_agree_and_are_symmetric():
    model = tower()
    at_once, in_tiles = (predict_map(model, LONG, TASK, whole=whole) for whole in (True, False))
    assert at_once.shape == (50, 50)
    assert np.allclose(at_once, in_tiles, rtol=1e-5, atol=1e-5)
    assert np.array_equal(at_once, at_once.T)
    assert np.array_equal(predict_map(model, LONG, TASK), at_once)  # it has a finite reach
    with torch.no_grad():
        x = torch.from_numpy(input_map(LONG, TASK, slice(None), slice(None)))
        both = model.eval()(x[None])[0, 0].numpy()
    assert np.allclose(at_once, (both + both.T) / 2, atol=1e-6)


@pytest.mark.parametrize(("op", "depth", "length"), [("dilated", 12, 90), ("conv", 34, 60)])
def test_tiles_are_as_large_as_the_network_reaches(op, depth, length):
    """Further than the half of a window of 32, of chains longer and shorter than such a tile."""
    chain, model = walk(length, 3, "longer"), tower(op, depth=depth)
    assert 2 * model.reach + 16 > 32
    at_once, in_tiles = (predict_map(model, chain, TASK, whole=whole) for whole in (True, False))
    assert np.allclose(at_once, in_tiles, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("op", ["dilated", "xd-hybrid", "xd-grid", "unet"])
def test_any_length_by_any_operator(op):
    model = distance_network(TASK, "unet", levels=3, width=4) if op == "unet" else tower(op)
    for protein in (SHORT, LONG):
        found = predict_map(model, protein, TASK)
        assert found.shape == (len(protein),) * 2 and np.isfinite(found).all()
        assert (found >= 0).all() and np.array_equal(found, found.T)
    assert model.training  # as it was


def test_a_short_chain_is_seen_as_in_training():
    model, seen = tower(), []
    model.register_forward_pre_hook(lambda _, arguments: seen.append(arguments[0]))
    predict_map(model, SHORT, TASK)
    ((_, _, *size),) = [x.shape for x in seen]
    assert size == [32, 32]
    assert not seen[0][:, :, 11:].any() and not seen[0][:, :, :, 11:].any()


def test_scores_of_every_protein():
    model = tower()
    table = evaluate_maps(model, [LONG, SHORT], TASK, progress=False)
    assert table["protein"].values.tolist() == ["long", "short"]
    assert table["length"].values.tolist() == [50, 11]
    expected = map_scores(predict_map(model, LONG, TASK), LONG.distance)
    assert {name: float(table[name][0]) for name in expected} == pytest.approx(
        expected, nan_ok=True
    )
    assert np.isnan(table["mae8"][1])  # no pair is 24 apart


def test_what_cannot_be_judged():
    from dataclasses import replace

    model = tower()
    with pytest.raises(ValueError, match="no structure is known of 'long'"):
        evaluate_maps(model, [replace(LONG, distance=None)], TASK, progress=False)
    with pytest.raises(ValueError, match="'couplings', which 'long' lacks"):
        predict_map(model, replace(LONG, maps={}), TASK)


def test_what_does_not_fit_at_once_is_seen_in_tiles(monkeypatch):
    model, chain, sizes = tower(), walk(90, 3, "longer"), []
    at_once = predict_map(model, chain, TASK)
    model.register_forward_pre_hook(lambda _, arguments: sizes.append(arguments[0].shape[-1]))
    needed = bytes_at_once(model, TASK, 90)
    assert needed == 4 * 90**2 * (2 * TASK.in_channels + 4 * 4)
    monkeypatch.setenv("SCIOPS_MEMORY", str(1.01 * needed / 1e9))
    assert np.array_equal(predict_map(model, chain, TASK), at_once) and sizes == [90]
    monkeypatch.setenv("SCIOPS_MEMORY", str(0.99 * needed / 1e9))
    in_tiles = predict_map(model, chain, TASK)
    assert len(sizes) > 2 and set(sizes[1:]) == {32}
    assert np.allclose(in_tiles, at_once, rtol=1e-5, atol=1e-5)
    with pytest.raises(ValueError, match=r"90 residues of 'longer' at once needs .*whole=False"):
        predict_map(model, chain, TASK, whole=True)
    assert predict_map(tower("xd-hybrid"), chain, TASK).shape == (90, 90)


PEAK = """
import resource, sys
import torch
from sciops.backbones.distance_maps import distance_network
from sciops.evaluation.distance_maps import predict_map
from sciops.proteins.map_windows import map_task
from tests.proteins.protein_toy import toy_protein

chain = toy_protein(1500)
task = map_task(chain, window=128, separation=False)
assert task.in_channels == 57
depth = {} if sys.argv[1] == "unet" else {"depth": 18}
network = distance_network(task, sys.argv[1], width=64, **depth)
with torch.no_grad():
    network(torch.randn(2, task.in_channels, 128, 128))
assert predict_map(network, chain, task).shape == (1500, 1500)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)  # of kB
"""


@pytest.mark.slow
@pytest.mark.parametrize("op", ["conv", "dilated", "xd-hybrid", "xd-grid", "unet"])
def test_a_chain_of_1500_residues_within_6_gb(op):
    found = subprocess.run(
        [sys.executable, "-c", PEAK, op], capture_output=True, text=True, check=True
    )
    print(f"{op}: {float(found.stdout):.2f} GB")  # shown by -s
    assert float(found.stdout) < 6
