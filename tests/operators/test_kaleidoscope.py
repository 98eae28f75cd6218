"""K-matrices: products of butterflies, the DFT, permutations and triangular maps among them."""

import itertools

import pytest
import torch

from sciops.operators import kaleidoscope
from sciops.operators.butterfly import bit_reversal, log2_exact
from sciops.operators.kaleidoscope import (
    Kaleidoscope,
    built_together,
    dense_is_cheaper,
    dense_matrices,
    dft_blocks,
    haar_blocks,
    identity_blocks,
    permutation_blocks,
    triangular_blocks,
)
from tests.contracts import assert_linear_map, random_tensor, randomise, relative_error

SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256]
ORDERS = pytest.mark.parametrize("decreasing", [False, True], ids=["increasing", "decreasing"])


def explicit_product(twiddle, decreasing):
    """The product of all factors, entry by entry; the order of strides alternates."""
    depth, m = twiddle.shape[:2]
    n = 2**m
    product = torch.eye(n, dtype=twiddle.dtype)
    for block, step in itertools.product(range(depth), range(m)):
        down = decreasing ^ bool(block % 2)
        stride = 2 ** (m - 1 - step if down else step)
        factor = torch.zeros(n, n, dtype=twiddle.dtype)
        for i in range(n // 2):
            low = i // stride * 2 * stride + i % stride
            for row, column in itertools.product(range(2), repeat=2):
                entry = twiddle[block, step, i, row, column]
                factor[low + row * stride, low + column * stride] = entry
        product = factor @ product
    return product


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128], ids=["f32", "f64"])
def test_three_blocks_hold_the_dft_in_natural_order(n, dtype):
    x = random_tensor(3, n, dtype=dtype)
    tolerance = 1e-12 if dtype == torch.complex128 else 1e-6
    for inverse, unitary in itertools.product([False, True], repeat=2):
        blocks = dft_blocks(n, inverse=inverse, unitary=unitary, dtype=dtype)
        layer = Kaleidoscope(blocks)
        transform = torch.fft.ifft if inverse else torch.fft.fft
        expected = transform(x, norm="ortho" if unitary else "backward")
        assert layer.depth == 3
        assert relative_error(layer(x), expected) < tolerance
        assert relative_error(x @ layer.as_matrix().mT, expected) < tolerance


@pytest.mark.parametrize("n", SIZES)
def test_one_block_holds_the_dft_of_bit_reversed_input(n):
    x = random_tensor(3, n, dtype=torch.complex128)
    for inverse, unitary in itertools.product([False, True], repeat=2):
        blocks = dft_blocks(n, inverse=inverse, unitary=unitary, natural=False, dtype=x.dtype)
        transform = torch.fft.ifft if inverse else torch.fft.fft
        expected = transform(x, norm="ortho" if unitary else "backward")
        assert len(blocks) == 1
        assert relative_error(Kaleidoscope(blocks)(x[:, bit_reversal(n)]), expected) < 1e-12


@ORDERS
@pytest.mark.parametrize("n", [1, 2, 4, 8, 16, 32, 64])
def test_two_blocks_hold_every_permutation_exactly(n, decreasing):
    generator = torch.Generator().manual_seed(n)
    if n <= 4:
        permutations = [torch.tensor(v) for v in itertools.permutations(range(n))]
    else:
        permutations = [torch.randperm(n, generator=generator) for _ in range(20)]
        permutations += [torch.arange(n).flip(0), torch.arange(n).roll(1), bit_reversal(n)]
    x = random_tensor(2, n, dtype=torch.float64)
    for v in permutations:
        blocks = permutation_blocks(v, decreasing=decreasing, dtype=torch.float64)
        layer = Kaleidoscope(blocks, decreasing=decreasing)
        assert layer.depth == 2
        assert torch.equal(layer.as_matrix(), torch.eye(n, dtype=torch.float64)[v])
        assert torch.equal(layer(x, split=(1,) * log2_exact(n)), x[:, v])
        assert torch.equal(layer(x), x[:, v])


@pytest.mark.parametrize("n", [2, 16])
def test_permutation_blocks_are_identities_and_swaps(n):
    blocks = permutation_blocks(
        torch.randperm(n, generator=torch.Generator().manual_seed(0)).tolist()
    )
    eye = torch.eye(2, dtype=torch.complex64)
    swapped = (blocks == eye.flip(0)).all(-1).all(-1)
    straight = (blocks == eye).all(-1).all(-1)
    assert blocks.dtype == torch.complex64 and (swapped ^ straight).all()


@pytest.mark.parametrize(("n", "count"), [(8, 48), (64, 768), (256, 4096), (8192, 212992)])
@pytest.mark.parametrize("depth", [1, 3])
def test_depth_multiplies_the_parameter_count(n, count, depth):
    layer = Kaleidoscope(identity_blocks(n, depth))
    assert sum(p.numel() for p in layer.parameters()) == 2 * depth * count  # pairs of real numbers


@ORDERS
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=["real", "complex"])
def test_matrix_is_the_product_of_alternating_butterflies(depth, dtype, decreasing):
    for n in (1, 2, 8, 32):
        twiddle = random_tensor(depth, log2_exact(n), n // 2, 2, 2, dtype=dtype, seed=n)
        layer = Kaleidoscope(twiddle, decreasing=decreasing)
        assert [layer.order(j) for j in range(depth)] == [
            decreasing ^ (j % 2 == 1) for j in range(depth)
        ]
        expected = explicit_product(twiddle, decreasing)
        assert relative_error(layer.as_matrix(), expected) < 1e-13
        x = random_tensor(3, n, dtype=dtype)
        for split in [(1,) * log2_exact(n), None]:
            assert relative_error(layer(x, split=split), x @ expected.mT) < 1e-13


@ORDERS
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=["real", "complex"])
def test_dense_and_staged_products_have_the_same_gradients(dtype, decreasing, monkeypatch):
    layer = Kaleidoscope(random_tensor(3, 5, 16, 2, 2, dtype=dtype), decreasing=decreasing)
    x = random_tensor(4, 32, dtype=dtype, seed=1).requires_grad_()
    pull = random_tensor(4, 32, dtype=dtype, seed=2)
    results = []
    for dense in (True, False):
        monkeypatch.setattr(kaleidoscope, "dense_is_cheaper", lambda *_, dense=dense: dense)
        y = layer(x)
        results.append((y, *torch.autograd.grad(y, (layer.values, x), pull)))
    for one, other in zip(*results, strict=True):
        assert relative_error(one, other) < 1e-13


@pytest.mark.parametrize("triangular", [False, True])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=["real", "complex"])
def test_kaleidoscope_passes_gradcheck(dtype, triangular):
    for n in (2, 4):
        start = random_tensor(2, log2_exact(n), n // 2, 2, 2, dtype=dtype)
        layer = Kaleidoscope(start, triangular=triangular)
        x = random_tensor(2, n, dtype=dtype, seed=1).requires_grad_()
        values = layer.values.detach().clone().requires_grad_()

        def call(values, x, layer=layer):
            return torch.func.functional_call(layer, {"values": values}, (x,))

        def matrix(values, layer=layer):
            with torch.nn.utils.stateless._reparametrize_module(layer, {"values": values}):
                return layer.as_matrix()

        assert torch.autograd.gradcheck(call, (values, x))
        assert torch.autograd.gradcheck(matrix, (values,))


def test_forward_agrees_on_both_sides_of_its_own_choice():
    choices = set()
    for n, depth, columns in itertools.product((8, 128, 512), (1, 3), (1, 300)):
        choices.add(dense_is_cheaper(n, depth, columns))
        layer = Kaleidoscope(haar_blocks(n, depth, dtype=torch.complex128))
        x = random_tensor(columns, n, dtype=torch.float64)
        expected = x.cdouble() @ layer.as_matrix().mT
        assert relative_error(layer(x), expected) < 1e-13
    assert choices == {False, True}, "the sizes of this test no longer straddle the choice"


def test_dense_is_cheaper_for_small_matrices_and_not_for_huge_ones():
    assert dense_is_cheaper(32, 1, 10**4)
    assert not dense_is_cheaper(8192, 1, 16)


def test_dense_matrices_of_many_kinds_come_back_in_order():
    kinds = [
        Kaleidoscope(random_tensor(1, 3, 4, 2, 2, dtype=torch.complex64, seed=1)),
        Kaleidoscope(random_tensor(2, 3, 4, 2, 2, dtype=torch.complex64, seed=2)),
        Kaleidoscope(random_tensor(1, 3, 4, 2, 2, dtype=torch.complex64, seed=3), decreasing=True),
        Kaleidoscope(random_tensor(1, 3, 4, 2, 2, seed=4)),
        Kaleidoscope(random_tensor(1, 3, 4, 2, 2, seed=5), triangular=True),
        Kaleidoscope(random_tensor(1, 2, 2, 2, 2, dtype=torch.complex64, seed=6)),
        Kaleidoscope(random_tensor(1, 3, 4, 2, 2, dtype=torch.complex64, seed=7)),
    ]
    for layer, matrix in zip(kinds, dense_matrices(kinds), strict=True):
        twiddle = layer.twiddle.detach()
        assert relative_error(matrix, explicit_product(twiddle, layer.decreasing)) < 1e-5
    assert dense_matrices([]) == []


@ORDERS
@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64], ids=["real", "complex"])
@pytest.mark.parametrize(("n", "depth"), [(1, 2), (2, 1), (8, 3), (64, 2)])
def test_haar_start_is_unitary(n, depth, dtype, decreasing):
    blocks = haar_blocks(n, depth, dtype=dtype, generator=torch.Generator().manual_seed(n))
    k = Kaleidoscope(blocks, decreasing=decreasing).as_matrix()
    assert relative_error(k.mH @ k, torch.eye(n, dtype=dtype)) < 1e-5


@pytest.mark.parametrize("n", SIZES)
def test_identity_start_is_the_identity(n):
    for depth in (1, 4):
        assert torch.equal(
            Kaleidoscope(identity_blocks(n, depth)).as_matrix(), torch.eye(n, dtype=torch.cfloat)
        )
        blocks = triangular_blocks(n, depth)
        assert torch.equal(Kaleidoscope(blocks, triangular=True).as_matrix(), torch.eye(n))


@ORDERS
@pytest.mark.parametrize(("n", "depth"), [(2, 1), (8, 3), (32, 2), (64, 4)])
def test_triangular_maps_stay_lower_triangular(n, depth, decreasing):
    generator = torch.Generator().manual_seed(n)
    start = triangular_blocks(n, depth, scale=0.5, generator=generator)
    layer = Kaleidoscope(start, decreasing=decreasing, triangular=True)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.1)
    for seed in range(4):
        matrix = layer.as_matrix()
        assert torch.equal(matrix, matrix.tril())
        assert matrix.tril(-1).abs().sum() > 0
        randomise(layer, seed=seed)  # also the entries above the diagonals of the blocks
        optimizer.zero_grad()
        layer(random_tensor(5, n, seed=seed)).square().sum().backward()
        optimizer.step()
    x = random_tensor(3, n)
    for split in [(1,) * log2_exact(n), None]:
        for t in range(n):
            past = layer(torch.where(torch.arange(n) < t, x, 0.0), split=split)
            assert relative_error(past[:, :t], layer(x, split=split)[:, :t]) < 1e-5


@ORDERS
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_kaleidoscope_is_a_linear_map(depth, decreasing):
    for dtype, triangular in (
        (torch.complex64, False),
        (torch.float32, False),
        (torch.float32, True),
    ):
        blocks = haar_blocks(16, depth, dtype=dtype, generator=torch.Generator().manual_seed(depth))
        assert_linear_map(Kaleidoscope(blocks, decreasing=decreasing, triangular=triangular), 16)


def test_kaleidoscope_parameters_are_real_tensors():
    layer = Kaleidoscope(dft_blocks(8))
    assert layer.values.dtype == torch.float32 and layer.twiddle.dtype == torch.complex64
    assert layer.double().twiddle.dtype == torch.complex128
    assert "n=8, depth=3" in repr(layer)


# --- precision ------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 16, 256])
def test_double_of_an_untrained_matrix_is_exact(n):
    layer = Kaleidoscope(dft_blocks(n, dtype=torch.complex128), dtype=torch.float32)
    assert layer.values.dtype == torch.float32
    x = random_tensor(2, n, dtype=torch.float64)
    assert relative_error(layer.double()(x), torch.fft.fft(x, norm="ortho")) < 1e-13
    assert relative_error(layer.float().double()(x), torch.fft.fft(x, norm="ortho")) < 1e-13


def test_restart_begins_anew_in_full_precision():
    layer = randomise(Kaleidoscope(identity_blocks(16, 3)))
    layer.restart(dft_blocks(16, inverse=True, dtype=torch.complex128))
    x = random_tensor(2, 16, dtype=torch.complex64)
    assert relative_error(layer(x), torch.fft.ifft(x, norm="ortho")) < 1e-6
    x = x.cdouble()
    assert relative_error(layer.double()(x), torch.fft.ifft(x, norm="ortho")) < 1e-13
    with pytest.raises(ValueError, match="another size or depth"):
        layer.restart(identity_blocks(16, 2))


def test_a_start_is_copied():
    blocks = identity_blocks(8)
    layer = Kaleidoscope(blocks)
    randomise(layer)
    assert torch.equal(blocks, identity_blocks(8))


@pytest.mark.parametrize("scale", [0.1, 1e-7, 1e-10])
def test_moving_a_trained_matrix_changes_nothing(scale):
    """However little it has learned."""
    layer = Kaleidoscope(dft_blocks(8, dtype=torch.complex128))
    with torch.no_grad():
        layer.values.mul_(1 + scale)
    learned = layer.values.detach().clone()
    for moved in (layer.cpu(), layer.double(), layer.to("cpu", torch.float64)):
        assert torch.equal(moved.values, learned)


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape", [(3, 4, 2, 2), (1, 3, 8, 2, 2), (1, 3, 4, 2, 1), (1, 2, 4, 2, 2), (3,)], ids=str
)
def test_wrong_twiddle_shape_is_named(shape):
    with pytest.raises(
        ValueError, match=r"shape \(depth, m, 2\*\*m / 2, 2, 2\), got .*identity_blocks"
    ):
        Kaleidoscope(torch.zeros(shape))


@pytest.mark.parametrize("v", [[0, 0], [1, 2, 3, 4], [0, 1, 3, 3]])
def test_what_is_no_permutation_is_refused(v):
    with pytest.raises(ValueError, match="expected a permutation of 0 …"):
        permutation_blocks(v)


def test_a_permutation_of_another_length_says_what_to_pad_to():
    with pytest.raises(ValueError, match="pad the axis to 4"):
        permutation_blocks([2, 0, 1])


def test_wrong_length_is_named():
    layer = Kaleidoscope(identity_blocks(8))
    with pytest.raises(ValueError, match=r"order 8 got x of shape \(2, 4\)"):
        layer(torch.zeros(2, 4), split=(1, 1, 1))


def test_wrong_length_is_named_on_the_dense_path():
    assert dense_is_cheaper(8, 1, 2)
    with pytest.raises(ValueError, match=r"order 8 got x of shape \(2, 4\)"):
        Kaleidoscope(identity_blocks(8))(torch.zeros(2, 4))


def test_matrices_of_many_layers_are_built_together():
    maps = [Kaleidoscope(identity_blocks(8, d, dtype=torch.float32)) for d in (1, 2, 1)]
    maps = [randomise(k, 0.3, seed=seed) for seed, k in enumerate(maps)]
    alone = [k.as_matrix() for k in maps]
    with built_together(maps):
        ready = dense_matrices([maps[2], maps[0]])
        assert ready[0] is dense_matrices([maps[2]])[0]  # not built again
        other = Kaleidoscope(identity_blocks(4, dtype=torch.float32))
        assert torch.equal(other.as_matrix(), torch.eye(4))
    assert torch.equal(ready[0], alone[2]) and torch.equal(ready[1], alone[0])
    assert dense_matrices([maps[2]])[0] is not ready[0]
    ready[0].sum().backward()
    assert maps[2].values.grad.abs().sum() > 0
