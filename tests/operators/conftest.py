"""Reused memory serves the smallest tensors too, so that every test would notice a mistake."""

import pytest

from sciops.operators import scratch, tap_products


@pytest.fixture(autouse=True)
def reuse_all_memory(monkeypatch):
    monkeypatch.setattr(scratch, "SMALL_NUMBERS", 0)
    monkeypatch.setattr(tap_products, "SMALL_SAMPLE", 0)
