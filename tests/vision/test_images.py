"""Arrays as labelled images: scaled, checked, described as a task."""

import numpy as np
import pytest

from sciops.vision.images import as_dataset, as_images, image_task
from tests.vision.toy import IMAGES, LABELS

ATTRS = {"title": "toy", "source": "here", "classes": ["a", "b", "c"]}


def toy_dataset():
    return as_dataset(as_images(IMAGES, LABELS, "toy"), range(30), ATTRS)


@pytest.mark.parametrize(
    ("images", "brightest", "expected"),
    [
        (np.full((2, 3, 3), 51, np.uint8), None, 0.2),
        (np.full((2, 1, 3, 3), 13107, np.uint16), None, 0.2),
        (np.full((2, 3, 3, 3), 0.2), None, 0.2),
        (np.full((2, 3, 3), 4), 16, 0.25),
    ],
)
def test_white_is_one(images, brightest, expected):
    made = as_images(images, [0, 1], "toy", brightest=brightest)
    assert made.images.dtype == np.float32 and made.labels.dtype == np.int64
    np.testing.assert_allclose(made.images, np.full_like(made.images, expected), rtol=1e-6)


def test_a_data_set_is_labelled():
    ds = toy_dataset()
    assert ds["image"].dims == ("sample", "channel", "y", "x") and ds["image"].dtype == np.float32
    assert dict(ds.sizes) == {"sample": 30, "channel": 1, "y": 6, "x": 5}
    assert ds["label"].values.tolist() == LABELS.tolist() and ds["label"].dtype == np.int64
    assert {"title", "classes", "source"} <= set(ds.attrs)


def test_tasks_of_images_and_of_sequences():
    task = image_task(toy_dataset())
    assert [(a.name, a.size, a.periodic, a.length) for a in task.axes] == [
        ("y", 6, False, 5.0),
        ("x", 5, False, 4.0),
    ]
    assert task.in_channels == 1 and task.classes == ("a", "b", "c") and task.out_channels == 3
    (step,) = image_task(toy_dataset(), sequence=True).axes
    assert step.size == 30 and not step.periodic


@pytest.mark.parametrize(
    ("images", "labels", "message"),
    [
        (IMAGES[0], [0], r"shape \(6, 5\), expected \(n, y, x\)"),
        (IMAGES[:0], [], "with at least one of each"),
        (IMAGES[:2], [0], r"labels have the shape \(1,\)"),
        (IMAGES[:2], [0.5, 1.0], "type float64, expected whole numbers"),
        (IMAGES[:2].astype(int), [0, 1], "images of int64 do not say what is white"),
        (IMAGES[:2] / 2.0, [0, 1], "expected 0 to 1; give brightest"),
        (np.full((1, 2, 2), np.nan), [0], "values reach from nan to nan"),
        (IMAGES[:2], [0, -1], "label -1 is negative"),
    ],
)
def test_what_is_no_image_is_refused(images, labels, message):
    with pytest.raises(ValueError, match=message):
        as_images(images, labels, "toy")


def test_other_data_are_no_images():
    with pytest.raises(ValueError, match=r"it lacks image; make one with sciops.read\('vision'"):
        image_task(toy_dataset().drop_vars("image"))
    with pytest.raises(ValueError, match="it lacks classes"):
        image_task(toy_dataset().drop_attrs())
