"""Files of training states and of models: safetensors and JSON, exact, checked, never half written.

    folder/save-000007/state.safetensors + state.json      save_state, load_state: to resume
    folder/model.safetensors + model.json                  save_model, load_model: to keep

Tensors lie in the safetensors file; the JSON has the structure around them, the caller's notes and
the hashes of both (see `atomic`).  Nothing is pickled, in either direction.

A state is nested dicts, lists and tuples of tensors and Python values; types, order and bits come
back as they were, tensors on the CPU (see `plain_state` for the details).

A process killed at any moment leaves the earlier save or the new one.  For a model, which is two
files, the new pair is prepared as `.model.ready`; its JSON replaces the old one, which makes it the
model, and then its tensors do.  In between `load_model` finds them in `.model.ready`, and
`settle_model` brings them to their place.
"""

import contextlib
import random
import re
import shutil
from json import dumps, loads
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .atomic import DISCARDED, discard, publish, read_bytes, read_pair, write_pair, writing
from .plain_state import CheckpointError, Decoder, Encoder

# --- training states ------------------------------------------------------------------------------


def save_state(folder: str | Path, state: Any, metadata: dict | None = None, *, keep=2) -> Path:
    """Save a state as the newest of a folder and remove all but the `keep` newest; its path.

    metadata: a dict that JSON can hold, for people and other programs
    """
    if type(keep) is not int or keep < 1:
        raise CheckpointError(f"keep={keep!r} must be a whole number ≥ 1")
    folder, (tensors, document) = Path(folder), _to_files(state, metadata or {})
    with writing(folder):
        stage, saves = write_pair(folder, "state", tensors, document), _saves(folder)
        target = folder / f"save-{_number(saves[-1]) + 1 if saves else 1:06d}"
        publish(stage, target)
        for old in [*saves, target][:-keep]:
            discard(old)
    return target


def settle_states(folder: str | Path) -> None:
    """Remove what a process that was killed after its last save had not removed yet."""
    folder = Path(folder)
    if any(folder.glob(DISCARDED + "*")):
        with contextlib.suppress(CheckpointError), writing(folder):
            pass  # it removes them


def load_state(folder: str | Path) -> tuple[Any, dict]:
    """State and metadata of the newest save of a folder, or of one `save-…` folder."""
    folder = Path(folder)
    saves = [folder] if (folder / "state.json").exists() else _saves(folder)
    if not saves:
        raise CheckpointError(f"{folder} has no save-… folder; give one that save_state wrote to")
    path = saves[-1]
    try:
        return _from_files(*read_pair(path / "state.json", [path / "state.safetensors"]), path)
    except CheckpointError as error:
        if not path.exists():  # a newer save has just replaced it
            return load_state(folder)
        back = f"; or remove {path} to go back to {saves[-2].name}" if len(saves) > 1 else ""
        raise CheckpointError(f"{error}{back}") from error


def _saves(folder: Path) -> list[Path]:
    found = folder.iterdir() if folder.is_dir() else ()
    return sorted((p for p in found if re.fullmatch(r"save-[0-9]{6,18}", p.name)), key=_number)


def _number(save: Path) -> int:
    return int(save.name.removeprefix("save-"))


# --- models ---------------------------------------------------------------------------------------


def save_model(folder: str | Path, tensors: dict[str, Tensor], description: dict) -> Path:
    """Save a state dict as `model.safetensors` and `model.json`; the path of the latter.

    description: a dict that JSON can hold: task, backbone, operator, options, normalisation, …
    """
    _expect_state_dict(tensors, "save_model")
    folder, (tensors, document) = Path(folder), _to_files(tensors, description)
    with writing(folder):
        _finish(folder)
        ready = folder / ".model.ready"
        publish(write_pair(folder, "model", tensors, document), ready)
        publish(ready / "model.json", folder / "model.json")  # from now on this is the model
        _finish(folder)
    return folder / "model.json"


def settle_model(folder: str | Path) -> None:
    """Bring a model to its place, if it was published by a process that was killed before that.

    It can be loaded as it is, too, so that a folder that cannot be written to is no error.
    """
    folder = Path(folder)
    if (folder / ".model.ready").exists():
        with contextlib.suppress(CheckpointError), writing(folder):
            _finish(folder)


def _finish(folder: Path) -> None:
    """Bring the tensors of a published JSON to their place; drop a pair that was not published."""
    ready, name = folder / ".model.ready", "model.safetensors"
    if (ready / "model.json").exists():
        discard(ready)
    elif (ready / name).exists():
        publish(ready / name, folder / name)
    shutil.rmtree(ready, ignore_errors=True)


def load_model(folder: str | Path) -> tuple[dict[str, Tensor], dict]:
    """State dict and description of a model."""
    folder = Path(folder)
    json_file, name = folder / "model.json", "model.safetensors"
    before = read_bytes(json_file)
    try:
        pair = read_pair(json_file, [folder / ".model.ready" / name, folder / name])
        tensors, description = _from_files(*pair, folder)
    except CheckpointError:
        if read_bytes(json_file) == before:
            raise
        return load_model(folder)  # replaced while it was read
    _expect_state_dict(tensors, str(json_file))
    return tensors, description


def _expect_state_dict(tensors: Any, where: str) -> None:
    if not isinstance(tensors, dict) or not all(isinstance(name, str) for name in tensors):
        raise CheckpointError(f"{where}: a model is a dict {{name: tensor}}, as state_dict() gives")


# --- both -----------------------------------------------------------------------------------------


def _to_files(state: Any, notes: dict) -> tuple[dict[str, Tensor], dict]:
    """Tensors and JSON document; an error here has not touched the disk yet."""
    try:
        same = isinstance(notes, dict) and loads(dumps(notes, allow_nan=False)) == notes
    except (TypeError, ValueError, RecursionError) as error:
        raise CheckpointError(f"the metadata or description is not JSON: {error}") from error
    if not same:
        raise CheckpointError(
            "the metadata or description would not come back from JSON as it is; "
            "give a dict with str keys, lists instead of tuples, and finite numbers"
        )
    encoder = Encoder()
    return encoder.tensors, {"notes": notes, "structure": encoder.encode(state, ())}


def _from_files(tensors: dict[str, Tensor], document: dict, folder: Path) -> tuple[Any, dict]:
    decoder = Decoder(tensors)
    try:
        state, notes = decoder.decode(document["structure"]), document["notes"]
        extra = sorted(set(tensors) - decoder.names)
        if extra or not isinstance(notes, dict):
            raise ValueError(f"not in the JSON: {', '.join(extra) or 'notes'}")
    except Decoder.WRONG as error:
        raise CheckpointError(
            f"the JSON in {folder} does not describe the tensors beside it ({error!r}); "
            "copy both files again from where they came from, or save again"
        ) from error
    return state, notes


# --- random numbers -------------------------------------------------------------------------------


def rng_state() -> dict:
    """The state of the global random numbers of torch, numpy and Python, for `save_state`."""
    numpy = np.random.get_state(legacy=False)
    if numpy["bit_generator"] != "MT19937":
        raise CheckpointError(f"numpy's global generator is {numpy['bit_generator']}, not MT19937")
    version, words, gauss = random.getstate()
    return {
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        "numpy": {
            "key": torch.from_numpy(numpy["state"]["key"].astype(np.int64)),
            "pos": int(numpy["state"]["pos"]),
            "has_gauss": int(numpy["has_gauss"]),
            "gauss": float(numpy["gauss"]),
        },
        "python": {"version": version, "words": torch.tensor(words), "gauss": gauss},
    }


def set_rng_state(state: dict) -> None:
    """Continue all random numbers where `rng_state` was called, or change none of them.

    GPUs continue as far as both machines have them.
    """
    before = rng_state()
    try:
        _set_rng_state(state)
    except (KeyError, TypeError, ValueError, RuntimeError, AttributeError, OverflowError) as error:
        _set_rng_state(before)
        raise CheckpointError(
            f"not a state of random numbers ({error!r}); give what rng_state() has returned"
        ) from error


def _set_rng_state(state: dict) -> None:
    numpy, python = state["numpy"], state["python"]
    if not 0 <= numpy["pos"] <= 624 or numpy["key"].shape != (624,):  # numpy would read beyond
        raise ValueError(f"pos {numpy['pos']}, key of shape {tuple(numpy['key'].shape)}")
    key = numpy["key"].numpy().astype(np.uint32)
    np.random.set_state(("MT19937", key, numpy["pos"], numpy["has_gauss"], numpy["gauss"]))
    random.setstate((python["version"], tuple(python["words"].tolist()), python["gauss"]))
    torch.set_rng_state(state["torch"])
    if torch.cuda.is_available():
        for device, one in enumerate(state["cuda"][: torch.cuda.device_count()]):
            torch.cuda.set_rng_state(one, device)
