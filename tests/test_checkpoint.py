"""What is saved comes back bit for bit, or not at all: kills, damage, full disks, hostile files."""

import base64
import contextlib
import hashlib
import json
import math
import os
import pickle
import random
import re
import resource
import shutil
import stat
import struct
import sys
import threading
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sciops import atomic, checkpoint
from sciops.checkpoint import (
    CheckpointError,
    load_model,
    load_state,
    rng_state,
    save_model,
    save_state,
    set_rng_state,
    settle_model,
)
from sciops.plain_state import COMPLEX, MAX_DEPTH, REAL


def assert_same(a, b, path="state"):
    """Same types, order and bits."""
    assert type(a) is type(b), path
    if isinstance(a, torch.Tensor):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), path
        bits = [
            t.detach().resolve_conj().contiguous().reshape(-1).view(torch.uint8) for t in (a, b)
        ]
        assert torch.equal(*bits), path
    elif isinstance(a, dict):
        assert [(type(k), k) for k in a] == [(type(k), k) for k in b], path
        for key in a:
            assert_same(a[key], b[key], f"{path}[{key!r}]")
        assert_same(
            getattr(a, "_metadata", None), getattr(b, "_metadata", None), f"{path} versions"
        )
    elif isinstance(a, list | tuple):
        assert len(a) == len(b), path
        for i, pair in enumerate(zip(a, b, strict=True)):
            assert_same(*pair, f"{path}[{i}]")
    elif isinstance(a, float):
        assert struct.pack("d", a) == struct.pack("d", b), path
    else:
        assert a == b, path


def round_trip(folder, state):
    save_state(folder, state, keep=1)
    return load_state(folder)[0]


# --- exactness ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", sorted(REAL | COMPLEX, key=str), ids=str)
def test_every_dtype_and_shape_comes_back_bit_for_bit(tmp_path, dtype):
    generator = torch.Generator().manual_seed(0)
    size = torch.empty((), dtype=dtype).element_size()
    raw = torch.randint(0, 256, (4, 6 * size), dtype=torch.uint8, generator=generator)
    values = raw % 2 == 1 if dtype == torch.bool else raw.view(dtype)  # any bits, NaNs too
    values = values[:, :6]
    state = [values, values[0, 0], values[:, ::2], values.mT, values[:0], values[:, :0]]
    assert_same([t.contiguous() for t in state], round_trip(tmp_path, state))


def test_values_and_containers_keep_type_order_and_bits(tmp_path):
    nan = struct.unpack(">d", bytes.fromhex("fff8000000000123"))[0]
    state = {
        "floats": [0.1, -0.0, 5e-324, 1.7976931348623157e308, math.inf, -math.inf, math.nan, nan],
        "ints": (0, -1, 2**53 + 1, 2**63, -(2**63), 2**64, -(10**5000)),
        "others": [None, True, False, 1, 1.0, "", "ä\n\0\ud800/..", "true"],
        "empty": [{}, [], (), OrderedDict()],
        "ordered": OrderedDict([("b", 1), ("a", 2)]),
        3: {2: "int", "2": "str", -(2**70): "big"},
        "tensor": {"tensor": "not one", "dict": [[1, 2]]},
        "../../etc/passwd": torch.ones(2),
        "a": {"b": torch.zeros(1)},
        "a/b": torch.ones(1),
        "__metadata__": torch.ones(3),
        "\ud800": torch.ones(1),
        "": torch.ones(4),
    }
    assert_same(state, round_trip(tmp_path / "run", state))
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize("state", [None, 3, "text", torch.ones(2), [], {}, (1,)], ids=repr)
def test_a_state_may_be_any_single_value(tmp_path, state):
    assert_same(state, round_trip(tmp_path, state))


values = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
values |= st.integers(0, 5).map(lambda n: torch.arange(n))
states = st.recursive(
    values,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text() | st.integers(), inner)
        | st.dictionaries(st.text(), inner).map(OrderedDict)
    ),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(states)
def test_any_nested_state_comes_back(tmp_path_factory, state):
    assert_same(state, round_trip(tmp_path_factory.mktemp("states"), state))


def test_the_same_tensor_comes_back_as_one_and_overlapping_views_apart(tmp_path):
    tensor, z = torch.arange(12.0), torch.arange(3) * 1j
    state = [tensor, tensor[2:5], tensor, tensor.view(3, 4), tensor.view(3, 4).mT, z, z, z.conj()]
    loaded = round_trip(tmp_path, state)
    assert_same([t.resolve_conj() for t in state], loaded)
    assert loaded[0] is loaded[2] and loaded[5] is loaded[6]
    pointers = {t.untyped_storage().data_ptr() for t in loaded}
    assert len(pointers) == 6
    loaded[0].zero_()  # may be written to
    assert_same(loaded[1], tensor[2:5])


def test_module_state_dicts_load_with_their_versions(tmp_path):
    module = torch.nn.Sequential(
        torch.nn.LSTM(3, 4), torch.nn.BatchNorm1d(4)
    )  # LSTM: shared memory
    state = {"model": module.state_dict(), "parameter": module[0].weight_hh_l0}
    loaded = round_trip(tmp_path, state)
    assert_same(state["model"], loaded["model"])
    assert type(loaded["parameter"]) is torch.Tensor and not loaded["parameter"].requires_grad
    module.load_state_dict(loaded["model"])


def test_nothing_is_pickled(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("pickle")

    for name in ("dump", "dumps", "load", "loads", "Pickler", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    for name in ("save", "load"):
        monkeypatch.setattr(torch, name, refuse)
    assert_same(torch.ones(2), round_trip(tmp_path, {"a": torch.ones(2)})["a"])


@pytest.mark.parametrize(
    ("state", "says"),
    [
        ({"a": [np.float64(1)]}, r"state\['a'\]\[0\] is a numpy.float64"),
        ({"a": np.ones(2)}, "numpy.ndarray"),
        ({"f": len}, "builtin_function"),
        ({"a": {(1, 2): 3}}, r"state\['a'\] has the key \(1, 2\)"),
        ({True: 1}, "key True"),
        ({"s": torch.eye(2).to_sparse()}, "sparse"),
        ({"m": torch.ones(2, device="meta")}, "meta"),
        ({"s": torch.Size([1])}, "torch.Size"),
    ],
)
def test_what_cannot_come_back_exactly_is_refused_before_the_disk_is_touched(tmp_path, state, says):
    with pytest.raises(CheckpointError, match=says):
        save_state(tmp_path / "run", state)
    assert not (tmp_path / "run").exists()


def test_nesting_has_an_end(tmp_path):
    state = 1
    for _ in range(MAX_DEPTH):
        state = [state]
    assert_same(state, round_trip(tmp_path, state))
    loop = []
    loop.append(loop)
    for bad in ([state], loop):
        with pytest.raises(CheckpointError, match="nested"):
            save_state(tmp_path, bad)


@pytest.mark.parametrize(
    "notes", [{1: 2}, {"a": (1,)}, {"a": math.nan}, {"a": {1, 2}}, ["a"], {"a": torch.ones(1)}]
)
def test_notes_must_be_json(tmp_path, notes):
    with pytest.raises(CheckpointError, match="metadata or description"):
        save_model(tmp_path, {}, notes)
    with pytest.raises(CheckpointError, match="metadata or description"):
        save_state(tmp_path, {}, notes)


def test_a_state_of_too_many_numbers_says_what_to_do(tmp_path, monkeypatch):
    save_state(tmp_path, 1)
    monkeypatch.setattr(atomic, "MAX_JSON", 1000)
    with pytest.raises(CheckpointError, match="as tensors"):
        save_state(tmp_path, list(range(1000)))
    assert [path.name for path in tmp_path.iterdir()] == ["save-000001"]
    assert load_state(tmp_path) == (1, {})


# --- folders --------------------------------------------------------------------------------------


def test_the_newest_is_loaded_and_the_oldest_are_removed(tmp_path):
    paths = [save_state(tmp_path, {"epoch": i}, {"loss": i / 2}, keep=3) for i in range(5)]
    assert sorted(p.name for p in tmp_path.iterdir()) == [p.name for p in paths[2:]]
    assert load_state(tmp_path) == ({"epoch": 4}, {"loss": 2.0})
    assert load_state(paths[2]) == ({"epoch": 2}, {"loss": 1.0})
    (tmp_path / "save-1000000").mkdir()  # numbers, not texts, are compared
    assert save_state(tmp_path, 1).name == "save-1000001"
    with pytest.raises(CheckpointError, match="keep=0"):
        save_state(tmp_path, 1, keep=0)


def test_a_model_is_two_files_that_others_can_read(tmp_path):
    from safetensors.torch import load_file

    tensors = {"w": torch.randn(3, 2), "z": torch.randn(2, dtype=torch.complex128)}
    description = {"task": "darcy", "options": {"modes": [12, 12]}, "mean": [0.1]}
    (tmp_path / "config.json").write_text("{}")
    for _ in range(2):
        assert save_model(tmp_path, tensors, description) == tmp_path / "model.json"
    loaded, notes = load_model(str(tmp_path))
    assert_same(tensors, loaded)
    assert notes == description
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["config.json", "model.json", "model.safetensors"]
    assert_same(load_file(tmp_path / "model.safetensors")["w"], tensors["w"])
    document = json.loads((tmp_path / "model.json").read_text())
    data = (tmp_path / "model.safetensors").read_bytes()
    assert document["tensors"]["sha256"] == hashlib.sha256(data).hexdigest()
    assert document["sciops_schema"] == 1 and document["notes"] == description
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in names}
    assert len(modes) == 1  # whoever may read the others may read the tensors


GOLDEN = (
    "qAAAAAAAAAB7Im4iOnsiZHR5cGUiOiJJNjQiLCJzaGFwZSI6W10sImRhdGFfb2Zmc2V0cyI6WzAsOF19LCJ6Ijp7"
    "ImR0eXBlIjoiRjY0Iiwic2hhcGUiOlsxLDJdLCJkYXRhX29mZnNldHMiOls4LDI0XX0sInciOnsiZHR5cGUiOiJG"
    "MzIiLCJzaGFwZSI6WzNdLCJkYXRhX29mZnNldHMiOlsyNCwzNl19fSAgICAHAAAAAAAAAAAAAAAAAPA/AAAAAAAA"
    "AEAAAAAAAACAPwAAAEA="
)
GOLDEN_JSON = """{"sciops_schema": 1,
"sha256": "f506ac306ea8e2dd6fd9eb2ec0875a357f39f51d5d08e14b16ab9a7873275f89",
"notes": {"task": "darcy"},
"structure": {"dict": [["w", {"tensor": "w"}], ["z", {"complex": "z"}], ["n", {"tensor": "n"}]]},
"tensors": {"bytes": 212,
 "sha256": "4e7820b04b323a5b787eb0e4c7601f738c47f55601532e3b808b120ca1c3827a"}}"""


def test_a_model_of_schema_1_loads_for_ever(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(base64.b64decode(GOLDEN))
    (tmp_path / "model.json").write_text(GOLDEN_JSON)
    z = torch.tensor([1 + 2j], dtype=torch.complex128)
    tensors, description = load_model(tmp_path)
    assert_same({"w": torch.arange(3.0), "z": z, "n": torch.tensor(7)}, tensors)
    assert description == {"task": "darcy"}


def test_a_model_is_a_state_dict(tmp_path):
    for bad in ([torch.ones(1)], {1: torch.ones(1)}):
        with pytest.raises(CheckpointError, match="state_dict"):
            save_model(tmp_path, bad, {})


# --- failures -------------------------------------------------------------------------------------


def temporaries(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


SAVERS = {
    "state": (lambda folder, tensor: save_state(folder, {"a": tensor}, keep=1), load_state),
    "model": (lambda folder, tensor: save_model(folder, {"a": tensor}, {}), load_model),
}


@pytest.fixture(params=SAVERS)
def saver(request):
    return SAVERS[request.param]


def test_a_disk_that_takes_no_more_leaves_the_earlier_one(tmp_path, saver):
    save, load = saver
    save(tmp_path, torch.ones(3))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**18, hard))  # the kernel refuses more
    try:
        with pytest.raises(CheckpointError, match=r"cannot save .* untouched; free disk space"):
            save(tmp_path, torch.ones(2**20))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert temporaries(tmp_path) == []
    assert_same(load(tmp_path)[0], {"a": torch.ones(3)})
    save(tmp_path, torch.ones(2**20))
    assert_same(load(tmp_path)[0], {"a": torch.ones(2**20)})


def test_a_disk_that_fills_up_at_any_step_leaves_a_whole_one(tmp_path, saver, monkeypatch):
    save, load = saver
    save(tmp_path, torch.zeros(3))
    flush, last, failures = atomic.flush, 0, 0
    for step in range(12):
        left = step

        def full(path):
            nonlocal left
            left -= 1
            if left < 0:
                raise OSError(28, "No space left on device")
            flush(path)

        monkeypatch.setattr(atomic, "flush", full)
        with contextlib.suppress(CheckpointError):
            save(tmp_path, torch.full((3,), step + 1.0))
            last = step + 1
        failures += last != step + 1
        found = load(tmp_path)[0]["a"].tolist()
        assert found in ([last] * 3, [step + 1] * 3)
        last = int(found[0])
    assert 3 <= failures < 12


@contextlib.contextmanager
def as_ordinary_user():
    """Root may write anywhere."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_folder_that_may_not_be_written_to(tmp_path, saver, monkeypatch):
    save, load = saver
    save(tmp_path / "run", torch.ones(3))
    (tmp_path / "run").chmod(0o555)
    tmp_path.chmod(0o755)
    monkeypatch.chdir(tmp_path)  # the folders above may be closed to others
    try:
        with as_ordinary_user():
            with pytest.raises(CheckpointError, match=r"cannot save into run: .*ermission denied"):
                save("run", torch.zeros(3))
            loaded = load("run")[0]
    finally:
        (tmp_path / "run").chmod(0o755)
    assert_same(loaded, {"a": torch.ones(3)})


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    save_model(tmp_path, {"a": torch.ones(1)}, {})
    (tmp_path / "model.safetensors").chmod(0)
    tmp_path.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    with as_ordinary_user(), pytest.raises(CheckpointError, match=r"cannot read model.safetensors"):
        load_model(".")


def test_a_file_in_the_way(tmp_path, saver):
    (tmp_path / "run").write_text("")
    with pytest.raises(CheckpointError, match="cannot save"):
        saver[0](tmp_path / "run", torch.ones(1))


def test_what_the_disk_gets_wrong_is_not_published(tmp_path, saver, monkeypatch):
    save, load = saver
    save(tmp_path, torch.ones(3))
    write = atomic.save_file

    def careless(tensors, file):
        write({name: tensor + 1 for name, tensor in tensors.items()}, file)

    monkeypatch.setattr(atomic, "save_file", careless)
    with pytest.raises(CheckpointError, match="not written as it is in memory"):
        save(tmp_path, torch.full((3,), 2.0))
    assert_same(load(tmp_path)[0], {"a": torch.ones(3)})
    assert temporaries(tmp_path) == []


def test_readers_and_two_writers_at_once_see_whole_ones(tmp_path, saver):
    save, load = saver
    save(tmp_path, torch.zeros(1000))
    errors, done = [], threading.Event()

    def write(numbers):
        try:
            for number in numbers:
                save(tmp_path, torch.full((1000,), float(number)))
        except Exception as error:
            errors.append(error)

    def read():
        try:
            while not done.is_set():
                assert len(load(tmp_path)[0]["a"].unique()) == 1
        except Exception as error:
            errors.append(error)

    writers = [threading.Thread(target=write, args=(range(i, 40, 2),)) for i in (0, 1)]
    reader = threading.Thread(target=read)
    for thread in [reader, *writers]:
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    reader.join()
    assert errors == []


class Killed(BaseException):
    pass


def killed(*_):
    raise Killed


def remove_one_file(path, ignore_errors=False):
    """A removal that is killed after the first file, if there is any."""
    for file in sorted(Path(path).glob("*")):
        file.unlink()
        raise Killed


def test_an_old_state_is_never_half_removed(tmp_path, monkeypatch):
    save_state(tmp_path, 1)
    monkeypatch.setattr(shutil, "rmtree", remove_one_file)
    with pytest.raises(Killed):
        save_state(tmp_path, 2, keep=1)
    monkeypatch.undo()
    assert [path.name for path in tmp_path.glob("save-*")] == ["save-000002"]
    save_state(tmp_path, 3, keep=1)
    assert [path.name for path in tmp_path.iterdir()] == ["save-000003"]


def test_an_unpublished_model_half_removed_is_never_mixed_in(tmp_path, monkeypatch):
    save_model(tmp_path, {"a": torch.zeros(3)}, {})
    save_model(tmp_path / ".model.ready", {"a": torch.ones(3)}, {})  # killed before its JSON moved
    monkeypatch.setattr(shutil, "rmtree", remove_one_file)
    with pytest.raises(Killed):
        save_model(tmp_path, {}, {})
    monkeypatch.undo()
    monkeypatch.setattr(checkpoint, "write_pair", killed)
    with pytest.raises(Killed):
        save_model(tmp_path, {}, {})
    assert_same(load_model(tmp_path)[0], {"a": torch.zeros(3)})


def test_a_published_model_is_brought_to_its_place(tmp_path, monkeypatch):
    save_model(tmp_path, {"a": torch.zeros(3)}, {})
    finish = checkpoint._finish
    monkeypatch.setattr(checkpoint, "_finish", killed_second_time(finish))
    with pytest.raises(Killed):
        save_model(tmp_path, {"a": torch.ones(3)}, {})
    monkeypatch.undo()
    assert temporaries(tmp_path) == [".model.ready"]
    assert_same(load_model(tmp_path)[0], {"a": torch.ones(3)})
    settle_model(tmp_path)
    assert temporaries(tmp_path) == []
    assert_same(load_model(tmp_path)[0], {"a": torch.ones(3)})
    settle_model(tmp_path)
    assert_same(load_model(tmp_path)[0], {"a": torch.ones(3)})


def killed_second_time(function):
    calls = []

    def called(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise Killed
        return function(*arguments)

    return called


def test_a_state_removed_while_it_is_read_gives_way_to_the_newer_one(tmp_path, monkeypatch):
    save_state(tmp_path, 1)
    read = checkpoint.read_pair

    def read_late(*files):
        monkeypatch.undo()
        save_state(tmp_path, 2, keep=1)
        return read(*files)

    monkeypatch.setattr(checkpoint, "read_pair", read_late)
    assert load_state(tmp_path) == (2, {})


def test_a_writer_does_not_wait_for_ever(tmp_path):
    refused = pytest.raises(CheckpointError, match="another process")
    with atomic.writing(tmp_path), refused, atomic.writing(tmp_path, wait=0.1):
        pass


# --- damage ---------------------------------------------------------------------------------------


def test_missing_things_are_named(tmp_path):
    for load in (load_state, load_model):
        with pytest.raises(CheckpointError, match="nowhere"):
            load(tmp_path / "nowhere")
        with pytest.raises(CheckpointError, match=re.escape(str(tmp_path))):
            load(tmp_path)
    path = save_state(tmp_path, {"a": torch.ones(3)})
    (path / "state.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"state.safetensors is missing.*save it again"):
        load_state(tmp_path)
    save_state(tmp_path, {"a": torch.ones(3)})
    path = save_state(tmp_path, {"a": torch.ones(3)})
    (path / "state.json").unlink()
    with pytest.raises(CheckpointError, match=r"remove .*save-000003 to go back to save-000002"):
        load_state(tmp_path)


def sealed(document) -> str:
    """The JSON with hashes that fit, as an attacker would write it."""
    document = {k: v for k, v in document.items() if k not in ("sha256", "sciops_schema")}
    digest = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
    return json.dumps({"sciops_schema": 1, "sha256": digest, **document})


@pytest.fixture
def model(tmp_path):
    tensors = {"w": torch.arange(6.0).view(2, 3), "z": torch.ones(2, dtype=torch.complex64)}
    save_model(tmp_path, {**tensors, "b": torch.ones(0, 3)}, {"mean": 0.5, "name": "x"})
    return tmp_path


def rewrite(folder, **changes):
    document = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(sealed({**document, **changes}))


def rewrite_tensors(folder, data):
    (folder / "model.safetensors").write_bytes(data)
    rewrite(folder, tensors={"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()})


def test_the_attacker_of_these_tests_can_seal(model):
    rewrite(model, notes={"mean": 0.25})
    rewrite_tensors(model, (model / "model.safetensors").read_bytes())
    assert load_model(model)[1] == {"mean": 0.25}


def test_damaged_files_say_what_is_wrong(model):
    tensors, text = (model / "model.safetensors"), (model / "model.json").read_text()
    data = tensors.read_bytes()
    for changed, says in [
        (data[:-5], f"{tensors} has {len(data) - 5} bytes.*{len(data)}; copy it again"),
        (data[:-1] + b"\x01", f"{tensors} is damaged.*SHA-256.*copy it again"),
        (b"", "has 0 bytes"),
    ]:
        tensors.write_bytes(changed)
        with pytest.raises(CheckpointError, match=says):
            load_model(model)
    tensors.write_bytes(data)
    for changed, says in [
        (text.replace("0.5", "0.6"), "changed since it was written"),
        (text.replace('_schema": 1', '_schema": 2'), "schema 2, known is 1; upgrade sciops"),
        (text.replace('_schema": 1', '_schema": "1"'), "changed"),
        (text.replace("0.5", "NaN"), "not the JSON of a checkpoint"),
        (text[:-20], "not the JSON of a checkpoint"),
        ("", "not the JSON of a checkpoint"),
        ("[1]", "not the JSON of a checkpoint"),
        ("{}", "not the JSON of a checkpoint"),
        ("9" * 10000, "not the JSON of a checkpoint"),
        ("[" * 10**6, "not the JSON of a checkpoint"),
        ('{"a":' * 10**5, "not the JSON of a checkpoint"),
        (" " * (atomic.MAX_JSON + 1), "more than"),
    ]:
        (model / "model.json").write_text(changed)
        with pytest.raises(CheckpointError, match=says):
            load_model(model)


@pytest.mark.parametrize(
    "structure",
    [
        {"dict": [["w", {"tensor": "w"}]]},  # and tensors that are not in it
        {"dict": [["w", {"tensor": "v"}]]},
        {"tensor": "w"},
        {"complex": "w"},
        {"tensor": ["w"]},
        {"tensor": "../../../etc/passwd"},
        {"dict": [["w", 1], ["w", 2]]},
        {"dict": [[1.5, 1]]},
        {"dict": [[[], 1]]},
        {"dict": 3},
        {"dict": {"a": 1}},
        {"ordered": []},
        {"tuple": 1},
        {"int": "0xg"},
        {"int": 5},
        {"float": "00"},
        {"float": None},
        {"call": "os.system"},
        {"tensor": "w", "tuple": []},
        {},
        [],
        7,
        None,
    ],
    ids=str,
)
def test_a_structure_that_does_not_fit_is_an_error(model, structure):
    rewrite(model, structure=structure)
    with pytest.raises(CheckpointError, match=r"does not describe|state_dict"):
        load_model(model)


def test_a_document_that_lacks_parts_is_an_error(model):
    text = (model / "model.json").read_text()
    for change in [{"notes": 1}, {"tensors": None}, {"tensors": {}}, {"structure": {"int": [[]]}}]:
        (model / "model.json").write_text(text)
        rewrite(model, **change)
        with pytest.raises(CheckpointError):
            load_model(model)


def test_deep_structures_with_right_hashes_are_errors(model):
    inner = {"tensor": "w"}
    for _ in range(sys.getrecursionlimit() // 2):
        inner = {"tuple": [inner]}
    with contextlib.suppress(RecursionError):  # if Python cannot write it, nor can it be read
        rewrite(model, structure=inner)
        with pytest.raises(CheckpointError):
            load_model(model)


def header(**entries) -> bytes:
    text = json.dumps(entries).encode()
    return struct.pack("<Q", len(text)) + text


def entry(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


@pytest.mark.parametrize(
    "data",
    [
        b"\xff" * 8,
        struct.pack("<Q", 2**40) + b"{}",
        struct.pack("<Q", 2) + b"[]",
        struct.pack("<Q", 10**6) + b"{" * 10**6,
        header(w=entry("F32", [2**62], 0, 4)) + b"1234",
        header(w=entry("F32", [2**32, 2**32, 2**32], 0, 4)) + b"1234",
        header(w=entry("F32", [1], 0, 400)) + b"1234",
        header(w=entry("F32", [1], 4, 0)) + b"1234",
        header(w=entry("F32", [-1], 0, 4)) + b"1234",
        header(w=entry("F99", [1], 0, 4)) + b"1234",
        header(w=entry("F4", [8], 0, 4)) + b"1234",
        header(w=entry("F8_E8M0", [4], 0, 4)) + b"1234",
        header(w=entry("F32", [1], 0, 4), z=entry("F32", [1], 0, 4)) + b"1234",
        header(w=entry("F32", [0, 2**62], 0, 0)),
        header(w=entry("F32", [0, 2**62, 2**62], 0, 0)),
        header(w=entry("F32", [1], 0, 4)) + b"1234 and more",
    ],
    ids=range(16),
)
def test_tensor_files_that_lie_are_errors(model, data):
    rewrite_tensors(model, data)
    with pytest.raises(CheckpointError):
        load_model(model)


def damaged(data: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(data))
    return chance.choice(
        [
            data[:place],
            data[:place] + bytes([data[place] ^ 1 << chance.randrange(8)]) + data[place + 1 :],
            data[:place] + chance.randbytes(4) + data[place + 4 :],
            data[:place] + data[place + 1 :],
            data + chance.randbytes(3),
        ]
    )


@pytest.mark.parametrize("resealed", [False, True])
def test_random_damage_is_found(model, resealed):
    chance = random.Random(17)
    names = ("model.safetensors", "model.json")
    whole = {name: (model / name).read_bytes() for name in names}
    tensors, notes = load_model(model)
    survived = 0
    for _ in range(300):
        for name in names:
            (model / name).write_bytes(whole[name])
        name = names[0] if resealed else chance.choice(names)
        changed = damaged(whole[name], chance)
        if resealed:  # right hashes: the parsers see the damage
            rewrite_tensors(model, changed)
        else:
            (model / name).write_bytes(changed)
        try:
            loaded = load_model(model)
        except CheckpointError:
            continue
        survived += 1
        if not resealed:  # only what is no information: a space, say
            assert_same(loaded[0], tensors)
            assert loaded[1] == notes
    assert survived < (300 if resealed else 60)


# --- resuming -------------------------------------------------------------------------------------


def draw():
    cpu = torch.rand(3).tolist() + torch.randn(1).tolist()
    return cpu, np.random.standard_normal(3).tolist(), random.random(), random.gauss(0, 1)


def test_random_numbers_continue(tmp_path):
    before = rng_state()
    try:
        torch.manual_seed(1), np.random.seed(2), random.seed(3)
        draw()  # an odd number of normals: one is kept for the next call
        state = rng_state()
        loaded = round_trip(tmp_path, {"rng": state})["rng"]
        assert_same(loaded, state)
        expected = draw()
        assert draw() != expected
        set_rng_state(loaded)
        assert draw() == expected
    finally:
        set_rng_state(before)


@pytest.mark.parametrize(
    "change",
    [
        {"torch": torch.zeros(3, dtype=torch.uint8)},
        {"torch": None},
        {"numpy": {"key": torch.zeros(624), "pos": 10**6, "has_gauss": 0, "gauss": 0.0}},
        {"numpy": {"key": torch.zeros(3), "pos": 0, "has_gauss": 0, "gauss": 0.0}},
        {"numpy": {}},
        {"python": {"version": 3, "words": torch.zeros(4), "gauss": None}},
        {"python": {"version": 3, "words": torch.zeros(625) - 1, "gauss": None}},
        {"python": 5},
    ],
)
def test_wrong_states_of_random_numbers_change_nothing(change):
    before = rng_state()
    random.random(), np.random.rand(), torch.rand(1)
    now = rng_state()
    with pytest.raises(CheckpointError, match="rng_state"):
        set_rng_state({**before, **change})
    assert_same(rng_state(), now)


class Training:
    """Two optimisers, groups, schedulers, dropout and noise from all three generators."""

    def __init__(self, seed):
        torch.manual_seed(seed), np.random.seed(seed), random.seed(seed)
        layers = [torch.nn.Linear(5, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.3)]
        self.model = torch.nn.Sequential(*layers, torch.nn.Tanh(), torch.nn.Linear(8, 1))
        first, *_, last = self.model
        groups = [{"params": [last.weight]}, {"params": [last.bias], "lr": 0.3, "momentum": 0.5}]
        adam = torch.optim.Adam([*first.parameters(), *self.model[1].parameters()], lr=0.02)
        self.optimizers = [adam, torch.optim.SGD(groups, lr=0.1, momentum=0.9)]
        rates = torch.optim.lr_scheduler
        self.schedulers = [rates.StepLR(o, 3, gamma=0.7) for o in self.optimizers]
        self.schedulers.append(rates.ReduceLROnPlateau(self.optimizers[1], patience=2))
        self.losses = []

    def steps(self, n):
        for _ in range(n):
            x = torch.randn(16, 5) + float(np.random.randn()) + random.gauss(0, 1)
            loss = (self.model(x)[:, 0] - x.prod(1)).square().mean()
            loss.backward()
            for optimizer in self.optimizers:
                optimizer.step()
                optimizer.zero_grad()
            for scheduler in self.schedulers[:2]:
                scheduler.step()
            self.schedulers[2].step(loss.item())
            self.losses.append(loss.item())

    def state(self):
        return {
            "model": self.model.state_dict(),
            "optimizers": [o.state_dict() for o in self.optimizers],
            "schedulers": [s.state_dict() for s in self.schedulers],
            "losses": self.losses,
            "rng": rng_state(),
        }

    def resume(self, state):
        self.model.load_state_dict(state["model"])
        for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        for scheduler, saved in zip(self.schedulers, state["schedulers"], strict=True):
            scheduler.load_state_dict(saved)
        self.losses = state["losses"]
        set_rng_state(state["rng"])


def test_resumed_training_is_bit_identical(tmp_path):
    before = rng_state()
    try:
        whole = Training(seed=0)
        whole.steps(20)
        expected = whole.state()
        first = Training(seed=0)
        first.steps(10)
        save_state(tmp_path, first.state(), {"step": 10})
        second = Training(seed=99)  # other weights, other random numbers
        state, metadata = load_state(tmp_path)
        second.resume(state)
        second.steps(20 - metadata["step"])
        assert_same(second.state(), expected)
    finally:
        set_rng_state(before)
