"""Variants: one order for all images, seeded, reversible; spheres turned image by image."""

import numpy as np
import pytest

import sciops
from sciops.vision.collection import read_tree
from sciops.vision.images import image_task
from sciops.vision.sphere import on_sphere
from sciops.vision.variants import VARIANTS, bit_reversal, random_orders, reordered, varied

RNG = np.random.default_rng(0)


def toy_tree(size=(8, 6), n=40):
    images = RNG.integers(0, 256, (n, 2, *size), dtype=np.uint8)
    return read_tree({"all": (images, np.arange(n) % 2)})


@pytest.mark.parametrize("n", [1, 2, 8, 28, 32])
def test_bit_reversal_is_a_permutation(n):
    order = bit_reversal(n)
    assert sorted(order) == list(range(n))
    if n in (1, 2, 8, 32):
        assert order[order].tolist() == list(range(n))  # its own inverse
    else:
        whole = bit_reversal(32)
        assert order.tolist() == [k for k in whole if k < n] and order[order].tolist() != list(
            range(n)
        )


def test_reordered_by_hand():
    image = np.arange(6).reshape(1, 2, 3)
    out = reordered(image, np.array([1, 0]), np.array([2, 0, 1]))
    assert out.tolist() == [[[5, 3, 4], [2, 0, 1]]]


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_is_checked_data_and_keeps_labels(variant):
    tree = toy_tree()
    before = tree["train"]["image"].values.copy()
    made = varied(tree, variant, seed=3)
    assert list(made.children) == ["train", "val", "test"]
    assert sciops.check(made).ok
    for split in made.children:
        np.testing.assert_array_equal(made[split]["label"], tree[split]["label"])
        np.testing.assert_array_equal(made[split]["sample"], tree[split]["sample"])
        assert made[split].attrs.get("variant", "plain") == variant
    np.testing.assert_array_equal(tree["train"]["image"], before)
    again = varied(tree, variant, seed=3)["test"].to_dataset()
    assert again.identical(made["test"].to_dataset())


@pytest.mark.parametrize("variant", ["permuted", "pixels", "spherical-rotated"])
def test_a_seed_decides(variant):
    tree = toy_tree()
    one, other = (varied(tree, variant, seed=s)["test"]["image"].values for s in (0, 1))
    assert not np.array_equal(one, other)


def test_rows_and_columns_are_permuted_alike_in_every_split():
    tree = toy_tree()
    rows, columns = random_orders((8, 6), 5)
    assert rows.tolist() != list(range(8)) and columns.tolist() != list(range(6))
    made = varied(tree, "permuted", seed=5)
    for split in tree.children:
        expected = tree[split]["image"].values[:, :, rows][..., columns]
        np.testing.assert_array_equal(made[split]["image"], expected)
    fixed = varied(tree, "bit-reversed")["val"]["image"].values
    expected = tree["val"]["image"].values[:, :, bit_reversal(8)][..., bit_reversal(6)]
    np.testing.assert_array_equal(fixed, expected)


def test_pixels_are_permuted_alike_in_every_split():
    tree = toy_tree()
    (order,) = random_orders((48,), 2)
    made = varied(tree, "pixels", seed=2)
    for split in tree.children:
        flat, mixed = (t[split]["image"].values.reshape(-1, 2, 48) for t in (tree, made))
        np.testing.assert_array_equal(mixed, flat[..., order])


def test_spheres_have_angles_and_a_period():
    tree = toy_tree()
    ds = varied(tree, "spherical")["train"].to_dataset()
    assert ds["image"].shape[1:] == (2, 60, 60) and ds["y"].values[[0, -1]].tolist() == [1.5, 178.5]
    latitude, longitude = image_task(ds).axes
    assert longitude.periodic and longitude.length == pytest.approx(360) and not latitude.periodic
    np.testing.assert_array_equal(ds["image"][3], on_sphere(tree["train"]["image"].values[3]))


def test_a_rotation_belongs_to_an_image():
    tree = toy_tree()
    whole = varied(tree, "spherical-rotated", seed=1)["train"]["image"].values
    tree["train"] = tree["train"].isel(sample=[4, 2])
    np.testing.assert_array_equal(
        varied(tree, "spherical-rotated", seed=1)["train"]["image"], whole[[4, 2]]
    )


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="no variant='upside-down'; there are plain, permuted"):
        varied(toy_tree(), "upside-down")
    with pytest.raises(ValueError, match="seed=-1 must be a whole number"):
        varied(toy_tree(), "permuted", seed=-1)
    with pytest.raises(ValueError, match="are permuted already"):
        varied(varied(toy_tree(), "permuted"), "spherical")
