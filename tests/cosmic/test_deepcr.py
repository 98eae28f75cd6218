"""deepCR's folders: sky by exposure, visits in one split each, any order of the file system."""

import numpy as np
import pytest

import sciops
from sciops.cosmic.deepcr import read_deepcr


def write(folder, split, filter_, visit, names, *, layers=3, size=12, seed=0):
    """Stamps of a visit whose exposures 1, 2, … have the sky 10, 20, …"""
    place = folder / f"npy_{split}" / filter_ / "p1" / visit
    place.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng([seed, len(list(folder.rglob("*.npy")))])
    for name in names:
        values = np.zeros((layers, size, size))
        values[0] = rng.normal(50, 5, (size, size))
        values[1, 5, 6] = 1
        values[2:, 7, 5] = 1
        np.save(place / name, values)
    np.save(place / "sky.npy", np.array([10.0, 20.0, 30.0]))
    return place


@pytest.fixture
def folder(tmp_path):
    for number in range(10):
        write(tmp_path, "train", "f435w", f"v{number}", ["1_0.npy", "2_0.npy"], layers=2)
        write(tmp_path, "train", "f606w", f"v{number}", ["3_7.npy"])
    write(tmp_path, "test", "f435w", "v99", ["2_4.npy", "10_1.npy", "1_0.npy"][:1])
    return tmp_path


def test_visits_are_split_and_files_in_the_order_of_their_names(folder):
    splits, attrs = read_deepcr(folder, size=None)
    assert {s: len(stamps) for s, stamps in splits.items()} == {"train": 27, "val": 3, "test": 1}
    assert {s.field for s in splits["val"]} == {"p1/v9"}  # in both filters
    assert [s.exposure for s in splits["train"][:3]] == [1, 2, 3]
    assert [s.sky for s in splits["train"][:3]] == [10, 20, 30]
    assert attrs["units"] == "electron"


def test_layers_are_image_mask_and_ignore(folder):
    splits, _ = read_deepcr(folder, size=None)
    two, three = splits["train"][0], splits["train"][2]
    assert np.argwhere(two.mask).tolist() == [[5, 6]] and not two.ignore.any()
    assert np.argwhere(three.ignore).tolist() == [[7, 5]]


def test_the_middle_is_kept(folder):
    whole, cut = (read_deepcr(folder, size=size)[0]["test"][0] for size in (None, 6))
    assert np.array_equal(cut.image, whole.image[3:9, 3:9]) and (cut.row, cut.column) == (3, 3)
    with pytest.raises(ValueError, match=r"has 12 pixels along a side; size=13"):
        read_deepcr(folder, size=13)


def test_filters_and_limit(folder):
    splits, _ = read_deepcr(folder, size=6, filters=["f435w"], limit=4)
    assert [len(splits[s]) for s in ("train", "val", "test")] == [4, 2, 1]
    with pytest.raises(ValueError, match="of the filters f999w"):
        read_deepcr(folder, filters=["f999w"])


def test_without_a_test_folder_visits_are_held_out(tmp_path):
    for number in range(10):
        write(tmp_path, "train", "f435w", f"v{number}", ["1_0.npy"])
    splits, _ = read_deepcr(tmp_path, size=6)
    fields = {s: [stamp.field for stamp in stamps] for s, stamps in splits.items()}
    assert fields["test"] == ["p1/v8", "p1/v9"] and fields["val"] == ["p1/v7"]


def test_a_folder_becomes_a_store(folder, tmp_path):
    tree = sciops.read("cosmic", folder, size=6, out=tmp_path / "deep.zarr")
    assert sciops.check(tmp_path / "deep.zarr").ok
    assert tree["test"]["sky"].values.tolist() == [20]


def test_a_visit_in_both_archives_is_a_leak(folder):
    write(folder, "test", "f814w", "v0", ["1_0.npy"])
    with pytest.warns(UserWarning, match=r"'p1/v0' at \(3, 3\) is in train and in test"):
        sciops.read("cosmic", folder, size=6)


def test_bad_files_are_named(folder):
    place = write(folder, "train", "f435w", "v0", ["3_1.npy"])
    np.save(place / "3_1.npy", np.zeros((4, 12, 12)))
    with pytest.raises(ValueError, match=r"3_1\.npy has the shape \(4, 12, 12\); a stamp is"):
        read_deepcr(folder, size=6)
    np.save(place / "3_1.npy", np.full((2, 12, 12), 0.5))
    with pytest.raises(ValueError, match=r"3_1\.npy: a mask has values other than 0 and 1"):
        read_deepcr(folder, size=6)
    np.save(place / "3_1.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"3_1\.npy.*pickled"):
        read_deepcr(folder, size=6)
    (place / "3_1.npy").rename(place / "4_1.npy")
    np.save(place / "4_1.npy", np.zeros((2, 12, 12)))
    with pytest.raises(ValueError, match=r"exposure 4, but .*sky\.npy has 3 levels"):
        read_deepcr(folder, size=6)
    (place / "sky.npy").unlink()
    with pytest.raises(ValueError, match=r"sky\.npy is missing"):
        read_deepcr(folder, size=6)


def test_names_without_a_number_and_single_visits(tmp_path):
    write(tmp_path, "train", "f435w", "v0", ["image.npy"])
    with pytest.raises(ValueError, match="a visit must not be in two splits"):
        read_deepcr(tmp_path, size=6)
    write(tmp_path, "train", "f435w", "v1", ["1_0.npy"])
    write(tmp_path, "test", "f435w", "v2", ["1_0.npy"])
    with pytest.raises(ValueError, match=r"image\.npy should be called <exposure>_"):
        read_deepcr(tmp_path, size=6)
