"""Which symbols of a grammar lead where: those that end, and those that lead back to themselves."""

from collections.abc import Iterator, Mapping, Sequence


def ending_symbols(productions: Sequence[tuple[str, set[str]]]) -> set[str]:
    """Symbols that can become primitives alone, each production being looked at once a symbol.

    productions: symbols with those in one of their right sides

    >>> ending_symbols([("A", {"B"}), ("B", set()), ("C", {"C"})]) == {"A", "B"}
    True
    """
    open_symbols = [set(symbols) for _, symbols in productions]
    uses: dict[str, list[int]] = {}
    for number, symbols in enumerate(open_symbols):
        for symbol in symbols:
            uses.setdefault(symbol, []).append(number)
    ending: set[str] = set()
    new = [symbol for symbol, symbols in productions if not symbols]
    while new:
        symbol = new.pop()
        if symbol in ending:
            continue
        ending.add(symbol)
        for number in uses.get(symbol, ()):
            open_symbols[number].discard(symbol)
            if not open_symbols[number]:
                new.append(productions[number][0])
    return ending


def cycle(followers: Mapping[str, set[str]]) -> str | None:
    """A symbol that leads back to itself, or None.

    >>> cycle({"A": {"B"}, "B": {"A"}}), cycle({"A": {"B"}, "B": set()})
    ('A', None)
    """
    left: dict[str, Iterator[str]] = {}  # of the symbols on the way, those not yet followed
    done: set[str] = set()
    for start in followers:
        way = [start] if start not in done else []
        while way:
            symbol = way[-1]
            after = next(left.setdefault(symbol, iter(sorted(followers[symbol]))), None)
            if after is None:
                done.add(symbol)
                del left[way.pop()]
            elif after in left:
                return after
            elif after not in done:
                way.append(after)
    return None
