"""Context-free grammars of terms.

    # comments, and a topology of its own: edges from node to node, the first argument on the first
    Twig = 1-2 1-3 2-3

    NET   -> Linear2(BLOCK, BLOCK) | Twig(BLOCK, id, BLOCK)
    BLOCK -> Linear2(OP, relu)
    OP    -> conv3 | conv3 | fourier8      # listed twice: twice as probable
           | id                            # a line may go on with |

Names in CAPITALS are symbols, to be replaced by one of their productions; the first one on the left
is the start.  All other names without arguments are primitives, those with arguments topologies,
which have as many arguments as edges.  A production may be listed several times.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import index
from typing import NamedTuple

from .symbol_graph import cycle, ending_symbols
from .term import Term, is_name, parse_term
from .topology import TOPOLOGIES, Edges, Topology

SYMBOL = re.compile(r"[A-Z][A-Z0-9_]*")
EDGE = re.compile(r"(\d{1,4})-(\d{1,4})")
OTHER_ARROW = re.compile(r"=>|:{1,2}=")
ZERO, IDENTITY = "zero", "id"
MAX_TEXT = 2**18  # characters of a grammar; those of published spaces have some thousand
SHOWN = 60  # characters of a line with a mistake


def is_symbol(term: Term) -> bool:
    """Whether it is to be replaced: a name in capitals."""
    return not term.args and is_symbol_name(term.head)


@lru_cache(maxsize=4096)
def is_symbol_name(text: str) -> bool:
    """Whether a name is in capitals."""
    return SYMBOL.fullmatch(text) is not None


def symbols_in(pattern: Term) -> list[str]:
    """The symbols in a right side, from left to right."""
    return [part.head for _, part in pattern.parts() if is_symbol(part)]


class Rule(NamedTuple):
    """One production as it was read, and where."""

    where: str
    symbol: str
    pattern: Term


@dataclass(frozen=True, eq=False)
class Grammar:
    """Symbols and what they become; made by `parse_grammar` or `grammar_from`, which check it.

    >>> print(grammar_from({"NET": ["Linear2(OP, OP)"], "OP": ["conv3", "id"]}))
    NET -> Linear2(OP, OP)
    OP -> conv3 | id
    """

    productions: Mapping[str, tuple[Term, ...]]
    start: str
    topologies: Mapping[str, Topology]

    @property
    def primitives(self) -> tuple[str, ...]:
        """The names of all primitives, in alphabetical order."""
        leaves = (
            part
            for patterns in self.productions.values()
            for pattern in patterns
            for _, part in pattern.parts()
        )
        return tuple(sorted({p.head for p in leaves if not p.args and not is_symbol(p)}))

    @property
    def recursive(self) -> bool:
        """Whether a symbol can contain itself, so that there are terms of any depth."""
        return cycle({s: _followers(p) for s, p in self.productions.items()}) is not None

    def unique(self) -> "Grammar":
        """The same terms, every production listed once."""
        once = {symbol: tuple(dict.fromkeys(p)) for symbol, p in self.productions.items()}
        return Grammar(once, self.start, self.topologies)

    def __str__(self) -> str:
        own = [
            f"{name} = {' '.join(f'{i}-{j}' for i, j in topology.edges)}"
            for name, topology in self.topologies.items()
            if TOPOLOGIES.get(name) != topology
        ]
        rules = [f"{s} -> {' | '.join(map(str, p))}" for s, p in self.productions.items()]
        return "\n".join(own + rules)


def parse_grammar(text: str) -> Grammar:
    """The grammar that a text spells; a mistake is a ValueError with its line and a remedy."""
    if len(text) > MAX_TEXT:
        raise ValueError(
            f"a grammar of more than {MAX_TEXT} characters, the most that are allowed; write it "
            "with fewer productions"
        )
    rules, own, symbol = [], {}, None
    for number, line in enumerate(text.splitlines(), 1):
        where, line = f"line {number}", line.partition("#")[0].strip()
        if not line:
            continue
        if "->" in line:
            symbol, _, right = (part.strip() for part in line.partition("->"))
        elif line.startswith("|") and symbol:
            right = line[1:]
        elif arrow := OTHER_ARROW.search(line):
            raise ValueError(
                f"{where}: productions are written with ->, got {arrow[0]} in {line[:SHOWN]!r}; "
                f"write {OTHER_ARROW.sub('->', line, count=1)[:SHOWN]}"
            )
        elif "=" in line:
            name, topology = _read_topology(where, line)
            if name in own:
                raise ValueError(
                    f"{where}: the topology {name} is defined a second time; remove one of the "
                    "lines, or use another name"
                )
            own[name] = topology
            continue
        else:
            raise ValueError(
                f"{where}: expected SYMBOL -> term | term, or Topology = 1-2 1-3, got "
                f"{line[:SHOWN]!r}; "
                "a line that goes on begins with |"
            )
        rules += _read_rules(where, symbol, right.split("|"))
    return _checked(rules, own)


def grammar_from(
    productions: Mapping[str, Sequence[str]], topologies: Mapping[str, Edges] | None = None
) -> Grammar:
    """A grammar from Python: symbol → terms as text, the first symbol being the start.

    >>> grammar_from({"NET": ["Linear2(OP, OP)"], "OP": ["conv3", "id"]}).primitives
    ('conv3', 'id')
    """
    own = {}
    for name, edges in (topologies or {}).items():
        _check_topology_name(f"topology {name}", name)
        own[name] = _topology_of(name, edges)
    rules = []
    for symbol, terms in productions.items():
        if isinstance(terms, str) or not isinstance(terms, Iterable):
            kind = "the text " if isinstance(terms, str) else ""
            raise ValueError(f"{symbol}: expected a list of terms, got {kind}{terms!r}")
        rules += _read_rules(f"productions of {symbol}", symbol, terms)
    return _checked(rules, own)


def _read_rules(where: str, symbol: str, terms: Iterable[str]) -> Iterator[Rule]:
    if not isinstance(symbol, str) or not is_symbol_name(symbol):
        raise ValueError(
            f"{where}: expected a symbol in CAPITALS on the left of ->, got "
            f"{str(symbol)[:SHOWN]!r}; other names are primitives and topologies, which have no "
            "productions"
        )
    for number, term in enumerate(terms, 1):
        if not isinstance(term, str):
            raise ValueError(
                f"{where}: production {number} of {symbol}: expected a term as text, such as "
                f"'Linear2(conv3, relu)', got {term!r}"
            )
        try:
            yield Rule(where, symbol, parse_term(term))
        except ValueError as error:
            raise ValueError(f"{where}: production {number} of {symbol}, {error}") from None


def _read_topology(where: str, line: str) -> tuple[str, Topology]:
    name, _, right = (part.strip() for part in line.partition("="))
    _check_topology_name(where, name)
    edges = [EDGE.fullmatch(word) for word in right.replace(",", " ").split()]
    if not all(edges):
        raise ValueError(f"{where}: expected edges such as 1-2 1-3 2-3, got {right[:SHOWN]!r}")
    try:
        return name, Topology(tuple((int(e[1]), int(e[2])) for e in edges))
    except ValueError as error:
        raise ValueError(f"{where}: {name}: {error}") from None


def _topology_of(name: str, edges: Edges) -> Topology:
    try:
        pairs = tuple((index(tail), index(head)) for tail, head in edges)
    except (TypeError, ValueError):
        raise ValueError(
            f"topology {name}: expected edges as pairs of whole numbers, such as ((1, 2), (2, 3)), "
            f"got {edges!r}"
        ) from None
    try:
        return Topology(pairs)
    except ValueError as error:
        raise ValueError(f"topology {name}: {error}") from None


def _check_topology_name(where: str, name: str) -> None:
    if not isinstance(name, str) or not is_name(name) or is_symbol_name(name):
        raise ValueError(
            f"{where}: a topology has a name such as Twig, got {str(name)[:SHOWN]!r}; CAPITALS "
            "are symbols"
        )
    if name in TOPOLOGIES:
        raise ValueError(f"{where}: there is a topology {name} already; use another name")


def _checked(rules: Sequence[Rule], own: Mapping[str, Topology]) -> Grammar:
    if not rules:
        raise ValueError("a grammar without productions; write at least one: NET -> conv3")
    topologies = {**TOPOLOGIES, **own}
    patterns: dict[str, list[Term]] = {rule.symbol: [] for rule in rules}
    for rule in rules:
        patterns[rule.symbol].append(rule.pattern)
    productions = {symbol: tuple(p) for symbol, p in patterns.items()}
    for rule in rules:
        for _, part in rule.pattern.parts():
            _check_part(rule, part, productions, topologies)
    _check_use(rules, productions)
    start = rules[0].symbol
    used = {part.head for p in productions.values() for t in p for _, part in t.parts() if t.args}
    return Grammar(productions, start, {n: t for n, t in topologies.items() if n in used})


def _check_part(rule: Rule, part: Term, productions: Mapping, topologies: Mapping) -> None:
    where = f"{rule.where}: in a production of {rule.symbol}, {part.head}"
    if is_symbol_name(part.head):
        if part.head not in productions:
            raise ValueError(
                f"{where} is a symbol without productions; add {part.head} -> …, or write it in "
                "small letters if it is a primitive"
            )
        if part.args:
            raise ValueError(f"{where} is a symbol and takes no arguments; write {part.head} alone")
        return
    if bool(part.args) != (part.head in topologies):
        raise ValueError(
            f"{where} has arguments but is no topology; there are {', '.join(topologies)}, and "
            f"{part.head} = 1-2 2-3 would define it"
            if part.args
            else f"{where} is a topology and needs {topologies[part.head].arity} arguments"
        )
    if part.args and len(part.args) != topologies[part.head].arity:
        raise ValueError(
            f"{where} has {len(part.args)} arguments, but {topologies[part.head].arity} edges to "
            "put them on; give as many"
        )


def _check_use(rules: Sequence[Rule], productions: Mapping[str, tuple[Term, ...]]) -> None:
    """Every symbol is reached from the start, ends in primitives, and is not its own production."""
    places = {rule.symbol: rule.where for rule in reversed(rules)}
    ending = ending_symbols([(r.symbol, set(symbols_in(r.pattern))) for r in rules])
    for symbol in [s for s in productions if s not in ending]:
        raise ValueError(
            f"{places[symbol]}: {symbol} never ends: all its productions lead back to symbols that "
            "never end; give one of them a production of primitives"
        )
    reached, new = set(), {rules[0].symbol}
    while new:
        reached |= new
        new = {f for s in new for f in _followers(productions[s])} - reached
    for symbol in [s for s in productions if s not in reached]:
        raise ValueError(
            f"{places[symbol]}: {symbol} cannot be reached from the start, {rules[0].symbol}; use "
            "it in a production or remove it (the start is the first symbol on the left)"
        )
    alone = {s: {t.head for t in p if is_symbol(t)} for s, p in productions.items()}
    if (symbol := cycle(alone)) is not None:
        raise ValueError(
            f"{places[symbol]}: {symbol} can become {symbol} itself, and nothing else changes; "
            "remove that production"
        )


def _followers(patterns: Iterable[Term]) -> set[str]:
    return {symbol for pattern in patterns for symbol in symbols_in(pattern)}
