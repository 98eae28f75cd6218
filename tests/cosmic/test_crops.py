"""Crops: what belongs together stays together, and only training is changed."""

import numpy as np
import pytest
import torch
from torch import nn

from sciops.config import Optimisation, Training
from sciops.cosmic.crops import SKY, CoveringCrops, TrainingCrops, cosmic_task
from sciops.cosmic.stamps import as_dataset, packed
from sciops.metrics.mask import auroc, counted_pixels, masked_bce
from sciops.training import fit
from tests.cosmic.test_stamps import ATTRS
from tests.cosmic.toy import stamp

RATE = Optimisation(rate=0.1)


def stamps(n=3, size=10):
    """Image, mask and ignore of which every pixel tells its place."""
    ds = as_dataset([stamp(k, size) for k in range(n)], ATTRS)
    places = np.arange(n * size * size).reshape(ds["image"].shape)
    return ds.assign(
        image=(ds["image"].dims, places.astype("f4")),
        mask=(ds["mask"].dims, (places % 3 == 0).astype("u1")),
        ignore=(ds["mask"].dims, (places % 7 == 0).astype("u1")),
    )


def test_task_has_one_channel_in_and_out():
    task = cosmic_task(32)
    assert (task.name, task.in_channels, task.out_channels) == ("cosmic", 1, 1)
    assert [axis.name for axis in task.axes] == ["y", "x"] and task.axes[0].length == 32
    with pytest.raises(ValueError, match="size=1 must be"):
        cosmic_task(1)


def test_validation_sees_all_of_every_stamp_as_it_is():
    ds = stamps()
    crops = CoveringCrops(ds, cosmic_task(6))
    x, y = crops.__getitems__([2, 5])  # two rows and two columns of each stamp
    assert torch.equal(x[0, 0], torch.tensor(ds["image"].values[0, 4:, :6]))
    assert torch.equal(y[1, 1], torch.tensor(ds["ignore"].values[1, :6, 4:]).float())
    assert x.shape == (2, 1, 6, 6) and y.shape == (2, 2, 6, 6)
    everything = crops.__getitems__(range(len(crops)))
    assert set(everything.x.flatten().tolist()) == set(ds["image"].values.ravel().tolist())
    disjoint = CoveringCrops(ds, cosmic_task(5))
    assert len(disjoint) == 12
    pixels = disjoint.__getitems__(range(12)).x.flatten().sort().values
    assert np.array_equal(pixels, np.sort(ds["image"].values.ravel()))
    whole = CoveringCrops(packed(ds), cosmic_task(10)).__getitems__(range(3))
    assert np.array_equal(whole.x[:, 0], ds["image"].values)


def test_image_mask_and_ignore_move_together():
    ds = stamps()
    x, y = TrainingCrops(ds, cosmic_task(5), sky=None).__getitems__(range(60))
    assert torch.equal(y[:, :1], (x % 3 == 0).float())
    assert torch.equal(y[:, 1:], (x % 7 == 0).float())
    assert ((x // 100).long().flatten(1) == torch.arange(60)[:, None] % 3).all()  # stamp k mod n


def test_all_places_and_all_eight_positions_come():
    ds = stamps(1)
    x, _ = TrainingCrops(ds, cosmic_task(5), sky=None).__getitems__(range(400))
    corners = {(int(i.min()), *(i[0, :2] - i.min()).int().tolist()) for i in x[:, 0]}
    starts = {corner[0] for corner in corners}
    assert starts == {10 * r + c for r in range(6) for c in range(6)}
    assert len({corner[1:] for corner in corners}) == 8


def test_a_draw_depends_on_seed_and_index_alone():
    first, same, other = (TrainingCrops(stamps(), cosmic_task(4), seed=s) for s in (1, 1, 2))
    assert torch.equal(first.__getitems__([7, 4]).x, same.__getitems__([4, 7]).x.flip(0))
    assert not torch.equal(first.__getitems__([7]).x, other.__getitems__([7]).x)
    assert not torch.equal(first.__getitems__([1]).x, first.__getitems__([4]).x)


def test_training_sees_other_skies_and_nothing_else_does():
    """image + sky · u with u in (−0.9, 3), the same for all pixels; the sky of the toy is 20."""
    ds = stamps(1)
    plain = TrainingCrops(ds, cosmic_task(5), sky=None)
    lifted = TrainingCrops(ds, cosmic_task(5))
    before, after = (crops.__getitems__(range(300)) for crops in (plain, lifted))
    assert torch.equal(before.y[:, :1].sum((1, 2, 3)) > 0, after.y[:, :1].sum((1, 2, 3)) > 0)
    levels = after.x.amin((1, 2, 3)) - after.x.amin((1, 2, 3)).round()
    assert levels.abs().max() > 0.1  # places are whole numbers, lifted ones are not
    rng = [np.random.default_rng([0, k]) for k in range(300)]
    starts = [r.integers([6, 6]) for r in rng]
    u = np.array([r.uniform(*SKY) for r in rng])
    least = np.array([10 * row + column for row, column in starts])
    assert np.allclose(after.x.amin((1, 2, 3)), least + 20 * u, atol=1e-4)
    assert u.min() < -0.8 and u.max() > 2.9
    twice = [CoveringCrops(ds, cosmic_task(5)).__getitems__([0]).x for _ in range(2)]
    assert torch.equal(*twice) and torch.equal(twice[0], twice[0].round())
    assert not hasattr(CoveringCrops(ds, cosmic_task(5)), "sky")


def test_stamps_that_are_too_small():
    with pytest.raises(
        ValueError, match=r"the stamps are \(10, 10\), smaller than the crops of 16"
    ):
        CoveringCrops(stamps(), cosmic_task(16))


def test_a_network_learns_from_them():
    """One convolution finds what is brighter than its neighbours."""
    ds = as_dataset([stamp(k, 16) for k in range(12)], ATTRS)
    ds["image"] = (ds["image"] - 20) / 100
    ds["sky"] = ds["sky"] * 0 + 0.2
    task = cosmic_task(16)
    torch.manual_seed(0)
    model = nn.Conv2d(1, 1, 3, padding=1)
    how = Training(epochs=30, batch_size=4, weights=RATE, architecture=RATE)
    crops = TrainingCrops(ds, task), CoveringCrops(ds, task)
    history = fit(model, *crops, how, error=masked_bce, progress=False)
    assert history["val_masked_bce"].iloc[-1] < 0.4 * history["val_masked_bce"].iloc[0]
    x, y = crops[1].__getitems__(range(12))
    assert auroc(counted_pixels(model(x), y)) > 0.999
