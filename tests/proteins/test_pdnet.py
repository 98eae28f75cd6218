"""A small tree in PDNET's own layout gives the proteins that it was written from."""

import io
import logging
import pickle
from pathlib import Path

import numpy as np
import pytest

from sciops.proteins import pdnet
from sciops.proteins.pdnet import (
    channels,
    clean_distance,
    pdnet_names,
    pdnet_proteins,
    read_pdnet,
)
from sciops.proteins.protein import Protein
from tests.data.pickle_programs import python2_dumps
from tests.proteins.protein_toy import toy_protein

SETS = {"deepcov": range(4, 11), "psicov": [6, 3], "cameo": [12, 5]}  # lengths
FILES = {"deepcov": "deepcov.lst", "psicov": "psicov.lst", "cameo": "cameo-hard.lst"}


def features_of(protein: Protein) -> dict:
    """As PDNET's `make-features.py` leaves them."""
    half = {name: v.astype(np.float16) for name, v in {**protein.profiles, **protein.maps}.items()}
    half |= {"ss": half["ss"].T, "sa": half["sa"][:, 0], "entropy": half["entropy"][:, 0]}
    return {"seq": protein.sequence, **half, "pssm": protein.profiles["pssm"]}


def triple_of(protein: Protein, known: int | None = None) -> np.ndarray:
    """As its `pdb2dist.py` leaves it; `known` residues at the beginning."""
    n = len(protein) if known is None else known
    triple = np.empty(3, object)
    triple[:] = [n, protein.sequence[:n], protein.distance[:n, :n].astype(np.float16)]
    return triple


def npy(value: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, value)
    return stream.getvalue()


def write_protein(folder: Path, protein: Protein, features: bytes | None = None) -> None:
    for name in ("features", "distance"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    data = features or pickle.dumps(features_of(protein), 3)
    (folder / "features" / f"{protein.name}.pkl").write_bytes(data)
    (folder / "distance" / f"{protein.name}-cb.npy").write_bytes(npy(triple_of(protein)))


def write_tree(root: Path, sets=SETS) -> Path:
    for name, lengths in sets.items():
        proteins = [toy_protein(n) for n in lengths]
        for protein in proteins:
            write_protein(root / name, protein)
        lines = [f"{protein.name} {len(protein)} more words\n" for protein in proteins]
        (root / FILES[name]).write_text("".join(lines) + "\n")
    return root


@pytest.fixture
def tree(tmp_path) -> Path:
    return write_tree(tmp_path / "data")


def ids(*lengths: int) -> list[str]:
    return [f"chain{n}x0" for n in lengths]


def half(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float16).astype(np.float32)


def slow_clean(matrix: np.ndarray) -> np.ndarray:
    """Element by element, in the order of PDNET's `get_map`."""
    y, n = matrix.astype(np.float32), len(matrix)
    y[y < 1] = 1
    y[0, 0], y[n - 1, n - 1] = y[0, 1], y[n - 1, n - 2]
    for q in range(1, n - 1):
        sides = [d for d in (y[q, q - 1], y[q, q + 1]) if not np.isnan(d)]
        if not np.isnan(y[q, q]):
            y[q, q] = sum(sides) / len(sides) if sides else 1
    return y


def slow_channels(features: dict) -> np.ndarray:
    """Channel by channel, in the order of PDNET's `get_feature`, from the features of a file."""
    n = len(features["seq"])
    vectors = [*features["ss"], *features["pssm"].T, features["sa"], features["entropy"]]
    x = np.zeros((n, n, 57))
    for k, vector in enumerate(vectors):
        x[:, :, 2 * k] = np.repeat(vector.reshape(1, n), n, axis=0)
        x[:, :, 2 * k + 1] = x[:, :, 2 * k].T
    for k, name in enumerate(("ccmpred", "freecon", "potential")):
        x[:, :, 54 + k] = features[name]
    return x.transpose(2, 0, 1)


def test_splits_by_name(tree):
    proteins = read_pdnet(tree)
    found = {split: [p.name for p in members] for split, members in proteins.items()}
    assert found == pdnet_names(tree)
    assert found == {
        "val": ids(4, 5),  # 30 % of seven
        "train": ids(6, 7, 8, 9, 10),
        "test": ids(6, 3),
        "cameo": ids(12, 5),
    }


def test_the_first_hundred_are_for_validation(tmp_path):
    (tmp_path / "deepcov").mkdir()
    for count, held in ((100, 30), (101, 100), (3456, 100)):
        names = [f"c{i}" for i in range(count)]
        (tmp_path / "deepcov.lst").write_text("\n".join(names))
        assert pdnet_names(tmp_path) == {"val": names[:held], "train": names[held:]}


@pytest.mark.parametrize("writer", [pickle.dumps, python2_dumps])
def test_values(tmp_path, writer):
    truth = toy_protein(7)
    write_protein(tmp_path / "psicov", truth, writer(features_of(truth)))
    (tmp_path / "psicov.lst").write_text(truth.name)
    (protein,) = read_pdnet(tmp_path)["test"]
    assert (protein.name, protein.sequence) == (truth.name, truth.sequence)
    assert {k: v.shape for k, v in protein.profiles.items()} == {
        "ss": (7, 3),
        "pssm": (7, 22),
        "sa": (7, 1),
        "entropy": (7, 1),
    }
    assert list(protein.maps) == ["ccmpred", "freecon", "potential"]
    for name in ("ss", "sa", "entropy"):
        np.testing.assert_array_equal(protein.profiles[name], half(truth.profiles[name]))
    np.testing.assert_array_equal(protein.profiles["pssm"], truth.profiles["pssm"])
    for name, values in truth.maps.items():
        np.testing.assert_array_equal(protein.maps[name], half(values))
    np.testing.assert_array_equal(protein.distance, slow_clean(half(truth.distance)))
    arrays = [*protein.profiles.values(), *protein.maps.values(), protein.distance]
    assert all(array.dtype == np.float32 for array in arrays)


def test_channels_in_the_order_of_pdnet(tree):
    (protein,) = pdnet_proteins(tree, "train", limit=1)
    x = channels(protein)
    assert x.shape == (57, 6, 6) and x.dtype == np.float32
    np.testing.assert_array_equal(x, slow_channels(features_of(toy_protein(6))).astype("f4"))


def test_proteins_come_one_by_one(tree):
    wrong = tree / "deepcov" / "features" / "chain7x0.pkl"
    wrong.write_bytes(b"cos\nsystem\n.")
    proteins = pdnet_proteins(tree, "train")
    assert next(proteins).name == "chain6x0"  # the next file has not been read
    with pytest.raises(ValueError, match=r"features in .*chain7x0\.pkl names os\.system"):
        next(proteins)


def test_limits(tree):
    assert [p.name for p in pdnet_proteins(tree, "train", limit=2)] == ids(6, 7)
    assert [len(ps) for ps in read_pdnet(tree, limit=1).values()] == [1] * 4
    some = read_pdnet(tree, limit={"train": 3, "cameo": 0})
    assert {k: len(v) for k, v in some.items()} == {"train": 3, "val": 2, "test": 2}
    with pytest.raises(ValueError, match="limit=-1"):
        pdnet_proteins(tree, "train", limit=-1)
    with pytest.raises(ValueError, match=r"'training': 3.*some of train, val, test, cameo"):
        read_pdnet(tree, limit={"training": 3})


def test_chosen_names(tree, tmp_path):
    chosen = {
        split: [p.name for p in ps] for split, ps in read_pdnet(tree, names=ids(8, 4)).items()
    }
    assert chosen == {"train": ids(8), "val": ids(4)}
    (tmp_path / "mine.lst").write_text("chain12x0 and more\n\n")
    assert list(read_pdnet(tree, names=tmp_path / "mine.lst")) == ["cameo"]
    with pytest.raises(ValueError, match=r"lists of .* do not name chain99x0"):
        read_pdnet(tree, names=ids(8, 99))


def test_half_a_tree(tree, caplog):
    (tree / "psicov").rename(tree / "elsewhere")
    with caplog.at_level(logging.WARNING):
        assert list(read_pdnet(tree, limit=1)) == ["train", "val", "cameo"]
    assert "has no folder psicov: its chains are left out" in caplog.text
    with pytest.raises(ValueError, match="has no split 'test', only train, val, cameo"):
        pdnet_proteins(tree, "test")
    (tree / "cameo-hard.lst").unlink()
    with pytest.raises(
        ValueError, match=r"cameo-hard\.lst is missing, which lists the chains of c"
    ):
        pdnet_names(tree)


def test_no_tree(tmp_path):
    with pytest.raises(ValueError, match=r"is not PDNET's data.*deepcov, psicov, cameo; name the"):
        read_pdnet(tmp_path)


@pytest.mark.parametrize("file", ["features/chain9x0.pkl", "distance/chain9x0-cb.npy"])
def test_a_listed_chain_must_be_there(tree, file):
    (tree / "deepcov" / file).unlink()
    with pytest.raises(ValueError, match=f"{file} is missing; deepcov.lst names it"):
        pdnet_proteins(tree, "train")
    assert len(list(pdnet_proteins(tree, "train", limit=3))) == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\nb\na\n", "each once: it has 3 lines, 2 different"),
        ("\n", "it has 0 lines"),
        ("a\n../b\n", r"'\.\./b', which is no name"),
    ],
)
def test_lists_that_are_none(tree, text, message):
    (tree / "psicov.lst").write_text(text)
    with pytest.raises(ValueError, match=rf"psicov\.lst .*{message}"):
        pdnet_names(tree)


def broken_features(**changes) -> bytes:
    features = {**features_of(toy_protein(6)), **changes}
    return pickle.dumps({key: value for key, value in features.items() if value is not None})


def array_with(value: float) -> np.ndarray:
    array = np.zeros((6, 6), np.float16)
    array[2, 3] = value
    return array


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (pickle.dumps([1]), "should hold a dict of features"),
        (broken_features(sa=None, ccmpred=None), r"lacks \['ccmpred', 'sa'\]"),
        (broken_features(ss=np.zeros((6, 3))), r"'ss' of .* shape \(6, 3\), not \(3, 6\)"),
        (broken_features(pssm=np.zeros((6, 21))), r"'pssm' of .*not \(6, 22\)"),
        (broken_features(sa=np.zeros((6, 1))), r"'sa' of .*not \(6,\)"),
        (broken_features(entropy=np.zeros(5)), r"'entropy' of .*not \(6,\)"),
        (broken_features(potential=np.zeros((6, 5))), r"'potential' of .*not \(6, 6\)"),
        (broken_features(ccmpred=array_with(100)), "'ccmpred' of .*not between −100 and 100"),
        (broken_features(freecon=array_with(-100)), "'freecon' of .*not between"),
        (broken_features(freecon=array_with(np.nan)), "'freecon' of .*not between"),
        (broken_features(freecon=[1, 2]), "'freecon' of .*array of numbers"),
        (broken_features(freecon=np.full((6, 6), "x")), "'freecon' of .*array of numbers"),
        (broken_features(seq=b"ACDEFG"), "the sequence of .*is a bytes"),
        (broken_features(seq="ACDEF"), r"'ss' of .*not \(3, 5\)"),
        (broken_features(seq=range(3)), "names builtins.range"),
    ],
)
def test_features_that_are_none(tree, data, message):
    (tree / "psicov" / "features" / "chain6x0.pkl").write_bytes(data)
    with pytest.raises(ValueError, match=message) as error:
        list(pdnet_proteins(tree, "test"))
    assert "psicov/features/chain6x0.pkl" in str(error.value)


def triple(length, sequence, matrix) -> bytes:
    values = np.empty(3, object)
    values[:] = [length, sequence, matrix]
    return npy(values)


SIX = np.full((6, 6), 5, np.float16)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (npy(SIX), "should hold three things"),
        (npy(np.array({"a": 1})), "should hold three things"),
        (triple(5, "ACDEFG", SIX), "says 5 residues; it has a sequence of 6 .*6, 6"),
        (triple(6, "ACDEF", SIX), "says 6 residues; it has a sequence of 5"),
        (triple(6, "ACDEFG", SIX[:5]), r"says 6 residues.*shape \(5, 6\)"),
        (triple(6, "ACDEFG", SIX[0]), r"says 6 residues.*shape \(6,\)"),
        (triple(6, None, SIX), "is a NoneType, not text"),
        (triple(6, "ACDEFG", None), "array of numbers"),
        (triple(5, "ACDEF", SIX[:5, :5]), "has 6 residues, .*-cb.npy has 5"),
        (triple(6, "ACDEFG", array_with(-0.5)), "not between 0 and 500 Å"),
        (triple(6, "ACDEFG", array_with(501)), "not between 0 and 500 Å"),
        (triple(6, "ACDEFG", array_with(np.nan)), "distances that are not numbers"),
        (triple(6, "ACDEFG", range(3)), "names builtins.range"),
    ],
)
def test_distances_that_are_none(tree, data, message):
    (tree / "psicov" / "distance" / "chain6x0-cb.npy").write_bytes(data)
    with pytest.raises(ValueError, match=f"chain6x0.*{message}"):
        list(pdnet_proteins(tree, "test"))


def test_other_letters_are_reported(tree, caplog):
    sequence = toy_protein(6).sequence
    other = "".join("-" if i == 1 else "?" if i in (2, 4) else c for i, c in enumerate(sequence))
    file = tree / "psicov" / "distance" / "chain6x0-cb.npy"
    file.write_bytes(triple(6, other, SIX))
    with caplog.at_level(logging.WARNING):
        protein = next(pdnet_proteins(tree, "test"))
    assert "differ in 2 residues" in caplog.text and protein.sequence == sequence
    caplog.clear()
    list(pdnet_proteins(tree, "cameo"))
    assert "differ" not in caplog.text


def test_cameo_has_gaps_and_ends_early(tree):
    truth = toy_protein(12)
    values = triple_of(truth, known=10)
    values[1] = values[1][:4] + "-" + values[1][5:]
    values[2][4], values[2][:, 4] = np.nan, np.nan
    (tree / "cameo" / "distance" / "chain12x0-cb.npy").write_bytes(npy(values))
    protein = next(pdnet_proteins(tree, "cameo"))
    unknown = np.isin(np.arange(12), [4, 10, 11])
    np.testing.assert_array_equal(np.isnan(protein.distance), unknown | unknown[:, None])
    np.testing.assert_array_equal(protein.distance[:10, :10], slow_clean(values[2]))


def test_too_long_a_map_is_an_error_in_cameo_too(tree):
    (tree / "cameo" / "distance" / "chain5x0-cb.npy").write_bytes(triple(6, "ACDEFG", SIX))
    with pytest.raises(ValueError, match=r"has 5 residues, .* has 6"):
        list(pdnet_proteins(tree, "cameo"))


def test_clean_distance_by_hand():
    raw = np.array([[0, 3, 9], [4, 0.2, 6], [9, 0.5, 0]])
    expected = [[3, 3, 9], [4, 5, 6], [9, 1, 1]]
    np.testing.assert_array_equal(clean_distance(raw), expected)
    assert raw[0, 0] == 0 and clean_distance(raw).dtype == np.float32


@pytest.mark.parametrize("n", [2, 3, 8, 20])
@pytest.mark.parametrize("missing", [0, 1, 3])
def test_clean_distance_like_the_slow_way(n, missing):
    rng = np.random.default_rng([n, missing])
    for _ in range(20):
        matrix = (rng.random((n, n)) * 9).astype(np.float16)  # not symmetric: sides matter
        gone = rng.choice(n, min(missing, n - 1), replace=False)
        matrix[gone], matrix[:, gone] = np.nan, np.nan
        np.testing.assert_allclose(clean_distance(matrix), slow_clean(matrix), rtol=1e-6)


def test_a_single_residue_has_no_neighbours():
    assert np.isnan(clean_distance(np.zeros((1, 1)))).all()


def test_the_constants_are_those_of_the_paper():
    assert pdnet.VALIDATION == 100
    assert sum({"ss": 3, "pssm": 22, "sa": 1, "entropy": 1}[n] * 2 for n in pdnet.PROFILES) == 54
