"""What an experiment needs: its trials by key, and the settings they are fitted with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import Any

from sqlrank.data import splits
from sqlrank.data.datasets.dataset import Dataset
from sqlrank.data.interactions import Interactions
from sqlrank.experiments.definition import SECONDS, TABLE, Experiment, Row, Task, Tuning
from sqlrank.experiments.preparation import Source, cut, splits_of_the_paper
from sqlrank.experiments.store import Store
from sqlrank.models.base import Recommender
from sqlrank.models.names import model_class
from sqlrank.tuning.study import checksum

__all__ = ["Bench", "TrialPlan", "settings_of", "trial_of"]

TUNING_SEED = 0
VALIDATION_SEED = 7_368_787  # far from the seeds of the splits: an event keeps its random number for one seed


@dataclass(frozen=True)
class TrialPlan:
    """One trial that is wanted."""

    row: Row
    seed: int
    settings: Mapping[str, Any]
    key: str
    curve: bool


class Bench:
    """Where trials run: data sets are read once, cuts are kept while they are the same."""

    def __init__(self, source: Source, store: Store, threads: int | None) -> None:
        self.source, self.store, self.threads = source, store, threads
        self._datasets: dict[str, Dataset] = {}
        self._checksums: dict[tuple[Task, int], str] = {}
        self._cut: tuple[tuple[Task, int], tuple[Interactions, Interactions]] | None = None

    def parts(self, task: Task, seed: int) -> tuple[Interactions, Interactions]:
        """Training and test events of a task."""
        if self._cut is None or self._cut[0] != (task, seed):
            self._cut = (task, seed), cut(self._dataset(task), task, seed)
        return self._cut[1]

    def checksum(self, task: Task, seed: int) -> str:
        """Of the task's training and test events."""
        if (task, seed) not in self._checksums:
            self._checksums[task, seed] = "; ".join(checksum(part) for part in self.parts(task, seed))
        return self._checksums[task, seed]

    def _dataset(self, task: Task) -> Dataset:
        if task.dataset not in self._datasets:
            self._datasets = {task.dataset: self.source.load(task)}
        return self._datasets[task.dataset]


def trial_of(
    experiment: Experiment, row: Row, seed: int, settings: Mapping[str, Any], bench: Bench
) -> TrialPlan:
    """The trial of a row with one seed."""
    curve = experiment.kind != TABLE
    # A curve over seconds is of one experiment alone: its trials are measured side by side.
    clock = {"experiment": experiment.id} if experiment.kind == SECONDS else {}
    facts = {
        **_data_facts(row.task, bench, seed),
        "threads": bench.threads,  # the seconds of a fit depend on them
        **_versions("implicit" if row.model == "WeightedMF" else "numpy"),
        "model": row.model,
        "settings": dict(settings),
        "curve": curve,
        "seed": seed,
        **clock,
    }
    return TrialPlan(row, seed, settings, Store.key(facts), curve)


def settings_of(row: Row, tuning: Tuning | None, bench: Bench, seed: int) -> dict[str, Any]:
    """The row's settings, the searched ones found on a validation part of the seed's own training events.

    Where every seed draws a split of its own, the training events of one are test events of another: each gets its own
    search. A data set that has its own split is searched once.
    """
    kind = model_class(row.model)
    preset = {} if row.preset is None else kind.preset(row.preset).get_params()
    given = kind(**{**preset, **row.settings}).get_params()
    if not row.search or tuning is None:
        return given
    ranges = {name for name, rule in kind.settings_class.rules().items() if rule.search is not None}
    stated = {*row.settings, *kind.presets.get(row.preset or "", {})}
    wanted = ranges - stated if "all" in row.search else set(row.search)
    fixed = {name: value for name, value in given.items() if name not in wanted}
    drawn = seed if row.task.n_train is not None else TUNING_SEED
    from sqlrank.tuning import Space

    facts = {
        **_data_facts(row.task, bench, drawn),
        **_versions("optuna", "implicit" if row.model == "WeightedMF" else "numpy"),
        **Space.of(kind, fixed).describe(),
        "tuning": asdict(tuning),
        "tune": row.task.tune_for,
        "seed": drawn,
    }
    key = Store.key(facts)
    known = bench.store.get(key)
    if known is None:
        known = {"settings": _search(kind, row.task, tuning, fixed, bench, drawn, key)}
        bench.store.put(key, known)
    return dict(known["settings"])


def _search(
    kind: type[Recommender],
    task: Task,
    tuning: Tuning,
    fixed: Mapping[str, Any],
    bench: Bench,
    seed: int,
    key: str,
) -> dict[str, Any]:
    from sqlrank.tuning import tune

    train, _ = bench.parts(task, seed)
    with splits_of_the_paper():
        rest, held_out = splits.random(train, tuning.validation, seed=VALIDATION_SEED + seed)
    result = tune(
        kind,
        rest,
        task.tune_for,
        trials=tuning.trials,
        seed=TUNING_SEED,
        validation=held_out,
        protocol=task.protocols[0],
        fixed=fixed,
        storage=bench.store.path(key, ".journal"),
        threads=bench.threads,
    )
    result.trials.write_parquet(bench.store.path(key, ".trials.parquet"))
    return result.settings


def _versions(*packages: str) -> dict[str, Any]:
    return {"versions": {name: metadata.version(name) for name in packages}}


def _data_facts(task: Task, bench: Bench, seed: int) -> dict[str, Any]:
    """What the events and the measures depend on; not how the task is called."""
    facts = asdict(task)
    for name in ("name", "title", "paper_users", "stand_in"):
        del facts[name]
    described: dict[str, Any] = json.loads(json.dumps(facts))
    return {"task": described, "layout": bench.source.layout(task), "data": bench.checksum(task, seed)}
