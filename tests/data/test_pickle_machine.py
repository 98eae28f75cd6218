"""Programs that no plain value needs are refused, and no program takes much memory or time."""

import pickle
import pickletools
import struct
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sciops.data.pickle_machine import GROWTH, INSTRUCTIONS, LONGEST
from sciops.data.plain_pickle import DEPTH, load_plain
from tests.data.pickle_programs import (
    PYTHON2,
    UNFILLED,
    array,
    call,
    dtype,
    from_buffer,
    name,
    text,
)

OBJECT, DOUBLE, SCALAR = dtype("O8"), dtype("f8"), name("numpy.core.multiarray", "scalar")
ENCODE = name("_codecs", "encode")
EIGHT = b"C\x08" + bytes(8)  # eight bytes, or one double
ONE = b"K\x01\x85"  # the shape (1,)
HUGE = b"J\x00\x00\x00\x7f"


FIELD = b"N" + text("a") + b"\x85}" + text("a") + OBJECT + b"K\x00\x86s"  # one, of objects
REFUSED = {
    "PERSID": (b"Pname\n.", "instruction PERSID"),
    "BINPERSID": (text("name") + b"Q.", "instruction BINPERSID"),
    "EXT1": (b"\x82\x01.", "instruction EXT1"),
    "EXT2": (b"\x83\x01\x00.", "instruction EXT2"),
    "EXT4": (b"\x84\x01\x00\x00\x00.", "instruction EXT4"),
    "NEWOBJ": (name("numpy", "ndarray") + b"K\x02\x85\x81.", "instruction NEWOBJ"),
    "OBJ": (b"(" + name("numpy", "dtype") + text("f8") + b"o.", "instruction OBJ"),
    "INST": (b"(inumpy\nndarray\n.", "instance of numpy.ndarray"),
    "BUFFER": (b"\x97.", "instruction NEXT_BUFFER"),
    "unknown byte": (b"\xff.", "instruction byte ff"),
    "copyreg": (b"ccopyreg\n_reconstructor\n.", "names copyreg._reconstructor"),
    "copy_reg": (b"ccopy_reg\n_reconstructor\n.", "names copy_reg._reconstructor"),
    "fromfile": (b"cnumpy\nfromfile\n.", "names numpy.fromfile"),
    "numpy in two": (name("numpy", "core.multiarray._reconstruct") + b".", "names numpy.core.mul"),
    "known in two": (name("numpy.core", "multiarray.scalar") + b".", "names numpy.core.multiarray"),
    "set": (pickle.dumps({1}, 4), "instruction EMPTY_SET"),
    "set of Python 2": (pickle.dumps({1}, 2), "names __builtin__.set"),
    "range": (pickle.dumps(range(3)), "names builtins.range"),
    "masked": (pickle.dumps(np.ma.ones(2)), "names numpy.ma"),
    "records": (pickle.dumps(np.zeros(2, [("a", object)])), "dtype 'V8'"),
    "records by state": (
        DOUBLE + b"(K\x03" + text("|") + FIELD + b"K\x08K\x01K\x3ftb.",
        "array of records",
    ),
    "fields only": (
        DOUBLE + b"(K\x03" + text("|") + b"NN}K\x08K\x01K\x00tb.",
        "array of records",
    ),
    "subarray": (DOUBLE + b"(K\x03" + text("|") + DOUBLE + ONE + b"\x86NNtb.", "array of records"),
    "dates": (pickle.dumps(np.zeros(2, "M8[s]")), "dtype 'M8'"),
    "the dtype of a dict": (call(name("numpy", "dtype"), b"}") + b".", "uses a dict as a str"),
    "a class": (name("numpy", "ndarray") + b".", "holds numpy.ndarray"),
    "a class in a list": (b"]" + name("numpy", "ndarray") + b"a.", "holds numpy.ndarray"),
    "a dtype": (b"]" + DOUBLE + b"a.", "holds the dtype float64"),
    "an empty array": (b"]" + UNFILLED + b"a.", "array without values"),
    "call of a class": (call(name("numpy", "ndarray"), b"K\x02") + b".", "calls numpy.ndarray"),
    "call of text": (call(text("os.system"), text("ls")) + b".", "calls os.system"),
    "arguments": (name("numpy", "dtype") + b"]R.", "list as a tuple"),
    "other arrays": (
        call(name("numpy.core.multiarray", "_reconstruct"), name("numpy", "dtype"), b"K\x00\x85N")
        + b".",
        "kind numpy.dtype",
    ),
    "BUILD of a class": (name("numpy", "ndarray") + b"}\x85b.", "changes a Global"),
    "BUILD of a dict": (b"}" + b"}" + text("keys") + b"K\x01s\x85b.", "changes a dict"),
    "BUILD of a finished array": (
        array(ONE, DOUBLE, EIGHT) + b"(K\x01tb.",
        "changes a ndarray",
    ),
    "BUILD with a dict": (UNFILLED + b"}b.", "dict as a tuple"),
    "dtype of an array": (array(ONE, text("f8"), EIGHT) + b".", "str as a"),
    "APPEND to a dict": (b"}K\x01a.", "dict as a list"),
    "APPENDS to an array": (
        array(ONE, DOUBLE, EIGHT) + b"(K\x01e.",
        "ndarray as a list",
    ),
    "SETITEM of a list": (b"]K\x01K\x01s.", "list as a dict"),
    "encode": (call(ENCODE, text("x"), text("zip")) + b".", "encodes text as"),
    "encode bytes": (call(ENCODE, b"C\x01x", text("latin1")) + b".", "bytes as a str"),
    "key": (b"}" + DOUBLE + b"K\x01s.", "_DType in a key"),
    "key of a class": (b"}" + name("numpy", "ndarray") + b"Ns.", "Global in a key"),
    "key of a tuple": (b"}K\x01\x85\x85K\x01s.", "tuple in a key"),
    "key of a DICT": (b"(K\x01\x85\x85K\x01d.", "tuple in a key"),
    "bytes of a size": (call(name("builtins", "bytes"), b"J\xff\xff\xff\x7f") + b".", "is damaged"),
    "complex of text": (call(name("builtins", "complex"), text("1"), b"K\x01") + b".", "str as a"),
    "scalar of objects": (call(SCALAR, OBJECT, EIGHT) + b".", "bytes as a list"),
    "objects of an address": (array(ONE, OBJECT, EIGHT) + b".", "as a list"),
    "buffer of objects": (from_buffer(ONE, OBJECT, EIGHT) + b".", "bytes as a list"),
    "shape of text": (array(text("ab"), DOUBLE, EIGHT) + b".", "str as a tuple"),
    "negative shape": (
        array(b"J\xff\xff\xff\xffJ\xff\xff\xff\xff\x86", DOUBLE, EIGHT) + b".",
        "of the shape .-1, -1.",
    ),
    "objects in objects": (
        array(ONE, OBJECT, b"]" + array(b"K\x00\x85", OBJECT, b"]") + b"a") + b".",
        "arrays of objects in arrays",
    ),
    "objects that come later": (
        array(ONE, OBJECT, b"]" + UNFILLED + b"a") + b".",
        "arrays of objects in arrays",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case):
    program, message = REFUSED[case]
    with pytest.raises(ValueError, match=f"^x .*{message}"):
        load_plain(program, "x")


def long4(length: int, data: bytes) -> bytes:
    return b"\x8b" + struct.pack("<i", length) + data + b"."


SHARED = b"B" + struct.pack("<I", 10**6) + bytes(10**6) + b"q\x000"  # 1 MB at place 0 of the memo
LONG_TEXT = b"X" + struct.pack("<I", 10**6) + b"x" * 10**6 + b"q\x000"
LONG_LIST = b"](" + b"N" * 10**5 + b"eq\x000"
BOMBS = {
    "shape": (array(HUGE * 3 + b"\x87", DOUBLE, EIGHT), "declares fl"),
    "shape of objects": (array(HUGE + b"\x85", OBJECT, b"]"), "declares object of"),
    "long shape": (array(b"\x8a\x09" + b"\x7f" * 9 + b"\x85", DOUBLE, b"C\x00"), "declares float"),
    "width": (array(b"K\x02\x85", dtype("S999999999"), b"C\x00"), "declares .S999"),
    "buffer": (from_buffer(HUGE + b"\x85", DOUBLE, EIGHT), "declares float64"),
    "bytes": (b"\x8e" + struct.pack("<Q", 2**40) + b"abc", "there are 4"),
    "bytearray": (b"\x96" + struct.pack("<Q", 2**40) + b"abc", "there are 4"),
    "text": (b"\x8d" + struct.pack("<Q", 2**63) + b"abc", "there are 4"),
    "negative": (b"T" + struct.pack("<i", -1) + b"abc", "-1 bytes should follow"),
    "memo": (b"Nr\xff\xff\xff\xff0" + b"r\xff\xff\xff\xff", "IndexError"),
    "LONG4 cut": (long4(2**31 - 1, b"abc"), "2147483647 bytes should follow"),
    "LONG4": (long4(3 * 10**6, b"\x11" * 3 * 10**6), "integer of 3000000 bytes"),
    "LONG4 negative": (long4(-5, b"abc"), "-5 bytes should follow"),
    "LONG": (b"L" + b"9" * 10**6 + b"L\n", "is damaged"),
    "INT": (b"I" + b"9" * 10**6 + b"\n", "is damaged"),
    "many arrays": (
        SHARED + b"(" + 300 * array(b"J@B\x0f\x00\x85", dtype("i1"), b"h\x00") + b"t",
        f"more than {GROWTH} times",
    ),
    "many scalars": (
        SHARED + b"(" + 300 * call(SCALAR, dtype("S1000000"), b"h\x00") + b"t",
        f"more than {GROWTH} times",
    ),
    "many texts": (
        LONG_TEXT + b"(" + 300 * call(ENCODE, b"h\x00", text("latin1")) + b"t",
        f"more than {GROWTH} times",
    ),
    "many lists": (
        LONG_LIST + b"(" + 10 * array(b"J\xa0\x86\x01\x00\x85", OBJECT, b"h\x00") + b"t",
        f"more than {GROWTH} times",
    ),
    "deep list": (b"]" * 20000 + b"a" * 19999, "nested more than"),
    "deep tuple": (b")" + b"\x85" * 20000, "nested more than"),
    "deep dict": (b"}" + b"q\x00}K\x00h\x00sq\x000h\x00" * 3000, "nested more than"),
    "deep key": (b"}" + b")" + b"\x85" * 20000 + b"Ns", "tuple in a key"),
    "deep state": (UNFILLED + b")" + b"\x85" * 20000 + b"b", "is damaged|as a"),
    "list of itself": (b"]q\x00h\x00a", "or holds itself"),
    "dict of itself": (b"}q\x00K\x01h\x00s", "or holds itself"),
    "laughs": (b"]" + b"q\x00](h\x00h\x00h\x00e" * 70, "nested more"),
}  # fmt: skip


@pytest.mark.parametrize("case", BOMBS)
def test_bombs_do_not_go_off(case):
    program, message = BOMBS[case]
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=f"^x .*({message})"):
            load_plain(program + b".", "x")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 50 * 10**6


def test_what_is_just_below_the_limits():
    assert load_plain(long4(LONGEST, bytes(LONGEST)), "x") == 0
    deep = b"]" * DEPTH + b"a" * (DEPTH - 1) + b"."
    assert str(load_plain(deep, "x")) == "[" * DEPTH + "]" * DEPTH
    with pytest.raises(ValueError, match="nested more"):
        load_plain(b"]" + deep[:-1] + b"a.", "x")
    laughs = load_plain(b"]" + b"q\x00](h\x00h\x00e" * 60 + b".", "x")  # 2⁶⁰ lists in 61
    assert laughs[0] is laughs[1]


def test_many_small_arrays_are_no_bomb():
    values = [np.zeros(0), np.ones(1, np.int8), np.float32(1)] * 3000
    for protocol in range(6):
        assert load_plain(pickle.dumps(values, protocol), "x")[2::3] == values[2::3]


VALUE = {"a": [1, -2.5, "βγ", b"\xff", None, True], "b": (np.ones((2, 3)), np.float32(7)), 2: 2**70}
SAMPLES = [*(pickle.dumps(VALUE, protocol) for protocol in range(6)), *PYTHON2]


def test_cut_files_are_errors():
    for data, length in ((sample, i) for sample in SAMPLES for i in range(len(sample))):
        with pytest.raises(ValueError, match=r"^x (is damaged|declares)"):
            load_plain(data[:length], "x")


@settings(max_examples=300, deadline=None, database=None)
@given(data=st.data())
def test_damaged_files_give_a_value_or_a_value_error(data):
    sample = bytearray(data.draw(st.sampled_from(SAMPLES)))
    for _ in range(data.draw(st.integers(1, 4))):
        sample[data.draw(st.integers(0, len(sample) - 1))] = data.draw(st.integers(0, 255))
    try:
        load_plain(bytes(sample), "x")
    except ValueError as error:
        assert str(error).startswith("x ")


@settings(max_examples=300, deadline=None, database=None)
@given(
    st.lists(
        st.sampled_from([op.code.encode("latin-1") for op in pickletools.opcodes]), max_size=40
    )
)
def test_random_programs_give_a_value_or_a_value_error(program):
    try:
        load_plain(b"".join(program) + b".", "x")
    except ValueError as error:
        assert str(error).startswith("x ")


def test_every_instruction_is_one_of_pickle():
    assert set(INSTRUCTIONS) < {op.name for op in pickletools.opcodes}
