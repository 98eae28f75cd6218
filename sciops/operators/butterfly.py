"""Butterfly matrices: n × n linear maps with O(n log n) weights and work.

A butterfly matrix of order n = 2ᵐ is a product of m sparse factors.  The factor of stride
s = 2ᵏ mixes every pair of entries (i, i + s) whose indices differ only in bit k, each pair
through its own 2 × 2 block.  The strides either increase (1, 2, …, n/2: first applied first)
or decrease; the transpose of one order is of the other (Dao et al. 2019, arXiv:1903.05895).

Twiddle layout, (..., m, n/2, 2, 2): factors in the order of application; in a factor of
stride s block `g·s + o` acts on entries `g·2s + o` and `g·2s + o + s`; then [row, column].

Between two rows of one column there is exactly one path through the factors, so an entry of
B is a plain product of m twiddles.  r neighbouring factors are n/2ʳ small butterflies of order
2ʳ: multiplied out, they become a *fused stage* of dense 2ʳ × 2ʳ blocks.  `split=(1, …, 1)` is
the textbook algorithm, `split=(m,)` the dense matrix, anything between trades flops for passes
over memory; `best_split` chooses.
"""

import math
from functools import cache, lru_cache, wraps

import torch
from torch import Tensor, nn

PASS_COST = 256  # one pass over the data costs about as much as this many multiply-adds an entry
PATH_BITS = 5  # up to this many factors are multiplied out by gathering all paths at once


def log2_exact(n: int) -> int:
    """The m of n = 2ᵐ.

    >>> log2_exact(64)
    6
    """
    if n < 1 or n & (n - 1):
        raise ValueError(
            f"n={n} is not a power of two; pad the axis to {next_power_of_two(n)} first"
        )
    return n.bit_length() - 1


def next_power_of_two(n: int) -> int:
    """The smallest power of two that is at least n.

    >>> [next_power_of_two(n) for n in (1, 12, 16, 85)]
    [1, 16, 16, 128]
    """
    return 1 << max(n - 1, 0).bit_length()


def constant(make):
    """Cache a function that makes fixed tensors; while a graph is traced it makes them anew."""

    @lru_cache(maxsize=512)
    def cached(*args):
        with torch.inference_mode(False):  # tensors made in inference mode cannot be trained with
            return make(*args)

    @wraps(make)
    def call(*args):
        return make(*args) if torch.compiler.is_compiling() else cached(*args)

    return call


@constant
def _paths(m: int, device: torch.device) -> Tensor:
    """Which twiddles lead from column j to row i: flat indices (m, n, n) into (m, n/2, 2, 2)."""
    row, column = torch.arange(2**m)[:, None], torch.arange(2**m)
    steps = []
    for k in range(m):
        s = 2**k
        place = row % s + column // s * s  # bits below k are already the row's
        block = k * 2 ** (m - 1) + place // (2 * s) * s + place % s
        steps.append((2 * block + (row >> k) % 2) * 2 + (column >> k) % 2)
    return torch.stack(steps).to(device)


def _product_of_paths(twiddle: Tensor) -> Tensor:
    """A small butterfly of increasing strides: (..., m, n/2, 2, 2) -> (..., n, n)."""
    paths = _paths(twiddle.shape[-4], twiddle.device)
    entries = twiddle.flatten(-4)[..., paths].unbind(-3)
    return math.prod(entries[1:], start=entries[0])


def _stage(twiddle: Tensor, low: int) -> Tensor:
    """The dense blocks of neighbouring factors of increasing stride 2ˡᵒʷ …, as a butterfly each.

    twiddle: (..., r, n/2, 2, 2)
    returns: (..., n / 2^(low + r), 2^low, 2ʳ, 2ʳ)   group, offset, row, column
    """
    r, half = twiddle.shape[-4:-2]
    pairs = 2**r // 2
    split = (half // (pairs * 2**low), pairs, 2**low)  # group pair offset
    return butterfly_matrix(twiddle.unflatten(-3, split).movedim((-5, -3), (-6, -5)))


def butterfly_matrix(twiddle: Tensor, *, decreasing: bool = False) -> Tensor:
    """Multiply the factors out, O(n²): (..., m, n/2, 2, 2) -> (..., n, n)."""
    if decreasing:  # (Bₘ ⋯ B₁)ᵀ = B₁ᵀ ⋯ Bₘᵀ has the other order
        return butterfly_matrix(twiddle.flip(-4).mT).mT
    m = twiddle.shape[-4]
    if 0 < m <= PATH_BITS:
        return _product_of_paths(twiddle)
    blocks = twiddle.new_ones(*twiddle.shape[:-4], 2**m, 1, 1)  # group, row, column
    for low in range(0, m, PATH_BITS):
        stage = _stage(twiddle[..., low : low + PATH_BITS, :, :, :], low)
        inner = blocks.unflatten(-3, (stage.shape[-4], stage.shape[-1]))  # group, j, offset, column
        merged = stage.movedim(-3, -2)[..., None] * inner.movedim(-3, -2).unsqueeze(-4)
        blocks = merged.flatten(-2).flatten(-3, -2)  # rows (i, offset), columns (j, column)
    return blocks.squeeze(-3)


def butterfly_multiply(
    twiddle: Tensor, x: Tensor, *, decreasing: bool = False, split: tuple[int, ...] | None = None
) -> Tensor:
    """Apply B along the last axis of `x`, a fused stage at a time.

    twiddle: (m, n/2, 2, 2)
    x:       (..., n)
    split:   factors per stage, summing to m; None = the cheapest by `best_split`
    returns: (..., n)
    """
    m = len(twiddle)
    n = 2**m
    if x.shape[-1] != n:
        raise ValueError(f"butterfly of order {n} got x of shape {tuple(x.shape)}")
    split = best_split(n, x.numel() // n) if split is None else split
    if sum(split) != m or any(r < 1 for r in split):
        raise ValueError(f"split={split} must be positive and sum to log2({n}) = {m}")
    out = x.reshape(-1, n)
    first = 0
    for r in split:
        factors = twiddle[first : first + r]
        low = m - first - r if decreasing else first  # lowest bit this stage touches
        blocks = _stage(factors.flip(0).mT, low).mT if decreasing else _stage(factors, low)
        out = out.view(-1, len(blocks), 2**r, 2**low)
        out = torch.einsum("goij,bgjo->bgio", blocks, out).reshape(-1, n)
        first += r
    return out.reshape(x.shape)


def stage_cost(n: int, columns: int, split: tuple[int, ...]) -> int:
    """Multiply-adds of applying a butterfly to `columns` vectors, passes over memory included."""
    radix = [2**r for r in split]
    building = sum(2 * n * size for size in radix)
    return building + n * columns * sum(size + PASS_COST for size in radix)


@cache
def best_split(n: int, columns: int) -> tuple[int, ...]:
    """The cheapest even split of log₂ n factors into fused stages.

    >>> best_split(32, 1000), best_split(4096, 1000)
    ((5,), (6, 6))
    """
    m = log2_exact(n)
    if m == 0:
        return ()
    even = [tuple(m // s + (i < m % s) for i in range(s)) for s in range(1, m + 1)]
    return min(even, key=lambda split: stage_cost(n, columns, split))


def bit_reversal(n: int) -> Tensor:
    """Index permutation that reverses the log₂ n bits of 0 … n − 1.

    >>> bit_reversal(8).tolist()
    [0, 4, 2, 6, 1, 5, 3, 7]
    """
    m = log2_exact(n)
    index = torch.arange(n)
    return sum((((index >> k) & 1) << (m - 1 - k) for k in range(m)), torch.zeros_like(index))


def identity_twiddle(n: int, *, dtype: torch.dtype = torch.complex64) -> Tensor:
    """Blocks of the identity matrix of order n."""
    m = log2_exact(n)
    return torch.eye(2, dtype=dtype).expand(m, n // 2, 2, 2).clone()


def dft_twiddle(
    n: int, *, inverse: bool = False, unitary: bool = True, decreasing: bool = False, dtype=None
) -> Tensor:
    """Blocks of the (inverse) DFT without its bit reversal.

    Increasing strides (decimation in time) take the input in bit-reversed order; decreasing ones
    (decimation in frequency) leave the output in bit-reversed order.  `unitary=False` is torch's
    convention: the forward transform unscaled, the inverse divided by n.
    """
    twiddle = identity_twiddle(n, dtype=torch.complex128)
    for k in range(len(twiddle)):
        angle = torch.arange(n // 2, dtype=torch.float64) % 2**k * math.pi / 2**k
        w = torch.polar(
            torch.ones_like(angle), angle if inverse else -angle
        )  # ω = exp(∓2πi o/2ᵏ⁺¹)
        one = torch.ones_like(w)
        twiddle[k] = torch.stack([one, w, one, -w], -1).unflatten(-1, (2, 2))
    twiddle *= math.sqrt(0.5) if unitary else (0.5 if inverse else 1.0)
    twiddle = twiddle.mT.flip(0) if decreasing else twiddle
    return twiddle.to(torch.complex64 if dtype is None else dtype).contiguous()


def haar_twiddle(
    n: int, *, dtype: torch.dtype = torch.complex64, generator: torch.Generator | None = None
) -> Tensor:
    """Blocks drawn from the Haar measure on U(2) (on O(2) for a real `dtype`): B is unitary."""
    m = log2_exact(n)
    if dtype.is_complex:
        u, alpha, psi, chi = torch.rand(4, m, n // 2, dtype=torch.float64, generator=generator)
        phi = torch.asin(u.sqrt())
        alpha, psi, chi = (2 * math.pi * a for a in (alpha, psi, chi))
        entries = [
            torch.polar(phi.cos(), alpha + psi),
            torch.polar(phi.sin(), alpha + chi),
            -torch.polar(phi.sin(), alpha - chi),
            torch.polar(phi.cos(), alpha - psi),
        ]
    else:  # a rotation, or a reflection with probability one half
        angle, coin = torch.rand(2, m, n // 2, dtype=torch.float64, generator=generator)
        sign = torch.where(coin < 0.5, 1.0, -1.0)
        cos, sin = (2 * math.pi * angle).cos(), (2 * math.pi * angle).sin()
        entries = [cos, -sign * sin, sin, sign * cos]
    return torch.stack(entries, -1).unflatten(-1, (2, 2)).to(dtype)


def scale_input(twiddle: Tensor, diagonal: Tensor, *, decreasing: bool = False) -> Tensor:
    """Blocks of B diag(d): the columns of the first-applied factor are scaled."""
    n = 2 ** len(twiddle)
    half = (2, n // 2) if decreasing else (n // 2, 2)  # first stride n/2, or 1
    pairs = diagonal.to(twiddle.dtype).view(half)
    pairs = pairs.mT if decreasing else pairs  # (pair, column)
    return torch.cat([twiddle[:1] * pairs[None, :, None, :], twiddle[1:]])


class Butterfly(nn.Module):
    """Learnable butterfly matrix; `layer(x)` is `B x`, `layer.as_matrix()` is `B`.

    Real or complex by the dtype of `twiddle` (m, n/2, 2, 2); complex twiddles are stored as real
    pairs (..., 2), so that `.double()`, safetensors and every optimiser work.

    >>> Butterfly(dft_twiddle(8))(torch.ones(8)).abs()[0]
    tensor(2.8284, grad_fn=<SelectBackward0>)
    """

    def __init__(self, twiddle: Tensor, *, decreasing: bool = False):
        super().__init__()
        self.is_complex, self.decreasing = twiddle.is_complex(), decreasing
        self.n = 2 ** len(twiddle)
        values = torch.view_as_real(twiddle) if self.is_complex else twiddle
        self.values = nn.Parameter(values.clone())

    @property
    def twiddle(self) -> Tensor:
        return torch.view_as_complex(self.values) if self.is_complex else self.values

    def forward(self, x: Tensor, *, split: tuple[int, ...] | None = None) -> Tensor:
        twiddle = self.twiddle
        x = x.to(twiddle.dtype) if self.is_complex else x
        return butterfly_multiply(twiddle, x, decreasing=self.decreasing, split=split)

    def as_matrix(self) -> Tensor:  # (n, n)
        return butterfly_matrix(self.twiddle, decreasing=self.decreasing)
