"""Tiles: their cores are a partition, and far enough from the cut edges."""

import pytest
import torch

from sciops.data.tiles import even_size, tiles

CASES = [(10, 6, 1), (12, 6, 1), (100, 16, 5), (64, 64, 9), (65, 64, 9), (5, 8, 2), (128, 64, 0)]


@pytest.mark.parametrize(("n", "size", "margin"), CASES)
def test_cores_are_a_partition_away_from_cut_edges(n, size, margin):
    covered = torch.zeros(n, n - 1, dtype=torch.int64)
    for window, core, inner in tiles((n, n - 1), size, margin):
        covered[core] += 1
        for w, c, i, length in zip(window, core, inner, (n, n - 1), strict=True):
            assert w.stop - w.start == min(size, length)
            assert w.start >= 0 and w.stop <= length
            assert (i.start, i.stop) == (c.start - w.start, c.stop - w.start)
            assert c.start == 0 or c.start - w.start >= margin
            assert c.stop == length or w.stop - c.stop >= margin
    assert bool((covered == 1).all())


def test_no_more_windows_than_needed():
    assert len(list(tiles((64, 64), 64, 20))) == 1
    assert len(list(tiles((40,), 20, 5))) == 3  # each new one adds 10 points to the first 20
    assert len(list(tiles((41,), 20, 5))) == 4


def test_a_network_of_finite_reach_gives_the_same_answer():
    torch.manual_seed(0)
    layers = [torch.nn.Conv2d(1, 1, 3, padding=1, dtype=torch.float64) for _ in range(3)]
    network = torch.nn.Sequential(*layers)
    x = torch.randn(1, 1, 30, 21, dtype=torch.float64)
    whole = network(x)

    def stitched(margin: int) -> torch.Tensor:
        answer = torch.full_like(whole, torch.nan)
        for window, core, inner in tiles((30, 21), 12, margin):
            answer[0, 0][core] = network(x[:, :, *window])[0, 0][inner]
        return answer

    assert torch.allclose(stitched(3), whole, atol=1e-12)
    assert not torch.allclose(stitched(0), whole, atol=1e-6)


@pytest.mark.parametrize("margin", [4, -1])
def test_a_margin_must_leave_something(margin):
    with pytest.raises(ValueError, match=f"a margin of {margin} on both sides leaves nothing"):
        list(tiles((20,), 8, margin))


@pytest.mark.parametrize(
    ("n", "size", "margin", "step"), [(40, 12, 2, 2), (64, 24, 4, 4), (8, 16, 4, 4)]
)
def test_windows_in_steps_are_tiles_all_the_same(n, size, margin, step):
    covered = torch.zeros(n, dtype=torch.int64)
    for (window,), (core,), _ in tiles((n,), size, margin, step):
        covered[core] += 1
        assert window.start % step == 0 and window.stop - window.start == min(size, n)
        assert core.start == 0 or core.start - window.start >= margin
        assert core.stop == n or window.stop - core.stop >= margin
    assert bool((covered == 1).all())


@pytest.mark.parametrize(("n", "size", "margin"), [(41, 12, 2), (40, 14, 2), (40, 12, 1)])
def test_steps_must_divide_all_lengths(n, size, margin):
    with pytest.raises(ValueError, match=r"steps of 4 need axes.*multiples of it.*pad the map"):
        list(tiles((n,), size, margin, 4))


def test_windows_of_another_size_along_each_axis():
    found = list(tiles((20, 30), (20, 12), 1))
    assert len(found) == 3 and {w[1].stop - w[1].start for w, _, _ in found} == {12}
    assert all(w[0] == slice(0, 20) for w, _, _ in found)


@pytest.mark.parametrize("step", [1, 2, 4])
@pytest.mark.parametrize("n", [40, 100, 104, 1000, 1024])
def test_even_windows_are_as_few_and_as_small_as_can_be(n, step):
    size = even_size(n, 64, 8, step)
    assert size % step == 0 and size <= 64
    count = len(list(tiles((n,), size, 8, step)))
    assert count == len(list(tiles((n,), 64, 8, step)))
    assert n <= 64 or len(list(tiles((n,), size - step, 8, step))) > count
