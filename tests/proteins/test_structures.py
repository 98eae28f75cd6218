"""Chains of PDB and mmCIF files: small ones with one peculiarity each, and real ones by hand."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from sciops.proteins import atom_lines, structures
from sciops.proteins.protein import AMINO_ACIDS
from sciops.proteins.structures import Chain, distance_map, read_structure

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "protein"
BACKBONE = ("N", "CA", "C", "CB")
NAMES = "ALA ARG ASN ASP CYS GLN GLU GLY HIS ILE LEU LYS MET PHE PRO SER THR TRP TYR VAL"
ONE_LETTER = dict(zip(NAMES.split(), AMINO_ACIDS, strict=True))


def atom(name, residue, number, x, *, chain="A", y=0.0, alt=" ", occupancy=1.0, kind="ATOM"):
    """What a record says; the number may end in an insertion code."""
    digits = number.rstrip("ABCDEF") if isinstance(number, str) else str(number)
    code = str(number)[len(digits) :] or " "
    return dict(
        kind=kind, name=name, alt=alt, residue=residue, chain=chain, number=int(digits), code=code,
        x=x, y=y, z=0.0, occupancy=occupancy,
    )  # fmt: skip


def residue(name, number, x, atoms=BACKBONE, **options):
    """Backbone atoms near x, the Cα at x and the Cβ at (x, 1.5)."""
    shift = {"N": -1.2, "CA": 0.0, "C": 1.2, "CB": 0.0}
    return [
        atom(a, name, number, x + shift[a], y=1.5 if a == "CB" else 0.0, **options) for a in atoms
    ]


def peptide(names, first=1, x=0.0, **options):
    """Residues numbered from `first`, 3.8 Å from Cα to Cα."""
    placed = enumerate(names.split())
    return [a for i, name in placed for a in residue(name, first + i, x + 3.8 * i, **options)]


def pdb(*models):
    lines = []
    for i, atoms in enumerate(models, 1):
        lines += [f"MODEL     {i:4d}"] if len(models) > 1 else []
        lines += [
            "{kind:6s}{serial:5d}  {name:3s}{alt}{residue:>3s} {chain}{number:4d}{code}   "
            "{x:8.3f}{y:8.3f}{z:8.3f}{occupancy:6.2f}{b:6.2f}          {element:>2s}".format(
                serial=serial, b=20.0, element=a["name"][0], **a
            )
            for serial, a in enumerate(atoms, 1)
        ]
        lines += ["ENDMDL"] if len(models) > 1 else []
    return "\n".join([*lines, "END", ""])


def cif(*models):
    """Label names of chains and residues are others than the authors'."""
    columns = (
        "group_PDB id type_symbol label_atom_id label_alt_id label_comp_id label_asym_id "
        "label_seq_id pdbx_PDB_ins_code Cartn_x Cartn_y Cartn_z occupancy B_iso_or_equiv "
        "auth_seq_id auth_asym_id pdbx_PDB_model_num"
    )
    head = ["data_toy", "loop_", *(f"_atom_site.{c}" for c in columns.split())]
    rows = [
        f"{a['kind']} {serial} {a['name'][0]} {a['name']} {a['alt'].strip() or '.'} {a['residue']} "
        f"z 77 {a['code'].strip() or '?'} {a['x']} {a['y']} {a['z']} {a['occupancy']} 20 "
        f"{a['number']} {a['chain']} {model}"
        for model, atoms in enumerate(models, 1)
        for serial, a in enumerate(atoms, 1)
    ]
    return "\n".join([*head, *rows, "#", ""])


@pytest.fixture(params=["pdb", "ent.gz", "cif", "mmcif.gz"])
def written(request, tmp_path):
    """Writes models of atoms in one of the formats."""

    def write(*models):
        text = (cif if "cif" in request.param else pdb)(*models).encode()
        path = tmp_path / f"toy.{request.param}"
        path.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)
        return path

    return write


# -- the plain case, and each peculiarity ---------------------------------------------------------


def test_a_plain_chain(written):
    chain = read_structure(written(peptide("ALA GLY TRP", first=-1)))
    assert (chain.name, chain.sequence, len(chain)) == ("toy", "AGW", 3)
    assert chain.numbers == ("-1", "0", "1") and chain.notes == ()
    assert chain.positions.dtype == np.float64
    np.testing.assert_allclose(  # Cα of glycine
        chain.positions, [[0, 1.5, 0], [3.8, 0, 0], [7.6, 1.5, 0]], atol=1e-5
    )


def test_missing_beta_is_nan_and_noted(written):
    atoms = peptide("ALA") + residue("SER", 2, 3.8, ["N", "CA", "C"]) + residue("LYS", 3, 7.6, "C")
    chain = read_structure(written(atoms))
    assert chain.sequence == "ASK"
    assert np.isnan(chain.positions).all(axis=1).tolist() == [False, True, True]
    assert chain.notes == ("no Cβ atom (Cα of glycine): 2, 3",)


def test_coordinates_that_are_no_numbers_are_missing(written):
    atoms = peptide("ALA ALA")
    atoms[3]["x"] = float("nan")
    assert np.isnan(read_structure(written(atoms)).positions[0]).all()


@pytest.mark.parametrize(
    ("occupancies", "taken"), [((0.3, 0.7), 1), ((0.7, 0.3), 0), ((0.5, 0.5), 0)]
)
def test_alternate_locations(written, occupancies, taken):
    atoms = peptide("ALA ALA")
    beta = atoms.pop(3)
    both = [
        {**beta, "alt": alt, "occupancy": o, "y": y}
        for alt, o, y in zip("AB", occupancies, (1.5, 2.5), strict=True)
    ]
    chain = read_structure(written(atoms[:3] + both + atoms[3:]))
    assert chain.positions[0, 1] == (1.5, 2.5)[taken]
    assert chain.notes == ("alternate locations, that of highest occupancy taken: 1",)


def test_one_location_with_a_mark_is_no_choice(written):
    atoms = [{**a, "alt": "A"} for a in peptide("ALA ALA")]
    assert read_structure(written(atoms)).notes == ()


@pytest.mark.parametrize(("first", "sequence"), [(0.7, "ASA"), (0.3, "ACA"), (0.5, "ASA")])
def test_two_residues_at_one_place(written, first, sequence):
    mixed = residue("SER", 2, 3.8, alt="A", occupancy=first)
    mixed += residue("CYS", 2, 3.9, alt="B", occupancy=1 - first)
    chain = read_structure(written(peptide("ALA") + mixed + peptide("ALA", first=3, x=7.6)))
    assert chain.sequence == sequence and chain.numbers == ("1", "2", "3")
    assert (
        "several residues at one place, that of highest occupancy taken: 2 (SER or CYS)"
        in chain.notes
    )
    np.testing.assert_allclose(chain.positions[1, 0], 3.8 if sequence == "ASA" else 3.9, atol=1e-5)


def test_a_standard_and_a_modified_residue_at_one_place(written):
    mixed = residue("MSE", 2, 3.8, alt="A", occupancy=0.4, kind="HETATM")
    mixed += residue("MET", 2, 3.9, alt="B", occupancy=0.6)
    chain = read_structure(written(peptide("ALA") + mixed + peptide("ALA", first=3, x=7.6)))
    assert chain.sequence == "AMA"
    np.testing.assert_allclose(chain.positions[1, 0], 3.9, atol=1e-5)


def test_of_several_models_the_first(written):
    chain = read_structure(written(peptide("ALA GLY"), peptide("TRP GLY", x=9)))
    assert chain.sequence == "AG" and chain.notes == ("2 models, the first taken",)


def test_insertion_codes_are_kept(written):
    atoms = [
        a for i, n in enumerate(("52", "52A", "52B", "53")) for a in residue("ALA", n, 3.8 * i)
    ]
    chain = read_structure(written(atoms))
    assert chain.numbers == ("52", "52A", "52B", "53")
    assert chain.notes == ("insertion codes: 52A, 52B",)


def test_modified_residues_have_the_letter_of_their_parent(written):
    modified = peptide("MSE SEP", first=2, x=3.8, kind="HETATM")
    chain = read_structure(written(peptide("ALA") + modified + peptide("GLY", first=4, x=11.4)))
    assert chain.sequence == "AMSG"
    assert chain.notes == ("non-standard residues: MSE 2 as M, SEP 3 as S",)


def test_modified_residues_at_the_ends_belong_to_the_chain(written):
    ends = [residue("MSE", i, 3.8 * i, kind="HETATM") for i in (0, 3)]
    chain = read_structure(written(ends[0] + peptide("ALA GLY", x=3.8) + ends[1]))
    assert chain.sequence == "MAGM"


def test_unknown_residues_of_the_chain_are_x(written):
    modified = residue("QQQ", 2, 3.8, kind="HETATM") + residue("UNK", 3, 7.6)
    chain = read_structure(written(peptide("ALA") + modified))
    assert chain.sequence == "AXX" and not np.isnan(chain.positions).any()
    assert chain.notes == ("non-standard residues: QQQ 2 as X, UNK 3 as X",)


def test_what_is_not_of_the_chain_is_left_out(written):
    others = [
        *residue("ACE", 0, -3.8, ["CA", "C"], kind="HETATM"),  # a cap: no nitrogen
        *peptide("ALA GLY"),
        *residue("ALA", 3, 7.6, ["CA", "CB"], kind="HETATM"),  # half an amino acid
        *residue("SAM", 101, 30, kind="HETATM"),  # has the atoms of a backbone
        *residue("GLU", 102, 60, kind="HETATM"),  # a free amino acid
        atom("CA", "CA", 103, 7.6, kind="HETATM"),  # calcium
        atom("CA", "CA", 104, 7.6),
        atom("O", "HOH", 105, 7.6, kind="HETATM"),
    ]
    chain = read_structure(written(others))
    assert (chain.sequence, chain.numbers, chain.notes) == ("AG", ("1", "2"), ())


@pytest.mark.parametrize(
    ("number", "x", "note"),
    [
        (5, 11.4, "residues missing: 2 in 2→5"),
        (5, 7.6, "numbering jumps where the chain goes on: 2→5"),
        (1002, 7.6, "numbering jumps where the chain goes on: 2→1002"),
        (-7, 7.6, "numbering jumps where the chain goes on: 2→-7"),
        (3, 11.4, "breaks of the chain, Cα more than 4.5 Å apart: 2→3 (7.6 Å)"),
        (-7, 11.4, "breaks of the chain, Cα more than 4.5 Å apart: 2→-7 (7.6 Å)"),
        (3, 8.2, None),
    ],
)
def test_gaps_are_noted(written, number, x, note):
    chain = read_structure(written(peptide("ALA ALA") + residue("GLY", number, x)))
    assert chain.sequence == "AAG" and chain.notes == ((note,) if note else ())
    assert chain.missing == (0, 0, 2 if note and note.startswith("residues missing") else 0)


def test_a_gap_beside_a_missing_alpha_is_told_by_the_numbers(written):
    chain = read_structure(written(peptide("ALA") + residue("ALA", 3, 3.8, ["CB"])))
    assert chain.notes == ("residues missing: 1 in 1→3",)


@pytest.mark.parametrize(("n", "end"), [(8, "6A, 7A"), (9, "7A and 1 more"), (11, "7A and 3 more")])
def test_long_lists_are_cut(tmp_path, n, end):
    path = tmp_path / "TOY.PDB"
    path.write_text(pdb([a for i in range(n) for a in residue("ALA", f"{i}A", 3.8 * i)]))
    (note,) = read_structure(path).notes
    assert note.startswith("insertion codes: 0A, 1A, 2A") and note.endswith(end)


# -- several chains -------------------------------------------------------------------------------


def test_several_chains_have_to_be_chosen_from(written):
    nucleic = [atom("P", "DA", 1, 0.0, chain="N")]
    mixed = residue("SER", 3, 7.6, chain="B", alt="A", occupancy=0.5)
    mixed += residue("CYS", 3, 7.6, chain="B", alt="B", occupancy=0.5)
    path = written(peptide("ALA GLY") + peptide("TRP TRP", chain="B") + mixed + nucleic)
    with pytest.raises(ValueError, match=r"'A' \(2 residues\), 'B' \(3 residues\); choose one"):
        read_structure(path)
    with pytest.raises(ValueError, match=r"no chain 'N' of amino acids, but 'A' \(2 residues\)"):
        read_structure(path, chain="N")
    chain = read_structure(path, chain="B")
    assert (chain.name, chain.sequence) == ("toy_B", "WWS")


def test_the_only_chain_is_taken_whatever_its_name(tmp_path):
    path = tmp_path / "blank.pdb"
    path.write_text(pdb(peptide("ALA GLY", chain=" ")))
    assert read_structure(path).sequence == "AG"
    assert read_structure(str(path), chain=" ").name == "blank"


# -- bad files ------------------------------------------------------------------------------------


def test_no_amino_acids(written):
    with pytest.raises(ValueError, match="holds no amino acids"):
        read_structure(written([atom("O", "HOH", 1, 0.0, kind="HETATM")]))


def test_alpha_atoms_alone_are_refused(written):
    with pytest.raises(ValueError, match=r"chain 'A' of .* has no Cβ atoms"):
        read_structure(written(peptide("ALA SER", atoms=["CA"])))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.pdb", b"", "a.pdb is empty"),
        ("a.cif", b" \n", "a.cif is empty"),
        ("a.pdb", bytes(range(256)) * 9, "no amino acids"),
        ("a.cif", bytes(range(256)) * 9, "damaged or no .cif file"),
        ("a.cif", pdb(peptide("ALA GLY")).encode(), "damaged or no .cif file: ValueError"),
        ("a.cif", b"data_x\n", "damaged or no .cif file: KeyError: '_atom_site.id'"),
        ("a.pdb", pdb(peptide("ALA")).replace("0.000", "x.xxx").encode(), "coordinate.* line 1"),
        (
            "a.pdb.gz",
            gzip.compress(pdb(peptide("ALA")).encode(), mtime=0)[:-9],
            "a.pdb.gz is damaged",
        ),
        ("a.txt", b"ATOM", r"ends in '.txt'; structures end in .pdb, .ent, .cif"),
    ],
)
def test_bad_files(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_structure(tmp_path / name)


def test_too_large(tmp_path, monkeypatch):
    monkeypatch.setattr(structures, "LARGEST", 1000)
    (tmp_path / "a.pdb.gz").write_bytes(gzip.compress(pdb(peptide("ALA " * 50)).encode()))
    with pytest.raises(ValueError, match="more than 0 MiB"):
        read_structure(tmp_path / "a.pdb.gz")


def test_too_many_atoms_are_refused_while_they_are_read(tmp_path):
    line = pdb(peptide("ALA")).splitlines(keepends=True)[0].encode()
    (tmp_path / "a.pdb.gz").write_bytes(gzip.compress(line * (atom_lines.MOST_ATOMS + 1), 1))
    with pytest.raises(ValueError, match="more than 90000 residues, or 360000 atoms of backbones"):
        read_structure(tmp_path / "a.pdb.gz")


def test_too_many_residues(written, monkeypatch):
    monkeypatch.setattr(atom_lines, "MOST_RESIDUES", 3)
    assert len(read_structure(written(peptide("ALA GLY TRP")))) == 3
    with pytest.raises(ValueError, match=r"more than 3 residues.* in a file of its own"):
        read_structure(written(peptide("ALA GLY TRP ALA")))


def test_too_many_models(tmp_path, monkeypatch):
    monkeypatch.setattr(atom_lines, "MOST_ATOMS", 20)
    (tmp_path / "a.pdb").write_text("MODEL \n" * 21)
    with pytest.raises(ValueError, match="or 20 atoms"):
        read_structure(tmp_path / "a.pdb")


@pytest.mark.parametrize("name", ["a.pdb.gz", "a.cif.gz"])
def test_too_many_lines(tmp_path, name):
    text = b"data_x\nloop_\n_a.b\n" + b"x\n" * atom_lines.MOST_LINES
    (tmp_path / name).write_bytes(gzip.compress(text, 1))
    with pytest.raises(ValueError, match="has 2097155 lines, and at most 2097152 are read; save"):
        read_structure(tmp_path / name)


def test_long_mmcif_without_one_line_an_atom(tmp_path, monkeypatch):
    whole = cif(peptide("ALA GLY")).encode()
    split = whole.replace(b"ATOM ", b"ATOM\n")
    (tmp_path / "a.cif").write_bytes(split)
    assert read_structure(tmp_path / "a.cif").sequence == "AG"
    monkeypatch.setattr(structures, "IRREGULAR", len(split) - 1)
    with pytest.raises(ValueError, match="no table of atoms with one line each"):
        read_structure(tmp_path / "a.cif")
    (tmp_path / "a.cif").write_bytes(whole + b"\n" * 1000)
    assert read_structure(tmp_path / "a.cif").sequence == "AG"


def test_what_biopython_could_not_use_is_noted(tmp_path):
    path, atoms = tmp_path / "a.pdb", peptide("ALA GLY")
    path.write_text(pdb([*atoms, atoms[-2]]))  # twice
    (note,) = read_structure(path).notes
    assert note.startswith(
        "not understood in the file: Atom C defined twice in residue <Residue GLY"
    )


def test_what_does_not_matter_is_not_noted(tmp_path):
    path, atoms = tmp_path / "a.pdb", peptide("ALA GLY") + peptide("TRP", first=3, x=7.6)
    text = pdb([*atoms[:8], *peptide("ALA", chain="B"), *atoms[8:]])  # not in one piece
    path.write_text(text.replace("  1.00 20.00", " " * 12) + "STRANGE RECORD\n")
    chain = read_structure(path, chain="A")
    assert (chain.sequence, chain.notes) == ("AGW", ())


def test_maps_larger_than_the_memory_are_refused(monkeypatch):
    monkeypatch.setenv("SCIOPS_MEMORY", "0.001")
    chain = Chain("toy", "A" * 9, np.zeros((9, 3)), tuple("123456789"))
    assert distance_map(chain).shape == (9, 9)
    longer = Chain("toy", "A" * 99, np.zeros((99, 3)), tuple(map(str, range(99))))
    monkeypatch.setenv("SCIOPS_MEMORY", "0.0001")
    with pytest.raises(ValueError, match=r"map of the 99 residues .* needs 0\.000274 GB"):
        distance_map(longer)


# -- distances ------------------------------------------------------------------------------------


def test_distances_pair_by_pair():
    rng = np.random.default_rng(0)
    positions = rng.normal(0, 20, (9, 3))
    positions[4] = np.nan
    found = distance_map(Chain("toy", "A" * 9, positions, tuple("123456789")))
    assert found.dtype == np.float32 and found.shape == (9, 9)
    for i in range(9):
        for j in range(9):
            expected = 0 if i == j else np.sqrt(((positions[i] - positions[j]) ** 2).sum())
            np.testing.assert_allclose(found[i, j], expected, rtol=1e-6)


@pytest.mark.parametrize(("shape", "numbers"), [((3, 3), "12"), ((2, 2), "12"), ((2, 3), "123")])
def test_parts_of_a_chain_must_fit(shape, numbers):
    with pytest.raises(ValueError, match=r"'toy' has 2 residues.* expected \(2, 3\) and 2"):
        Chain("toy", "AG", np.zeros(shape), tuple(numbers))


# -- real structures ------------------------------------------------------------------------------


def by_hand(path):
    """Number, letter and place of the residues of a PDB file, from its columns."""
    betas, letters = {}, {}
    for line in path.read_text().splitlines():
        if line.startswith("ATOM"):
            number, letter = line[22:27].strip(), ONE_LETTER[line[17:20]]
            letters[number] = letter
            if line[12:16].strip() == ("CA" if letter == "G" else "CB"):
                place = [float(line[i : i + 8]) for i in (30, 38, 46)]
                betas.setdefault(number, []).append((float(line[54:60]), place))
    highest = {n: max(found, key=lambda pair: pair[0])[1] for n, found in betas.items()}
    return letters, [highest.get(number, [np.nan] * 3) for number in letters]


@pytest.mark.parametrize("folder", ["kortemme/structures", "prospr"])
def test_real_structures(folder):
    paths = sorted((SHARED / folder).glob("*.pdb"))
    if not paths:
        pytest.skip(f"{folder} is not on this machine")
    for path in paths:
        chain = read_structure(path)
        letters, places = by_hand(path)
        assert (chain.name, chain.numbers) == (path.stem, tuple(letters))
        assert chain.sequence == "".join(letters.values())
        np.testing.assert_allclose(chain.positions, places, atol=1e-4)
