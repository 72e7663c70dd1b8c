"""What an experiment needs: its trials by key, and the settings they are fitted with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sqlrank.data.datasets.dataset import Dataset
from sqlrank.data.interactions import Interactions
from sqlrank.experiments.definition import TABLE, Experiment, Row, Task, Tuning
from sqlrank.experiments.preparation import Source, cut
from sqlrank.experiments.store import Store
from sqlrank.models.base import Recommender
from sqlrank.models.names import model_class

__all__ = ["Bench", "TrialPlan", "settings_of", "trials_of"]

TUNING_SEED = 0


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
        self._cut: tuple[tuple[Task, int], tuple[Interactions, Interactions]] | None = None

    def parts(self, task: Task, seed: int) -> tuple[Interactions, Interactions]:
        """Training and test events of a task."""
        if self._cut is None or self._cut[0] != (task, seed):
            if task.dataset not in self._datasets:
                self._datasets = {task.dataset: self.source.load(task)}
            self._cut = (task, seed), cut(self._datasets[task.dataset], task, seed)
        return self._cut[1]


def trials_of(
    experiment: Experiment, row: Row, settings: Mapping[str, Any], source: Source
) -> list[TrialPlan]:
    """The trials of a row, one per seed."""
    curve = experiment.kind != TABLE
    # Seconds belong to one experiment; numbers without a clock may serve several.
    owner = {"experiment": experiment.id} if experiment.kind == "seconds" else {}
    facts = {
        **_data_facts(row.task, source),
        "model": row.model,
        "settings": dict(settings),
        "curve": curve,
        **owner,
    }
    return [
        TrialPlan(row, seed, settings, Store.key({**facts, "seed": seed}), curve)
        for seed in range(experiment.seeds)
    ]


def settings_of(row: Row, tuning: Tuning | None, bench: Bench) -> dict[str, Any]:
    """The row's settings, the searched ones found on a validation part of the training events of the first seed."""
    kind = model_class(row.model)
    preset = {} if row.preset is None else kind.preset(row.preset).get_params()
    given = kind(**{**preset, **row.settings}).get_params()
    if not row.search or tuning is None:
        return given
    ranges = {name for name, rule in kind.settings_class.rules().items() if rule.search is not None}
    stated = {*row.settings, *kind.presets.get(row.preset or "", {})}
    wanted = ranges - stated if "all" in row.search else set(row.search)
    fixed = {name: value for name, value in given.items() if name not in wanted and name != "epochs"}
    facts = {
        **_data_facts(row.task, bench.source),
        "model": row.model,
        "fixed": fixed,
        "search": sorted(wanted),
    }
    key = Store.key(
        {**facts, "tuning": asdict(tuning), "epochs": given.get("epochs"), "tune": row.task.tune_for}
    )
    known = bench.store.get(key)
    if known is None:
        known = {"settings": _search(kind, row.task, tuning, fixed | _epochs(given), bench, key)}
        bench.store.put(key, known)
    return dict(known["settings"])


def _epochs(given: Mapping[str, Any]) -> dict[str, Any]:
    return {"epochs": given["epochs"]} if "epochs" in given else {}


def _search(
    kind: type[Recommender], task: Task, tuning: Tuning, fixed: Mapping[str, Any], bench: Bench, key: str
) -> dict[str, Any]:
    from sqlrank.tuning import tune

    train, _ = bench.parts(task, TUNING_SEED)
    result = tune(
        kind,
        train,
        task.tune_for,
        trials=tuning.trials,
        seed=TUNING_SEED,
        validation=tuning.validation,
        protocol=task.protocols[0],
        fixed=fixed,
        storage=bench.store.path(key, ".journal"),
        threads=bench.threads,
    )
    result.trials.write_parquet(bench.store.path(key, ".trials.parquet"))
    return result.settings


def _data_facts(task: Task, source: Source) -> dict[str, Any]:
    """What the events and the measures depend on; not how the task is called."""
    facts = asdict(task)
    for name in ("name", "title", "paper_users", "stand_in"):
        del facts[name]
    described: dict[str, Any] = json.loads(json.dumps(facts))
    return {"task": described, "layout": source.layout(task)}
