"""Ready spaces of architectures.

    fields                      which operator in which block, how blocks are connected, width,
                                normalisation, activation: for fields in one to three dimensions
    nasbench201-hierarchical    cells, their connections and what they contain, 10^446 derivations
    nasbench201-cell            one cell at all its places in a fixed network, 5⁶ of them
    activations                 activation functions of ResNet-20
    digits                      800 small networks, for benchmarks that train them all
    digits-cells                640 of more levels, which repeat one cell, for the same
    digits-stages               288 that differ in their stages and in one cell, for the same

Names of primitives are those of `sciops.backbones.term_primitives`.  FNO is a term of `fields`.
"""

from dataclasses import dataclass
from functools import cache

from .grammar import Grammar, parse_grammar
from .motifs import with_motif

FIELDS = """
NET      -> Linear2(LIFT, BODY)
LIFT     -> {lifts}
BODY     -> Linear2(UNIT, UNIT)
          | Linear3(UNIT, UNIT, UNIT)
          | Linear4(UNIT, UNIT, UNIT, UNIT)
          | Residual2(UNIT, id, UNIT)
          | Residual3(UNIT, UNIT, id, UNIT)
          | Diamond(UNIT, UNIT, UNIT, UNIT)
UNIT     -> Block(OP, SKIP, NORM, ACT) | Block(Parallel2(OP, OP), SKIP, NORM, ACT)
OP       -> GLOBAL | LOCAL | ADAPTIVE
GLOBAL   -> {waves}
LOCAL    -> conv3 | conv5 | dilated3 | depthwise5
ADAPTIVE -> spatial_attention | channel_attention | dynamic_conv_3
SKIP     -> pointwise | id | zero
NORM     -> id | batch | layer
ACT      -> gelu | silu | relu | id
"""
SIZES = {  # by dimension: widths, and frequencies of Fourier layers and XD
    1: (("lift16", "lift32", "lift48"), (8, 16)),
    2: (("lift12", "lift16", "lift24"), (6, 12)),
    3: (("lift8", "lift12"), (4, 6)),
}
HIERARCHICAL = """
D2        -> Linear3(D1, D1, D0) | Linear3(D0, D1, D1) | Linear4(D1, D1, D0, D0)
D1        -> Linear3(C, C, DOWN) | Linear4(C, C, C, DOWN) | Residual3(C, C, DOWN, DOWN)
D0        -> Linear3(C, C, CELL) | Linear4(C, C, C, CELL) | Residual3(C, C, CELL, CELL)
DOWN      -> Linear2(CELL, resBlock) | Linear3(CELL, CELL, resBlock)
           | Residual2(CELL, resBlock, resBlock)
C         -> Linear2(CELL, CELL) | Linear3(CELL, CELL, CELL) | Residual2(CELL, CELL, CELL)
CELL      -> Cell(OPS, OPS, OPS, OPS, OPS, OPS)
OPS       -> id | zero | Linear1(CONVBLOCK) | Linear1(CONVBLOCK) | avg_pool   # twice, as published
CONVBLOCK -> Linear3(ACT, CONV, NORM)
CONV      -> conv3 | conv1 | depthwise3
NORM      -> batch | instance | layer
ACT       -> relu | hardswish | mish
"""
MACRO = """
D2   -> Linear3(D1, D1, D0)
D1   -> Linear3(C, C, DOWN)
D0   -> Linear3(C, C, motif)
DOWN -> Linear2(motif, resBlock)
C    -> Linear2(motif, motif)
"""
CELL = """
CELL -> Cell(OPS, OPS, OPS, OPS, OPS, OPS)
OPS  -> id | zero | Linear3(relu, conv3, batch) | Linear3(relu, conv1, batch) | avg_pool
"""
ACTIVATIONS = """
L2  -> Binary(BIN, L1, L1) | Unary(L1)
L1  -> Binary(BIN, UN, UN) | Unary(UN)
BIN -> add | mul | sub | div | maximum | minimum | gate | near | close | blend
UN  -> x | negative | absolute | square | cube | root | scaled | shifted | log | exp | sin | cos
     | sinh | cosh | tanh | asinh | atan | sinc | relu | below | sigmoid | softplus | bell | erf
     | constant
"""
DIGITS = """
NET  -> Linear2(lift8, BODY)
BODY -> Linear3(UNIT, down, UNIT) | Linear3(down, UNIT, UNIT)
UNIT -> Linear2(OP, ACT) | Residual2(OP, id, ACT)
OP   -> conv3 | conv1 | dilated3 | fourier4 | avg_pool
ACT  -> relu | tanh
"""
DIGITS_MACRO = """
NET   -> Linear2(lift8, BODY)
BODY  -> Linear3(STAGE, down, STAGE) | Linear3(down, STAGE, STAGE)
STAGE -> Linear1(motif) | Linear2(motif, motif) | Residual2(motif, id, motif)
       | Residual2(motif, motif, motif)
"""
DIGITS_CELL = """
CELL -> Linear3(ACT, OP, NORM)
ACT  -> relu | tanh
OP   -> conv3 | conv1 | depthwise3 | fourier4 | avg_pool
NORM -> batch | id
"""
STAGES_MACRO = """
NET   -> Linear2(lift8, BODY)
BODY  -> Linear2(STAGE, STAGE) | Linear3(STAGE, down, STAGE) | Linear4(down, STAGE, down, STAGE)
STAGE -> Linear1(motif) | Linear3(motif, motif, motif) | Residual2(motif, id, motif)
       | Residual3(motif, motif, id, motif)
"""
STAGES_CELL = """
CELL -> Linear2(OP, ACT)
OP   -> conv3 | conv5 | dilated3
ACT  -> relu | tanh
"""


@dataclass(frozen=True)
class ReadySpace:
    """A grammar and what its terms mean.

    frame:     of `sciops.backbones.term_network`
    connected: whether terms with disconnected parts are left out
    dense:     whether it is made for answers at each point, not for classes
    """

    name: str
    grammar: Grammar
    frame: str
    connected: bool
    dense: bool


def _fields(n_axes: int) -> Grammar:
    lifts, frequencies = SIZES[n_axes]
    waves = [f"{kind}{number}" for kind in ("fourier", "xd") for number in frequencies]
    return parse_grammar(FIELDS.format(lifts=" | ".join(lifts), waves=" | ".join(waves)))


NAMES = (
    "fields",
    "nasbench201-hierarchical",
    "nasbench201-cell",
    "activations",
    "digits",
    "digits-cells",
    "digits-stages",
)


@cache
def ready_space(name: str, n_axes: int = 2) -> ReadySpace:
    """A space by its name, for so many axes.

    >>> ready_space("digits").frame
    'fields'
    """
    if name not in NAMES:
        raise ValueError(f"there is no space {name!r}; there are {', '.join(NAMES)}")
    if n_axes not in SIZES:
        raise ValueError(f"n_axes={n_axes!r}; there are spaces for 1, 2 and 3 axes")
    if name == "fields":
        return ReadySpace(name, _fields(n_axes), "fields", connected=True, dense=True)
    if name == "nasbench201-hierarchical":
        grammar = parse_grammar(HIERARCHICAL)
        return ReadySpace(name, grammar, "images", connected=True, dense=False)
    if name == "nasbench201-cell":
        grammar = with_motif(parse_grammar(MACRO), parse_grammar(CELL))
        return ReadySpace(name, grammar, "images", connected=True, dense=False)
    if name == "activations":
        if n_axes != 2:
            raise ValueError("activation functions are those of ResNet-20, which is for images")
        grammar = parse_grammar(ACTIVATIONS)
        return ReadySpace(name, grammar, "activations", connected=False, dense=False)
    if name == "digits-cells":
        grammar = with_motif(parse_grammar(DIGITS_MACRO), parse_grammar(DIGITS_CELL))
        return ReadySpace(name, grammar, "fields", connected=False, dense=False)
    if name == "digits-stages":
        grammar = with_motif(parse_grammar(STAGES_MACRO), parse_grammar(STAGES_CELL))
        return ReadySpace(name, grammar, "fields", connected=False, dense=False)
    return ReadySpace(name, parse_grammar(DIGITS), "fields", connected=False, dense=False)
