"""What is expected is what was recorded, and only of runs with exactly those settings."""

from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

import sciops.runs.music
from sciops.runs import expected
from sciops.runs.expected import EXPECTED, settings_digest, told
from sciops.runs.folder import as_json
from tests.music.toy import tree
from tests.task_toys import train_music as trained

RECORDED = Path(__file__).parents[2] / "benchmarks" / "results" / "music_accuracy.csv"
DATA = {  # fingerprint and number of pieces of the published files
    "jsb": (
        "c24fd26e086cc51f4e8898b9eb9f6bb78286629b24a5e22a8adef2cb8a6e645c",
        dict(n_train=229, n_val=76, n_test=77),
    ),
    "nottingham": (
        "f947e72456501517b80f88af31f880538078e4dc0ff7a580eb7daa4ab12f30aa",
        dict(n_train=694, n_val=173, n_test=170),
    ),
}


@pytest.fixture
def asked(monkeypatch):
    """The configuration of a run on a published file, which need not be there."""

    def config_of(collection: str, op: str, **changes):
        mark, counts = DATA[collection]
        described = {**counts, "given": "/somewhere/else.mat", "fingerprint": mark}
        chosen = lambda *args, **options: (tree(), described)
        stand_in = SimpleNamespace(chosen=chosen, samples_in=lambda data, split: [])
        monkeypatch.setattr(sciops.runs.music, "MUSIC", stand_in)
        found = []

        def carried_out(kind, task, config, training, *others, **options):
            whole = {**config, "seed": training.seed, "training": training.as_dict()}
            found.append(as_json(whole))

        monkeypatch.setattr(sciops.runs.music, "carried_out", carried_out)
        sciops.train_music(collection, op, data="JSB_Chorales.mat", **changes)
        return found[0]

    return config_of


@pytest.mark.parametrize("op", ["xd", "undilated", "conv"])
@pytest.mark.parametrize("collection", DATA)
def test_the_table_is_what_was_recorded(collection, op, asked):
    """If a default has changed, measure again and say so in EXPECTED, or take the line out."""
    known = EXPECTED[settings_digest(asked(collection, op))]
    table = pd.read_csv(RECORDED)
    rows = table[(table["collection"] == collection) & (table["op"] == op)]
    assert set(rows["recipe"]) == {"quick"} and set(rows["settings"]) == {"-"}
    assert known.mean == float(f"{rows['nats'].mean():.4g}")
    assert known.spread == float(f"{rows['nats'].std():.2g}")
    assert known.seeds == len(rows) and known.source.endswith(RECORDED.name)


def test_only_the_seed_may_be_another(asked):
    assert settings_digest(asked("jsb", "xd", seed=7)) in EXPECTED
    for changes in (dict(epochs=99), dict(rate=1e-3), dict(width=8), dict(recipe="paper")):
        assert settings_digest(asked("jsb", "xd", **changes)) not in EXPECTED
    other = asked("jsb", "xd")
    other["data"]["fingerprint"] = "0" * 64
    assert settings_digest(other) not in EXPECTED


def test_a_run_says_what_was_expected_of_it(tmp_path, monkeypatch, capsys):
    run = trained(tmp_path / "unknown", progress=True)
    assert told(run) == "" and "expected" not in capsys.readouterr().err
    known = expected.Expected("test_nats", 8.022, 0.042, 3, "somewhere.csv")
    monkeypatch.setitem(EXPECTED, settings_digest(run.config), known)
    again = trained(tmp_path / "again", progress=True)
    line = "test_nats: expected 8.022 ± 0.042 (3 seeds, somewhere.csv), got"
    assert f"{line} {again.metrics['test_nats']:.4g}\n" in capsys.readouterr().err
    trained(tmp_path / "quiet", progress=False)
    assert "expected" not in capsys.readouterr().err
