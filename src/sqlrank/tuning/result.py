"""What a search found: the best settings, all trials, and a file that `sqlrank fit` accepts."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from sqlrank.errors import ConfigError
from sqlrank.models.base import Recommender
from sqlrank.tuning.study import finished
from sqlrank.tuning.trial import Task

__all__ = ["TuningResult"]


@dataclass(frozen=True, repr=False)
class TuningResult:
    """What `sqlrank.tune` returns: `result.model()`, `result.settings`, `result.trials`, `result.to_toml()`.

    model_class     what was tuned
    settings        all settings of the best trial; `epochs` is its best epoch
    value           the metric of the best trial on the validation part
    default_value   the same for the defaults, which are tried first
    trials          one row per trial: trial, state, value, epoch (the best), epochs (run), seconds, error, and the
                    settings that were searched
    """

    model_class: type[Recommender]
    settings: dict[str, Any]
    metric: str
    value: float
    default_value: float
    protocol: str
    validation: str
    seed: int
    trials: pl.DataFrame = field(compare=False)

    def model(self) -> Recommender:
        """An unfitted model with the best settings: fit it on all training data."""
        return self.model_class(**self.settings)

    def to_toml(self) -> str:
        """A file for `sqlrank fit --config`: the model and its settings; where they are from, as comments."""
        from sqlrank.models.names import SHORT_NAMES

        name = self.model_class.__name__
        short = next((short for short, known in SHORT_NAMES.items() if known == name), name)
        given = {"model": short, **{k: v for k, v in self.settings.items() if v is not None}}
        comments = [f"# {line}" for line in self._facts()]
        lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in given.items()]
        return "\n".join([*comments, "[fit]", *lines]) + "\n"

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the TOML, and the trials beside it as parquet."""
        place = Path(path)
        if place.suffix != ".toml":
            raise ConfigError(f"{place}: the settings are written as .toml")
        place.parent.mkdir(parents=True, exist_ok=True)
        self.trials.write_parquet(place.with_suffix(".trials.parquet"))
        place.write_text(self.to_toml(), "utf-8")
        return place

    def _facts(self) -> list[str]:
        states = self.trials["state"].to_list()
        counts = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
        return [
            f"{self.metric} {self.value:.4f} on validation; with the defaults {self.default_value:.4f}",
            f"protocol {self.protocol}",
            f"validation: {self.validation}; {len(states)} trials ({counts}); seed {self.seed}",
        ]

    def __str__(self) -> str:
        lines = [f"{self.model_class.__name__}: {self._facts()[0]}", *self._facts()[1:]]
        width = max((len(name) for name in self.settings), default=0)
        return "\n".join([*lines, *(f"  {name:<{width}}  {value}" for name, value in self.settings.items())])

    def __repr__(self) -> str:
        return f"TuningResult({self.model()!r}: {self.metric}={self.value:.4f}, {self.trials.height} trials)"


def result_of(study: Any, task: Task, validation: str) -> TuningResult:
    """Take the result from a study."""
    trials = finished(study)
    # Pruned trials were below the median when they ended: only complete ones can win. Ties: the earlier one.
    complete = [trial for trial in trials if trial.state.name == "COMPLETE"]
    best = max(complete, key=lambda trial: (trial.value, -trial.number))
    settings = {**task.space.model.settings_class().to_dict(), **task.space.fixed, **best.params}
    if "epochs" in settings:
        settings["epochs"] = best.user_attrs["epoch"]
    return TuningResult(
        task.space.model,
        task.space.model.settings_class.from_dict(settings).to_dict(),
        task.metric,
        best.value,
        trials[0].value,
        f"{task.protocol.name}: {task.protocol}" if task.protocol.name else str(task.protocol),
        validation,
        task.seed,
        _table(trials, list(task.space.ranges)),
    )


def _table(trials: list[Any], names: list[str]) -> pl.DataFrame:
    states = {"COMPLETE": "complete", "PRUNED": "pruned", "FAIL": "failed"}
    rows = [
        {
            "trial": place,
            "state": states[trial.state.name],
            "value": None if trial.value is None or math.isnan(trial.value) else trial.value,
            "epoch": trial.user_attrs.get("epoch"),
            "epochs": trial.user_attrs.get("epochs"),
            "seconds": trial.user_attrs.get("seconds"),
            "error": trial.user_attrs.get("error"),
            **{name: trial.params.get(name) for name in names},
        }
        for place, trial in enumerate(trials)
    ]
    kinds = {
        "epoch": pl.Int64,
        "epochs": pl.Int64,
        "seconds": pl.Float64,
        "error": pl.String,
        "value": pl.Float64,
    }
    return pl.DataFrame(rows, schema_overrides=kinds, infer_schema_length=None)
