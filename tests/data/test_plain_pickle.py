"""Plain pickles give their values, and hostile ones nothing but an error."""

import io
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sciops.data.plain_pickle import load_plain
from tests.data.pickle_programs import PYTHON2, array, call, dtype, name, python2_dumps, text

BOX = np.arange(24.0).reshape(2, 3, 4)
ARRAYS = {
    "c": BOX,
    "fortran": BOX.T,
    "permuted": BOX.transpose(1, 0, 2),
    "strided": BOX[:, ::2],
    "half": BOX.astype(np.float16),
    "big endian": BOX.astype(">i4"),
    "empty": np.zeros((0, 3), np.float32),
    "point": np.array(7, np.uint8),
    "bool": BOX > 4,
    "complex": BOX * 1j,
    "text": np.array(["ab", "c", "βγδ"]),
    "bytes": np.array([b"ab", b"c\xff"]),
}
VALUES = {
    "integers": [0, 1, -1, 255, 256, -300, 65536, 2**31, -(2**40), 2**70],
    "numbers": (0.1, -1e300, float("inf"), True, False, None, 2.5 - 1j),
    "text": ["", "plain", "quotes ' \"", "new\nline", "β", "\ud800", "x" * 300, "x" * 70000],
    "bytes": [b"", b"\x00\xff", b"y" * 300],
    "nested": {"a": [{}, (), [], ({"b": (1, (2, (3, (4,))))},)], (1, "x"): 2, b"k": 3, 4: 5},
    "shared": [[1]] * 3,
    "shared by many": [f"w{i}" for i in range(400)] * 2,
    "scalars": [np.float32(2.5), np.int64(-3), np.bool_(True), np.str_("β"), np.bytes_(b"x")],
}


def same(a, b) -> bool:
    """Equal in type and value, all the way down."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        kinds = a.dtype.newbyteorder("=") == b.dtype.newbyteorder("=")
        return (
            kinds and a.shape == b.shape and all(map(same, a.ravel().tolist(), b.ravel().tolist()))
        )
    return a == b


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("name", [*ARRAYS, *VALUES])
def test_plain_values_of_every_protocol(name, protocol):
    value = {**ARRAYS, **VALUES}[name]
    assert same(load_plain(pickle.dumps(value, protocol), name), value)


@pytest.mark.parametrize("protocol", range(6))
def test_arrays_of_objects(protocol):
    triple = np.empty((2, 2), object)
    triple[:] = [[3, "ACD"], [BOX, {"a": [None]}]]
    for value in (triple, triple.T, np.array({"a": 1}, object)):
        assert same(load_plain(pickle.dumps(value, protocol), "objects"), value)


@pytest.mark.parametrize("protocol", range(3))
def test_python_2_itself(protocol):
    values = np.array([[0, -1, 2.5], [1e9, 255, 3]], np.float32)
    triple = np.empty(3, object)
    triple[:] = [2, "ACé", values]
    truth = dict(seq="ACé", text="β", map=values, triple=triple)
    truth |= dict(n=7**30, flags=(True, None, -3, 0.1))
    found = load_plain(PYTHON2[protocol], "of Python 2")
    assert same(found, {key: truth[key] for key in found}) and found.keys() == truth.keys()


def test_the_writer_of_python_2_pickles():
    value = {"s": "é", "l": [1, None, True], "t": (BOX, BOX.astype("f2")), "o": [[]]}
    assert same(load_plain(python2_dumps(value), "written"), value)


def test_arrays_can_be_written_to_and_share_nothing_with_each_other():
    found = load_plain(pickle.dumps([np.ones(400), np.ones(400)], 4), "arrays")
    found[0][:] = 5
    assert found[1].sum() == 400


def npy(value, **options) -> bytes:
    stream = io.BytesIO()
    np.save(stream, value, **options)
    return stream.getvalue()


def test_npy(tmp_path):
    triple = np.empty(3, object)
    triple[:] = [4, "ACDE", np.eye(4, dtype=np.float16)]
    for value in (triple, BOX, BOX.T, BOX.astype(">f4"), np.array(["a", "bc"]), np.zeros((0, 2))):
        (tmp_path / "x.npy").write_bytes(npy(value))
        for source in (tmp_path / "x.npy", str(tmp_path / "x.npy"), npy(value)):
            assert same(load_plain(source, "npy"), value)
    old = npy(triple)
    old = old[: -len(old) + 128] + python2_dumps(triple)
    assert same(load_plain(old, "npy"), triple)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (npy(np.zeros(3, "i4,f4")), "dtype '|V8'"),
        (npy(np.zeros(3, "M8[s]")), r"dtype '<M8\[s\]'"),
        (npy(np.array([(1, None)], "i4,O")), "dtype 'V12'"),
        (npy(BOX)[:-1], "shape .2, 3, 4. and holds 191 bytes"),
        (npy(BOX).replace(b"(2, 3, 4)", b"(2, 3, 9)"), "declares float64 of shape"),
        (npy(np.array([None])).replace(b"(1,)", b"(9,)"), r"objects of shape \(9,\) and holds"),
        (npy(BOX)[:40], "is damaged"),
        (b"\x93NUMPY\x03\x00" + npy(BOX)[8:], "version .3, 0."),
        (npy(np.array([None]))[:128] + pickle.dumps([None]), "something else"),
        (npy(np.array([None]))[:128] + pickle.dumps(np.ones(1)), "something else"),
    ],
)
def test_npy_that_is_not_plain(data, message):
    with pytest.raises(ValueError, match=f"^the map.*{message}"):
        load_plain(data, "the map")


def test_files_are_named(tmp_path):
    file = tmp_path / "x.pkl"
    file.write_bytes(b"cos\nsystem\n.")
    with pytest.raises(ValueError, match=r"^the features in .*x\.pkl names os\.system; only arr"):
        load_plain(file, "the features")
    file.write_bytes(b"")
    with pytest.raises(ValueError, match=r"^the features in .*x\.pkl is damaged or no pickle"):
        load_plain(file, "the features")


# -- hostile ----------------------------------------------------------------------------------


class Calls:
    def __init__(self, function, *arguments):
        self.reduced = function, arguments

    def __reduce__(self):
        return self.reduced


def attacks(target: Path) -> dict[str, tuple[bytes, str]]:
    """Programs that make the file `target` when Python's machine runs them, and what they name."""
    touch, write = f"touch {target}", f"open({str(target)!r}, 'w').close()"
    evil = target.with_suffix(".npy")
    evil.write_bytes(npy(np.array([Calls(os.system, touch)], object)))
    system = call(name("os", "system"), text(touch))
    os_module = call(name("importlib", "import_module"), text("os"))
    getattr_system = call(name("builtins", "getattr"), os_module, text("system"))
    extension = call(name("copyreg", "add_extension"), text("os"), text("system"), b"K\x07")
    state = b"}" + text("__setstate__") + name("os", "system") + b"s"
    popen = call(name("subprocess", "Popen"), b"](" + text("touch") + text(str(target)) + b"e")
    return {
        **{
            f"protocol {p}": (pickle.dumps(Calls(os.system, touch), p), "names posix.system")
            for p in range(6)
        },
        "eval": (pickle.dumps(Calls(eval, write)), "names builtins.eval"),
        "eval of Python 2": (
            b"c__builtin__\neval\n(S" + repr(write).encode() + b"\ntR.",
            "names __builtin__.eval",
        ),
        "getattr": (call(getattr_system, text(touch)) + b".", "names builtins.getattr"),
        "nested": (
            b"\x80\x04" + call(name("os", "path.os.system"), text(touch)) + b".",
            "names os.path.os.system",
        ),
        "nested in numpy": (
            b"\x80\x04" + call(name("numpy", "ma.core.builtins.eval"), text(write)) + b".",
            "names numpy.ma.core.builtins.eval",
        ),
        "numpy.load": (
            call(name("numpy", "load"), text(str(evil)), b"N\x88") + b".",
            "names numpy.load",
        ),
        "INST": (b"(S'" + touch.encode() + b"'\nios\nsystem\n.", "instance of os.system"),
        "OBJ": (b"(" + name("os", "system") + text(touch) + b"o.", "names os.system"),
        "EXT": (extension + b"0" + call(b"\x82\x07", text(touch)) + b".", "copyreg.add_ext"),
        "BUILD": (
            call(name("types", "SimpleNamespace")) + state + b"b" + text(touch) + b"b.",
            "names types.SimpleNamespace",
        ),
        "Popen": (
            popen + b"0" + call(name("time", "sleep"), b"K\x01") + b".",
            "names subprocess.Popen",
        ),
        "in an array": (
            array(b"K\x01\x85", dtype("O8"), b"](" + system + b"e") + b".",
            "os.system",
        ),
        "dropped": (system + b"0N.", "names os.system"),
        "in a key": (b"}" + system + b"Ns.", "names os.system"),
        "npy": (evil.read_bytes(), "names posix.system"),
    }


def test_nothing_of_an_attack_runs(tmp_path):
    target = tmp_path / "touched"
    modules = set(sys.modules)
    for attack, (program, message) in attacks(target).items():
        with pytest.raises(ValueError, match=f"^hostile .*{message}.*; only arrays"):
            load_plain(program, "hostile")
        assert not target.exists(), attack
    assert set(sys.modules) == modules  # not even an import


VICTIM = """
import pickle, pathlib, sys, numpy
for program in sorted(pathlib.Path(sys.argv[1]).glob("*.program")):
    data = program.read_bytes()
    try:
        numpy.load(program, allow_pickle=True) if data[0] == 0x93 else pickle.loads(data)
    except Exception as error:
        print(program, repr(error))
"""


def test_the_attacks_are_real(tmp_path):
    """Python's own machine, in a process of its own, does run them."""
    names = list(attacks(tmp_path / "x"))
    for i, attack in enumerate(names):
        program = attacks(tmp_path / f"{i}.touched")[attack][0]
        (tmp_path / f"{i}.program").write_bytes(program)
    command = [sys.executable, "-c", VICTIM, str(tmp_path)]
    output = subprocess.run(command, capture_output=True, text=True, timeout=60)
    missed = [a for i, a in enumerate(names) if not (tmp_path / f"{i}.touched").exists()]
    assert not missed, output.stdout + output.stderr
