"""Kaleidoscope matrices: products of butterfly matrices of alternating stride order.

    K = B_d ⋯ B₂ B₁,        strides of B₁ decreasing, B₂ increasing, B₃ decreasing, … (or reversed)

Two blocks already hold every permutation (Beneš network), three the DFT in natural order, and a
bounded number any matrix with a fast algorithm (Dao et al. 2020, arXiv:2012.14966).  A starting
point is *which twiddles you pass*; each start is a function below.

Blocks [[a, 0], [c, d]] give lower triangular factors, hence lower triangular products: a
`triangular` Kaleidoscope is causal for every value of its parameters.

Twiddle layout: (depth, m, n/2, 2, 2), blocks in the order of application.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor, nn

from .butterfly import (
    PASS_COST,
    best_split,
    bit_reversal,
    butterfly_matrix,
    butterfly_multiply,
    dft_twiddle,
    haar_twiddle,
    identity_twiddle,
    log2_exact,
    stage_cost,
)


class Kaleidoscope(nn.Module):
    """Learnable K-matrix: `layer(x)` is `K x` along the last axis, `layer.as_matrix()` is `K`.

    decreasing: whether the first-applied block has decreasing strides; the order then alternates.
    dtype:      of the parameters, if not that of `twiddle`; the start is kept as given, so that
                `.double()` of an untrained K-matrix loses nothing

    >>> dft = Kaleidoscope(dft_blocks(8, dtype=torch.complex128))
    >>> x = torch.arange(8.0, dtype=torch.float64)
    >>> torch.allclose(dft(x), torch.fft.fft(x, norm="ortho"))
    True
    """

    def __init__(
        self,
        twiddle: Tensor,
        *,
        decreasing: bool = False,
        triangular: bool = False,
        dtype: torch.dtype | None = None,
    ):
        super().__init__()
        if twiddle.ndim != 5 or twiddle.shape[2:] != (2 ** twiddle.shape[1] // 2, 2, 2):
            raise ValueError(
                "twiddle must have shape (depth, m, 2**m / 2, 2, 2), "
                f"got {tuple(twiddle.shape)}; see identity_blocks, dft_blocks, …"
            )
        self.depth, self.n = len(twiddle), 2 ** twiddle.shape[1]
        self.is_complex = twiddle.is_complex()
        self.decreasing, self.triangular = decreasing, triangular
        self._start = torch.view_as_real(twiddle) if self.is_complex else twiddle
        self.values = nn.Parameter(self._start.to(dtype, copy=True))

    @property
    def twiddle(self) -> Tensor:  # (depth, m, n/2, 2, 2)
        return _blocks(self, self.values)

    def restart(self, twiddle: Tensor) -> None:
        """Begin anew with these blocks."""
        start = torch.view_as_real(twiddle) if self.is_complex else twiddle
        if start.shape != self.values.shape:
            raise ValueError(
                f"blocks of another size or depth: expected {tuple(self.values.shape)}, "
                f"got {tuple(start.shape)}"
            )
        self._start = start
        with torch.no_grad():
            self.values.copy_(start)

    def _apply(self, fn, recurse=True):
        before = self.values.dtype
        super()._apply(fn, recurse)
        if self.values.dtype.itemsize > before.itemsize:
            start = self._start.to(self.values.device)
            if torch.equal(self.values.to(before), start.to(before)):  # untrained
                self.values.data.copy_(start)
        return self

    def order(self, block: int) -> bool:
        """Whether block `block` has decreasing strides."""
        return self.decreasing ^ bool(block % 2)

    def forward(self, x: Tensor, *, split: tuple[int, ...] | None = None) -> Tensor:
        """(..., n) -> (..., n); `split` as in `butterfly_multiply`, None = the cheapest."""
        twiddle = self.twiddle
        if x.shape[-1] != self.n:
            raise ValueError(f"K-matrix of order {self.n} got x of shape {tuple(x.shape)}")
        x = x.to(twiddle.dtype) if self.is_complex else x
        if split is None and dense_is_cheaper(self.n, self.depth, x.numel() // self.n):
            return x @ self.as_matrix().mT
        for j in range(self.depth):
            x = butterfly_multiply(twiddle[j], x, decreasing=self.order(j), split=split)
        return x

    def as_matrix(self) -> Tensor:  # (n, n)
        return dense_matrices([self])[0]

    def extra_repr(self) -> str:
        return f"n={self.n}, depth={self.depth}, complex={self.is_complex}"


def dense_is_cheaper(n: int, depth: int, columns: int) -> bool:
    """Whether K is applied to `columns` vectors faster as one dense matrix than stage by stage."""
    staged = depth * stage_cost(n, columns, best_split(n, columns))
    multiplied_out = depth * 2 * n * n + (depth - 1) * n**3
    return multiplied_out + n * columns * (n + PASS_COST) <= staged


_ready: ContextVar[Mapping[int, Tensor] | None] = ContextVar("ready", default=None)


@contextmanager
def built_together(maps: Iterable[Kaleidoscope]) -> Iterator[None]:
    """Build the dense matrices of many layers at once; within, `dense_matrices` has them at hand.

    Of small layers this takes much longer one by one than all together.
    """
    maps = list(maps)
    token = _ready.set(dict(zip(map(id, maps), dense_matrices(maps), strict=True)))
    try:
        yield
    finally:
        _ready.reset(token)


def dense_matrices(maps: Sequence[Kaleidoscope]) -> list[Tensor]:
    """The dense matrices of many K-matrices; those of one kind are built together."""
    ready = _ready.get()
    if ready is not None and all(id(k) in ready for k in maps):
        return [ready[id(k)] for k in maps]
    kinds: dict[tuple, list[int]] = {}
    for i, k in enumerate(maps):
        kind = (k.n, k.depth, k.decreasing, k.triangular, k.is_complex)
        kinds.setdefault(kind, []).append(i)
    dense: list[Tensor] = [torch.empty(0)] * len(maps)
    for members in kinds.values():
        first = maps[members[0]]
        twiddle = _blocks(first, torch.stack([maps[i].values for i in members]))
        product = butterfly_matrix(twiddle[:, 0], decreasing=first.order(0))
        for j in range(1, first.depth):
            product = butterfly_matrix(twiddle[:, j], decreasing=first.order(j)) @ product
        for i, matrix in zip(members, product.unbind(), strict=True):
            dense[i] = matrix
    return dense


def _blocks(kind: Kaleidoscope, values: Tensor) -> Tensor:
    values = values.float() if values.dtype.itemsize < 4 else values  # no complex half precision
    twiddle = torch.view_as_complex(values) if kind.is_complex else values
    return twiddle.tril() if kind.triangular else twiddle  # tril of each 2 × 2 block


# --- starts: blocks (depth, m, n/2, 2, 2) ---------------------------------------------------------


def identity_blocks(n: int, depth: int = 1, *, dtype: torch.dtype = torch.complex64) -> Tensor:
    """The identity, of any depth and order."""
    return identity_twiddle(n, dtype=dtype).expand(depth, -1, -1, -1, -1).clone()


def haar_blocks(n: int, depth: int = 1, *, dtype=torch.complex64, generator=None) -> Tensor:
    """A random unitary (orthogonal, for a real dtype) matrix; any order."""
    return torch.stack([haar_twiddle(n, dtype=dtype, generator=generator) for _ in range(depth)])


def triangular_blocks(n: int, depth: int = 1, *, scale=0.0, dtype=torch.float32, generator=None):
    """Identity plus `scale` × normal noise on and below the diagonal of every block."""
    blocks = identity_blocks(n, depth, dtype=dtype)
    noise = torch.randn(blocks.shape, dtype=dtype, generator=generator)
    return blocks + scale * noise.tril()


def dft_blocks(
    n: int, *, inverse: bool = False, unitary: bool = True, natural: bool = True, dtype=None
) -> Tensor:
    """The (inverse) DFT for `Kaleidoscope(…, decreasing=False)`.

    natural=True:  input and output in natural order, depth 3 (bit reversal, then the butterflies)
    natural=False: input in bit-reversed order, depth 1
    """
    dtype = torch.complex64 if dtype is None else dtype
    fourier = dft_twiddle(n, inverse=inverse, unitary=unitary, dtype=dtype)[None]
    if not natural:
        return fourier
    return torch.cat([permutation_blocks(bit_reversal(n), decreasing=False, dtype=dtype), fourier])


def permutation_blocks(permutation, *, decreasing: bool = True, dtype=torch.complex64) -> Tensor:
    """Two blocks whose product is `x -> x[permutation]`, every 2 × 2 the identity or a swap.

    The first block has decreasing strides, or increasing ones with `decreasing=False`: relabelling
    the entries by bit reversal turns one network into the other.
    """
    v = torch.as_tensor(permutation)
    n = len(v)
    m = log2_exact(n)
    if not torch.equal(v.sort().values, torch.arange(n)):
        raise ValueError(f"expected a permutation of 0 … {n - 1}, got {v.tolist()}")
    if not decreasing:
        reversed_bits = bit_reversal(n)
        blocks = permutation_blocks(reversed_bits[v[reversed_bits]], dtype=dtype)
        return blocks[:, :, bit_reversal(max(n // 2, 1))] if n > 1 else blocks
    swaps = torch.zeros(2, m, n // 2, dtype=torch.bool)
    networks = [v.tolist()]  # one per group of the present stride
    for level in range(m):
        half = n >> (level + 1)
        routed = [_route(network) for network in networks]
        swaps[0, level] = torch.tensor([s for first, _, _ in routed for s in first])
        swaps[1, m - 1 - level] = torch.tensor([s for _, last, _ in routed for s in last])
        networks = [inner for _, _, inners in routed for inner in inners] if half > 1 else []
    eye = torch.eye(2, dtype=dtype)
    return torch.where(swaps[..., None, None], eye.flip(0), eye)


def _route(v: list[int]) -> tuple[list[bool], list[bool], tuple[list[int], list[int]]]:
    """One level of a Beneš network for `out = x[v]`: swaps before, after, and two inner networks.

    Elements get a colour (the half they travel through): partners of an input pair {p, p + n/2} and
    of an output pair must differ.  Following the pairs in turn walks cycles of even length.
    """
    half = len(v) // 2
    position = {element: q for q, element in enumerate(v)}
    colour: dict[int, int] = {}
    for start in range(half):
        element = start
        while element not in colour:
            partner = (element + half) % len(v)
            colour[element], colour[partner] = 0, 1
            element = v[(position[partner] + half) % len(v)]  # shares the partner's output pair: 0
    before = [colour[p] == 1 for p in range(half)]
    after = [colour[v[q]] == 1 for q in range(half)]
    inner = tuple(
        [(v[q] if colour[v[q]] == c else v[q + half]) % half for q in range(half)] for c in (0, 1)
    )
    return before, after, inner
