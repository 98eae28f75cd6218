"""Soak, large data and scaling: the numbers that they print are those that they mean."""

import pandas as pd
import pytest

from benchmarks import large, scaling, soak
from benchmarks.results import machine
from benchmarks.scaling import Cluster, Work

WORK = Work(gradient_bytes=4 * 10**6, sample_bytes=10**5, samples=10, compute=0.02)


def test_the_slope_is_that_of_the_second_half():
    rows = pd.DataFrame({"round": range(1, 41), "minutes": range(40)})
    rows["MB"] = [100.0 + 5 * r for r in range(20)] + [200.0 + 0.25 * r for r in range(20)]
    assert soak.slope(rows) == pytest.approx(0.25)
    assert "+4.9% in as many rounds again: flat" in soak.summary(rows)
    rows["MB"] = 100.0 + rows["round"]
    assert soak.summary(rows).endswith("it grows")


@pytest.mark.slow
def test_a_round_of_every_kind(tmp_path):
    for kind in soak.KINDS.values():
        kind(0, tmp_path)


def test_communication_by_hand():
    found = scaling.step(8, WORK, Cluster(bandwidth=1e9, latency=1e-5, storage=1e9))
    assert found["sent"] == 7e6  # 2 · 7/8 · 4 MB
    assert found["communication"] == pytest.approx(7e-3 + 14 * 1e-5)
    assert found["read"] == 8e6 and found["data"] == pytest.approx(8e-3)
    assert found["efficiency"] == pytest.approx(0.02 / (0.02 + 7.14e-3))


def test_where_the_file_system_saturates():
    cluster = Cluster(bandwidth=1e9, latency=0.0, storage=1e9)
    devices = scaling.saturation(WORK, cluster)
    assert devices == 20
    assert scaling.step(20, WORK, cluster)["data"] == pytest.approx(WORK.compute)


def test_the_table_has_8_64_and_512_devices():
    table = scaling.model_table(scaling.WORKS, Cluster())
    assert set(table["devices"]) >= {8, 64, 512}
    assert (table[table["devices"] == 1]["efficiency"] == "100%").all()


def test_parts_of_the_page_are_kept_one_by_one(tmp_path):
    large.keep("steps", [{"network": "xd", "estimated / measured": "0.5"}], tmp_path)
    large.keep("generation", [{"samples": "10"}, {"samples": "100"}], tmp_path)
    large.keep("steps", [{"network": "fno", "estimated / measured": "0.4"}], tmp_path)
    text = (tmp_path / "large.md").read_text()
    assert text.index("| samples |\n|---|\n| 10 |\n| 100 |") < text.index("| fno | 0.4 |")
    assert "xd" not in text and text.count(machine()) == 1


@pytest.mark.slow
def test_data_on_disk_train_at_70_percent_of_the_speed_of_memory():
    found = large.speed_of_training(40_000, room=400, epoch=200, repeats=3)
    assert found["refused"].startswith("ValueError: to have 40000 samples in memory needs about")
    assert "allocate" in found["failed"]  # numpy or torch says so
    assert found["ratio"] > 0.7


@pytest.mark.slow
def test_ten_thousand_samples_are_generated_within_a_gigabyte():
    few, many = (large.peak_of_generation(n, 16_384) for n in (1000, 10_000))
    assert many["made"] > large.BOUND > many["peak"]
    assert many["peak"] < 1.1 * few["peak"]


@pytest.mark.slow
@pytest.mark.parametrize("network", ["xd", "conv"])
def test_the_estimate_of_a_step_is_from_below_and_of_the_right_size(network):
    found = large.estimate(network)
    assert 0.2 < found["estimated"] / found["measured"] < 1
