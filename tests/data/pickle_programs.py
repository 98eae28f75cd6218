"""Pickles, written by Python 2, in its manner, or by hand one instruction after the other."""

import struct

import numpy as np

# {'seq': 'AC\xe9', 'text': u'β', 'map': float32 (2, 3), 'triple': array([2, seq, map], object),
#  'n': 7 ** 30, 'flags': (True, None, -3, 0.1)} by cPickle of Python 2.7.18, protocols 0, 1 and 2
PYTHON2 = (
    b"(dp1\nS'map'\np2\ncnumpy.core.multiarray\n_reconstruct\np3\n(cnumpy\nndarray\np4\n(I0\ntp5\n"
    b"S'b'\ntRp6\n(I1\n(I2\nI3\ntp7\ncnumpy\ndtype\np8\n(S'f4'\np9\nI0\nI1\ntRp10\n(I3\nS'<'\nNNN"
    b"I-1\nI-1\nI0\ntbI00\nS'\\x00\\x00\\x00\\x00\\x00\\x00\\x80\\xbf\\x00\\x00 @(knN\\x00\\x00"
    b"\\x7fC\\x00\\x00@@'\ntp11\nbsS'seq'\np12\nS'AC\\xe9'\np13\nsS'text'\np14\nV\\u03b2\nsS'n'\n"
    b"L22539340290692258087863249L\nsS'flags'\np15\n(I01\nNI-3\nF0.10000000000000001\ntp16\ns"
    b"S'triple'\np17\ng3\n(g4\ng5\nS'b'\ntRp18\n(I1\n(I3\ntp19\ng8\n(S'O8'\np20\nI0\nI1\ntRp21\n"
    b"(I3\nS'|'\nNNNI-1\nI-1\nI63\ntbI00\n(lp22\nI2\nag13\nag6\natp23\nbs.",
    b"}q\x01(U\x03mapq\x02cnumpy.core.multiarray\n_reconstruct\nq\x03(cnumpy\nndarray\nq\x04(K\x00t"
    b"q\x05U\x01btRq\x06(K\x01(K\x02K\x03tq\x07cnumpy\ndtype\nq\x08(U\x02f4q\tK\x00K\x01tRq\n(K\x03"
    b"U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tbI00\nU\x18\x00\x00\x00\x00\x00\x00\x80\xbf"
    b"\x00\x00 @(knN\x00\x00\x7fC\x00\x00@@tq\x0bbU\x03seqq\x0cU\x03AC\xe9q\rU\x04textq\x0eX\x02"
    b"\x00\x00\x00\xce\xb2U\x01nL22539340290692258087863249L\nU\x05flagsq\x0f(I01\nNJ\xfd\xff\xff"
    b"\xffG?\xb9\x99\x99\x99\x99\x99\x9atU\x06tripleq\x10h\x03(h\x04h\x05U\x01btRq\x11(K\x01(K\x03t"
    b"q\x12h\x08(U\x02O8q\x13K\x00K\x01tRq\x14(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK?tb"
    b"I00\n]q\x15(K\x02h\rh\x06etq\x16bu.",
    b"\x80\x02}q\x01(U\x03mapq\x02cnumpy.core.multiarray\n_reconstruct\nq\x03cnumpy\nndarray\n"
    b"q\x04K\x00\x85q\x05U\x01b\x87Rq\x06(K\x01K\x02K\x03\x86q\x07cnumpy\ndtype\nq\x08U\x02f4q\t"
    b"K\x00K\x01\x87Rq\n(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89U\x18\x00\x00"
    b"\x00\x00\x00\x00\x80\xbf\x00\x00 @(knN\x00\x00\x7fC\x00\x00@@tq\x0bbU\x03seqq\x0cU\x03AC\xe9"
    b"q\rU\x04textq\x0eX\x02\x00\x00\x00\xce\xb2U\x01n\x8a\x0b\xd1\x83\xf8o\xb3\xe1\xe1\x15\xe4\xa4"
    b"\x12U\x05flagsq\x0f(\x88NJ\xfd\xff\xff\xffG?\xb9\x99\x99\x99\x99\x99\x9atU\x06tripleq\x10h"
    b"\x03h\x04h\x05U\x01b\x87Rq\x11(K\x01K\x03\x85q\x12h\x08U\x02O8q\x13K\x00K\x01\x87Rq\x14(K\x03"
    b"U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK?tb\x89]q\x15(K\x02h\rh\x06etq\x16bu.",
)


def python2_dumps(value) -> bytes:
    """A pickle of protocol 2 in which text is a string of bytes, as in Python 2."""
    return b"\x80\x02" + _save(value) + b"."


def _save(value) -> bytes:
    if isinstance(value, dict):
        return b"}(" + b"".join(_save(k) + _save(v) for k, v in value.items()) + b"u"
    if isinstance(value, list | tuple):
        start, end = (b"](", b"e") if isinstance(value, list) else (b"(", b"t")
        return start + b"".join(map(_save, value)) + end
    if isinstance(value, str | bytes):
        raw = value.encode("latin-1") if isinstance(value, str) else value
        return b"T" + struct.pack("<i", len(raw)) + raw
    if value is None or isinstance(value, bool):
        return {None: b"N", True: b"\x88", False: b"\x89"}[value]
    if isinstance(value, int):
        return b"J" + struct.pack("<i", value)
    return _save_array(np.asarray(value))


def _save_array(array: np.ndarray) -> bytes:
    code, order = array.dtype.str[1:], array.dtype.str[0]
    dtype = b"cnumpy\ndtype\n" + _save((code, 0, 1)) + b"R"
    dtype += _save((3, order, None, None, None, -1, -1, 63 if code == "O" else 0)) + b"b"
    values = array.ravel().tolist() if code == "O" else array.tobytes()
    state = b"(K\x01" + _save(array.shape) + dtype + b"\x89" + _save(values) + b"t"
    return (
        b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\x00\x85U\x01btR" + state + b"b"
    )


def text(value: str) -> bytes:
    return b"\x8c" + bytes([len(value)]) + value.encode()


def name(module: str, name: str) -> bytes:
    return text(module) + text(name) + b"\x93"


def call(function: bytes, *arguments: bytes) -> bytes:
    return function + b"(" + b"".join(arguments) + b"tR"


def dtype(code: str) -> bytes:
    return call(name("numpy", "dtype"), text(code), b"\x89\x88")


UNFILLED = call(
    name("numpy.core.multiarray", "_reconstruct"), name("numpy", "ndarray"), b"K\x00\x85U\x01b"
)


def array(shape: bytes, dtype: bytes, data: bytes) -> bytes:
    return UNFILLED + b"(K\x01" + shape + dtype + b"\x89" + data + b"tb"


def from_buffer(shape: bytes, dtype: bytes, data: bytes) -> bytes:
    return call(name("numpy._core.numeric", "_frombuffer"), data, dtype, shape, text("C"))
