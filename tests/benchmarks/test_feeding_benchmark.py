"""The benchmark of feeding compares the same samples by all ways."""

from benchmarks import feeding


def test_table_of_ways():
    table = feeding.measure(64, repeats=1)
    assert len(table) == 3
    assert (table["samples/s"] > 0).all()
