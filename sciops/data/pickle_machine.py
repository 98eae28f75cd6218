"""A pickle machine with only the instructions that plain values need.

A pickle is a program for a small stack machine.  Python's machine imports and calls whatever the
program names.  This one imports nothing and calls nothing but the functions it was given: a global
is two names to it, and refused if there is no function for them.

A program cannot take much more memory than it is long: lengths are compared with the bytes that are
left, and what functions get together may be at most `GROWTH` times as long as the program.
"""

import codecs
import pickletools
import struct
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

GROWTH = 16
LONGEST = 1024  # bytes of an integer
KEYS = (str, bytes, int, float, complex, bool, type(None))  # and tuples of them


class Refused(Exception):
    """What a program does that one of plain values does not; follows the file's name."""


class Global(NamedTuple):
    """Kept apart: `numpy` and `core.f` would look like `numpy.core` and `f`."""

    module: str
    name: str

    def __str__(self):
        return f"{self.module}.{self.name}"


class Machine:
    """Runs a pickle.

    makers: what REDUCE may call, by module and name; None for what may only be named
    build:  what BUILD does to a value, with a state

    MARK begins a new stack on top of the others.
    """

    def __init__(
        self,
        data: bytes,
        makers: Mapping[tuple[str, str], Callable | None],
        build: Callable[[object, object], None],
    ):
        self.data, self.at = data, 0
        self.makers, self.build = makers, build
        self.stacks: list[list] = [[]]
        self.memo: dict[int, object] = {}
        self.allowance = GROWTH * len(data)

    def run(self) -> object:
        """The value that is on the stack at STOP."""
        while (code := self.take(1)) != b".":
            name = NAMES.get(code, f"byte {code.hex()}")
            if name not in INSTRUCTIONS:
                raise Refused(f"uses the instruction {name}")
            INSTRUCTIONS[name](self)
        return self.stacks[0].pop()

    # -- reading

    def take(self, count: int) -> bytes:
        left = len(self.data) - self.at
        if not 0 <= count <= left:
            raise EOFError(f"{count} bytes should follow, there are {left}")
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, form: str) -> int | float:
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def counted(self, form: str) -> bytes:
        return self.take(self.number(form))

    def line(self) -> bytes:
        return self.take(self.data.index(b"\n", self.at) + 1 - self.at)[:-1]

    # -- the stack

    def push(self, value: object) -> None:
        self.stacks[-1].append(value)

    def top(self) -> object:
        return self.stacks[-1][-1]

    def popped(self, count: int) -> list:
        return [self.stacks[-1].pop() for _ in range(count)][::-1]

    def marked(self) -> list:
        """What was pushed since the last MARK."""
        if len(self.stacks) == 1:
            raise IndexError("no MARK")
        return self.stacks.pop()

    def drop(self) -> None:
        if self.stacks[-1]:
            self.stacks[-1].pop()
        else:
            self.marked()

    def remember(self, index: int) -> None:
        self.memo[index] = self.top()

    # -- making

    def extend(self, values: list) -> None:
        expect(self.top(), list).extend(values)

    def update(self, values: list) -> None:
        expect(self.top(), dict).update(_items(values))

    def name(self, module: str, name: str) -> None:
        if (module, name) not in self.makers:
            raise Refused(f"names {module}.{name}")
        self.push(Global(module, name))

    def instance(self, module: str, name: str) -> None:
        raise Refused(f"makes an instance of {module}.{name}")

    def reduce(self, kind: object, arguments: object) -> None:
        maker = self.makers[kind] if type(kind) is Global else None
        if maker is None:
            raise Refused(f"calls {kind}")
        self.spend(expect(arguments, tuple))
        self.push(maker(*arguments))

    def set_state(self, state: object) -> None:
        self.spend(expect(state, tuple))
        self.build(self.top(), state)

    def spend(self, arguments: tuple) -> None:
        sizes = {str: 1, bytes: 1, list: 8}
        self.allowance -= sum(sizes[type(a)] * len(a) for a in arguments if type(a) in sizes)
        if self.allowance < 0:
            raise Refused(f"asks for more than {GROWTH} times the memory of its own size")


def expect(value: object, kind: type):
    """The value, if it is of just that type."""
    if type(value) is not kind:
        raise Refused(f"uses a {type(value).__name__} as a {kind.__name__}")
    return value


def _items(values: list) -> Iterable[tuple]:
    """Keys and values; to hash a key that is nested deeply would overflow the stack."""
    keys = values[::2]
    for key in keys:
        for part in key if type(key) is tuple else [key]:
            if type(part) not in KEYS:
                raise Refused(f"uses a {type(part).__name__} in a key")
    return zip(keys, values[1::2], strict=True)


def _integer(raw: bytes) -> int:
    if len(raw) > LONGEST:
        raise Refused(f"holds an integer of {len(raw)} bytes")
    return int.from_bytes(raw, "little", signed=True)


def _number(line: bytes) -> int | bool:
    """Protocol 0 has no instructions for True and False."""
    return line == b"01" if line in (b"00", b"01") else int(line)


def _unquoted(line: bytes) -> str:
    if len(line) < 2 or line[:1] != line[-1:] or line[:1] not in (b"'", b'"'):
        raise ValueError("text without quotes")
    return codecs.escape_decode(line[1:-1])[0].decode("latin-1")


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogatepass")


NAMES = {op.code.encode("latin-1"): op.name for op in pickletools.opcodes}
INSTRUCTIONS: dict[str, Callable[[Machine], object]] = {
    "PROTO": lambda m: m.take(1),
    "FRAME": lambda m: m.take(8),
    "NONE": lambda m: m.push(None),
    "NEWTRUE": lambda m: m.push(True),
    "NEWFALSE": lambda m: m.push(False),
    "INT": lambda m: m.push(_number(m.line())),
    "BININT": lambda m: m.push(m.number("<i")),
    "BININT1": lambda m: m.push(m.number("<B")),
    "BININT2": lambda m: m.push(m.number("<H")),
    "LONG": lambda m: m.push(int(m.line().removesuffix(b"L"))),
    "LONG1": lambda m: m.push(_integer(m.counted("<B"))),
    "LONG4": lambda m: m.push(_integer(m.counted("<i"))),
    "FLOAT": lambda m: m.push(float(m.line())),
    "BINFLOAT": lambda m: m.push(m.number(">d")),
    "STRING": lambda m: m.push(_unquoted(m.line())),
    "BINSTRING": lambda m: m.push(m.counted("<i").decode("latin-1")),
    "SHORT_BINSTRING": lambda m: m.push(m.counted("<B").decode("latin-1")),
    "UNICODE": lambda m: m.push(m.line().decode("raw-unicode-escape")),
    "BINUNICODE": lambda m: m.push(_text(m.counted("<I"))),
    "BINUNICODE8": lambda m: m.push(_text(m.counted("<Q"))),
    "SHORT_BINUNICODE": lambda m: m.push(_text(m.counted("<B"))),
    "BINBYTES": lambda m: m.push(m.counted("<I")),
    "BINBYTES8": lambda m: m.push(m.counted("<Q")),
    "SHORT_BINBYTES": lambda m: m.push(m.counted("<B")),
    "BYTEARRAY8": lambda m: m.push(bytearray(m.counted("<Q"))),
    "EMPTY_LIST": lambda m: m.push([]),
    "EMPTY_TUPLE": lambda m: m.push(()),
    "EMPTY_DICT": lambda m: m.push({}),
    "MARK": lambda m: m.stacks.append([]),
    "LIST": lambda m: m.push(m.marked()),
    "TUPLE": lambda m: m.push(tuple(m.marked())),
    "TUPLE1": lambda m: m.push(tuple(m.popped(1))),
    "TUPLE2": lambda m: m.push(tuple(m.popped(2))),
    "TUPLE3": lambda m: m.push(tuple(m.popped(3))),
    "DICT": lambda m: m.push(dict(_items(m.marked()))),
    "APPEND": lambda m: m.extend(m.popped(1)),
    "APPENDS": lambda m: m.extend(m.marked()),
    "SETITEM": lambda m: m.update(m.popped(2)),
    "SETITEMS": lambda m: m.update(m.marked()),
    "POP": lambda m: m.drop(),
    "POP_MARK": lambda m: m.marked(),
    "DUP": lambda m: m.push(m.top()),
    "PUT": lambda m: m.remember(int(m.line())),
    "BINPUT": lambda m: m.remember(m.number("<B")),
    "LONG_BINPUT": lambda m: m.remember(m.number("<I")),
    "MEMOIZE": lambda m: m.remember(len(m.memo)),
    "GET": lambda m: m.push(m.memo[int(m.line())]),
    "BINGET": lambda m: m.push(m.memo[m.number("<B")]),
    "LONG_BINGET": lambda m: m.push(m.memo[m.number("<I")]),
    "GLOBAL": lambda m: m.name(m.line().decode(), m.line().decode()),
    "INST": lambda m: m.instance(m.line().decode(), m.line().decode()),
    "STACK_GLOBAL": lambda m: m.name(*m.popped(2)),
    "REDUCE": lambda m: m.reduce(*m.popped(2)),
    "BUILD": lambda m: m.set_state(m.popped(1)[0]),
}
