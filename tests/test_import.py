"""`import sciops` is quick, light, and says what it offers."""

import subprocess
import sys
from pathlib import Path

import pytest

import sciops

ROOT = Path(__file__).parents[1]
HEAVY = {"neuralop", "pytorch_lightning", "lightning", "xarray", "matplotlib"}
TRAINING = {n for n in sciops.__all__ if n.startswith("train_")} | {"compare", "search"}
LIGHT = sorted(set(sciops.__all__) - TRAINING)  # the others bring the heavy trainer
USE_ALL = f"import sciops; [getattr(sciops, name) for name in {LIGHT}]"


def run_python(code: str) -> str:
    """What a fresh interpreter prints."""
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


def loaded_packages(code: str) -> set[str]:
    modules = run_python(f"import sys; {code}; print(*sys.modules)").split()
    return {name.split(".")[0] for name in modules}


def test_import_costs_little_beyond_torch():
    """As a share of torch's own time, which a busy machine makes longer as well.

    It is 0.22 to 0.26, of which one full garbage collection, which falls into it, is 0.1.
    """
    code = (
        "from time import process_time as now; start = now(); import torch; middle = now();"
        f"{USE_ALL}; print((now() - middle) / (middle - start))"
    )
    assert min(float(run_python(code)) for _ in range(5)) < 0.35


def test_import_alone_does_not_load_torch():
    assert loaded_packages("import sciops") & {"torch", "numpy", *HEAVY} == set()


def test_public_names_load_torch_but_nothing_heavier():
    loaded = loaded_packages(USE_ALL)
    assert "torch" in loaded
    assert loaded & HEAVY == set()


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(AttributeError, match=r"'nonsense'.*relax"):
        sciops.nonsense  # noqa: B018


def test_dir_lists_the_verbs():
    assert {"relax", "arch_parameters", "weight_parameters", "operators"} <= set(dir(sciops))


def test_no_module_takes_the_name_of_a_verb():
    """Importing sciops/x.py sets `sciops.x` to the module, which would hide a verb `x`."""
    modules = {path.stem for path in (ROOT / "sciops").iterdir()}
    assert modules & set(sciops._VERBS) == set()
