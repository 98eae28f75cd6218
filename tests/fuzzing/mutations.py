"""Damage: what disks, networks, editors and enemies do to a file.

`damaged` changes bytes anywhere; of JSON and of text with numbers it also changes single values, so
that what is read stays a document and reaches the code behind the parser.
"""

import json
import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

LARGEST = 2**18  # bytes of a damaged file
INTEGERS = (0, 1, -1, 2, 7, 127, 128, 255, 256, 32767, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**62)
NUMBERS = (
    "0",
    "-1",
    "1e308",
    "nan",
    "inf",
    "-0",
    "99999999999999999999",
    "1e-320",
    "3.7",
    "٣",
    "0x10",
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 3, 2**31, 2**63, 10**30, 0.5, -0.0, 1e308, float("nan")),
    *("", "x", "../../outside", "/etc/passwd", "os.system", "\x00", "é" * 300, "1"),
    *([], {}, [[]], [None], [1, 2, 3], {"": None}, {"dict": []}, {"tensor": "x"}, [[[[[[0]]]]]]),
)

Damage = Callable[[bytes, Random, Sequence[bytes]], bytes]


def damaged(data: bytes, rng: Random, donors: Sequence[bytes]) -> bytes:
    """Bytes after one to four accidents.

    donors: other valid files, of which pieces may come
    """
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        data = rng.choice(DAMAGES)(data, rng, donors)[:LARGEST]
    return data


def damaged_json(data: bytes, rng: Random) -> bytes:
    """A document with one value changed, removed, doubled or taken from elsewhere in it."""
    document = json.loads(data)
    for _ in range(rng.choice((1, 1, 2, 3))):
        document = _changed(document, rng)
    return json.dumps(document).encode()


def damaged_lines(data: bytes, rng: Random) -> bytes:
    """Lines of JSON, one of which is damaged."""
    lines = data.splitlines(keepends=True)
    place = rng.randrange(len(lines))
    lines[place] = damaged_json(lines[place], rng) + b"\n"
    return b"".join(lines)


def _changed(document: Any, rng: Random) -> Any:
    places = list(_places(document))
    if not places:
        return rng.choice(VALUES)
    container, key = rng.choice(places)
    action = rng.randrange(5)
    if action == 0:
        del container[key]
    elif action == 1 and isinstance(container, list):
        container.insert(key, container[key])
    elif action == 2:  # what is somewhere else; a copy, so that nothing holds itself
        other, name = rng.choice(places)
        container[key] = json.loads(json.dumps(other[name]))
    elif action == 3 and isinstance(container[key], int | float):
        container[key] = rng.choice(INTEGERS)
    else:
        container[key] = json.loads(json.dumps(rng.choice(VALUES)))
    return document


def _places(document: Any):
    """Every value of a document, as its container and its key there."""
    if isinstance(document, dict | list):
        keys = list(document) if isinstance(document, dict) else range(len(document))
        for key in keys:
            yield document, key
            yield from _places(document[key])


# -- accidents ---------------------------------------------------------------------------------


def _range(data: bytes, rng: Random, longest: int = 64) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    return start, min(start + rng.randrange(1, longest + 1), len(data))


def _flip(data: bytes, rng: Random, _) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 3, 16)) if data else 0):
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _flip_early(data: bytes, rng: Random, _) -> bytes:
    """In the first bytes, where most formats have what they are."""
    return _flip(data[:200], rng, _) + data[200:]


def _truncate(data: bytes, rng: Random, _) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _replace(data: bytes, rng: Random, _) -> bytes:
    start, stop = _range(data, rng)
    return data[:start] + rng.randbytes(stop - start) + data[stop:]


def _insert(data: bytes, rng: Random, _) -> bytes:
    start = rng.randrange(len(data) + 1)
    return data[:start] + rng.randbytes(rng.randrange(1, 32)) + data[start:]


def _remove(data: bytes, rng: Random, _) -> bytes:
    start, stop = _range(data, rng, 256)
    return data[:start] + data[stop:]


def _double(data: bytes, rng: Random, _) -> bytes:
    start, stop = _range(data, rng, 512)
    return data[:stop] + data[start:stop] * rng.choice((1, 1, 5)) + data[stop:]


def _zero(data: bytes, rng: Random, _) -> bytes:
    start, stop = _range(data, rng, 512)
    return data[:start] + bytes(stop - start) + data[stop:]


def _splice(data: bytes, rng: Random, donors: Sequence[bytes]) -> bytes:
    donor = rng.choice(donors)
    return data[: rng.randrange(len(data) + 1)] + donor[rng.randrange(len(donor) + 1) :]


def _integer(data: bytes, rng: Random, _) -> bytes:
    """A size, a count or an offset that lies."""
    width, order = rng.choice((1, 2, 4, 8)), rng.choice(("little", "big"))
    if len(data) < width:
        return data
    start = rng.randrange(min(len(data) - width + 1, rng.choice((64, 512, len(data)))))
    value = rng.choice(INTEGERS) % 256**width
    return data[:start] + value.to_bytes(width, order) + data[start + width :]


def _number(data: bytes, rng: Random, _) -> bytes:
    """A number in text that lies."""
    found = list(re.finditer(rb"-?\d+(\.\d+)?", data[:65536]))
    if not found:
        return _integer(data, rng, _)
    match = rng.choice(found)
    return data[: match.start()] + rng.choice(NUMBERS).encode() + data[match.end() :]


def _lines(data: bytes, rng: Random, _) -> bytes:
    """Lines swapped, doubled or left out."""
    lines = data.split(b"\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[i : i + rng.randrange(3)] = [lines[j]] * rng.randrange(3)
    return b"\n".join(lines)


def _random(data: bytes, rng: Random, _) -> bytes:
    """Nothing but noise, perhaps behind the right beginning."""
    return data[: rng.choice((0, 4, 8, 16))] + rng.randbytes(rng.randrange(512))


DAMAGES: tuple[Damage, ...] = (
    *(_flip, _flip, _flip_early, _flip_early, _truncate, _replace, _insert, _remove, _double),
    *(_zero, _splice, _integer, _integer, _integer, _number, _number, _lines, _random),
)
