"""A folder holds one search, and one process works in it."""

import json

import pytest

from sciops.searching.search_folder import FILE, claimed


def test_it_is_taken_up_again_by_the_same_search_only(tmp_path):
    folder = tmp_path / "search"
    with claimed(folder, {"seed": 0, "rates": (1, 2)}):
        assert json.loads((folder / FILE).read_text()) == {"seed": 0, "rates": [1, 2]}
        with (
            pytest.raises(ValueError, match="another process searches in this folder"),
            claimed(folder, {"seed": 0, "rates": (1, 2)}),
        ):
            pass
    with claimed(folder, {"seed": 0, "rates": (1, 2)}):
        pass
    with (
        pytest.raises(ValueError, match=r"holds another search \(seed: 0 there, 1 asked for\)"),
        claimed(folder, {"seed": 1, "rates": (1, 2)}),
    ):
        pass


def test_other_folders_and_damage_are_refused(tmp_path):
    (tmp_path / "notes.txt").touch()
    with pytest.raises(ValueError, match="exists and is not a search"), claimed(tmp_path, {}):
        pass
    (tmp_path / FILE).write_text("{")
    with pytest.raises(ValueError, match="is damaged; remove"), claimed(tmp_path, {}):
        pass
    with claimed(None, {}):  # a search that is not kept
        pass
