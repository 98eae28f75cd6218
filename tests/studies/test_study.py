"""Studies that are killed, shared, stopped early and given bad candidates."""

import math
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sciops.studies.candidates import CandidateSpace
from sciops.studies.early_stopping import EarlyStopping
from sciops.studies.journal import Journal
from sciops.studies.study import StudyResult, _tried, read_study, run_study
from tests.studies import study_toy, term_toy
from tests.studies.study_toy import RULE, TRIALS, proposer

ROOT = Path(__file__).parents[2]
pytest.importorskip("optuna", reason="the engine of studies, Optuna, is not installed")


def run(folder, name="random", objective=study_toy.plain, trials=TRIALS, **options):
    return run_study(objective, term_toy.space(), proposer(name), trials, folder, **options)


def start(folder, name, objective, *numbers) -> subprocess.Popen:
    command = [sys.executable, "-m", "tests.studies.study_toy", str(folder), name, objective]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    nothing = subprocess.DEVNULL
    return subprocess.Popen(
        [*command, *map(str, numbers)], cwd=ROOT, env=environment, stdout=nothing, stderr=nothing
    )


def outcome(result):
    """All but the times and attempts."""
    return [(r.number, r.candidate, r.state, r.score, r.reason, r.reports) for r in result.records]


@pytest.mark.parametrize("name", ["random", "evolution", "bayes"])
def test_the_same_seed_gives_the_same_sequence(tmp_path, name):
    whole = run(tmp_path / "whole", name)
    run(tmp_path / "parts", name, trials=3)
    assert outcome(run(tmp_path / "parts", name)) == outcome(whole)
    assert outcome(run(tmp_path / "other", name, seed=1)) != outcome(whole)
    assert [r.number for r in whole.records] == list(range(TRIALS))
    assert whole.best.score == min(term_toy.objective(r.candidate) for r in whole.records)
    journal = (tmp_path / "whole" / "journal.log").read_bytes()
    assert outcome(read_study(tmp_path / "whole", term_toy.space())) == outcome(whole)
    assert (tmp_path / "whole" / "journal.log").read_bytes() == journal  # reading leaves no trace


def test_killed_and_resumed_it_goes_on_the_same(tmp_path):
    process = start(tmp_path / "killed", "bayes", "deadly_while_reporting")
    assert process.wait() == -signal.SIGKILL
    left = read_study(tmp_path / "killed", term_toy.space()).records
    assert [r.state == "running" for r in left] == [False] * 5 + [True]
    assert math.isnan(left[-1].score)
    objective = study_toy.deadly_while_reporting
    resumed = run(tmp_path / "killed", "bayes", objective, early_stopping=RULE)
    whole = run(tmp_path / "whole", "bayes", study_toy.reporting, early_stopping=RULE)
    assert outcome(resumed) == outcome(whole)
    assert [r.attempts for r in resumed.records] == [1, 1, 1, 1, 1, 2, 1, 1, 1]


def test_a_line_cut_short_is_removed(tmp_path):
    run(tmp_path / "study", trials=4)
    journal = tmp_path / "study" / "journal.log"
    with journal.open("ab") as stream:
        stream.write(b'{"op_code":4,"study_')
    assert outcome(run(tmp_path / "study")) == outcome(run(tmp_path / "whole"))
    assert b'study_{"' not in journal.read_bytes()


def test_two_workers_share_the_trials(tmp_path):
    result = run(tmp_path, objective=study_toy.together, trials=14, workers=2)
    assert [r.number for r in result.records] == list(range(14))
    assert {r.state for r in result.records} == {"finished"}
    assert len({r.candidate for r in result.records}) == 14
    ran = [[file.name for file in (tmp_path / "trials" / f"{i:05}").iterdir()] for i in range(14)]
    assert all(len(files) == 1 for files in ran)  # nobody ran what another ran
    assert len({name for (name,) in ran}) == 2


@pytest.mark.slow
def test_workers_end_when_the_process_that_started_them_is_killed(tmp_path):
    journal = tmp_path / "journal.log"
    process = start(tmp_path, "random", "slow", 500, 2)
    wait_until(lambda: journal.is_file() and lines(journal) > 30)
    process.kill()
    process.wait()
    wait_until(lambda: is_still(journal))
    records = read_study(tmp_path, term_toy.space()).records
    assert len(records) < 500
    more = len(records) + 2
    result = run(tmp_path, trials=more)
    assert [r.state for r in result.records] == ["finished"] * more


def lines(file):
    return file.read_bytes().count(b"\n")


def is_still(file):
    before = lines(file)
    time.sleep(2)
    return lines(file) == before


def wait_until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_killed_worker_is_replaced_and_its_trial_done_again(tmp_path):
    result = run(tmp_path, objective=study_toy.deadly, workers=2)
    assert {r.state for r in result.records} == {"finished"}
    assert [r.attempts for r in result.records] == [1, 1, 1, 1, 1, 2, 1, 1, 1]


def test_a_candidate_that_kills_every_process_is_given_up(tmp_path):
    result = run(tmp_path, objective=study_toy.always_deadly, trials=4, workers=2, attempts=2)
    assert [r.state for r in result.records] == ["finished", "finished", "failed", "finished"]
    assert result.records[2].score == math.inf
    assert "its process died 2 times" in result.records[2].reason


def test_a_waiting_worker_takes_over_from_one_that_dies(tmp_path):
    """Nobody supervises here: two calls with the same folder, of which one is killed."""
    context = multiprocessing.get_context("spawn")
    order = (study_toy.deadly, term_toy.space(), proposer("random"), TRIALS, tmp_path)
    both = [context.Process(target=run_study, args=order) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join()
    assert sorted(process.exitcode for process in both) == [-signal.SIGKILL, 0]
    records = read_study(tmp_path, term_toy.space()).records
    assert len(records) == TRIALS and {r.state for r in records} == {"finished"}


def test_bad_candidates_are_recorded_and_the_study_goes_on(tmp_path):
    result = run(tmp_path, "bayes", study_toy.failing)
    states = [r.state for r in result.records]
    assert states.count("failed") == 2 and states.count("finished") == TRIALS - 2
    assert result.records[1].reason == "RuntimeError: out of memory"
    assert result.records[3].reason == "ScoreError: the score is nan"
    assert result.records[1].score == result.records[3].score == math.inf


@pytest.mark.parametrize("last", [None, 4])
def test_trials_that_do_badly_are_stopped(tmp_path, last):
    rule = EarlyStopping(first=1, last=last, factor=2)
    result = run(tmp_path, objective=study_toy.reporting, early_stopping=rule)
    scores = [term_toy.objective(r.candidate) for r in result.records]
    reached = [(max(r.reports), r.state) for r in result.records]
    assert reached == halving(scores, (1, 2) if last else (1, 2, 4))
    assert {state for _, state in reached} == {"finished", "stopped"}
    stopped = next(r for r in result.records if r.state == "stopped")
    assert stopped.score == stopped.reports[max(stopped.reports)]
    assert f"stopped after step {max(stopped.reports)} with" in stopped.reason
    assert result.best.score == min(scores)


def halving(scores, rungs):
    """Where trials end that report curves one above the other, if the better half goes on."""
    seen, ends = {step: [] for step in rungs}, []
    for score in scores:
        end = (4, "finished")
        for step in rungs:
            seen[step].append(score)
            if score > sorted(seen[step])[max(len(seen[step]) // 2, 1) - 1]:
                end = (step, "stopped")
                break
        ends.append(end)
    return ends


def test_hyperband_stops_some(tmp_path):
    rule = EarlyStopping("hyperband", first=1, last=4, factor=2)
    result = run(tmp_path, objective=study_toy.reporting, early_stopping=rule, trials=16)
    assert {r.state for r in result.records} == {"finished", "stopped"}


def test_a_report_that_is_no_number_fails_the_trial(tmp_path):
    def objective(term, attempt):
        attempt.report(1, float("inf"))

    records = run(tmp_path, objective=objective, trials=1).records
    assert records[0].reason == "ScoreError: the score after step 1 is inf"


def test_proposers_see_what_is_pending(tmp_path):
    journal, seen = Journal(tmp_path), []
    terms = [("chain", *[("line", "conv", "conv")] * 3), ("ladder", *[("line", "xd", "xd")] * 3)]

    def propose(number):
        seen.append(_tried(journal, term_toy.space()))
        return repr(terms[number % 2])

    with journal.claim(9, propose) as done:
        done.finish(2.0)
    with journal.claim(9, propose), journal.claim(9, propose):
        trials, pending = seen[-1]
    assert [(t.candidate, t.score) for t in trials] == [(terms[0], 2.0)] and pending == [terms[1]]


def test_an_interrupted_attempt_does_not_count(tmp_path):
    def interrupted(term, attempt):
        raise KeyboardInterrupt

    for _ in range(4):  # more than there are attempts
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path, objective=interrupted)
    records = run(tmp_path).records
    assert (records[0].state, records[0].attempts) == ("finished", 1)


def test_reading_a_study_writes_nothing(tmp_path):
    """It may be on a disk that is read-only, or others may work on it."""
    whole = outcome(run(tmp_path, trials=2))
    for place in ("trials", "running"):
        shutil.rmtree(tmp_path / place)
    (tmp_path / "claim.lock").unlink(missing_ok=True)
    (tmp_path / "journal.log.lock").unlink(missing_ok=True)
    assert outcome(read_study(tmp_path, term_toy.space())) == whole
    assert [path.name for path in tmp_path.iterdir()] == ["journal.log"]
    (tmp_path / "journal.log").write_bytes(b"")
    assert read_study(tmp_path, term_toy.space()).records == []
    assert (tmp_path / "journal.log").read_bytes() == b""


def test_the_settings_of_a_study_stay(tmp_path):
    run(tmp_path, trials=2)
    with pytest.raises(ValueError, match="has seed=0, asked for is 3; go on as it began"):
        run(tmp_path, seed=3)
    with pytest.raises(ValueError, match="has proposer="):
        run(tmp_path, "bayes")
    with pytest.raises(ValueError, match="has early_stopping=None"):
        run(tmp_path, early_stopping=RULE)


def test_errors_say_what_to_do(tmp_path):
    with pytest.raises(ValueError, match="n_trials=0"):
        run(tmp_path, trials=0)
    with pytest.raises(ValueError, match=r"journal.log is missing; check the path"):
        read_study(tmp_path, term_toy.space())
    with pytest.raises(ValueError, match="not lambdas or nested ones, or workers=1"):
        run(tmp_path, objective=lambda term, attempt: 0.0, workers=2)
    with pytest.raises(ValueError, match="none of 0 trials finished"):
        _ = StudyResult([]).best
    run(tmp_path, trials=1)
    toy = term_toy.space()
    other = CandidateSpace(toy.sample, toy.mutate, toy.crossover, toy.levels, repr, int)
    with pytest.raises(ValueError, match="which its space cannot read"):
        read_study(tmp_path, other)
