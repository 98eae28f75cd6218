"""Exposures of one field label each other; tiles of a place stay together."""

import numpy as np
import pytest
from scipy import ndimage

import sciops
from sciops.cosmic.fits_files import read_exposures
from sciops.cosmic.frames import cosmic_rays, read_fits
from tests.cosmic.toy import DQ, REAL, exposures, write_fits
from tests.data.file_writers import shared


def hits(k, shape=(8, 12)):
    expected = np.zeros(shape, bool)
    for place in ((k, k), (-1, k), (k, -1)):
        expected[place] = True
    return expected


@pytest.mark.parametrize("n", [2, 3])
def test_comparison_finds_what_only_one_exposure_has(tmp_path, n):
    found = read_exposures(write_fits(tmp_path / "a.fits", exposures(n)))
    for k in range(n):
        assert np.array_equal(cosmic_rays(found, k), hits(k))
        assert np.array_equal(cosmic_rays(found, k, bits=0), hits(k))


def test_flags_and_comparison_must_agree(tmp_path):
    arrays = exposures(2)
    arrays[0]["DQ"][3, 5] = DQ  # a flag on a noisy pixel
    arrays[0]["SCI"][4, 6] += 100  # no flag
    arrays[0]["SCI"][5, 7] += 100  # a star, in both
    arrays[1]["SCI"][5, 7] += 100
    arrays[0]["DQ"][5, 7] = DQ
    found = read_exposures(write_fits(tmp_path / "a.fits", arrays))
    assert np.array_equal(cosmic_rays(found, 0), hits(0))
    assert cosmic_rays(found, 0, bits=0)[4, 6]


def test_a_single_exposure_has_its_flags(tmp_path):
    found = read_exposures(write_fits(tmp_path / "a.fits", exposures(1)))
    assert np.array_equal(cosmic_rays(found, 0), hits(0))
    with pytest.raises(ValueError, match="the only exposure"):
        cosmic_rays(found, 0, bits=0)


def test_missing_extensions_are_named(tmp_path):
    path = write_fits(tmp_path / "a.fits", exposures(2), leave_out=("DQ",))
    with pytest.raises(ValueError, match=r"a\.fits\[SCI,1\] has no extension DQ.*cosmic_bits=0"):
        read_fits(path, size=4)
    path = write_fits(tmp_path / "b.fits", exposures(2), leave_out=("ERR",))
    with pytest.raises(ValueError, match=r"b\.fits\[SCI,1\] has no extension ERR"):
        read_fits(path, size=4)


def test_tiles_are_split_by_place(tmp_path):
    path = write_fits(tmp_path / "a.fits", exposures(2, (14, 16)))
    splits, attrs = read_fits(path, size=4)
    places = {s: {(t.row, t.column) for t in tiles} for s, tiles in splits.items()}
    assert places["test"] == {(r, c) for r in (0, 4, 8) for c in (8, 12)}
    assert places["val"] == {(8, 0), (8, 4)}
    assert places["train"] == {(r, c) for r in (0, 4) for c in (0, 4)}
    for tiles in splits.values():
        assert sorted({t.exposure for t in tiles}) == [1, 2]
    assert (attrs["units"], attrs["gain"], attrs["read_noise"]) == ("COUNTS", 2.0, 4.5)
    image = read_exposures(path)[1].image
    tile = next(t for t in splits["test"] if (t.exposure, t.row, t.column) == (2, 4, 12))
    assert np.array_equal(tile.image, image[4:8, 12:16]) and tile.field == "a"


def test_bad_pixels_are_ignored_and_filled(tmp_path):
    arrays = exposures(2, (8, 8))
    arrays[0]["SCI"][1, 2] = np.nan
    arrays[0]["DQ"][2, 3], arrays[0]["DQ"][3, 3] = 16, 32
    splits, _ = read_fits(write_fits(tmp_path / "a.fits", arrays), size=4)
    tile = splits["train"][0]
    assert np.argwhere(tile.ignore).tolist() == [[1, 2], [2, 3]]
    assert tile.image[1, 2] == np.float32(tile.sky) and 15 < tile.sky < 35
    other, _ = read_fits(tmp_path / "a.fits", size=4, ignore_bits=32)
    assert np.argwhere(other["train"][0].ignore).tolist() == [[1, 2], [3, 3]]


def test_files_of_one_field_are_its_exposures(tmp_path):
    one, other = exposures(2, (8, 8))
    a, b = write_fits(tmp_path / "a.fits", [one]), write_fits(tmp_path / "b.fits", [other])
    together, _ = read_fits(write_fits(tmp_path / "c.fits", [one, other]), size=4)
    apart, _ = read_fits([a, b], size=4)
    for split, tiles in together.items():
        assert all(np.array_equal(x.mask, y.mask) for x, y in zip(tiles, apart[split], strict=True))


def test_several_fields_are_split_by_name(tmp_path):
    files = {
        name: write_fits(tmp_path / f"{name}.fits", exposures(2, seed=k))
        for k, name in enumerate("abc")
    }
    parts = {"train": ["a"], "val": ["b"], "test": ["c"]}
    splits, _ = read_fits(files, size=4, split=parts)
    assert {s: {t.field for t in tiles} for s, tiles in splits.items()} == {
        s: set(names) for s, names in parts.items()
    }
    whole, _ = read_fits(files, size=8, split=parts)
    assert [len(whole[s]) for s in parts] == [2, 2, 2]
    with pytest.raises(ValueError, match="the field 'c' nowhere"):
        read_fits(files, size=4, split={"train": ["a"], "val": ["b"]})
    with pytest.raises(ValueError, match="the field 'b' train and val"):
        read_fits(files, size=4, split={**parts, "train": ["a", "b"]})
    with pytest.raises(ValueError, match="split='random' must be 'left-right'"):
        read_fits(files, size=4, split="random")


def test_exposures_must_be_alike(tmp_path):
    a = write_fits(tmp_path / "a.fits", exposures(1))
    b = write_fits(tmp_path / "b.fits", exposures(1), seconds=300.0)
    c = write_fits(tmp_path / "c.fits", exposures(1, (8, 8)))
    with pytest.raises(ValueError, match=r"exposed for 150 s, .* for 300 s"):
        read_fits([a, b], size=4)
    with pytest.raises(ValueError, match=r"\(8, 12\) in COUNTS, .* \(8, 8\)"):
        read_fits([a, c], size=4)
    with pytest.raises(ValueError, match=r"too small for 2 × 2 tiles of size=8"):
        read_fits(a, size=8)
    with pytest.raises(ValueError, match="size=0 must be"):
        read_fits(a, size=0)


def test_real_frame_has_the_events_of_its_card():
    """About 2 100 pixels and 590 events in each of the two exposures."""
    path = shared(REAL)
    pytest.importorskip("astropy")
    tree = sciops.read("cosmic", path)
    assert [tree[s].sizes["stamp"] for s in ("train", "val", "test")] == [56, 8, 64]
    for exposure in (1, 2):
        frame = np.zeros((1024, 1024), bool)
        for split in tree.children.values():
            for k in np.flatnonzero(split["exposure"].values == exposure):
                one = split.to_dataset().isel(stamp=k)
                row, column = int(one["row"]), int(one["column"])
                frame[row : row + 128, column : column + 128] = one["mask"].values
        assert 2000 <= frame.sum() <= 2200
        assert 560 <= ndimage.label(frame, np.ones((3, 3)))[1] <= 610
    assert abs(float(tree["train"]["sky"].median()) - 24.5) < 1.5
    assert tree["test"].attrs["units"] == "COUNTS" and tree["test"].attrs["read_noise"] == 3.99
