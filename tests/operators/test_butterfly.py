"""Butterflies against explicit factors, those against torch.fft, every fast way against both."""

import itertools
import math

import pytest
import torch

from sciops.operators.butterfly import (
    Butterfly,
    best_split,
    bit_reversal,
    butterfly_matrix,
    butterfly_multiply,
    dft_twiddle,
    haar_twiddle,
    identity_twiddle,
    log2_exact,
    next_power_of_two,
    scale_input,
    stage_cost,
)
from tests.contracts import assert_linear_map, random_tensor, relative_error

SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256]
ORDERS = pytest.mark.parametrize("decreasing", [False, True], ids=["increasing", "decreasing"])
REAL_OR_COMPLEX = pytest.mark.parametrize(
    "dtype", [torch.float64, torch.complex128], ids=["real", "complex"]
)


def factor_matrix(blocks, stride):
    """The factor as the module's docstring defines it: block g·s + o acts on g·2s + o (+ s)."""
    n = 2 * len(blocks)
    matrix = torch.zeros(n, n, dtype=blocks.dtype)
    for index, block in enumerate(blocks):
        group, offset = divmod(index, stride)
        pair = torch.tensor([2 * stride * group + offset, 2 * stride * group + offset + stride])
        matrix[pair[:, None], pair] = block
    return matrix


def explicit_matrix(twiddle, decreasing):
    """The product of the factors, the first one rightmost."""
    m = len(twiddle)
    matrix = torch.eye(2**m, dtype=twiddle.dtype)
    for step, blocks in enumerate(twiddle):
        matrix = factor_matrix(blocks, 2 ** (m - 1 - step if decreasing else step)) @ matrix
    return matrix


def compositions(m):
    """All ways to write m as an ordered sum of positive numbers."""
    cuts = itertools.product([False, True], repeat=m - 1)
    for cut in cuts:
        ends = [i + 1 for i, c in enumerate(cut) if c] + [m]
        yield tuple(b - a for a, b in zip([0, *ends], ends, strict=False))


# --- the Fourier transform ------------------------------------------------------------------------


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128], ids=["f32", "f64"])
def test_dft_twiddle_is_the_fourier_transform(n, dtype):
    x = random_tensor(3, n, dtype=dtype)
    tolerance = 1e-12 if dtype == torch.complex128 else 1e-6
    for inverse, unitary, decreasing in itertools.product([False, True], repeat=3):
        twiddle = dft_twiddle(
            n, inverse=inverse, unitary=unitary, decreasing=decreasing, dtype=dtype
        )
        transform = torch.fft.ifft if inverse else torch.fft.fft
        expected = transform(x, norm="ortho" if unitary else "backward")
        bits = bit_reversal(n)
        given, wanted = (x, expected[:, bits]) if decreasing else (x[:, bits], expected)
        got = butterfly_multiply(twiddle, given, decreasing=decreasing)
        assert relative_error(got, wanted) < tolerance
        dense = butterfly_matrix(twiddle, decreasing=decreasing)
        assert relative_error(given @ dense.mT, wanted) < tolerance


def test_dft_twiddle_is_complex64_unless_told():
    assert dft_twiddle(8).dtype == torch.complex64
    assert dft_twiddle(8, dtype=torch.complex128).dtype == torch.complex128


@pytest.mark.parametrize("n", SIZES)
def test_bit_reversal_reverses_the_bits(n):
    m = n.bit_length() - 1
    expected = [int(f"{i:0{m}b}"[::-1], 2) if m else 0 for i in range(n)]
    assert bit_reversal(n).tolist() == expected


def test_hadamard_matrix_has_the_same_block_everywhere():
    block = torch.tensor([[1.0, 1.0], [1.0, -1.0]])
    expected = torch.ones(1, 1)
    for m in range(5):
        twiddle = block.expand(m, 2**m // 2, 2, 2)
        assert torch.equal(butterfly_matrix(twiddle), expected)
        expected = torch.kron(block, expected)


# --- the same matrix in every way -----------------------------------------------------------------


@ORDERS
@REAL_OR_COMPLEX
@pytest.mark.parametrize("n", [1, 2, 8, 32, 128])
def test_dense_matrix_is_the_product_of_the_factors(n, dtype, decreasing):
    m = log2_exact(n)
    twiddle = random_tensor(m, n // 2, 2, 2, dtype=dtype)
    expected = explicit_matrix(twiddle, decreasing)
    assert relative_error(butterfly_matrix(twiddle, decreasing=decreasing), expected) < 1e-13


@ORDERS
def test_dense_matrices_can_be_built_in_a_batch(decreasing):
    twiddle = random_tensor(2, 3, 6, 32, 2, 2, dtype=torch.complex128)
    batched = butterfly_matrix(twiddle, decreasing=decreasing)
    for i, j in itertools.product(range(2), range(3)):
        single = butterfly_matrix(twiddle[i, j], decreasing=decreasing)
        assert relative_error(batched[i, j], single) < 1e-14


@ORDERS
@REAL_OR_COMPLEX
@pytest.mark.parametrize("m", [1, 2, 3, 4, 5, 7])
def test_every_split_gives_the_dense_product_and_its_gradients(m, dtype, decreasing):
    n = 2**m
    twiddle = random_tensor(m, n // 2, 2, 2, dtype=dtype).requires_grad_()
    x = random_tensor(2, 3, n, dtype=dtype, seed=1).requires_grad_()
    pull = random_tensor(2, 3, n, dtype=dtype, seed=2)
    expected = x @ explicit_matrix_autograd(twiddle, decreasing).mT
    expected_gradients = torch.autograd.grad(expected, (twiddle, x), pull)
    splits = list(compositions(m)) if m <= 5 else [(1,) * m, (m,), (2, 5), (5, 2), (3, 1, 3)]
    for split in splits:
        got = butterfly_multiply(twiddle, x, decreasing=decreasing, split=split)
        assert relative_error(got, expected) < 1e-13
        gradients = torch.autograd.grad(got, (twiddle, x), pull)
        for gradient, wanted in zip(gradients, expected_gradients, strict=True):
            assert relative_error(gradient, wanted) < 1e-12


def explicit_matrix_autograd(twiddle, decreasing):
    """`explicit_matrix` by index_put, which carries a gradient."""
    m = len(twiddle)
    n = 2**m
    matrix = torch.eye(n, dtype=twiddle.dtype)
    for step, blocks in enumerate(twiddle):
        stride = 2 ** (m - 1 - step if decreasing else step)
        index = torch.arange(n // 2)
        low = index // stride * 2 * stride + index % stride
        pairs = torch.stack([low, low + stride], 1)  # (n/2, 2)
        rows, columns = pairs[:, :, None].expand(-1, 2, 2), pairs[:, None].expand(-1, 2, 2)
        factor = torch.zeros(n, n, dtype=twiddle.dtype).index_put((rows, columns), blocks)
        matrix = factor @ matrix
    return matrix


@ORDERS
@REAL_OR_COMPLEX
@pytest.mark.parametrize("split", [(1, 1, 1), (2, 1), (3,), None])
def test_multiply_passes_gradcheck(split, dtype, decreasing):
    twiddle = random_tensor(3, 4, 2, 2, dtype=dtype).requires_grad_()
    x = random_tensor(2, 8, dtype=dtype, seed=1).requires_grad_()
    multiply = lambda t, x: butterfly_multiply(t, x, decreasing=decreasing, split=split)
    assert torch.autograd.gradcheck(multiply, (twiddle, x))


@ORDERS
@REAL_OR_COMPLEX
def test_dense_matrix_passes_gradcheck(dtype, decreasing):
    twiddle = random_tensor(2, 2, 2, 2, dtype=dtype).requires_grad_()
    assert torch.autograd.gradcheck(lambda t: butterfly_matrix(t, decreasing=decreasing), twiddle)


@ORDERS
def test_large_orders_cross_the_limit_of_gathered_paths(decreasing):
    n = 2048
    twiddle = haar_twiddle(n, dtype=torch.complex128, generator=torch.Generator().manual_seed(0))
    x = random_tensor(2, n, dtype=torch.complex128)
    step_by_step = butterfly_multiply(twiddle, x, decreasing=decreasing, split=(1,) * 11)
    for split in [(8, 3), (6, 5), (4, 4, 3), None]:
        got = butterfly_multiply(twiddle, x, decreasing=decreasing, split=split)
        assert relative_error(got, step_by_step) < 1e-13


@pytest.mark.parametrize("n", [1, 2, 16, 1024, 8192])
@pytest.mark.parametrize("columns", [1, 30, 10**3, 10**6])
def test_best_split_is_a_split_and_the_cheapest_even_one(n, columns):
    m = log2_exact(n)
    best = best_split(n, columns)
    assert sum(best) == m and all(r >= 1 for r in best)
    for stages in range(1, m + 1):
        even = tuple(m // stages + (i < m % stages) for i in range(stages))
        assert stage_cost(n, columns, best) <= stage_cost(n, columns, even)


# --- starts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", SIZES)
def test_identity_twiddle_is_the_identity(n):
    for dtype in (torch.float32, torch.complex64):
        assert torch.equal(
            butterfly_matrix(identity_twiddle(n, dtype=dtype)), torch.eye(n, dtype=dtype)
        )


@ORDERS
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64, torch.complex128])
@pytest.mark.parametrize("n", [1, 2, 16, 256])
def test_haar_start_is_unitary(n, dtype, decreasing):
    generator = torch.Generator().manual_seed(n)
    b = butterfly_matrix(haar_twiddle(n, dtype=dtype, generator=generator), decreasing=decreasing)
    tolerance = 1e-13 if dtype in (torch.float64, torch.complex128) else 1e-5
    assert b.dtype == dtype
    assert relative_error(b.mH @ b, torch.eye(n, dtype=dtype)) < tolerance


def haar_blocks_2x2(dtype, seed=0):
    """24 576 blocks: means have a standard error of the entries' deviation / 157."""
    twiddle = haar_twiddle(4096, dtype=dtype, generator=torch.Generator().manual_seed(seed))
    return twiddle.reshape(-1, 2, 2)


def test_complex_haar_blocks_have_the_moments_of_the_haar_measure_on_u2():
    u = haar_blocks_2x2(torch.complex128)
    energy = u.abs().square()  # uniform on [0, 1] for every entry
    assert (energy.mean(0) - 1 / 2).abs().max() < 0.01
    assert (energy.square().mean(0) - 1 / 3).abs().max() < 0.01
    assert u.mean(0).abs().max() < 0.03
    assert u.square().mean(0).abs().max() < 0.03
    phase = torch.linalg.det(u)  # uniform on the circle
    for power in (1, 2, 3):
        assert (phase**power).mean().abs() < 0.03
    turn = haar_blocks_2x2(torch.complex128, seed=1)[0]  # the measure is invariant under rotations
    for v in (u, turn @ u, u @ turn):
        trace = v.diagonal(dim1=1, dim2=2).sum(1).abs()
        assert abs(float(trace.square().mean()) - 1) < 0.04
        assert abs(float(trace.pow(4).mean()) - 2) < 0.15


def test_real_haar_blocks_have_the_moments_of_the_haar_measure_on_o2():
    u = haar_blocks_2x2(torch.float64)
    assert (u.square().mean(0) - 1 / 2).abs().max() < 0.01
    assert u.mean(0).abs().max() < 0.03
    determinant = torch.linalg.det(u)
    assert torch.allclose(determinant.abs(), torch.ones(()).double())
    assert abs(float(determinant.mean())) < 0.03
    turn = haar_blocks_2x2(torch.float64, seed=1)[0]
    for v in (u, turn @ u):
        trace = v.diagonal(dim1=1, dim2=2).sum(1)
        assert abs(float(trace.square().mean()) - 1) < 0.04


def test_haar_start_follows_its_generator():
    draws = [haar_twiddle(16, generator=torch.Generator().manual_seed(s)) for s in (0, 0, 1)]
    assert torch.equal(draws[0], draws[1]) and not torch.equal(draws[0], draws[2])


@ORDERS
@pytest.mark.parametrize("n", [2, 4, 16, 64])
def test_scale_input_multiplies_by_a_diagonal_first(n, decreasing):
    m = log2_exact(n)
    twiddle = random_tensor(m, n // 2, 2, 2, dtype=torch.complex128)
    for diagonal in (
        random_tensor(n, dtype=torch.float64),
        random_tensor(n, dtype=torch.complex128),
    ):
        scaled = scale_input(twiddle, diagonal, decreasing=decreasing)
        expected = butterfly_matrix(twiddle, decreasing=decreasing) * diagonal
        assert relative_error(butterfly_matrix(scaled, decreasing=decreasing), expected) < 1e-13


@pytest.mark.parametrize(
    ("n", "count"),
    [(8, 48), (16, 128), (32, 320), (64, 768), (128, 1792), (256, 4096), (8192, 212992)],
)
def test_parameter_count_is_two_n_log_n(n, count):
    complex_layer = Butterfly(identity_twiddle(n))
    real_layer = Butterfly(identity_twiddle(n, dtype=torch.float32))
    assert count == 2 * n * int(math.log2(n))
    assert sum(p.numel() for p in complex_layer.parameters()) == 2 * count  # pairs of real numbers
    assert sum(p.numel() for p in real_layer.parameters()) == count


# --- the module -----------------------------------------------------------------------------------


@ORDERS
@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64], ids=["real", "complex"])
@pytest.mark.parametrize("n", [2, 8, 64])
def test_butterfly_is_a_linear_map(n, dtype, decreasing):
    twiddle = haar_twiddle(n, dtype=dtype, generator=torch.Generator().manual_seed(0))
    assert_linear_map(Butterfly(twiddle, decreasing=decreasing), n)


def test_butterfly_parameters_are_real_tensors():
    layer = Butterfly(dft_twiddle(8))
    assert layer.values.dtype == torch.float32 and layer.twiddle.dtype == torch.complex64
    assert layer.double().twiddle.dtype == torch.complex128


def test_butterfly_forward_takes_a_split():
    layer = Butterfly(dft_twiddle(16, dtype=torch.complex128))
    x = random_tensor(3, 16, dtype=torch.float64)
    for split in compositions(4):
        expected = torch.fft.fft(x[:, bit_reversal(16)], norm="ortho")
        assert (
            relative_error(
                layer(x[:, bit_reversal(16)][:, bit_reversal(16)], split=split), expected
            )
            < 1e-13
        )


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "larger"), [(12, 16), (3, 4), (85, 128), (0, 1)])
def test_orders_that_are_no_power_of_two_say_what_to_pad_to(n, larger):
    assert next_power_of_two(n) == larger
    for make in (log2_exact, identity_twiddle, dft_twiddle, haar_twiddle, bit_reversal):
        with pytest.raises(
            ValueError, match=f"n={n} is not a power of two; pad the axis to {larger}"
        ):
            make(n)


def test_wrong_length_is_named():
    with pytest.raises(ValueError, match=r"order 8 got x of shape \(2, 4\)"):
        butterfly_multiply(identity_twiddle(8), torch.zeros(2, 4))


@pytest.mark.parametrize("split", [(1, 1), (4,), (0, 3), (-1, 4), ()])
def test_wrong_split_is_named(split):
    with pytest.raises(ValueError, match=r"must be positive and sum to log2\(8\) = 3"):
        butterfly_multiply(identity_twiddle(8), torch.zeros(8), split=split)
