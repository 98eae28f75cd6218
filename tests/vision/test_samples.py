"""Images as batches: as they are, as sequences, and augmented anew but repeatably."""

import numpy as np
import pytest
import torch

from sciops.backbones.classifiers import make_classifier
from sciops.config import Optimisation, Training
from sciops.metrics.classes import cross_entropy
from sciops.training import fit
from sciops.vision.samples import ImageSamples
from tests.vision.test_images import toy_dataset

DS = toy_dataset()


def test_plain_images():
    samples = ImageSamples(DS)
    assert len(samples) == 30 and not samples.draws_anew
    x, y = samples.__getitems__([4, 2])
    np.testing.assert_array_equal(x, DS["image"][[4, 2]])
    assert y.tolist() == [1, 2] and y.dtype == torch.int64
    assert torch.equal(samples[4].x, x[0]) and samples[4].y == y[0]
    steps, _ = ImageSamples(DS, sequence=True).__getitems__([4])
    assert torch.equal(steps, x[:1].flatten(2)) and samples.task.out_channels == 3


def windows(image, margin):
    """All places of an image in its frame, mirrored or not."""
    framed = np.pad(image, ((0, 0), (margin, margin), (margin, margin)))
    for turned in (framed, framed[..., ::-1]):
        for top in range(2 * margin + 1):
            for left in range(2 * margin + 1):
                yield turned[:, top : top + 6, left : left + 5]


def test_augmented_images_are_cut_out_of_their_frame():
    samples = ImageSamples(DS, flip=True, margin=2, seed=3)
    indices = [7 + 30 * epoch for epoch in range(300)]
    x, y = samples.__getitems__(indices)
    assert samples.draws_anew and set(y.tolist()) == {1}
    possible = [w.tobytes() for w in map(np.ascontiguousarray, windows(DS["image"].values[7], 2))]
    seen = [possible.index(image.numpy().tobytes()) for image in x]
    assert len(set(seen)) == 50  # all of them
    assert 110 < sum(place < 25 for place in seen) < 190  # half of them not mirrored
    again, _ = ImageSamples(DS, flip=True, margin=2, seed=3).__getitems__(indices[::-1])
    assert torch.equal(again.flip(0), x)
    other, _ = ImageSamples(DS, flip=True, margin=2, seed=4).__getitems__(indices)
    assert not torch.equal(other, x)


def test_flips_alone_and_places_alone():
    plain = torch.tensor(DS["image"].values)
    flipped, _ = ImageSamples(DS, flip=True).__getitems__(range(30))
    mirrored = (flipped == plain.flip(-1)).flatten(1).all(1)
    assert 5 < mirrored.sum() < 25 and torch.equal(flipped[~mirrored], plain[~mirrored])
    both, _ = ImageSamples(DS, flip=True, margin=1).__getitems__(range(30))
    placed, _ = ImageSamples(DS, margin=1).__getitems__(range(30))
    assert torch.equal(both[~mirrored], placed[~mirrored])
    with pytest.raises(ValueError, match="margin=-1 must be"):
        ImageSamples(DS, margin=-1)


def test_a_network_learns_from_them_and_resumes_with_the_same_bits(tmp_path):
    train, val = ImageSamples(DS, flip=True, margin=1), ImageSamples(DS)
    sgd = Optimisation(0.02, optimiser="sgd", momentum=0.9, schedule="constant")

    def trained(epochs, folder):
        torch.manual_seed(0)
        model = make_classifier(train.task, "padded-lenet").fit(train.x)
        how = Training(epochs, 8, sgd, sgd)
        stop = epochs // 2
        if folder is not None:

            def kill(rows):
                if len(rows) == stop:
                    raise KeyboardInterrupt

            with pytest.raises((KeyboardInterrupt, SystemExit)):
                fit(model, train, val, how, error=cross_entropy, folder=folder, at_epoch_end=kill)
            model = make_classifier(train.task, "padded-lenet")
        return model, fit(model, train, val, how, error=cross_entropy, folder=folder)

    whole, history = trained(4, None)
    resumed, _ = trained(4, tmp_path / "run")
    assert history["train_cross_entropy"].iloc[-1] < history["train_cross_entropy"].iloc[0]
    for name, tensor in whole.state_dict().items():
        assert torch.equal(tensor, resumed.state_dict()[name]), name
