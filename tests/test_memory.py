"""What does not fit in memory is refused before it begins, with the number and what to do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sciops import memory
from sciops.data.samples import MemorySamples
from sciops.memory import available_bytes, expect_memory
from tests.data.toy import toy

ROOT = Path(__file__).parents[1]


def test_the_least_of_machine_group_and_limit(tmp_path, monkeypatch):
    meminfo, limit, used = (tmp_path / name for name in ("meminfo", "limit", "used"))
    meminfo.write_text("MemTotal: 9 kB\nMemAvailable:    4000 kB\n")
    monkeypatch.setattr(memory, "MEMINFO", meminfo)
    monkeypatch.setattr(memory, "GROUPS", [(str(limit), str(used))])
    assert available_bytes() == 4_096_000
    limit.write_text("5000000\n")
    used.write_text("2000000\n")
    assert available_bytes() == 3_000_000
    used.write_text("7000000\n")
    assert available_bytes() == 0
    limit.write_text("max\n")
    assert available_bytes() == 4_096_000


def test_where_nothing_is_known_nothing_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "none")
    monkeypatch.setattr(memory, "GROUPS", ())
    assert available_bytes() is None
    expect_memory(10**18, "a wish", "wish for less")


def test_the_message_has_both_numbers_and_a_remedy(monkeypatch):
    monkeypatch.setenv("SCIOPS_MEMORY", "2")
    expect_memory(2 * 10**9, "it", "")
    message = r"it needs about 3.5 GB of memory, 2 GB are there; take less \(SCIOPS_MEMORY=3.5 if"
    with pytest.raises(ValueError, match=message):
        expect_memory(3_500_000_000, "it", "take less")


def test_samples_that_do_not_fit_are_not_loaded(monkeypatch):
    monkeypatch.setenv("SCIOPS_MEMORY", "1e-6")
    with pytest.raises(ValueError, match=r"to have 50 samples in memory needs about .* take fewer"):
        MemorySamples(toy(n=50))


LIMITED = """
import resource, sys
from sciops.memory import available_bytes
resource.setrlimit(getattr(resource, sys.argv[1]), (4 * 10**9, 4 * 10**9))
free = available_bytes()
assert 0 < free < 4 * 10**9, free
bytearray(free - 50 * 10**6)  # it can be had
try:
    bytearray(free + 50 * 10**6)
except MemoryError:
    print("as said")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="of Linux")
@pytest.mark.parametrize("limit", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_a_limit_of_the_process_is_known(limit):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", LIMITED, limit]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.stdout == "as said\n", done.stderr
