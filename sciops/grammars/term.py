"""Terms: architectures written as algebra.

    Linear3(Residual2(conv3, id, conv3), Residual2(conv3, id, conv3), conv1)

A head without arguments is a primitive computation, one with arguments a topology that says how
they are connected.  Terms are values: they compare, hash, print and parse.  Depth and size are
limited, also of terms whose parts are one object in many places, so that no term that exists is too
large to print.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

MAX_DEPTH = 64
MAX_SIZE = 100_000
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
SPACE = re.compile(r"\s*")
SHOWN = 20  # characters of a text around a mistake

Path = tuple[int, ...]  # from the root to a part: which argument, again and again


@lru_cache(maxsize=4096)
def is_name(text: str) -> bool:
    """Whether it can be a head."""
    return NAME.fullmatch(text) is not None


@dataclass(frozen=True)
class Term:
    """A head and its arguments.

    >>> term = Term("Linear2", (Term("conv3"), Term("relu")))
    >>> str(term), term.depth, term.size
    ('Linear2(conv3, relu)', 2, 3)
    """

    head: str
    args: tuple["Term", ...] = ()
    depth: int = field(init=False, compare=False, repr=False)
    size: int = field(init=False, compare=False, repr=False)
    _hash: int = field(init=False, compare=False, repr=False)

    def __post_init__(self):
        if not isinstance(self.head, str) or not is_name(self.head):
            raise ValueError(
                f"a head is a name of letters, digits and _, got {self.head!r}; "
                "parse_term reads a whole term from text"
            )
        if not isinstance(self.args, tuple) or not all(isinstance(a, Term) for a in self.args):
            raise ValueError(f"the arguments of {self.head} must be a tuple of terms")
        depth = 1 + max((a.depth for a in self.args), default=0)
        size = 1 + sum(a.size for a in self.args)
        if depth > MAX_DEPTH:
            raise ValueError(f"a term of depth {depth}; {MAX_DEPTH} are allowed: nest it less")
        if size > MAX_SIZE:
            raise ValueError(f"a term of {size} heads; {MAX_SIZE} are allowed: make it smaller")
        object.__setattr__(self, "depth", depth)
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "_hash", hash((self.head, self.args)))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self):
        """Made anew in another process, where the same text has another hash."""
        return Term, (self.head, self.args)

    def __str__(self) -> str:
        return f"{self.head}({', '.join(map(str, self.args))})" if self.args else self.head

    def parts(self, path: Path = ()) -> Iterator[tuple[Path, "Term"]]:
        """Every part with its path from the root, the whole term first."""
        yield path, self
        for number, arg in enumerate(self.args):
            yield from arg.parts((*path, number))

    def at(self, path: Path) -> "Term":
        """The part at a path."""
        return self.args[path[0]].at(path[1:]) if path else self

    def replaced(self, path: Path, part: "Term") -> "Term":
        """This term with another part at a path.

        >>> str(parse_term("Linear2(conv3, relu)").replaced((1,), Term("tanh")))
        'Linear2(conv3, tanh)'
        """
        if not path:
            return part
        first, *rest = path
        new = self.args[first].replaced(tuple(rest), part)
        return Term(self.head, (*self.args[:first], new, *self.args[first + 1 :]))


def parse_term(text: str) -> Term:
    """The term that a text spells.

    >>> text = "Linear(Residual(conv, id, conv), Residual(conv, id, conv), fc)"
    >>> str(parse_term(text)) == text
    True
    """
    reader = _Reader(text)
    term = reader.term(1)
    reader.skip()
    if reader.place < len(text):
        raise reader.error("the end of the term", "remove what follows or close fewer brackets")
    return term


class _Reader:
    """A text and how far it has been read."""

    def __init__(self, text: str):
        self.text, self.place, self.heads = text, 0, 0

    def skip(self) -> None:
        self.place = SPACE.match(self.text, self.place).end()

    def take(self, character: str) -> bool:
        """Read on if this character comes next."""
        self.skip()
        found = self.text.startswith(character, self.place)
        self.place += found
        return found

    def term(self, depth: int) -> Term:
        self.skip()
        name = NAME.match(self.text, self.place)
        if not name:
            raise self.error("a name", "write a primitive such as conv3 or a topology with (…)")
        if depth > MAX_DEPTH:
            raise self.error(f"at most {MAX_DEPTH} nested heads", "nest the term less")
        self.heads += 1
        if self.heads > MAX_SIZE:
            raise self.error(f"at most {MAX_SIZE} heads", "make the term smaller")
        self.place = name.end()
        if not self.take("("):
            return Term(name[0])
        args = [self.term(depth + 1)]
        while self.take(","):
            args.append(self.term(depth + 1))
        if not self.take(")"):
            raise self.error("',' or ')'", f"close the bracket of {name[0]}(…")
        return Term(name[0], tuple(args))

    def error(self, expected: str, remedy: str) -> ValueError:
        rest = self.text[self.place : self.place + SHOWN]
        got = repr(rest) if rest else "the end of the text"
        return ValueError(f"position {self.place}: expected {expected}, got {got}; {remedy}")
