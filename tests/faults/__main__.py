"""Kill the work of sciops at random moments and check that nothing is ever wrong.

    python -m tests.faults --kills 50 --seed 0 [--kinds training,search]
    python -m tests.faults --every-file --kinds "states and models"

Prints a table and writes faults.csv and faults.md to benchmarks/results/; ends with an error if
anything that could be read was wrong, or a result differed from that of undisturbed work.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

import pandas as pd
import torch

from benchmarks.results import FOLDER, machine, markdown
from sciops.atomic import write_text
from tests.faults.driver import Fate, Undisturbed, fates, swept
from tests.faults.further_victims import ALL


def row(name: str, whole: Undisturbed, found: list[Fate]) -> dict:
    return {
        "work": name,
        "kills": len(found),
        "at a random moment": sum(f.way == "moment" for f in found),
        "at a file": sum(f.way == "file" for f in found),
        "readable and wrong": sum(bool(f.wrong) for f in found),
        "result differs": sum(bool(f.differs) for f in found),
        "seconds undisturbed": round(whole.seconds, 2),
        "files touched": whole.touches,
    }


def shared_out(kills: int, kinds: int) -> list[int]:
    """
    >>> shared_out(50, 7)
    [8, 7, 7, 7, 7, 7, 7]
    """
    return [kills // kinds + (k < kills % kinds) for k in range(kinds)]


def main() -> None:
    names = [victim.name for victim in ALL]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50, help="of all kinds of work together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", default=",".join(names), help="of " + ", ".join(names))
    parser.add_argument("--every-file", action="store_true", help="a kill at each file touched")
    parser.add_argument("--out", type=Path, default=FOLDER, help="where the table is written")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    chosen = [v for v in ALL if v.name in asked.kinds.split(",")]
    rows, problems = [], []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SCIOPS_DATA_DIR"] = f"{folder}/kept"
        for victim, kills in zip(chosen, shared_out(asked.kills, len(chosen)), strict=True):
            place = Path(folder) / victim.name
            if asked.every_file:
                whole, found = swept(victim, place)
            else:
                whole, found = fates(victim, kills, place, asked.seed)
            rows.append(row(victim.name, whole, found))
            problems += [f"{victim.name}, {f}" for f in found if f.wrong or f.differs]
            print(f"{victim.name}: {len(found)} kills, work of {whole.seconds:.2f} s", flush=True)
    table = pd.DataFrame(rows)
    print(table.to_string(index=False))
    write_text(asked.out / "faults.csv", table.to_csv(index=False))
    total = f"{table['kills'].sum()} kills (SIGKILL), seed {asked.seed}; {len(problems)} problems."
    text = f"# Killed at any moment\n\n{total}\n\n{markdown(table)}\n\nMachines:\n- {machine()}\n"
    write_text(asked.out / "faults.md", text)
    sys.exit("\n".join(problems) or None)


if __name__ == "__main__":
    main()
