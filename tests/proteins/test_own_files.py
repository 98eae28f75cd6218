"""Proteins from files, and which of them train, validate and test."""

import gzip

import numpy as np
import pytest

from sciops.data.ragged_store import write_ragged
from sciops.data.store import open_store
from sciops.proteins.collection import read_tree
from sciops.proteins.own_files import Files, divided, find_files, protein_from
from sciops.proteins.ragged import proteins_of

LETTERS = {"A": "ALA", "G": "GLY", "L": "LEU", "K": "LYS", "S": "SER", "T": "THR"}


def pdb(sequence: str, chain: str = "A") -> str:
    """A straight chain along x with Cβ atoms one Å above."""
    lines, serial = [], 0
    for i, letter in enumerate(sequence):
        for atom, y in [("CA", 0.0)] + ([] if letter == "G" else [("CB", 1.0)]):
            serial += 1
            lines.append(
                f"ATOM  {serial:5d}  {atom:<3} {LETTERS[letter]} {chain}{i + 1:4d}    "
                f"{3.8 * i:8.3f}{y:8.3f}{0.0:8.3f}{1.0:6.2f}{0.0:6.2f}           C"
            )
    return "\n".join([*lines, "END"]) + "\n"


def fasta(query: str, rows: int = 12) -> str:
    rng = np.random.default_rng(0)
    others = ("".join(rng.choice(list("AGLKST-"), len(query))) for _ in range(rows))
    return "".join(f">s{i}\n{row}\n" for i, row in enumerate([query, *others]))


@pytest.fixture
def folder(tmp_path):
    for name, sequence in {"one": "AGLKSTAGLK", "two": "KSTAGLLAGTK", "three": "TTAGLKSA"}.items():
        for kind, suffix, text in (
            ("alignments", "fasta.gz", fasta(sequence)),
            ("structures", "x.pdb", pdb(sequence)),
        ):
            (tmp_path / kind).mkdir(exist_ok=True)
            packed = gzip.compress(text.encode()) if suffix.endswith("gz") else text.encode()
            (tmp_path / kind / f"{name}.{suffix}").write_bytes(packed)
    return tmp_path


def test_distances_of_the_structure_and_features_of_the_alignment(folder):
    protein = protein_from(find_files(folder)["one"], "one")
    assert (protein.name, protein.sequence) == ("one", "AGLKSTAGLK")
    assert protein.distance[0, 2] == pytest.approx(7.6)
    assert protein.distance[0, 1] == pytest.approx(np.hypot(3.8, 1.0))  # Cα of glycine
    assert set(protein.profiles) == {"profile", "entropy"}
    assert set(protein.maps) == {"mutual_information", "couplings"}


def test_structures_are_no_input(folder):
    known = protein_from(find_files(folder)["one"])
    file = folder / "structures" / "one.x.pdb"
    file.write_text(file.read_text().replace("1.000   0.000", "2.000   5.000"))
    other = protein_from(find_files(folder)["one"])
    assert not np.allclose(known.distance, other.distance)
    for kind in ("profiles", "maps"):
        for name, values in getattr(known, kind).items():
            assert np.array_equal(values, getattr(other, kind)[name])


def test_without_structure_the_query_says_which_columns(folder):
    file = folder / "gaps.fasta"
    file.write_text(fasta("A-GLK--STA"))
    protein = protein_from(Files(file))
    assert (protein.name, protein.sequence, protein.distance) == ("gaps", "AGLKSTA", None)
    assert protein.maps["couplings"].shape == (7, 7)
    file.write_text(fasta("---"))
    with pytest.raises(ValueError, match=r"first row of 'gaps.* is empty"):
        protein_from(Files(file))


def test_a_tree_of_a_folder(folder):
    tree = read_tree(folder, split={"train": ["one", "two"], "test": ["three"]})
    assert [tree[s].attrs["ids"] for s in ("train", "val", "test")] == [["one"], ["two"], ["three"]]
    (three,) = proteins_of(tree["test"].to_dataset())
    assert three.sequence == "TTAGLKSA"
    files = {name: tuple(parts) for name, parts in find_files(folder).items()}
    same = read_tree(files, split={"train": ["one", "two"], "test": ["three"]})
    assert same["test"].to_dataset().identical(tree["test"].to_dataset())


def test_what_structures_leave_open_is_told(folder, caplog, tmp_path):
    file = folder / "structures" / "one.x.pdb"
    model = file.read_text().removesuffix("END\n")
    file.write_text(f"MODEL        1\n{model}ENDMDL\nMODEL        2\n{model}ENDMDL\nEND\n")
    tree = read_tree(folder, split={"train": ["one", "two"], "test": ["three"]})
    assert tree["train"].attrs["notes"] == {"one": ["2 models, the first taken"]}
    assert "notes" not in tree["test"].attrs
    (message,) = caplog.messages
    assert "1 of 3 proteins left something open" in message
    assert "one: 2 models, the first taken" in message
    write_ragged(tmp_path / "store.zarr", tree)
    (one,) = proteins_of(open_store(tmp_path / "store.zarr")["train"].to_dataset())
    assert one.notes == ("2 models, the first taken",)


def test_folders_that_are_none(folder, tmp_path):
    with pytest.raises(ValueError, match="has no folder alignments/; expected"):
        read_tree(tmp_path / "nothing")
    (folder / "structures" / "one.pdb").write_text(pdb("AG"))
    with pytest.raises(ValueError, match="two files of 'one'"):
        read_tree(folder)
    with pytest.raises(ValueError, match="limit is for PDNET's folder"):
        read_tree({}, limit=3)
    (folder / "psicov.lst").write_text("a 5\n")
    with pytest.raises(ValueError, match="PDNET's lists say what trains and tests"):
        read_tree(folder, val=2)


NAMES = ["a", "b", "c", "d", "e", "f"]


def test_counts_follow_the_order_of_names():
    assert divided(NAMES, {"train": 3, "test": 2}, 1) == {
        "train": ["a", "b"],
        "val": ["c"],
        "test": ["d", "e"],
    }
    assert divided(NAMES, {"test": ["a"], "val": ["b"], "train": ["c"]}, None) == {
        "train": ["c"],
        "val": ["b"],
        "test": ["a"],
    }


@pytest.mark.parametrize(
    ("split", "val", "message"),
    [
        ({"train": 3}, None, "needs train and test"),
        ({"train": 3, "test": 2, "more": 1}, None, "needs train and test"),
        ({"train": 5, "test": 2}, None, "split asks for 7; the 6 proteins are a, b"),
        ({"train": ["a", "x"], "test": ["b"]}, None, "there is no 'x'"),
        ({"train": ["a", "b"], "test": ["b"]}, None, "a protein twice"),
        ({"train": 3, "test": 0}, None, "leaves 'test' empty"),
        ({"train": 3, "test": 2}, 3, "val=3 of 3 training proteins leaves none"),
    ],
)
def test_splits_that_make_no_sense(split, val, message):
    with pytest.raises(ValueError, match=message):
        divided(NAMES, split, val)
