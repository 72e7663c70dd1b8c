"""`reproduce`: run what is not known yet, and say how it went."""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any

from sqlrank._threads import resolve_threads
from sqlrank.data.datasets.registry import find
from sqlrank.errors import ConfigError, DataError, SqlrankError
from sqlrank.experiments.definition import SECONDS, Experiment, Row, load_experiment, names
from sqlrank.experiments.plan import Bench, TrialPlan, settings_of, trial_of
from sqlrank.experiments.preparation import MadeUp, OnDisk, miniature
from sqlrank.experiments.store import Store
from sqlrank.experiments.trial import Record, run_trial
from sqlrank.models._als import import_als
from sqlrank.models.names import model_class

__all__ = ["Outcome", "RowOutcome", "reproduce"]

Say = Callable[[str], None]


@dataclass
class RowOutcome:
    """A row's records, one per seed, with the settings of each; or why there are none."""

    row: Row
    settings: list[dict[str, Any]] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    other_data: bool = False
    skipped: str | None = None


@dataclass
class Outcome:
    """An experiment and what its rows found."""

    experiment: Experiment
    rows: list[RowOutcome]


def reproduce(
    wanted: str | Sequence[str] = "all",
    data_dir: str | PathLike[str] | None = None,
    output: str | PathLike[str] = "results",
    *,
    seeds: int | None = None,
    small: bool = False,
    threads: int | None = None,
    progress: bool = True,
) -> list[Outcome]:
    """Run experiments of the paper and write their tables and figures into `output`.

    wanted      "all", one of `names()`, the path of a TOML file of your own, or several of these
    data_dir    folder of the data sets; rows whose data set is not there are skipped, with the reason
    seeds       fits per row instead of the experiment's own number
    small       made-up data, few epochs: tries the machinery in seconds and says nothing of the paper
    progress    say on stderr what is running

    Every trial is kept in `output`/trials as soon as it is done: called again, the run goes on where it was. All
    numbers but the seconds are the same in every run, for any number of threads.
    """
    from sqlrank.experiments.report import write_report

    chosen = [wanted] if isinstance(wanted, str) else list(wanted)
    listed = [name for word in chosen for name in (names() if word == "all" else [word])]
    experiments = [_prepared(load_experiment(name), seeds, small) for name in dict.fromkeys(listed)]
    _require_packages(experiments)
    store = Store(Path(output) / "trials")
    bench = Bench(MadeUp() if small else OnDisk(data_dir), store, resolve_threads(threads))
    say = _say if progress else _silent
    outcomes = []
    for place, experiment in enumerate(experiments, 1):
        say(f"[{place}/{len(experiments)}] {experiment.id}: {experiment.title}")
        outcomes.append(_run(experiment, bench, say))
        write_report(outcomes[-1], Path(output) / experiment.id)
    return outcomes


def _prepared(experiment: Experiment, seeds: int | None, small: bool) -> Experiment:
    shrunk = miniature(experiment) if small else experiment
    return shrunk if seeds is None else replace(shrunk, seeds=seeds)


def _require_packages(experiments: Sequence[Experiment]) -> None:
    """Complain before the work begins, not in the middle of it."""
    rows = [row for experiment in experiments for row in experiment.rows]
    wanted = {
        "implicit": any(row.model == "WeightedMF" for row in rows),
        "optuna": any(row.search for row in rows),
    }
    lacking = [name for name, needed in wanted.items() if needed and find_spec(name) is None]
    if lacking:
        raise ConfigError(f"this needs {' and '.join(lacking)}: pip install 'sqlrank[rivals,tune,plot]'")
    if wanted["implicit"]:
        import_als()  # here, and not on the clock of the first fit


def _run(experiment: Experiment, bench: Bench, say: Say) -> Outcome:
    token = secrets.token_hex(4)
    rows = [_found(row, bench, say) for row in experiment.rows]
    plans = list(_plans(rows, experiment, bench, say))
    known = {plan.key: bench.store.record(plan.key) for _, plan in plans}
    if experiment.kind == SECONDS and len({record and record.run for record in known.values()}) > 1:
        known = dict.fromkeys(known)  # seconds compare only within one run: measure all of them again
    _measure_missing(plans, known, bench, token, say)
    for outcome, plan in plans:
        record = known[plan.key]
        if outcome.skipped is None and record is not None:
            outcome.records.append(record)
            outcome.settings.append(dict(plan.settings))
            outcome.other_data |= record.users != (plan.row.task.paper_users or record.users)
    return Outcome(experiment, rows)


def _found(row: Row, bench: Bench, say: Say) -> RowOutcome:
    """The row, without numbers yet: is its data set there, and is it the paper's?"""
    outcome = RowOutcome(row)
    try:
        layout = bench.source.layout(row.task)
    except DataError as error:
        page = find(row.task.dataset).source.page
        outcome.skipped = f"The data set {row.task.dataset} is not there; its owner's page is {page}"
        say(f"  {row.task.title} | {row.label}: skipped. {error}")
        return outcome
    outcome.other_data = row.task.stand_in is not None and layout.startswith(row.task.stand_in)
    return outcome


def _plans(
    rows: Sequence[RowOutcome], experiment: Experiment, bench: Bench, say: Say
) -> Iterator[tuple[RowOutcome, TrialPlan]]:
    """The trials of all rows. Settings are searched here, task by task and seed by seed, as the data are cut."""
    there = [outcome for outcome in rows if outcome.skipped is None]
    tasks = list(dict.fromkeys(outcome.row.task for outcome in there))
    for task, seed in ((task, seed) for task in tasks for seed in range(experiment.seeds)):
        for outcome in there:
            if outcome.row.task == task and outcome.skipped is None:
                began = time.perf_counter()
                try:
                    settings = settings_of(outcome.row, experiment.tuning, bench, seed)
                    plan = trial_of(experiment, outcome.row, seed, settings, bench)
                except SqlrankError as error:
                    _fail(outcome, error, say)
                    continue
                seconds = time.perf_counter() - began
                if outcome.row.search and seconds > 0.5:
                    found = f"settings searched in {seconds:.0f} s"
                    say(f"  {task.title} | {outcome.row.label}, seed {seed}: {found}")
                yield outcome, plan


def _fail(outcome: RowOutcome, error: SqlrankError, say: Say) -> None:
    """One row that fails does not take the others with it."""
    outcome.skipped = f"{outcome.row.label} failed: {' '.join(str(error).split())}"
    say(f"  {outcome.row.task.title} | {outcome.skipped}")


def _measure_missing(
    plans: Sequence[tuple[RowOutcome, TrialPlan]],
    known: dict[str, Record | None],
    bench: Bench,
    token: str,
    say: Say,
) -> None:
    """Seed by seed within a task: a cut of the data then serves all methods."""
    missing = [(outcome, plan) for outcome, plan in plans if known[plan.key] is None]
    began = time.perf_counter()
    for done, (outcome, plan) in enumerate(missing):
        if outcome.skipped is not None:
            continue
        record = known[plan.key]
        if record is None:  # two rows may ask for the same trial
            try:
                record = _trial(plan, bench, token)
            except SqlrankError as error:
                _fail(outcome, error, say)
                continue
            bench.store.put_record(plan.key, record)
            known[plan.key] = record
        left = (time.perf_counter() - began) / (done + 1) * (len(missing) - done - 1)
        metric, (value, _, _) = next(iter(record.metrics.items()))
        say(
            f"  {plan.row.task.title} | {plan.row.label}, seed {plan.seed}: {metric} {value:.4f}, fitted in "
            f"{record.fit_seconds:.1f} s ({len(missing) - done - 1} to go, about {left:.0f} s)"
        )


def _trial(plan: TrialPlan, bench: Bench, token: str) -> Record:
    train, test = bench.parts(plan.row.task, plan.seed)
    model = model_class(plan.row.model)(**plan.settings)
    return run_trial(
        model, train, test, plan.row.task, seed=plan.seed, threads=bench.threads, curve=plan.curve, run=token
    )


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _silent(line: str) -> None:
    pass
