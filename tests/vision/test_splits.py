"""The split of images: a function of the images, each class in its share, no twins divided."""

import numpy as np
import pytest

from sciops.vision.images import Labelled, as_images
from sciops.vision.splits import divided, stratified_order


def random_data(n=200, classes=4, seed=0) -> Labelled:
    rng = np.random.default_rng(seed)
    return as_images(rng.random((n, 3, 3)), rng.integers(classes, size=n), "toy")


def picked(data: Labelled, places) -> list[bytes]:
    return [data.images[k].tobytes() for k in places]


def test_the_order_of_the_file_does_not_matter():
    data = random_data()
    shuffle = np.random.default_rng(1).permutation(200)
    other = Labelled(data.images[shuffle], data.labels[shuffle])
    shares = {"train": 0.7, "val": 0.1, "test": 0.2}
    ours, theirs = divided(data, shares), divided(other, shares)
    assert {name: len(places) for name, places in ours.items()} == dict(train=140, val=20, test=40)
    for split in shares:
        assert picked(data, ours[split]) == picked(other, theirs[split])
    assert sorted(np.concatenate(list(ours.values()))) == list(range(200))


def test_every_beginning_holds_each_class_in_its_share():
    data = random_data(400)
    order, _ = stratified_order(data)
    share = np.bincount(data.labels) / 400
    for n in (20, 57, 133, 399):
        count = np.bincount(data.labels[order[:n]], minlength=4)
        assert np.abs(count - n * share).max() <= 1.5


def test_test_images_stay_where_they_are_when_shares_change():
    data = random_data()
    three = divided(data, {"train": 0.7, "val": 0.1, "test": 0.2})
    two = divided(data, {"train": 160, "test": 40})
    assert three["test"].tolist() == two["test"].tolist()


def test_another_seed_is_another_order():
    data = random_data()
    assert stratified_order(data, 0)[0].tolist() != stratified_order(data, 1)[0].tolist()


def test_equal_images_are_not_divided():
    few = random_data(20, classes=2)
    data = Labelled(np.concatenate([few.images] * 3), np.concatenate([few.labels] * 3))
    parts = divided(data, {"train": 31, "test": 29})
    train, test = (set(picked(data, parts[split])) for split in ("train", "test"))
    assert not train & test and len(train | test) == 20
    same = Labelled(np.zeros((5, 1, 2, 2), "f4"), np.zeros(5, np.int64))
    with pytest.raises(ValueError, match="5 images, some of them equal, are too few"):
        divided(same, {"train": 3, "test": 2})


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ({"train": 150, "test": 60}, "there are 200"),
        ({"train": 0.5, "exam": 0.5}, "splits are train, val, test; got"),
        ({"train": 1.5}, "should be a fraction ≤ 1"),
    ],
)
def test_impossible_shares_are_refused(shares, message):
    with pytest.raises(ValueError, match=message):
        divided(random_data(), shares)
