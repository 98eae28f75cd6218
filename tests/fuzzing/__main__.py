"""Fuzz readers: `python -m tests.fuzzing [READER …] --count 20000 --seed 0`.

Prints how the inputs ended and keeps it in benchmarks/results/fuzzing.csv and .md.  Ends with 1 if
any input ended in another way than promised; `--only NUMBER` shows one input again.
"""

import argparse
import time
from collections import Counter
from math import inf
from pathlib import Path

import pandas as pd

from .readers import READERS
from .sandbox import OUTCOMES, PROMISED, judged, scratch, subject_of, verdicts, write_subject

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
SHOWN = 8  # failures of a reader


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzzing", description=__doc__)
    parser.add_argument("readers", nargs="*", metavar="READER", help=", ".join(READERS))
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=inf, help="of a reader at most")
    parser.add_argument("--only", type=int, help="the number of one input, in this process")
    parser.add_argument("--keep", action="store_true", help="write the counts to the results")
    given = parser.parse_args()
    unknown = set(given.readers) - set(READERS)
    if unknown:
        parser.error(f"no reader {', '.join(sorted(unknown))}; there are {', '.join(READERS)}")
    chosen = given.readers or list(READERS)
    if given.only is not None:
        return _show(chosen[0], given.seed, given.only)
    rows = []
    for name in chosen:
        rows.append(_fuzzed(name, given.count, given.seed, given.seconds))
        if given.keep:
            keep(rows[-1:])
    return int(any(row[outcome] for row in rows for outcome in OUTCOMES if outcome not in PROMISED))


def _fuzzed(name: str, count: int, seed: int, seconds: float) -> dict:
    counts, slowest, peak, shown = Counter(), 0.0, 0, set()
    end = time.monotonic() + seconds
    with scratch() as folder:
        for verdict in verdicts(READERS[name], range(count), folder, seed=seed):
            counts[verdict.outcome] += 1
            slowest, peak = max(slowest, verdict.seconds), max(peak, verdict.bytes)
            if time.monotonic() > end:
                break
            kind = verdict.detail.rpartition("[")[2]
            if verdict.outcome not in PROMISED and kind not in shown and len(shown) < SHOWN:
                shown.add(kind)
                print(
                    f"  {name} --only {verdict.number}: {verdict.outcome}, {verdict.detail[:300]}"
                )
    done = counts.total()
    numbers = {outcome: counts[outcome] for outcome in OUTCOMES}
    cut = f", cut by time before {count}" if done < count else ""
    print(f"{name}: {done} inputs{cut}, {numbers}, slowest {slowest:.2f} s", flush=True)
    return {
        **dict(reader=name, inputs=done, asked=count, seed=seed),
        **numbers,
        **dict(slowest_seconds=round(slowest, 2), most_mib=round(peak / 2**20)),
    }


def keep(rows: list[dict], folder: Path = RESULTS) -> None:
    """Put rows in the place of those of the same readers."""
    file = folder / "fuzzing.csv"
    before = pd.read_csv(file).to_dict("records") if file.exists() else []
    table = {row["reader"]: row for row in [*before, *rows]}
    ordered = pd.DataFrame([table[name] for name in READERS if name in table])
    ordered.to_csv(file, index=False)
    lines = [
        list(ordered.columns),
        ["---"] * ordered.shape[1],
        *ordered.astype(str).values.tolist(),
    ]
    text = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    about = (
        "# Damaged files\n\nDamaged inputs of every reader and how they ended (`python -m "
        "tests.fuzzing --keep`): read, or refused with a message of ours, as promised; everything "
        "else would be a fault. Fewer inputs than asked were cut by time.\n"
    )
    (folder / "fuzzing.md").write_text(f"{about}\n{text}\n", encoding="utf-8")


def _show(name: str, seed: int, number: int) -> int:
    subject = subject_of(READERS[name], seed, number)
    with scratch() as folder:
        write_subject(folder / "subject", subject)
        outcome, detail = judged(READERS[name], folder / "subject")
        print({file: (len(data), data[:200]) for file, data in subject.items()})
        print(outcome, detail)
        if outcome not in PROMISED:
            READERS[name].read(folder / "subject")
    return int(outcome not in PROMISED)


if __name__ == "__main__":
    raise SystemExit(main())
