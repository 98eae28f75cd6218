"""Activation functions as terms (Ramachandran et al. 2017, arXiv:1710.05941).

    Binary(mul, Unary(x), Unary(sigmoid))        f(x) = x σ(x)
    Unary(f)                                     f itself

β is a number that is learned, one at each place where a function has it.  Where the published
functions overflow or have no derivative they are kept within reach: exp, sinh and cosh see numbers
from −10 to 10, the root is of max(x, 0) + ε, and a quotient has |b| + ε below, with the sign of b.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sciops.grammars.term import Term

EPSILON = 1e-3
LARGEST = 10.0


def _within(x: Tensor) -> Tensor:
    return x.clamp(-LARGEST, LARGEST)


def _quotient(a: Tensor, b: Tensor, beta: Tensor) -> Tensor:
    return a / (b.abs() + EPSILON) * torch.where(b < 0, -1.0, 1.0)


UNARY: dict[str, Callable[[Tensor, Tensor], Tensor]] = {  # of x and β
    "x": lambda x, b: x,
    "negative": lambda x, b: -x,
    "absolute": lambda x, b: x.abs(),
    "square": lambda x, b: x**2,
    "cube": lambda x, b: x**3,
    "root": lambda x, b: (x.clamp_min(0) + EPSILON).sqrt(),
    "scaled": lambda x, b: b * x,
    "shifted": lambda x, b: x + b,
    "log": lambda x, b: (x.abs() + EPSILON).log(),
    "exp": lambda x, b: _within(x).exp(),
    "sin": lambda x, b: x.sin(),
    "cos": lambda x, b: x.cos(),
    "sinh": lambda x, b: _within(x).sinh(),
    "cosh": lambda x, b: _within(x).cosh(),
    "tanh": lambda x, b: x.tanh(),
    "asinh": lambda x, b: x.asinh(),
    "atan": lambda x, b: x.atan(),
    "sinc": lambda x, b: torch.sinc(x / torch.pi),
    "relu": lambda x, b: x.clamp_min(0),
    "below": lambda x, b: x.clamp_max(0),
    "sigmoid": lambda x, b: x.sigmoid(),
    "softplus": lambda x, b: F.softplus(x),
    "bell": lambda x, b: (-(x**2)).exp(),
    "erf": lambda x, b: x.erf(),
    "constant": lambda x, b: b.expand_as(x),
}
BINARY: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {  # of two numbers and β
    "add": lambda a, b, beta: a + b,
    "mul": lambda a, b, beta: a * b,
    "sub": lambda a, b, beta: a - b,
    "div": _quotient,
    "maximum": lambda a, b, beta: torch.maximum(a, b),
    "minimum": lambda a, b, beta: torch.minimum(a, b),
    "gate": lambda a, b, beta: a.sigmoid() * b,
    "near": lambda a, b, beta: (-beta.abs() * (a - b) ** 2).exp(),
    "close": lambda a, b, beta: (-beta.abs() * (a - b).abs()).exp(),
    "blend": lambda a, b, beta: beta * a + (1 - beta) * b,
}
STARTS = {
    "scaled": 1.0,
    "shifted": 0.0,
    "constant": 1.0,
    "near": 1.0,
    "close": 1.0,
    "blend": 0.5,
}


class ActivationFunction(nn.Module):
    """The function of a term, at each point of a tensor of any shape.

    >>> from sciops.grammars.term import parse_term
    >>> swish = ActivationFunction(parse_term("Binary(mul, Unary(x), Unary(sigmoid))"))
    >>> torch.equal(swish(torch.ones(2)), torch.ones(2).sigmoid())
    True
    """

    def __init__(self, term: Term):
        super().__init__()
        shape = term.head, len(term.args)
        inner: tuple[Term, ...] = ()
        if shape == ("Binary", 3) and term.args[0].head in BINARY:
            self.name, inner = term.args[0].head, term.args[1:]
        elif shape == ("Unary", 1):
            self.name, inner = "x", term.args
        elif shape[1] == 0 and term.head in UNARY:
            self.name = term.head
        else:
            raise ValueError(
                f"{term} is no activation function: expected Binary(operation, f, g), Unary(f) or "
                f"one of {', '.join(UNARY)}; operations are {', '.join(BINARY)}"
            )
        self.inner = nn.ModuleList(map(ActivationFunction, inner))
        start = STARTS.get(self.name)
        self.beta = None if start is None else nn.Parameter(torch.tensor(start))

    def forward(self, x: Tensor) -> Tensor:
        values = [function(x) for function in self.inner] or [x]
        beta = x.new_zeros(()) if self.beta is None else self.beta
        function = UNARY[self.name] if len(values) == 1 else BINARY[self.name]
        return function(*values, beta)
