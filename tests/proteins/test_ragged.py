"""Proteins survive the ragged layout to the last bit, and every feature expands the right way."""

import numpy as np
import pytest
import xarray as xr

from sciops.proteins.protein import Protein
from sciops.proteins.ragged import as_dataset, expanded, protein_at, proteins_of
from tests.proteins.protein_toy import assert_same, toy_protein

ATTRS = dict(title="Toys", source="made here", licence="CC0", synthetic=True)
PROTEINS = [toy_protein(5), toy_protein(1), toy_protein(9, structure=False), toy_protein(3)]


def changed(protein: Protein, **changes) -> Protein:
    kept = {key: getattr(protein, key) for key in ("name", "sequence", "profiles", "maps")}
    return Protein(**{**kept, "distance": protein.distance, **changes})


def test_expanded_by_hand():
    maps = {"m": np.array([[1, 2], [3, 4]], np.float32)}
    profiles = {"a": np.array([[5, 6], [7, 8]], np.float32), "b": np.array([[9], [10]], np.float32)}
    protein = Protein("p", "AC", profiles, maps)
    expected = [
        *([[5, 7], [5, 7]], [[5, 5], [7, 7]]),  # the first channel of a, by column and by row
        *([[6, 8], [6, 8]], [[6, 6], [8, 8]]),
        *([[9, 10], [9, 10]], [[9, 9], [10, 10]]),
        [[1, 2], [3, 4]],
    ]
    channels = expanded(protein, ["a", "b"], ["m"])
    assert channels.dtype == np.float32
    np.testing.assert_array_equal(channels, expected)
    np.testing.assert_array_equal(expanded(protein, ["b"], []), expected[4:6])
    np.testing.assert_array_equal(expanded(protein, [], ["m"]), expected[6:])
    np.testing.assert_array_equal(expanded(protein, ["b", "a"], []), expected[4:6] + expected[:4])
    assert expanded(protein, [], []).shape == (0, 2, 2)


def slow_expanded(protein: Protein, profiles, maps) -> np.ndarray:
    n, out = len(protein), []
    for name in profiles:
        for column in protein.profiles[name].T:
            row_wise = np.repeat(column.reshape(1, n), n, axis=0)
            out += [row_wise, row_wise.T]
    return np.stack([*out, *(protein.maps[name] for name in maps)])


@pytest.mark.parametrize("length", [1, 2, 7, 30])
def test_expanded_like_the_slow_way(length):
    protein, names = toy_protein(length), (["pssm", "ss", "sa"], ["potential", "ccmpred"])
    np.testing.assert_array_equal(expanded(protein, *names), slow_expanded(protein, *names))


def test_expanded_needs_what_there_is():
    with pytest.raises(ValueError, match=r"'chain2x0' has no rain, snow; it has ss, pssm, sa, ent"):
        expanded(toy_protein(2), ["ss", "rain", "snow"], [])
    with pytest.raises(ValueError, match="has no ss; it has ccmpred, freecon, potential"):
        expanded(toy_protein(2), [], ["ss"])


def test_layout():
    ds = as_dataset(PROTEINS, ATTRS)
    assert dict(ds.sizes) == {
        "protein": 4,
        "residue": 18,
        "pair": 25 + 1 + 81 + 9,
        "ss_channel": 3,
        "pssm_channel": 22,
        "sa_channel": 1,
        "entropy_channel": 1,
    }
    assert {name: (v.dims, v.dtype.name) for name, v in ds.variables.items()} == {
        "length": (("protein",), "int32"),
        "has_distance": (("protein",), "uint8"),
        "letter": (("residue",), "uint8"),
        **{n: (("residue", f"{n}_channel"), "float32") for n in PROTEINS[0].profiles},
        **dict.fromkeys(("ccmpred", "freecon", "potential", "distance"), (("pair",), "float32")),
    }
    assert ds.attrs == {
        **ATTRS,
        "name": "protein",
        "ids": ["chain5x0", "chain1x0", "chain9x0", "chain3x0"],
        "profiles": ["ss", "pssm", "sa", "entropy"],
        "maps": ["ccmpred", "freecon", "potential"],
    }
    np.testing.assert_array_equal(ds["length"], [5, 1, 9, 3])
    np.testing.assert_array_equal(ds["has_distance"], [1, 1, 0, 1])
    assert bytes(ds["letter"].values) == "".join(p.sequence for p in PROTEINS).encode()
    np.testing.assert_array_equal(ds["pssm"][5 + 1 + 4], PROTEINS[2].profiles["pssm"][4])
    assert ds["ccmpred"][25 + 1 + 81 + 5] == PROTEINS[3].maps["ccmpred"][1, 2]
    assert ds["distance"][26:107].isnull().all() and not ds["distance"][:26].isnull().any()


def test_round_trip():
    ds = as_dataset(iter(PROTEINS), ATTRS)
    for k, (before, after) in enumerate(zip(PROTEINS, proteins_of(ds), strict=True)):
        assert_same(before, after)
        assert_same(before, protein_at(ds, k))
    xr.testing.assert_identical(as_dataset(proteins_of(ds), ATTRS), ds)


def test_names_are_those_of_the_proteins_whatever_the_attributes_say():
    ds = as_dataset(PROTEINS, {"ids": ["old"], "maps": ["old"], "name": "mine"})
    assert ds.attrs["ids"][0] == "chain5x0" and "old" not in ds.attrs["maps"]
    assert ds.attrs["name"] == "mine"


def test_unknown_distances_survive():
    distance = toy_protein(4).distance.copy()
    distance[1], distance[:, 1] = np.nan, np.nan
    nothing = np.full_like(distance, np.nan)
    for kept in (distance, nothing):
        protein = changed(toy_protein(4), distance=kept)
        assert_same(proteins_of(as_dataset([protein], {}))[0], protein)


def test_features_may_be_few():
    bare = Protein("bare", "AC", {}, {}, None)
    assert_same(proteins_of(as_dataset([bare], {}))[0], bare)


def test_one_protein_is_read_without_the_others():
    class Watched(xr.backends.BackendArray):
        shape, dtype, read = (116,), np.dtype("f4"), ()

        def __getitem__(self, key):
            self.read += (key.tuple[0],)
            return np.zeros(116, "f4")[key.tuple]

    ds, watched = as_dataset(PROTEINS, ATTRS), Watched()
    lazy = xr.core.indexing.LazilyIndexedArray(watched)
    protein_at(ds.assign(ccmpred=("pair", lazy)), 2)
    assert [(r.start, r.stop) for r in watched.read] == [(26, 107)]


def test_there_is_no_such_protein():
    ds = as_dataset(PROTEINS, ATTRS)
    for k in (-1, 4):
        with pytest.raises(IndexError, match=f"there are 4 proteins, from 0 on, and no number {k}"):
            protein_at(ds, k)


def test_damaged_data_sets():
    ds = as_dataset(PROTEINS, ATTRS)
    wrong = {
        "'residue': 18, 'pair': 116": ds.isel(residue=slice(1, None)),
        "'pair': 115": ds.isel(pair=slice(1, None)),
        "and 3 ids": ds.assign_attrs(ids=["a", "b", "c"]),
    }
    for message, data in wrong.items():
        with pytest.raises(ValueError, match=f"no data set of proteins.*{message}"):
            protein_at(data, 0)


@pytest.mark.parametrize(
    ("proteins", "message"),
    [
        ([], "at least one protein"),
        ([PROTEINS[0], PROTEINS[1], PROTEINS[0]], "two proteins called 'chain5x0'"),
        ([PROTEINS[0], changed(PROTEINS[1], maps={})], "'chain5x0' has the features .*1 a pair"),
        (
            [
                PROTEINS[0],
                changed(PROTEINS[1], profiles=PROTEINS[1].profiles | {"ss": np.ones((1, 4))}),
            ],
            "'ss': '3 a residue'.*'chain1x0' has .*'ss': '4 a residue'",
        ),
        ([changed(PROTEINS[1], maps={"distance": np.ones((1, 1))})], "cannot be called 'distance'"),
        ([changed(PROTEINS[1], maps={"ss": np.ones((1, 1))})], "cannot be called 'ss'"),
        ([changed(PROTEINS[1], maps={"a/b": np.ones((1, 1))})], "cannot be called 'a/b'"),
        ([PROTEINS[0], changed(PROTEINS[1], sequence="β")], "sequence of 'chain1x0' must be let"),
        ([Protein("none", "", {}, {})], "sequence of 'none' must be letters, at least one"),
    ],
)
def test_proteins_that_do_not_fit(proteins, message):
    with pytest.raises(ValueError, match=message):
        as_dataset(proteins, ATTRS)
