"""Work that is killed leaves nothing that is readable and wrong, and ends as if it had not been."""

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]


def in_process(*command: str) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *command]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


def killed(kinds: str, kills: int, folder: Path) -> pd.DataFrame:
    asked = ["--kinds", kinds, "--kills", str(kills), "--out", str(folder)]
    done = in_process("-m", "tests.faults", *asked)
    assert done.returncode == 0, done.stderr[-3000:]
    return pd.read_csv(folder / "faults.csv")


@pytest.mark.parametrize(
    ("kinds", "kills"),
    [
        ("conversion,ragged store,states and models", 12),
        ("generation,training,search by bilevel,report", 4),
        ("learned sizes,kept data,cleaned image,comparison", 4),
        pytest.param(
            "search by joint,search by restarts,search by random", 15, marks=pytest.mark.slow
        ),
        pytest.param("search in a grammar", 6, marks=pytest.mark.slow),
    ],
)
def test_killed_at_random_moments(kinds, kills, tmp_path):
    table = killed(kinds, kills, tmp_path)
    assert table["work"].tolist() == kinds.split(",") and table["kills"].sum() == kills
    assert f"{kills} kills (SIGKILL), seed 0; 0 problems" in (tmp_path / "faults.md").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["states and models", "ragged store"])
def test_killed_at_every_file(kind, tmp_path):
    command = ["-m", "tests.faults", "--kinds", kind, "--every-file", "--out", str(tmp_path)]
    done = in_process(*command)
    assert done.returncode == 0, done.stderr[-3000:]
    table = pd.read_csv(tmp_path / "faults.csv")
    assert table["kills"].item() == table["files touched"].item() > 100


CARELESS = """
import sys, time
from pathlib import Path
from tests.faults.driver import fates
from tests.faults.victim import Victim


def writes_in_place(folder):
    with (folder / "a").open("w", buffering=1) as stream:
        for number in range(20):
            stream.write(f"{number}\\n")
            time.sleep(0.01)


def keeps_what_is_there(folder):
    if not (folder / "a").exists():
        writes_in_place(folder)


def readable(folder):
    return {p.name: p.read_text() for p in folder.iterdir()}


def forgets_its_draft(folder):
    (folder / ".draft.partial").touch()
    time.sleep(0.1)
    (folder / "a").write_text("1")


found = {}
for work in (writes_in_place, keeps_what_is_there, forgets_its_draft):
    victim = Victim(work.__name__, work, readable)
    _, found[work] = fates(victim, 4, Path(sys.argv[1]) / work.__name__, 0)
assert any(f.wrong == ["a"] for f in found[writes_in_place])
assert all(not f.differs for f in found[writes_in_place])
assert any("a" in f.differs for f in found[keeps_what_is_there])
assert all("left behind: .draft.partial" in f.differs for f in found[forgets_its_draft])
"""


def test_the_harness_finds_careless_work(tmp_path):
    done = in_process("-c", CARELESS, str(tmp_path))
    assert done.returncode == 0, done.stderr[-3000:]
